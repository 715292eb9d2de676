#' Letters: the logits of an overconfident neural network
#'
#' What a small neural network says about 4000 images of capital letters that
#' it was not trained on, with the true letters. The network is accurate but
#' overconfident: it is right in about 85 % of the images, with a mean confidence of 96 %. Half of
#' the images are there to calibrate it, the other half to test the result.
#'
#' The features are those of Frey and Slate (1991): 16 whole numbers that
#' summarise a distorted image of a letter. Of the 20000 images 4000, drawn at
#' random, trained a network with one hidden layer of 40 units and a softmax
#' output (`nnet::nnet()`, 300 iterations, weight decay 0.001); another 4000,
#' again drawn at random, make up this data set. The settings were picked so
#' that the network overfits (it gets all of its training images right), not
#' to reach the best accuracy, so do not take it as a benchmark of networks.
#'
#' The scores are the inputs of the softmax, computed from the weights of the
#' network and rounded to two decimals. The rounding cannot change a probability
#' by more than 0.0025. Being logits, they can have any constant added within a
#' row without a change in the probabilities; they run from about -75 to 66.
#'
#' On the test half the accuracy is 0.851, the mean confidence 0.959, the
#' expected calibration error (15 bins of equal width) 0.108 and the log loss
#' 1.14. Dividing the logits by a temperature of 3.3, fitted to the
#' calibration half, brings these last two down to 0.024 and 0.55.
#'
#' @format A list of two lists, `cal` and `test`, each with
#' \describe{
#'   \item{scores}{a numeric matrix of logits with 2000 rows, one per image,
#'     and 26 columns, named `"A"` to `"Z"`;}
#'   \item{labels}{a factor of length 2000 with the levels `"A"` to `"Z"`: the
#'     letter that the image shows.}
#' }
#'
#' @source The images come from the UCI Machine Learning Repository (Slate,
#' 1991), where they are offered under the Creative Commons Attribution 4.0
#' licence, by way of `LetterRecognition` in the package **mlbench**. Of the
#' original data only the labels are kept here. The script
#' `data-raw/letters_nn.R` in the sources of this package made the data set.
#'
#' @references
#' Frey, P. W. and Slate, D. J. (1991). Letter recognition using Holland-style
#' adaptive classifiers. *Machine Learning* **6**, 161--182.
#' \doi{10.1007/BF00114162}
#'
#' Slate, D. (1991). Letter Recognition. UCI Machine Learning Repository.
#' \doi{10.24432/C5ZP40}
#'
#' @examples
#' str(letters_nn)
#'
#' # accuracy and mean confidence on the test half
#' z <- letters_nn$test$scores
#' p <- exp(z - apply(z, 1, max))
#' p <- p / rowSums(p)
#' guess <- colnames(z)[max.col(p, ties.method = "first")]
#' c(accuracy = mean(guess == letters_nn$test$labels),
#'   confidence = mean(apply(p, 1, max)))
#'
#' # the letters that are taken for others most often
#' wrong <- guess != letters_nn$test$labels
#' head(sort(table(paste(letters_nn$test$labels, "taken for", guess)[wrong]),
#'           decreasing = TRUE))
"letters_nn"

#' Rain at the airports of New York City: forecasts and outcomes
#'
#' Probabilities of rain within the next six hours at the three airports of
#' New York City in 2013, issued every six hours by a simple classifier, and
#' whether it did rain. The forecasts have skill, yet are badly overconfident:
#' of those that gave 90 percent or more, fewer than two in three came true.
#'
#' A forecast is issued at 00, 06, 12 and 18 hours UTC for each airport. Rain
#' means that at least one of the six hourly records from that time on shows
#' precipitation, so snow and sleet count as rain and a trace does not.
#'
#' The forecasts come from a naive Bayes classifier with normal densities, the
#' three airports taken together. Its predictors are the pressure and its
#' change over three and six hours, the humidity and its change over three
#' hours, the difference of temperature and dew point, the temperature, the
#' wind speed and its components from the east and the north, the visibility,
#' and the number of wet hours among the last three. The latest record used is
#' that of the hour before the forecast. A predictor that is missing (mostly
#' pressure; about a quarter of the forecasts lack one or more) is left out
#' of the sum for that forecast. The classifier takes the predictors as
#' independent given the outcome. They are not, so that the same evidence is
#' counted several times: hence the overconfidence.
#'
#' The weeks, of seven days from 1 January at 00 UTC, go in turn to training,
#' to calibration and to testing. Only the last two are in the table, 17 weeks
#' each. The split is by whole weeks because the weather of one hour resembles
#' that of the next, and three airports within 35 km share most of it; rows
#' assigned at random would put nearly the same case in both parts, so that a method fitted to one
#' and tested on the other would look better than it is. For the same reason the
#' rows are far from independent, and the effective number of cases is well
#' below the number of rows. The training weeks are spread over the whole
#' year, so the classifier has seen weeks later than the ones it forecasts,
#' though never those weeks themselves. Forecasts with an hourly record
#' missing among the six, or without current weather, were left out.
#'
#' Probabilities are rounded to four decimals, and 651 are exactly 0 and 226
#' exactly 1. It rained after 7 of the former, and stayed dry after 66 of the
#' latter, so the plain log loss is infinite. With the probabilities held
#' within 0.00005 and 0.99995, the forecasts of the test weeks have an accuracy
#' of 0.896 at a mean confidence of 0.964, an expected calibration error of
#' 0.071 (top class, 15 bins of equal width) and a log loss of 0.52, worse than
#' that of the constant forecast of the observed frequency (0.41). Temperature
#' scaling fitted to the calibration weeks takes the log loss to 0.34 with the
#' probabilities held within these limits (T = 3.2), and to 0.31 with the floor
#' of 0.01 that [calib_temperature()] chooses for the zeros (T = 1.9).
#'
#' @format A data frame with 2827 rows, in order of time and airport, and five
#' columns:
#' \describe{
#'   \item{time}{when the forecast was issued, which is when its six hours
#'     begin (`POSIXct`, UTC), from 8 January to 23 December 2013;}
#'   \item{origin}{the airport, a factor with the levels `"EWR"` (Newark),
#'     `"JFK"` (John F. Kennedy) and `"LGA"` (LaGuardia);}
#'   \item{prob}{the forecast: the probability of rain;}
#'   \item{rain}{what happened, a factor with the levels `"dry"` and `"rain"`;}
#'   \item{part}{what the week is for, a factor with the levels
#'     `"calibration"` (1410 rows) and `"test"` (1417 rows).}
#' }
#'
#' @source The hourly weather is the table `weather` of the package
#' **nycflights13** (version 1.0.2), which is under the CC0 dedication. It names
#' as its own source the airport weather stations (ASOS) in the archive of the
#' Iowa Environmental Mesonet,
#' `https://mesonet.agron.iastate.edu/request/download.phtml`. The forecasts
#' are our own; the script `data-raw/rain_nyc.R` in the sources of this package
#' made them.
#'
#' @examples
#' str(rain_nyc)
#' table(rain_nyc$part, rain_nyc$rain)
#'
#' # what was forecast, and how often it then rained
#' bin <- cut(rain_nyc$prob, c(0, 0.01, 0.1, 0.5, 0.9, 0.99, 1),
#'            include.lowest = TRUE)
#' data.frame(
#'   n        = as.vector(table(bin)),
#'   forecast = round(tapply(rain_nyc$prob, bin, mean), 3),
#'   observed = round(tapply(rain_nyc$rain == "rain", bin, mean), 3)
#' )
"rain_nyc"
