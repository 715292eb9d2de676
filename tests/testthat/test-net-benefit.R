# Net benefit and decision curves.

# Ten people, four events.
risk <- c(.05, .1, .2, .2, .3, .4, .5, .6, .8, .9)
sick <- c(0, 0, 0, 1, 0, 0, 1, 0, 1, 1)

test_that("a case worked by hand", {
  # At 1/5: eight are treated, those of risk 1/5 among them; 4 events, 4 others. 4/10 - 4/10 * 1/4 = .3.
  # At 1/2: four are treated, 3 events, 1 other. 3/10 - 1/10 * 1 = .2.
  # At 3/4: two are treated, both events: .2.
  found <- net_benefit(list(model = risk), sick, c(.75, .2, .5))
  model <- found[found$forecast == "model", ]
  expect_equal(model$threshold, c(.2, .5, .75))
  expect_equal(model$net_benefit, c(.3, .2, .2))
  expect_equal(model$treated, c(.8, .4, .2))
  # Treating all: 4/10 - 6/10 t/(1 - t)
  all <- found[found$forecast == "treat all", ]
  expect_equal(all$net_benefit, c(.4 - .15, .4 - .6, .4 - 1.8))
  none <- found[found$forecast == "treat none", ]
  expect_equal(none$net_benefit, c(0, 0, 0))
  expect_equal(none$treated, c(0, 0, 0))
  # At 1/5 treating all is the better strategy, then treating none.
  expect_equal(model$gain, c(.3 - .25, .2, .2))
  expect_true(all(is.na(c(all$gain, none$gain, all$gain.low))))
  # The benefits of the rows at 1/2: three 1, one -1, six 0
  each <- c(1, 1, 1, -1, 0, 0, 0, 0, 0, 0)
  expect_equal(model$std.error[2], stats::sd(each) / sqrt(10))
  expect_equal(unlist(model[2, c("conf.low", "conf.high")], use.names = FALSE), as.vector(stats::t.test(each)$conf.int))
  # At 1/5 the two that are not treated gain 1/4 each over treating all. Limits are the smaller ones of both differences.
  over_none <- stats::t.test(rep(c(1, -.25, 0), c(4, 4, 2)))$conf.int
  # The two have no event, and almost no variance: if their risk were 1/5, it would be 2 * 1/4.
  expect_lt(stats::sd(c(.25, .25, rep(0, 8))) / sqrt(10), sqrt(2 / 4) / 10)
  over_all <- .05 + c(-1, 1) * stats::qt(.975, 9) * sqrt(2 / 4) / 10
  expect_equal(model$gain.low[1], min(over_all[1], over_none[1]))
  expect_equal(model$gain.high[1], min(over_all[2], over_none[2]))
  # At 3/4 two are treated, both have the event: variance 2 * 3
  expect_equal(model$std.error[3], sqrt(2 * 3) / 10)
})

test_that("the Murphy diagram is the same on another scale", {
  pair <- oracle_forecast(300, 2, seed = 1)
  p <- pair$p[, 2]
  y <- as.integer(pair$y == 2)
  murphy <- plot_murphy(p, y, points = 101)$data
  t <- setdiff(seq(.01, .99, .01), p)
  score <- murphy$score[match(round(t, 6), round(murphy$theta, 6))]
  found <- net_benefit(p, y, t)
  expect_equal(found$net_benefit[found$forecast == "forecast"], mean(y) - score / (2 * (1 - t)))
})

test_that("whole weights count as rows, groups as one case, and classes can be exchanged", {
  w <- rep(c(1, 3), 5)
  twice <- rep(seq_along(risk), w)
  weighted <- net_benefit(risk, sick, c(.2, .5), weights = w)
  expect_equal(weighted$net_benefit, net_benefit(risk[twice], sick[twice], c(.2, .5))$net_benefit)
  expect_equal(weighted$treated, net_benefit(risk[twice], sick[twice], c(.2, .5))$treated)
  # rows given twice, in a group, have the error of the rows given once
  once <- net_benefit(risk, sick, .5)
  doubled <- net_benefit(rep(risk, 2), rep(sick, 2), .5, groups = rep(1:10, 2))
  expect_equal(doubled$std.error, once$std.error)
  expect_equal(net_benefit(1 - risk, 1 - sick, c(.2, .5), event = "0")[1, 4], net_benefit(risk, sick, c(.2, .5))[1, 4])
  expect_equal(attr(net_benefit(risk, sick, event_level = "first"), "event"), "0")
  # rows of weight 0 are not there
  expect_equal(unname(attr(net_benefit(c(risk, .4), c(sick, 1), weights = c(rep(1, 10), 0)), "n")), 10)
})

test_that("a model without information is seldom called clearly better", {
  # Risks that say nothing, thresholds where treating all and treating none differ little: both limits together are wrong at most
  # once in 40; and where three people are treated, all with the event, nothing is clear.
  set.seed(1)
  y <- stats::rbinom(300, 1, .3)
  clear <- replicate(200, net_benefit(stats::runif(300), y, .3)$gain.low[1] > 0)
  expect_lte(mean(clear), .05)
  few <- net_benefit(c(rep(.96, 3), rep(.01, 97)), c(1, 1, 1, rep(0, 97)), .95)
  expect_lt(few$gain.low[1], 0)
  nobody <- net_benefit(risk, sick, .95)
  expect_equal(nobody$net_benefit[1], 0)
  expect_true(is.na(nobody$conf.low[1]) && is.na(nobody$gain.low[1]))
})

test_that("groups of by are those rows alone", {
  by <- rep(c("a", "b"), 5)
  both <- net_benefit(list(m = risk), sick, c(.3, .5), by = by)
  expect_equal(names(both)[1], "by")
  expect_equal(both$net_benefit[both$by == "b"], net_benefit(list(m = risk[by == "b"]), sick[by == "b"], c(.3, .5))$net_benefit)
  expect_equal(attr(both, "events"), c(a = 2, b = 2)[c("a", "b")])
  expect_output(print(both), "-- a: 5 rows, 2 events")
})

test_that("what is refused, and how it is said", {
  wrong <- function(call, words) expect_error(call, words, class = "gpcalib_error_input")
  wrong(net_benefit(risk, sick, 1), "`thresholds` must be numbers from 0 to below 1. One of them is 1.")
  wrong(net_benefit(risk, sick, c(5, 10)), "Write 0.05 for 5 %.")
  wrong(net_benefit(risk, sick, "a"), "`thresholds`")
  wrong(net_benefit(risk, sick, NA_real_), "`thresholds`")
  wrong(net_benefit(risk), "`labels` is missing")
  wrong(net_benefit(labels = sick), "`probs` is missing")
  wrong(net_benefit(list("treat all" = risk), sick), "name of a strategy")
  wrong(net_benefit(100 * risk, sick), "`probs` has")
  wrong(net_benefit(list(a = risk, b = 100 * risk), sick), "`probs\\$b` has")
  wrong(net_benefit(risk, sick, threshold = .5, wieghts = 1), "unknown argument")
  wrong(net_benefit(matrix(1 / 3, 3, 3), 1:3), "`event` is needed")
  wrong(autoplot(net_benefit(risk, sick, .5)), "one threshold only")
  wrong(autoplot(net_benefit(risk, sick, c(.1, .5))[, 1:2]), "lost columns")
})

test_that("it prints what it found", {
  set.seed(1)
  p <- stats::runif(2000)
  y <- stats::rbinom(2000, 1, p)
  found <- net_benefit(list(good = p, useless = rep(mean(y), 2000)), y)
  said <- utils::capture.output(print(found))
  expect_match(said[1], "Net benefit of acting on the probability of \"1\", 95% intervals", fixed = TRUE)
  expect_true(all(nchar(said) <= 90))
  all <- paste(said, collapse = " ")
  expect_match(all, "\"good\": better than both treating all and treating none at thresholds 0\\.[0-9]+ to 0\\.[0-9]+ \\(paired 95% interval of the gain above 0\\)\\.")
  expect_match(all, "\"useless\": at no threshold clearly better than both treating all and treating none (paired interval of the gain above 0).", fixed = TRUE)
  expect_silent(utils::capture.output(print(found[1:3, 1:2]), print(net_benefit(p, y, conf_level = NULL))))
  expect_false(any(grepl("clearly", utils::capture.output(print(net_benefit(p, y, conf_level = NULL))))))
  expect_identical(class(tidy(found)), "data.frame")
  # some of its rows are a plain table
  expect_output(print(found[1:3, ]), "forecast threshold")
  expect_output(print(found[0, ]), "0 rows")
  expect_output(print(found[found$threshold == 0.5, ]), "0.5 +0\\.[0-9]+ \\(")
  expect_equal(say_stretches(1:6 / 10, c(TRUE, TRUE, FALSE, TRUE, FALSE, TRUE)), "0.1 to 0.2, 0.4 and 0.6")
})

test_that("the picture has bands, and says what it leaves out", {
  found <- net_benefit(list(model = risk, other = rev(risk)), sick)
  picture <- autoplot(found)
  expect_s3_class(picture, "ggplot")
  expect_match(attr(picture$labels$caption, "words"), "Where a line leaves the picture at the bottom, that model or strategy is worse there than treating none.", fixed = TRUE)
  # each band has the colour and stroke of its line, at its edges too
  built <- ggplot2::ggplot_build(picture)$data
  looks <- function(layer) unique(built[[layer]][c("group", "colour", "linetype")])
  expect_equal(looks(1), merge(looks(1), looks(2)), ignore_attr = TRUE)
  expect_length(unique(looks(1)$colour), 2)
  expect_equal(unique(built[[1]]$fill), unique(built[[1]]$colour))
  expect_match(attr(picture$labels$caption, "words"), "Bands: 95% intervals")
  expect_no_match(attr(autoplot(found, band = FALSE)$labels$caption, "words"), "Bands")
  # nothing is cut from the top, and the axis shows 0
  ends <- ggplot2::ggplot_build(picture)$layout$panel_params[[1]]$y.range
  expect_gte(ends[2], max(found$conf.high[found$forecast %in% c("model", "other")], na.rm = TRUE))
  expect_lt(ends[1], 0)
  expect_s3_class(autoplot(net_benefit(risk, sick, by = rep(1:2, 5)), base_size = 7), "ggplot")
  for (some in list("model", c("treat all", "treat none"))) {
    part <- autoplot(found[found$forecast %in% some, ])
    expect_setequal(unique(ggplot2::layer_data(part, length(part$layers))$colour), if ("model" %in% some) ink[1] else "grey45")
  }
})
