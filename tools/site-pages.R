# Sourced by tools/site.R: what is done to the pages that pkgdown wrote.

read_page <- function(file) paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")

# What the head of a page calls it, without the name of the site.
page_title <- function(file) {
  if (!file.exists(file)) return(sub("\\.html$", "", basename(file)))
  title <- regmatches(page <- read_page(file), regexpr("(?s)<title>.*?</title>", page, perl = TRUE))
  sub(" • .*$", "", unescape(trimws(gsub("</?title>", "", title))))
}

unescape <- function(x) {
  for (e in list(c("&lt;", "<"), c("&gt;", ">"), c("&quot;", "\""), c("&#39;", "'"), c("&amp;", "&"))) {
    x <- gsub(e[1], e[2], x, fixed = TRUE)
  }
  x
}

# Cuts the page into pieces that alternate: text, formula, text, ... Code is never looked into. Articles mark
# formulas by spans, reference pages have them bare.
cut_formulas <- function(page) {
  formula <- paste0("(?s)<(pre|code|script|style)\\b.*?</\\1>|",
    "<span class=\"math (?:inline|display)\">(.*?)</span>|\\\\\\(.+?\\\\\\)|\\$\\$.+?\\$\\$")
  at <- gregexpr(formula, page, perl = TRUE)[[1]]
  if (at[1] < 0) return(list(text = page, formula = character()))
  found <- regmatches(page, list(at))[[1]]
  keep <- !grepl("^<(pre|code|script|style)\\b", found)
  at <- structure(at[keep], match.length = attr(at, "match.length")[keep], useBytes = FALSE)
  if (!length(at)) return(list(text = page, formula = character()))
  list(text = regmatches(page, list(at), invert = TRUE)[[1]], formula = found[keep])
}

# TeX with its delimiters to MathML. pandoc leaves out numbers (`\tag`), and browsers know upright letters
# only of single <mi>.
to_mathml <- function(formulas) {
  tex <- unescape(sub("(?s)^<span[^>]*>(.*)</span>$", "\\1", formulas, perl = TRUE))
  display <- grepl("^(\\\\\\[|\\$\\$)", tex)
  tex <- trimws(substr(tex, 3, nchar(tex) - 2))
  tag <- "\\\\tag\\{([^}]*)\\}"
  number <- ifelse(grepl(tag, tex), sub(paste0("(?s)^.*", tag, ".*$"), "\\1", tex, perl = TRUE), "")
  tex <- trimws(gsub(tag, "", tex))
  tex <- gsub("\n[ \t]*\n", "\n", tex)

  input <- tempfile(fileext = ".md")
  output <- tempfile(fileext = ".html")
  mark <- ifelse(display, "$$", "$")
  writeLines(paste0(mark, tex, mark, "\n"), input, useBytes = TRUE)
  rmarkdown::pandoc_convert(input, to = "html", from = "markdown", output = output, options = "--mathml")
  html <- read_page(output)
  math <- regmatches(html, gregexpr("(?s)<math\\b.*?</math>", html, perl = TRUE))[[1]]
  if (length(math) != length(tex)) stop("pandoc could not convert every formula", call. = FALSE)

  upright <- gregexpr("(?s)<mstyle mathvariant=\"normal\">(?:(?!<mstyle).)*?</mstyle>", math, perl = TRUE)
  regmatches(math, upright) <- lapply(regmatches(math, upright), function(x) {
    gsub("<mi>", "<mi mathvariant=\"normal\">", x, fixed = TRUE)
  })
  math <- gsub("(?s)<annotation\\b.*?</annotation>", "", math, perl = TRUE)
  numbered <- ifelse(nzchar(number), paste0("<span class=\"number\">(", number, ")</span>"), "")
  ifelse(display, paste0("<span class=\"equation\">", math, numbered, "</span>"), math)
}

# The headings of a page as a list, in the place that pkgdown leaves for a script to fill.
write_contents <- function(page) {
  html <- xml2::read_html(page)
  nav <- xml2::xml_find_first(html, "//nav[@id='toc']")
  if (inherits(nav, "xml_missing")) return(page)
  heads <- xml2::xml_find_all(html, "//main//*[self::h2 or self::h3][not(@data-toc-skip)]")
  id <- vapply(heads, function(h) {
    own <- xml2::xml_attr(h, "id")
    if (is.na(own)) xml2::xml_attr(xml2::xml_find_first(h, "ancestor::div[@id][1]"), "id") else own
  }, "")
  heads <- heads[!is.na(id)]
  id <- id[!is.na(id)]
  if (!length(heads)) {
    xml2::xml_remove(nav)
    return(as.character(html, options = "format"))
  }
  list <- xml2::xml_add_child(nav, "ul", class = "nav nav-pills flex-column")
  inner <- NULL
  for (i in seq_along(heads)) {
    below <- xml2::xml_name(heads[[i]]) == "h3" && !is.null(inner)
    if (below && xml2::xml_length(xml2::xml_find_all(inner, "./ul"))[1] %in% c(NA, 0)) {
      xml2::xml_add_child(inner, "ul", class = "nav nav-pills flex-column")
    }
    parent <- if (below) xml2::xml_find_first(inner, "./ul") else list
    item <- xml2::xml_add_child(parent, "li", class = "nav-item")
    xml2::xml_add_child(item, "a", trimws(xml2::xml_text(heads[[i]])), class = "nav-link",
      href = paste0("#", id[i]))
    if (!below) inner <- item
  }
  as.character(html, options = "format")
}

# Cells with a sentence get a class, so that they are not squeezed on a phone.
mark_long_cells <- function(page) {
  at <- gregexpr("(?s)<td\\b[^>]*>.*?</td>", page, perl = TRUE)
  regmatches(page, at) <- lapply(regmatches(page, at), function(cells) {
    text <- unescape(gsub("<[^>]*>", "", cells))
    ifelse(nchar(text) > 45 & !grepl("<math", cells, fixed = TRUE), sub("<td", "<td data-long", cells, fixed = TRUE), cells)
  })
  page
}

# pkgdown gives the pictures of examples no words for those who do not see them.
name_pictures <- function(page) {
  title <- regmatches(page, regexpr("(?<=<h1>).*?(?=</h1>)", page, perl = TRUE))
  if (!length(title)) return(page)
  gsub("(<img src=\"[^\"]+-([0-9]+)\\.png\") alt=\"\"", paste0("\\1 alt=\"Picture \\2 of the examples: ",
    gsub("<[^>]*>", "", title), "\""), page, perl = TRUE)
}

finish_pages <- function(files) {
  pages <- lapply(files, read_page)
  parts <- lapply(pages, cut_formulas)
  formulas <- unlist(lapply(parts, `[[`, "formula"))
  math <- if (length(formulas)) to_mathml(formulas) else character()
  owner <- rep(seq_along(parts), lengths(lapply(parts, `[[`, "formula")))
  for (i in seq_along(files)) {
    page <- paste0(parts[[i]]$text, c(math[owner == i], ""), collapse = "")
    page <- name_pictures(mark_long_cells(page))
    page <- gsub("<table", "<div class=\"table-scroll\"><table", page, fixed = TRUE)
    page <- gsub("</table>", "</table></div>", page, fixed = TRUE)
    page <- gsub("<img src=\"\" class=\"logo\"[^>]*>", "", page) # there is none
    page <- write_contents(page)
    outside <- regmatches(page, gregexpr("<(script|link|img)\\b[^>]*(src|href)=\"(https?:|file:|//)[^>]*>", page))[[1]]
    if (length(outside)) stop(files[i], " fetches from elsewhere: ", outside[1], call. = FALSE)
    writeLines(page, files[i], useBytes = TRUE)
  }
}
