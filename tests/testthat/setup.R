# Pictures that tests print are drawn nowhere: nothing is written outside the temporary folder of the session.
grDevices::pdf(NULL)
