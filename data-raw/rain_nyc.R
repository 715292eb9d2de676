# Makes data/rain_nyc.rda: forecasts of rain at the three airports of New York
# City in 2013, by a naive Bayes classifier, and what the weather then did.
#
# Run from the package root:  Rscript data-raw/rain_nyc.R
# Needs: nycflights13 (the hourly weather)

if (!dir.exists("data-raw"))
  stop("run this script from the package root")

set.seed(2013)   # nothing below is random; set all the same

weather <- as.data.frame(nycflights13::weather)

# ---- the hourly weather, on a grid without gaps --------------------------
# A handful of hours is absent from the table; on the grid their values are
# missing. Everything is in UTC, which has no summer time to trip over.

hour <- as.numeric(weather$time_hour) / 3600
stopifnot(hour == round(hour),
          !anyDuplicated(data.frame(weather$origin, hour)))
first <- as.numeric(as.POSIXct("2013-01-01 00:00", tz = "UTC")) / 3600
grid <- first + seq_len(52 * 7 * 24) - 1   # 52 weeks, 1 January to 30 December

# a wind of a thousand miles per hour is a slip of the pen
weather$wind_speed[which(weather$wind_speed > 200)] <- NA

origins <- c("EWR", "JFK", "LGA")
stations <- lapply(origins, function(origin) {
  own <- which(weather$origin == origin)
  weather[own[match(grid, hour[own])], ]
})
names(stations) <- origins

# ---- forecasts: what is known, and what is asked -------------------------
# A forecast issued at hour t, where t is 00, 06, 12 or 18 UTC, knows the rows
# t-1, t-2, ... and is asked about the rows t, t+1, ..., t+5. A row of the
# table gathers the reports from within an hour, hence t-1 and not t as the
# last known one: no predictor looks ahead.

week_of <- function(time) (as.numeric(time) / 3600 - first) %/% (7 * 24)

issue <- which((grid - first) %% 6 == 0)

before <- function(v, k) v[ifelse(issue - k >= 1, issue - k, NA)]

forecasts_at <- function(origin) {
  time <- as.POSIXct(grid[issue] * 3600, origin = "1970-01-01", tz = "UTC")
  w <- stations[[origin]]
  wet <- w$precip > 0
  window <- sapply(0:5, function(k) wet[issue + k])
  direction <- w$wind_dir * pi / 180
  data.frame(
    time   = time,
    origin = origin,
    week   = week_of(time),
    known  = !is.na(before(w$temp, 1)),
    rain   = rowSums(window) > 0,        # missing if an hour is missing
    # the predictors
    pressure  = before(w$pressure, 1),
    pressure3 = before(w$pressure, 1) - before(w$pressure, 4),
    pressure6 = before(w$pressure, 1) - before(w$pressure, 7),
    humid     = before(w$humid, 1),
    humid3    = before(w$humid, 1) - before(w$humid, 4),
    spread    = before(w$temp - w$dewp, 1),
    temp      = before(w$temp, 1),
    wind      = before(w$wind_speed, 1),
    from_east  = before(w$wind_speed * sin(direction), 1),
    from_north = before(w$wind_speed * cos(direction), 1),
    visib     = before(w$visib, 1),
    wet_hours = before(wet, 1) + before(wet, 2) + before(wet, 3)
  )
}
all <- do.call(rbind, lapply(origins, forecasts_at))
predictors <- setdiff(names(all), c("time", "origin", "week", "known", "rain"))

# forecasts without any current weather, or without a full outcome, are left
# out, whatever the outcome might have been
left_out <- sum(!all$known | is.na(all$rain))
all <- all[all$known & !is.na(all$rain), ]

# ---- the weeks -----------------------------------------------------------
# Every third week trains the classifier. The weeks between are, in turn, for
# calibration and for testing. Whole weeks, because neighbouring hours, and
# the three airports at one hour, have the same weather: rows dealt out one by
# one would put nearly the same forecast into both parts.

part <- c("training", "calibration", "test")[all$week %% 3 + 1]
train <- all[part == "training", ]

# ---- Gaussian naive Bayes ------------------------------------------------
# Each predictor is normal given the outcome, and independent of the others.
# That they are in truth strongly dependent is what makes the forecasts
# overconfident. A missing predictor drops out of the sum of its row.

score <- function(x, class) {
  own <- train[train$rain == class, ]
  total <- rep(log(nrow(own) / nrow(train)), nrow(x))
  for (v in predictors) {
    d <- dnorm(x[[v]], mean(own[[v]], na.rm = TRUE), sd(own[[v]], na.rm = TRUE),
               log = TRUE)
    total <- total + ifelse(is.na(d), 0, d)
  }
  total
}
prob <- plogis(score(all, TRUE) - score(all, FALSE))

# ---- the object ----------------------------------------------------------

keep <- part != "training"
rain_nyc <- data.frame(
  time   = all$time,
  origin = factor(all$origin, levels = origins),
  prob   = round(prob, 4),
  rain   = factor(ifelse(all$rain, "rain", "dry"), levels = c("dry", "rain")),
  part   = factor(part, levels = c("calibration", "test"))
)[keep, ]
rain_nyc <- rain_nyc[order(rain_nyc$time, rain_nyc$origin), ]
rownames(rain_nyc) <- NULL

stopifnot(
  !anyNA(rain_nyc), rain_nyc$prob >= 0, rain_nyc$prob <= 1,
  identical(attr(rain_nyc$time, "tzone"), "UTC"),
  !anyDuplicated(rain_nyc[c("time", "origin")]),
  # no week in both parts
  rowSums(table(week_of(rain_nyc$time), rain_nyc$part) > 0) == 1
)

dir.create("data", showWarnings = FALSE)
save(rain_nyc, file = "data/rain_nyc.rda", compress = "xz", version = 2)

# ---- the facts -----------------------------------------------------------
# The rounded probabilities can be exactly 0 or 1. For the log loss they are
# moved to half a unit of the last decimal, 0.00005, from 0 and 1.

clip <- function(p) pmin(pmax(p, 5e-5), 1 - 5e-5)
log_loss <- function(p, y) -mean(log(ifelse(y, p, 1 - p)))
temper <- function(p, temperature) plogis(qlogis(clip(p)) / temperature)

# bins of equal width
ece <- function(p, y, bins = 15) {
  bin <- pmin(floor(p * bins), bins - 1)
  sum(abs(tapply(y - p, bin, sum))) / length(p)
}

facts <- function(d, temperature) {
  p <- d$prob
  y <- d$rain == "rain"
  top <- p > 0.5
  q <- temper(p, temperature)
  base <- mean(y)
  c(N = nrow(d), K = 2, weeks = length(unique(week_of(d$time))),
    rain_rate = base, mean_prob = mean(p),
    accuracy = mean(top == y), confidence = mean(pmax(p, 1 - p)),
    ECE15 = ece(pmax(p, 1 - p), top == y), ECE15_rain = ece(p, y),
    exact_0 = sum(p == 0), exact_1 = sum(p == 1),
    exact_and_wrong = sum(p == 0 & y | p == 1 & !y),
    brier = mean((p - y)^2), brier_climate = base * (1 - base),
    log_loss = log_loss(clip(p), y),
    log_loss_climate = log_loss(rep(base, nrow(d)), y),
    ECE15_tempered = ece(pmax(q, 1 - q), top == y),
    log_loss_tempered = log_loss(q, y))
}

best_temperature <- function(d)
  exp(optimize(function(t) log_loss(temper(d$prob, exp(t)), d$rain == "rain"),
               log(c(0.1, 20)), tol = 1e-8)$minimum)

cal  <- rain_nyc[rain_nyc$part == "calibration", ]
test <- rain_nyc[rain_nyc$part == "test", ]
temperature <- best_temperature(cal)

cat(sprintf("%s, nycflights13 %s\n", R.version.string,
            packageVersion("nycflights13")))
cat(sprintf("training: %d forecasts; left out in all: %d\n", nrow(train),
            left_out))
cat(sprintf("rows with a missing predictor: %.1f%%\n",
            100 * mean(!complete.cases(all[keep, predictors]))))
cat(sprintf("best temperature (fitted to calibration): %.3f; (to test): %.3f\n",
            temperature, best_temperature(test)))
print(round(cbind(calibration = facts(cal, temperature),
                  test = facts(test, temperature)), 4))
cat("observed frequency of rain by forecast probability, both parts:\n")
bin <- cut(rain_nyc$prob, seq(0, 1, 0.1), include.lowest = TRUE)
print(round(cbind(n = table(bin),
                  forecast = tapply(rain_nyc$prob, bin, mean),
                  observed = tapply(rain_nyc$rain == "rain", bin, mean)), 3))
cat(sprintf("data/rain_nyc.rda: %d bytes\n",
            as.integer(file.size("data/rain_nyc.rda"))))
