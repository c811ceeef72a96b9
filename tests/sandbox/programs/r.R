line <- readLines(file("stdin"), n = 1)
if (startsWith(line, "echo ")) cat("é ", substring(line, 6), "\n", sep = "")
if (line == "exit") quit(status = 3)
if (line == "crash") stop("no")
while (line == "spin") {}
held <- list()
while (line == "memory") held[[length(held) + 1]] <- rep(1.5, 131072)
