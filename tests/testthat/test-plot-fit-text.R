test_that("text in a panel shrinks with it, and is left out when it could not be read", {
  skip_if_not(capabilities("png"))
  rows <- data.frame(x = 0.1, y = 0.9, label = "under 0.022\nover 0.848")
  plot <- ggplot2::ggplot(rows) +
    gpcalib:::geom_fit_text(ggplot2::aes(x, y, label = label), rows, width = 0.4, height = 0.3, size = 3,
      hjust = 0, vjust = 1)
  sizes <- function(width) {
    file <- tempfile(fileext = ".png")
    on.exit(unlink(file))
    grDevices::png(file, width, width, "in", res = 50)
    on.exit(grDevices::dev.off(), add = TRUE, after = FALSE)
    grid::pushViewport(grid::viewport())
    words <- plot$layers[[1]]$geom$draw_panel(
      data.frame(x = 0.1, y = 0.9, label = rows$label, size = 3, colour = "black", hjust = 0, vjust = 1,
        lineheight = 1),
      list(), list(transform = function(data, panel_params) data), width = 0.4, height = 0.3)
    drawn <- grid::makeContent(words)
    vapply(drawn$children, function(child) child$gp$fontsize, 0)
  }
  full <- unname(sizes(6))
  expect_equal(full, 3 * ggplot2::.pt)
  expect_lt(sizes(1.2), full)
  expect_length(sizes(0.3), 0)
  built <- ggplot2::ggplotGrob(plot)
  expect_s3_class(built, "gtable")
})
