# bench/paper/active.R: active learning with entropy queries (the paper's section 5). Rows of KITTI come in a
# stream; a label is asked for when the normalised entropy of the prediction exceeds 0.25. One learner trusts its
# forest as it is, two calibrate it with labels set aside at fixed points, one sets labels aside while
# calib_switch() says that calibration needs them, and one sets none aside and calibrates by the out-of-bag
# predictions of its training rows. The forests are Mondrian forests as in the paper, trained online (mondrian.c).
#
# A quarter of an hour. What an earlier run found (bench/results/paper/active.csv) is kept: only what is not there is
# run, so that GPCALIB_SHUFFLES ("3:5") can do a part, which leaves the report out.

source("bench/paper/_helper.R")
need(data_file("kitti_features"))
mondrian <- compile("bench/paper/mondrian.c", "mondrian")

shuffles <- 10
threshold <- 0.25
pretraining <- 500
calibration <- 250 # labels set aside at each point
points <- c(0, 4000, 8000, 12000) # rows of the stream after pretraining
renewal <- 500 # rows after which the forest predicts its labelled rows anew, and the map is fitted to that
checks <- seq(0, 13500, by = 1500)
start_switch <- 100 # the first labels that `switching` sets aside: without a map there is no rule
most_switch <- 50 # and the most between two renewals
batch <- 50 # rows that are predicted before the forest learns from them
trees <- 50L
bag <- 2 / 3 # the share of rows that a tree of `cross-fitted` sees

kitti <- readRDS(data_file("kitti_features"))
classes <- sort(unique(kitti$train_y))
# The test drives hold a class that the training drives never show: nothing can learn it.
known <- kitti$test_y %in% classes
test <- list(x = kitti$test_x[known, ], y = factor(kitti$test_y[known], levels = classes))
all <- list(x = kitti$train_x, y = factor(kitti$train_y, levels = classes))
colnames(test$x) <- colnames(all$x) <- paste0("x", seq_len(ncol(all$x)))

# A forest as three functions: `add(rows)` trains on rows of `all`, `probs(x)` predicts, `out(rows)` predicts training
# rows by the trees that did not see them. Features are scaled to the range that the rows `first` have.
grow <- function(first, bag, seed) {
  low <- apply(all$x[first, ], 2, min)
  width <- apply(all$x[first, ], 2, max) - low
  scaled <- function(x) (t(x) - low) / ifelse(width > 0, width, 1)
  x <- scaled(all$x)
  discount <- 10 # per feature and unit of time, as Lakshminarayanan, Roy and Teh (2014) have it
  forest <- .Call(mondrian("mondrian_new"), x, as.integer(all$y) - 1L, length(classes), trees, discount, bag, as.integer(seed))
  named <- function(p) `colnames<-`(p, classes)
  list(add = function(rows) .Call(mondrian("mondrian_add"), forest, as.integer(rows)),
    probs = function(x) named(.Call(mondrian("mondrian_probs"), forest, scaled(x), NULL)),
    out = function(rows) named(.Call(mondrian("mondrian_probs"), forest, x[, rows], as.integer(rows))))
}

entropy <- function(p) -rowSums(ifelse(p > 0, p * log(p), 0)) / log(ncol(p))

measured <- function(position, part, labels, aside, p, y) {
  data.frame(position = position, part = part, labels = labels, aside = aside, error = 1 - class_accuracy(p, y),
    log_loss = log_loss(p, y, eps = 1e-6), ece = ece(p, y, bins = 100, type = "confidence"), over = overconfidence(p, y),
    under = underconfidence(p, y))
}

# One learner on one stream. `how`: list of `calibrate` (fits a calibrator, or NULL) and `labels` ("points": set aside at
# fixed points; "switch": as calib_switch() says; "cross": none, out-of-bag predictions).
learn <- function(stream, held, how, seed) {
  labels <- if (is.null(how$labels)) "none" else how$labels
  forest <- grow(stream[seq_len(pretraining)], if (labels == "cross") bag else 1, seed)
  training <- stream[seq_len(pretraining)]
  forest$add(training)
  stream <- stream[-seq_len(pretraining)]
  aside <- integer()
  open <- if (labels == "switch") start_switch else 0 # labels still to be set aside
  enough <- if (labels == "switch") start_switch else calibration
  map <- NULL
  rows <- list()
  calibrated <- function(p) if (is.null(map)) p else suppressWarnings(predict(map, p))
  renew <- function() { # the map of the forest as it is now
    with <- if (labels == "cross") training else aside
    if (is.null(how$calibrate) || (labels != "cross" && length(aside) < enough)) return()
    p <- if (labels == "cross") forest$out(with) else forest$probs(all$x[with, ])
    map <<- suppressWarnings(how$calibrate(p, all$y[with]))
  }
  record <- function(position, part, set) {
    p <- calibrated(forest$probs(set$x))
    rows[[length(rows) + 1]] <<- measured(position, part, length(training) + length(aside), length(aside), p, set$y)
  }
  held <- list(x = all$x[held, ], y = all$y[held])
  if (labels == "cross") renew()
  recent <- NULL # raw predictions since the last renewal: the pool of calib_switch()
  for (first in seq(0, length(stream) - 1, by = batch)) {
    if (first > 0 && first %% renewal == 0) {
      renew()
      if (labels == "switch" && !is.null(map)) {
        says <- suppressWarnings(calib_switch(map, recent))
        open <- if (says$decision == "calibration") min(most_switch, says$labels_needed) else 0
      }
      recent <- NULL
    }
    if (first %in% checks) record(first, "held-out rows", held)
    if (labels == "points" && first %in% points) open <- calibration
    new <- stream[(first + 1):min(first + batch, length(stream))]
    raw <- forest$probs(all$x[new, ])
    recent <- rbind(recent, raw)
    asked <- new[entropy(calibrated(raw)) > threshold]
    now_aside <- utils::head(asked, open)
    aside <- c(aside, now_aside)
    open <- open - length(now_aside)
    added <- setdiff(asked, now_aside)
    training <- c(training, added)
    if (length(added)) forest$add(added)
  }
  renew()
  record(length(stream), "held-out rows", held)
  record(length(stream), "test drives", test)
  do.call(rbind, rows)
}

learners <- list(uncalibrated = list(), temperature = list(calibrate = calib_temperature, labels = "points"),
  GP = list(calibrate = calib_gp, labels = "points"), switching = list(calibrate = calib_gp, labels = "switch"),
  `cross-fitted` = list(calibrate = calib_gp, labels = "cross"))
shuffled <- function(shuffle) {
  set.seed(shuffle)
  sample(nrow(all$x))
}

# For comparison: the forest with all labels of the stream, and with the first `n` of them, which are drawn at random
control <- function(stream, held, n, seed) {
  forest <- grow(stream[seq_len(pretraining)], 1, seed)
  forest$add(stream[seq_len(n)])
  sets <- list(`held-out rows` = list(x = all$x[held, ], y = all$y[held]), `test drives` = test)
  do.call(rbind, lapply(names(sets), function(part) {
    measured(length(stream) - pretraining, part, n, 0, forest$probs(sets[[part]]$x), sets[[part]]$y)
  }))
}
controls <- c("all labels", "random labels")

kept <- "bench/results/paper/active.csv"
found <- if (file.exists(kept)) utils::read.csv(kept)
asked_for <- Sys.getenv("GPCALIB_SHUFFLES")
for (shuffle in if (nzchar(asked_for)) eval(parse(text = asked_for)) else seq_len(shuffles)) {
  for (name in c(names(learners), controls)) {
    if (any(found$shuffle == shuffle & found$learner == name)) next
    order <- shuffled(shuffle)
    held <- order[1:2000]
    stream <- order[-(1:2000)]
    result <- if (name %in% controls) {
      end <- found[found$shuffle == shuffle & found$learner == "switching" & found$part == "test drives", ]
      control(stream, held, if (name == "all labels") length(stream) else end$labels - end$aside, shuffle)
    } else {
      learn(stream, held, learners[[name]], shuffle)
    }
    result[5:9] <- signif(result[5:9], 4)
    found <- rbind(found, cbind(shuffle = shuffle, learner = name, result))
    keep_table(found, "active")
    cat("shuffle", shuffle, name, "\n")
  }
}
if (nzchar(asked_for)) quit(status = 0)
found <- found[order(match(found$learner, c(names(learners), controls)), found$shuffle), ]
keep_table(found, "active")

end <- found[found$position == max(found$position), ]
end$learner <- factor(end$learner, levels = c(names(learners), controls))
say <- function(x, digits = 4) sprintf(paste0("%.", digits, "f (%.", digits, "f)"), mean(x), sd(x) / sqrt(length(x)))
cells <- lapply(split(end, list(end$learner, end$part), sep = "|"), function(part) {
  base <- end[end$learner == "uncalibrated" & end$part == part$part[1], ]
  base <- base[match(part$shuffle, base$shuffle), ]
  ratio <- 100 * (part$labels / base$labels - 1)
  data.frame(`measured on` = part$part[1], learner = part$learner[1], labels = say(part$labels, 0), `set aside` = say(part$aside, 0),
    `labels, against uncalibrated` = sprintf("%+.1f %% (%.1f)", mean(ratio), sd(ratio) / sqrt(length(ratio))), error = say(part$error),
    `error, less uncalibrated` = sprintf("%+.4f (%.4f)", mean(part$error - base$error), sd(part$error - base$error) / sqrt(nrow(part))),
    `log loss` = say(part$log_loss, 3), ECE_1 = say(part$ece), overconfidence = say(part$over, 3),
    underconfidence = say(part$under, 3), check.names = FALSE)
})
table <- do.call(rbind, cells)

# The course along the stream: means and standard errors, also for the vignette "Calibration over time"
course <- found[found$part == "held-out rows" & found$learner %in% names(learners), ]
panels <- c(labels = "labels asked for", aside = "of them set aside for calibration", error = "error on held-out rows",
  ece = "calibration error (ECE) on held-out rows")
long <- do.call(rbind, lapply(names(panels), function(what) {
  by <- course[c("position", "learner")]
  mean <- stats::aggregate(list(mean = course[[what]]), by, mean)
  error <- stats::aggregate(list(se = course[[what]]), by, function(x) sd(x) / sqrt(length(x)))
  data.frame(panel = panels[[what]], merge(mean, error))
}))
long[c("mean", "se")] <- signif(long[c("mean", "se")], 5)
keep_table(long, "active-course")
long$panel <- factor(long$panel, levels = panels)
long$learner <- factor(long$learner, levels = names(learners))
plot <- ggplot(long, aes(position, mean, colour = learner, fill = learner)) +
  geom_vline(xintercept = points, colour = "grey85", linewidth = 0.3) +
  geom_ribbon(aes(ymin = mean - 2 * se, ymax = mean + 2 * se), alpha = 0.15, colour = NA) + geom_line(linewidth = 0.6) +
  facet_wrap(vars(panel), scales = "free_y") + expand_limits(y = 0) +
  scale_colour_manual(values = c(method_colours, switching = "#009E73", `cross-fitted` = "#CC79A7"), name = NULL,
    aesthetics = c("colour", "fill")) +
  labs(x = "rows of the stream seen", y = NULL, title = "Active learning with entropy queries on KITTI, Mondrian forests",
    caption = paste0("Means over ", shuffles, " shuffles, with two standard errors. Grey lines: from here on `temperature` and `GP` set ",
      calibration, " labels aside.")) +
  plain_theme() + theme(legend.position = "bottom")
keep_picture(plot, "active", 8, 5.6)

at_end <- function(learner, what, part = "held-out rows") say(end[[what]][end$learner == learner & end$part == part], if (what %in% c("labels", "aside")) 0 else 4)
write_report("paper/active", "Active learning with entropy queries", c(
  "KITTI, 7 classes; a stream of 14,000 shuffled rows, the first 500 labelled beforehand. A label is asked for when the entropy of the",
  "prediction, divided by log 7, exceeds 0.25. The forest is a Mondrian forest of 50 trees, as in the paper, which learns online from",
  "the labels it asked for (50 rows are predicted at a time). `temperature` and `GP` (calib_gp() with its defaults) set the first 250",
  "labels after 0, 4000, 8000 and 12,000 rows aside for calibration. `switching` sets the first 100 aside and then, every 500 rows, up to",
  "50 more if calib_switch() with its default threshold says so. `cross-fitted` sets none aside: each tree sees two thirds of the labels, and calib_gp() is",
  "fitted to the out-of-bag predictions of all labelled rows. Every 500 rows the current forest predicts the labelled rows of the calibrator anew and",
  "the calibrator is fitted to that. Measured on 2000 held-out rows of the same drives, and on the test drives, whose class mix",
  "differs (the class that no training drive shows is left out). `all labels` and `random labels` are uncalibrated forests trained on the",
  "whole stream and on as many of its first rows as `switching` trains on. Log loss with probabilities of at least 1e-6. Means over 10 shuffles",
  "(standard errors), at the end of the stream; differences are paired by shuffle.", "",
  markdown_table(table), "",
  paste0("On held-out rows, the forest that trusts itself asks for ", at_end("uncalibrated", "labels"), " labels, calibration at fixed points for ",
    at_end("GP", "labels"), ", the switching rule for ", at_end("switching", "labels"), " with ", at_end("switching", "aside"),
    " instead of 1000 set aside. The effects of single classes in calib_gp() also correct classes that the forest neglects, so that its error is lower;",
    " on the test drives, whose class mix is another, that is no help."), "",
  "In the paper the calibrated forest asks for about 10 % fewer labels at comparable accuracy.", "", "![](active.png)"
))
