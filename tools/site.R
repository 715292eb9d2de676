# Rscript tools/site.R: the website, by pkgdown, into .build/site. Nothing is fetched, neither now nor by the
# browser: equations become MathML here, tables of contents are written into the pages, and the search runs
# over an index that is a script. The package has to be in .build/lib.

build <- Sys.getenv("BUILD", ".build")
to <- file.path(build, "site")
unlink(to, recursive = TRUE)

# Any attempt to reach the network fails at once instead of waiting.
options(pkgdown.internet = FALSE)
nowhere <- "http://127.0.0.1:9"
Sys.setenv(http_proxy = nowhere, https_proxy = nowhere, HTTPS_PROXY = nowhere, no_proxy = "")

# Where other packages' pages are, so that links need not be looked up.
options(downlit.local_packages = c(
  ggplot2 = "https://ggplot2.tidyverse.org", generics = "https://generics.r-lib.org",
  future = "https://future.futureverse.org", progressr = "https://progressr.futureverse.org",
  knitr = "https://rdrr.io/cran/knitr", rmarkdown = "https://pkgs.rstudio.com/rmarkdown",
  tidymodels = "https://tidymodels.tidymodels.org", yardstick = "https://yardstick.tidymodels.org",
  tidyselect = "https://tidyselect.r-lib.org", mlr3 = "https://mlr3.mlr-org.com",
  mlr3pipelines = "https://mlr3pipelines.mlr-org.com", mlr3calibration = "https://github.com/giuseppec/mlr3calibration",
  R6 = "https://r6.r-lib.org", DBI = "https://dbi.r-dbi.org", RSQLite = "https://rsqlite.r-dbi.org",
  dplyr = "https://dplyr.tidyverse.org", dbplyr = "https://dbplyr.tidyverse.org"
))

# Packages that are not installed have no link: downlit would ask CRAN for it.
utils::assignInNamespace("CRAN_urls", function() data.frame(Package = character(), URL = character()), "downlit")

log <- file.path(build, "site.log")
con <- file(log, "w")
sink(con)
warned <- character()
problem <- NULL
withCallingHandlers(
  tryCatch(
    pkgdown::build_site(".", override = list(destination = to), preview = FALSE, new_process = FALSE,
      install = FALSE, devel = FALSE),
    error = function(e) problem <<- conditionMessage(e)
  ),
  warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  }
)
sink()
close(con)
if (!is.null(problem)) {
  writeLines(utils::tail(readLines(log), 30))
  stop("the site could not be built: ", problem, call. = FALSE)
}

source("tools/site-pages.R")
pages <- list.files(to, "\\.html$", recursive = TRUE, full.names = TRUE)
finish_pages(pages)

index <- jsonlite::read_json(file.path(to, "search.json"))
index <- Filter(function(x) length(x$path) == 1 && is.character(x$path), index)
# Functions of a help page: a search for one of them should find its page before the pages that mention it.
functions_of <- function(page) {
  file <- file.path("man", sub("[.]html$", ".Rd", basename(page)))
  if (dirname(page) != "reference" || !file.exists(file)) return(character())
  text <- readLines(file, encoding = "UTF-8")
  tolower(sub("^[\\]alias[{](.*)[}]$", "\\1", grep("^[\\]alias[{]", text, value = TRUE)))
}
index <- lapply(index, function(x) {
  one <- function(field) if (length(x[[field]])) x[[field]] else ""
  page <- sub("^/", "", x$path)
  list(path = paste0(page, if (nzchar(one("id"))) paste0("#", one("id"))),
    title = page_title(file.path(to, page)), what = one("what"),
    functions = I(if (nzchar(one("id"))) character() else functions_of(page)),
    text = paste(one("text"), one("code")))
})
writeLines(paste0("window.siteIndex = ", jsonlite::toJSON(index, auto_unbox = TRUE), ";"),
  file.path(to, "search.js"), useBytes = TRUE)
unlink(file.path(to, c("search.json", "pkgdown.js")))
unlink(Sys.glob(file.path(to, "reference", "Rplot*.png"))) # drawn by print() in examples, shown nowhere

for (w in unique(warned)) cat("* docs: warning: ", w, "\n", sep = "")
cat("* docs: ", length(pages), " pages, ", length(unique(warned)), " warnings: ", sub(paste0(getwd(), "/"), "",
  file.path(to, "index.html"), fixed = TRUE), "\n", sep = "")
# An example that needs a package that is not installed here is left out, which is no fault of the pages.
quit(status = any(!grepl("@examplesIf condition", warned, fixed = TRUE)))
