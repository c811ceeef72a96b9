# Values in the messages of broker.py. In `call`, they are JSON's. Between two rooms of R, a value is its type, its
# items and its attributes, so that nothing is lost that `identical` compares.
MAX_DEPTH <- 45
TYPES <- c("logical", "integer", "double", "character", "list")
ATTRIBUTES <- c("names", "dim", "dimnames")

input <- file("/dev/fd/98", "r", raw = TRUE)
output <- file("/dev/fd/99", "w", raw = TRUE)

uncrossable <- function(type) {
  stop(structure(class = c("uncrossable", "error", "condition"), list(message = type, call = NULL)))
}

# --- writing: each function returns lines

text <- function(value) {
  value <- enc2utf8(value)
  value <- gsub("\\", "\\\\", value, fixed = TRUE, useBytes = TRUE)
  value <- gsub("\n", "\\n", value, fixed = TRUE, useBytes = TRUE)
  paste("s", gsub("\r", "\\r", value, fixed = TRUE, useBytes = TRUE))
}

# The items of a vector of numbers, texts or truth values, a line each.
items <- function(values) {
  if (length(values) == 0) return(character(0)) # `paste` makes one text of none
  lines <- switch(typeof(values),
    logical = ifelse(values, "T", "F"),
    integer = sprintf("i %d", values),
    double = tolower(sprintf("f %.17g", values)), # also NaN, Inf and -Inf
    character = text(values)
  )
  lines[is.na(values) & !is.nan(values)] <- "n"
  lines
}

row <- function(parts) c(paste("l", length(parts)), unlist(parts))

checked <- function(value, depth) {
  if (depth > MAX_DEPTH) uncrossable("a nesting that is too deep")
  if (is.factor(value)) return(as.character(value))
  if (!is.null(value) && (is.object(value) || !typeof(value) %in% TYPES)) uncrossable(class(value)[1])
  value
}

# Returns a value as JSON has it: a vector of one item is that item.
plain <- function(value, depth = 0) {
  value <- checked(value, depth)
  if (is.null(value)) return("n")
  names <- names(value)
  if (length(dim(value)) == 2) {
    return(row(lapply(seq_len(nrow(value)), function(at) row(as.list(items(as.vector(value[at, ])))))))
  }
  if (!is.null(names) && !anyDuplicated(names) && !anyNA(names)) {
    pairs <- lapply(seq_along(value), function(at) c(text(names[at]), plain(value[[at]], depth + 1)))
    return(c(paste("d", length(value)), unlist(pairs)))
  }
  if (is.list(value)) return(row(lapply(unname(value), plain, depth + 1)))
  if (length(value) == 1) return(items(as.vector(value)))
  row(as.list(items(as.vector(value))))
}

exact <- function(value, depth = 0) {
  value <- checked(value, depth)
  if (is.null(value)) return("n")
  kept <- attributes(value)
  if (!all(names(kept) %in% ATTRIBUTES)) uncrossable("a value with attributes")
  parts <- if (is.list(value)) lapply(unname(unclass(value)), exact, depth + 1) else as.list(items(as.vector(value)))
  known <- lapply(kept, exact, depth + 1)
  c("l 3", text(typeof(value)), row(parts), row(c(lapply(names(kept), text), known)))
}

put <- function(head, ...) {
  parts <- list(...)
  writeLines(c(paste("l", 1 + length(parts)), text(head), unlist(parts)), output, useBytes = TRUE)
  flush(output)
}

# --- reading

# Lines that were read, and not used yet: reading each by itself takes most of the time of a large value.
ahead <- character(0)
used <- 0

# Reads lines until there are that many. The broker has sent them, if that many values must follow.
read_ahead <- function(count) {
  lacking <- count - (length(ahead) - used)
  if (lacking <= 0) return()
  found <- readLines(input, lacking, warn = FALSE, encoding = "UTF-8")
  if (length(found) < lacking) quit("no", 0)
  ahead <<- c(ahead[seq_len(length(ahead) - used) + used], found)
  used <<- 0
}

line <- function() {
  if (used == length(ahead)) read_ahead(1)
  used <<- used + 1
  ahead[used]
}

# Reads the items of a list that has nothing but numbers in it. Returns NULL, and reads nothing, for any other list.
numbers <- function(count) {
  read_ahead(count)
  found <- ahead[used + seq_len(count)]
  if (count == 0 || !all(grepl("^[if] -?[0-9]", found))) return(NULL)
  used <<- used + count
  as.numeric(substring(found, 3))
}

unescaped <- function(value) {
  if (!grepl("\\", value, fixed = TRUE)) return(value)
  marks <- gregexpr("\\\\.", value)
  regmatches(value, marks) <- lapply(regmatches(value, marks), function(marks) {
    ifelse(marks == "\\n", "\n", ifelse(marks == "\\r", "\r", "\\"))
  })
  value
}

scalar <- function(line) {
  rest <- substring(line, 3)
  switch(substring(line, 1, 1),
    T = TRUE,
    F = FALSE,
    s = unescaped(rest),
    i = as.numeric(rest),
    f = switch(rest, nan = NaN, inf = Inf, "-inf" = -Inf, as.numeric(rest)),
    n = NULL,
    stop("no scalar")
  )
}

# Reads a value of JSON: a list of numbers, of texts or of truth values is a vector.
value <- function() {
  found <- line()
  kind <- substring(found, 1, 1)
  if (!kind %in% c("l", "d")) return(scalar(found))
  count <- as.integer(substring(found, 3))
  flat <- if (kind == "l") numbers(count)
  if (!is.null(flat)) return(flat)
  made <- vector("list", count)
  names <- character(if (kind == "d") count else 0)
  for (at in seq_len(count)) {
    if (kind == "d") names[at] <- as.character(value())
    made[at] <- list(value())
  }
  if (kind == "d") return(structure(made, names = names))
  types <- unique(vapply(made, function(item) if (length(item) == 1) typeof(item) else "list", ""))
  if (length(types) == 1 && types != "list") unlist(made) else made
}

# Reads a value of R.
read_exact <- function() {
  if (line() == "n") return(NULL)
  type <- scalar(line())
  stopifnot(type %in% TYPES)
  count <- as.integer(substring(line(), 3))
  flat <- if (type %in% c("double", "integer")) numbers(count)
  made <- if (is.null(flat)) vector(type, count) else flat
  for (at in seq_len(if (is.null(flat)) count else 0)) {
    if (type == "list") {
      made[at] <- list(read_exact())
    } else {
      item <- scalar(line())
      made[at] <- if (is.null(item)) NA else item
    }
  }
  # A forged item of another type changes the type of the vector.
  stopifnot(typeof(made) == type || type == "integer")
  if (type == "integer") storage.mode(made) <- "integer"
  count <- as.integer(substring(line(), 3)) / 2
  names <- vapply(seq_len(count), function(at) scalar(line()), "")
  stopifnot(names %in% ATTRIBUTES)
  for (name in names) attr(made, name) <- read_exact()
  made
}
