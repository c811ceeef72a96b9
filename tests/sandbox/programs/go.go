package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	line := in.Text()
	switch {
	case strings.HasPrefix(line, "echo "):
		fmt.Println("é " + line[5:])
	case line == "exit":
		os.Exit(3)
	case line == "crash":
		var nothing *int
		fmt.Println(*nothing)
	case line == "spin":
		for {
		}
	case line == "memory":
		var held [][]byte
		for {
			more := make([]byte, 1<<20)
			for i := range more {
				more[i] = 1
			}
			held = append(held, more)
		}
	}
}
