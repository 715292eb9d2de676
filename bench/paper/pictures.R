# bench/paper/pictures.R: the paper's latent functions (its figures 4 and S1) and reliability diagrams
# (S2 to S4), on the classifier outputs that we have.

source("bench/paper/_helper.R")

names <- c("mnist_adaboost", "mnist_randomforest", "kitti2_adaboost", "cifar10_vgg16", "cifar100_wrn16_4",
  "cifar100_resnet50_test")
sets <- read_sets(names)

split_set <- function(set) {
  set.seed(1)
  cal <- sample(NROW(set$scores), 1000)
  pick <- function(rows) if (is.matrix(set$scores)) set$scores[rows, , drop = FALSE] else set$scores[rows]
  list(x = pick(cal), y = set$labels[cal], new = pick(-cal), truth = set$labels[-cal])
}
parts <- lapply(sets, split_set)
fits <- lapply(parts, function(part) {
  list(uncalibrated = calib_none(part$x, part$y), temperature = calib_temperature(part$x, part$y),
    GP = suppressWarnings(calib_gp(part$x, part$y)))
})

# Latent functions --------------------------------------------------------------------------------

# On the GP's own scale: log-probabilities or logits less their row mean. Where the scores lie decides
# what of a map matters, so that the axis ends at the range of the calibration scores.
centred <- function(fit, x) {
  if (fit$input == "probs") {
    if (!is.matrix(x)) x <- cbind(1 - x, x)
    x <- log(pmax(x, if (is.null(fit$floor)) .Machine$double.xmin else fit$floor))
  } else if (!is.matrix(x)) {
    x <- cbind(0, x)
  }
  x - rowMeans(x)
}
curves <- list()
rugs <- list()
for (name in names) {
  scores <- as.vector(centred(fits[[name]]$GP, parts[[name]]$x))
  z <- seq(min(scores), max(scores), length.out = 300)
  middle <- stats::median(scores)
  for (method in names(fits[[name]])) {
    map <- latent(fits[[name]][[method]], c(z, middle))
    level <- map$mean[301]
    # A constant does not matter: all maps meet where most scores lie.
    curves[[length(curves) + 1]] <- data.frame(data = name, method = method, z = z,
      mean = map$mean[1:300] - level, sd = map$sd[1:300])
  }
  rugs[[name]] <- data.frame(data = name, z = sample(scores, min(length(scores), 500)))
}
curves <- do.call(rbind, curves)
rugs <- do.call(rbind, rugs)
curves$data <- factor(curves$data, levels = names)
rugs$data <- factor(rugs$data, levels = names)
curves$method <- factor(curves$method, levels = names(method_colours))
plot <- ggplot(curves, aes(z, mean, colour = method)) +
  geom_ribbon(aes(ymin = mean - 2 * sd, ymax = mean + 2 * sd), data = curves[curves$method == "GP", ],
    fill = "#D55E00", alpha = 0.2, colour = NA) +
  geom_line(linewidth = 0.6) +
  geom_rug(aes(z), data = rugs, inherit.aes = FALSE, sides = "b", alpha = 0.15, linewidth = 0.3) +
  facet_wrap(vars(data), scales = "free") +
  scale_colour_manual(values = method_colours, name = NULL) +
  labs(x = "score (logarithm of the probability, or logit, less the mean of its row)", y = "latent function",
    title = "Latent functions", caption = paste("Band: two standard deviations of g(z), its constant included. Strokes: the calibration scores.",
      "Maps are shifted to agree at the median score.")) +
  plain_theme() + theme(legend.position = "bottom")
keep_picture(plot, "latent", 8, 5.5)

# Reliability -------------------------------------------------------------------------------------

shown <- c("mnist_adaboost", "cifar10_vgg16", "cifar100_wrn16_4")
tables <- do.call(rbind, lapply(shown, function(name) {
  part <- parts[[name]]
  do.call(rbind, lapply(names(method_colours), function(method) {
    probs <- suppressWarnings(predict(fits[[name]][[method]], part$new))
    table <- as.data.frame(reliability_table(probs, part$truth, bins = 15, type = "confidence"))
    cbind(data = name, method = method, table[table$n > 0, ], share = table$n[table$n > 0] / sum(table$n),
      ece = ece(probs, part$truth, bins = 100, type = "confidence"))
  }))
}))
keep_table(data.frame(tables[c("data", "method", "bin", "n")], signif(tables[c("confidence", "observed", "ece")], 4)),
  "reliability")
tables$data <- factor(tables$data, levels = shown)
tables$method <- factor(tables$method, levels = names(method_colours))
tables$side <- ifelse(tables$gap > 0, "stated too high", "stated too low")
notes <- unique(tables[c("data", "method", "ece")])
plot <- ggplot(tables) +
  geom_col(aes((lower + upper) / 2, share), width = 1 / 15, fill = "grey88") +
  geom_rect(aes(xmin = lower, xmax = upper, ymin = confidence, ymax = observed, fill = side), alpha = 0.45) +
  geom_abline(slope = 1, intercept = 0, colour = "grey55", linewidth = 0.3) +
  geom_linerange(aes(confidence, ymin = conf.low, ymax = conf.high), linewidth = 0.35) +
  geom_point(aes(confidence, observed), size = 1.1) +
  geom_text(aes(0.03, 0.93, label = sprintf("ECE[1] == '%.4f'", ece)), data = notes, parse = TRUE, hjust = 0, size = 3) +
  facet_grid(rows = vars(data), cols = vars(method)) +
  scale_fill_manual(values = c("stated too high" = "#D55E00", "stated too low" = "#0072B2"), name = "gap:") +
  scale_x_continuous(limits = c(0, 1), breaks = c(0, .5, 1), labels = c("0", "0.5", "1")) +
  scale_y_continuous(limits = c(0, 1), breaks = c(0, .5, 1), labels = c("0", "0.5", "1")) +
  labs(x = "confidence", y = "accuracy", title = "Reliability before and after calibration",
    caption = "15 bins; lines: 95 % intervals; grey bars: share of the rows. ECE_1 has 100 bins.") +
  plain_theme() + theme(legend.position = "bottom")
keep_picture(plot, "reliability", 7, 7)

write_report("paper/pictures", "Latent functions and reliability diagrams", c(
  "One split each, 1000 calibration rows.", "", "![](latent.png)", "", "![](reliability.png)"
))
