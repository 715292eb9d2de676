# Rscript tools/names.R: no two files in R/ may define the same name: the last one would win, for all of them.

files <- list.files("R", "[.]R$", full.names = TRUE)
defined <- function(file) {
  is_definition <- function(x) is.call(x) && identical(x[[1]], quote(`<-`)) && is.name(x[[2]])
  vapply(Filter(is_definition, as.list(parse(file, keep.source = FALSE))), function(x) as.character(x[[2]]), "")
}
names <- lapply(files, defined)
all <- data.frame(file = rep(basename(files), lengths(names)), name = unlist(names))
twice <- all[all$name %in% all$name[duplicated(all$name)], ]
if (nrow(twice)) {
  cat(paste0("* ", twice$name, " is defined in ", twice$file, "\n"), sep = "")
  quit(status = 1)
}
