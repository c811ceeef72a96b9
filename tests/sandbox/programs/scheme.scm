(use-modules (ice-9 rdelim) (rnrs bytevectors))
(define line (read-line))
(cond
 ((string-prefix? "echo " line) (display (string-append "é " (substring line 5) "\n")))
 ((string=? line "exit") (exit 3))
 ((string=? line "crash") (error "no"))
 ((string=? line "spin") (let loop () (loop)))
 ((string=? line "memory") (let loop ((held '())) (loop (cons (make-bytevector 1048576 1) held)))))
