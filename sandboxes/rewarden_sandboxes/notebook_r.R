# Runs cells in R: `R --file=THIS --args ORDERS RECORDS MOST`, the numbers of two pipes and of variables in a listing.
local({
  args <- commandArgs(trailingOnly = TRUE)
  orders <- file(paste0("/dev/fd/", args[[1]]), open = "r", blocking = TRUE, encoding = "UTF-8", raw = TRUE)
  records <- file(paste0("/dev/fd/", args[[2]]), open = "wb", raw = TRUE)
  most <- as.integer(args[[3]])

  tell <- function(...) {
    writeBin(enc2utf8(c(...)), records)
    flush(records)
  }

  told_error <- function(error, calls) {
    if (inherits(error, "interrupt")) {
      tell("error", "interrupt", "the cell was interrupted", "Interrupted")
      return()
    }
    call <- conditionCall(error)
    ours <- is.null(call) || identical(call, evaluation)
    where <- if (ours) "" else paste0(" in ", deparse(call, nlines = 1L)[[1]])
    trace <- c(paste0("Error", where, ": ", conditionMessage(error)), calls)
    tell("error", class(error)[[1]], conditionMessage(error), paste(trace, collapse = "\n"))
  }

  evaluation <- quote(eval(expression, globalenv()))

  # The policy's calls among those that led to an error.
  calls_in <- function(led) {
    begun <- which(vapply(led, identical, NA, evaluation))
    led <- led[seq_along(led) > max(begun, 0L)]
    if (length(begun)) vapply(led, function(call) paste0("  ", deparse(call, nlines = 1L)[[1]]), "") else character()
  }

  # Plots go to files, which are shown when the cell has ended.
  plots <- tempfile("plots")
  device <- 0L
  options(device = function(...) {
    dir.create(plots, showWarnings = FALSE)
    grDevices::png(file.path(plots, "%03d.png"), width = 800, height = 600, type = "cairo")
    device <<- grDevices::dev.cur()
  })

  show_plots <- function() {
    if (device %in% grDevices::dev.list()) grDevices::dev.off(device)
    device <<- 0L
    for (path in list.files(plots, full.names = TRUE)) tell("image", path)
  }

  first <- function(values, count) values[seq_len(min(count, length(values)))]

  run <- function(code) {
    error <- NULL
    calls <- character()
    tryCatch(
      withCallingHandlers(
        allowInterrupts(
          for (expression in parse(text = code, keep.source = TRUE, encoding = "UTF-8")) {
            found <- withVisible(eval(expression, globalenv()))
            if (found$visible) print(found$value)
          }
        ),
        error = function(condition) {
          count <- sys.nframe()
          calls <<- calls_in(first(sys.calls(), count - 2L))
        },
        warning = function(condition) {
          message("Warning: ", conditionMessage(condition))
          tryInvokeRestart("muffleWarning")
        }
      ),
      error = function(condition) error <<- condition,
      interrupt = function(condition) error <<- condition
    )
    show_plots()
    if (!is.null(error)) told_error(error, calls)
    tell("done")
  }

  listed <- function(name, value) {
    shape <- dim(value)
    text <- if (is.function(value)) "function" else paste(deparse(value, nlines = 2L), collapse = " ")
    tell(
      "variable", name, class(value)[[1]], as.character(length(value)),
      paste(shape, collapse = " "), substr(text, 1L, 200L)
    )
  }

  variables <- function() {
    late <- FALSE
    for (name in first(sort(ls(globalenv())), most)) {
      if (!late) {
        tryCatch(allowInterrupts(listed(name, get(name, globalenv()))),
          error = function(condition) tell("variable", name, "", "", "", paste0("<", class(condition)[[1]], ">")),
          interrupt = function(condition) late <<- TRUE
        )
      }
      if (late) tell("variable", name, "", "", "", "<too slow>")
    }
    tell("done")
  }

  # Catches an interrupt that is on its way.
  settle <- function(number) {
    tryCatch(allowInterrupts(Sys.sleep(0.001)), interrupt = function(condition) NULL)
    tell("settled", number)
  }

  tell("ready")
  suspendInterrupts(
    while (length(line <- readLines(orders, 1L))) {
      what <- strsplit(line, " ", fixed = TRUE)[[1]]
      switch(what[[1]],
        run = run(readLines(orders, as.integer(what[[2]]))),
        variables = variables(),
        settle = settle(what[[2]])
      )
    }
  )
})
