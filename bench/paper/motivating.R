# bench/paper/motivating.R: the paper's motivating example (its figure 1). A network with one hidden
# layer learns digits; its accuracy goes on improving while its calibration error grows, and
# calibration afterwards mends that. Five to ten minutes.

source("bench/paper/_helper.R")
source("bench/paper/_network.R")

epochs <- 60
set.seed(1)
mnist <- read_mnist(mnist_folder)
seen <- which(rowSums(mnist$train_x) > 0) # the border is always empty
mnist$train_x <- mnist$train_x[seen, ]
mnist$test_x <- mnist$test_x[seen, ]
cal <- sort(sample(10000, 1000)) # the paper: 1000 calibration rows, 9000 test rows
cal_x <- mnist$test_x[, cal]
cal_y <- mnist$test_y[cal]
test_x <- mnist$test_x[, -cal]
test_y <- mnist$test_y[-cal]

measure <- function(probs, epoch, method) {
  data.frame(epoch = epoch, method = method,
    `classification error` = 1 - class_accuracy(probs, test_y),
    `log loss` = log_loss(probs, test_y), `ECE_1` = ece(probs, test_y, bins = 100, type = "confidence"), check.names = FALSE)
}

net <- new_network(length(seen), 100, 10)
rows <- list()
for (epoch in seq_len(epochs)) {
  net <- train_epoch(net, mnist$train_x, mnist$train_y, rate = 0.2, batch = 100)
  z_cal <- network_logits(net, cal_x)
  z <- network_logits(net, test_x)
  gp <- suppressWarnings(predict(calib_gp(z_cal, cal_y), z))
  temperature <- predict(calib_temperature(z_cal, cal_y), z)
  rows <- c(rows, list(measure(softmax(z), epoch, "uncalibrated"),
    measure(temperature, epoch, "temperature"), measure(gp, epoch, "GP")))
  if (epoch %% 10 == 0) cat("epoch", epoch, "\n")
}
found <- do.call(rbind, rows)
keep_table(data.frame(found[1:2], signif(found[3:5], 5), check.names = FALSE), "motivating")

measures <- names(found)[3:5]
long <- do.call(rbind, lapply(measures, function(m) {
  data.frame(found[1:2], measure = factor(m, levels = measures), value = found[[m]])
}))
long$method <- factor(long$method, levels = names(method_colours))
last <- long[long$epoch == epochs & long$method == "GP", ]
plot <- ggplot(long[long$method != "temperature", ], aes(epoch, value, colour = method)) +
  geom_line(linewidth = 0.6) + geom_point(data = last, size = 2.5) +
  facet_wrap(vars(measure), scales = "free_y") +
  scale_colour_manual(values = method_colours, name = NULL) +
  expand_limits(y = 0) + plain_theme() + theme(legend.position = "bottom") +
  labs(x = "epoch", y = NULL, title = "Accuracy improves while calibration gets worse; calibration mends it",
    caption = paste("One hidden layer of 100 units on MNIST, 9000 test rows; the calibrator is fitted to",
      "1000 other rows after each epoch. Dot: the last one."))
keep_picture(plot, "motivating", 8, 3.2)

at <- function(method, epoch) found[found$method == method & found$epoch == epoch, ]
own <- found[found$method == "uncalibrated", ]
lowest <- own$epoch[which.min(own$ECE_1)]
best_loss <- own$epoch[which.min(own$`log loss`)]
shown <- rbind(at("uncalibrated", lowest), at("uncalibrated", best_loss), at("uncalibrated", epochs),
  at("temperature", epochs), at("GP", epochs))
shown[3:5] <- lapply(shown[3:5], function(x) sprintf("%.4f", x))
shown$epoch <- as.character(shown$epoch)
write_report("paper/motivating", "The motivating example", c(
  "A network with one hidden layer (100 rectified units, softmax, plain SGD, rate 0.2, batches of",
  "100, no penalty) on the 60,000 digits of MNIST; 1000 rows of the test set calibrate, 9000 test.",
  paste0("ECE_1 has 100 bins. The network's own ECE_1 is lowest after ", lowest, " epochs, its log loss after ",
    best_loss, ". Its error is on average ", sprintf("%.4f", mean(own$`classification error`[11:20])),
    " over epochs 11 to 20 and ", sprintf("%.4f", mean(own$`classification error`[51:60])), " over 51 to 60, about ",
    round(9000 * (mean(own$`classification error`[11:20]) - mean(own$`classification error`[51:60]))),
    " of 9000 rows; its ECE_1 ", sprintf("%.4f", mean(own$ECE_1[11:20])), " and ", sprintf("%.4f", mean(own$ECE_1[51:60])),
    ". One training, one split; temperature scaling mends it as well as the GP."), "",
  markdown_table(shown), "", "![](motivating.png)"
))
