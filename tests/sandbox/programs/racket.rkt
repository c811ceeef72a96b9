#lang racket
(define line (read-line))
(cond
  [(string-prefix? line "echo ") (displayln (string-append "é " (substring line 5)))]
  [(equal? line "exit") (exit 3)]
  [(equal? line "crash") (error "no")]
  [(equal? line "spin") (let loop () (loop))]
  [(equal? line "memory") (let loop ([held '()]) (loop (cons (make-bytes 1048576 1) held)))])
