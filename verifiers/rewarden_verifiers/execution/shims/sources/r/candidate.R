# The candidate's room: loads the program and calls its functions. Nothing of ours is where the program looks.
local({
  sys.source("rewarden/values.R", environment())
  mode <- commandArgs(trailingOnly = TRUE)[1]
  program <- globalenv()

  # Returns the function of a target, `f` or `Solution.f` (of a new object), or NULL.
  found <- function(target, init) {
    if (exists(target, program, mode = "function", inherits = FALSE)) return(get(target, program, mode = "function"))
    parts <- strsplit(target, ".", fixed = TRUE)[[1]]
    if (length(parts) != 2 || !exists(parts[1], program, inherits = FALSE)) return(NULL)
    owner <- get(parts[1], program)
    make <- if (is(owner, "refObjectGenerator")) owner$new else owner
    object <- if (is.function(make)) do.call(make, init) else owner
    method <- tryCatch(do.call("$", list(object, parts[2])), error = function(fault) NULL)
    if (is.function(method)) method else NULL
  }

  read_list <- function() {
    count <- as.integer(substring(line(), 3))
    lapply(seq_len(count), function(at) value())
  }

  answer <- function(target, args, init) {
    f <- found(target, init)
    if (is.null(f)) return(list("absent"))
    result <- do.call(f, args, quote = TRUE)
    list("value", if (mode == "serve") exact(result) else plain(result))
  }

  loaded <- tryCatch(
    {
      source("solution.R", local = program, encoding = "UTF-8", keep.source = FALSE)
      TRUE
    },
    error = function(fault) {
      put("unloaded", text("error"), text(conditionMessage(fault)))
      FALSE
    }
  )
  if (!loaded) quit("no", 1)
  put("loaded")
  repeat {
    line() # the number of parts
    line() # "call"
    target <- scalar(line())
    if (mode == "serve") {
      line() # one argument: the list of all
      args <- read_exact()
    } else {
      args <- read_list()
    }
    init <- read_list()
    said <- tryCatch(
      answer(target, args, init),
      uncrossable = function(fault) list("uncrossable", text(conditionMessage(fault))),
      error = function(fault) list("raised", text("error"), text(conditionMessage(fault)))
    )
    do.call(put, said)
  }
}, new.env(parent = asNamespace("methods")))
