(def line (read-line))
(cond
  (.startsWith line "echo ") (println (str "é " (subs line 5)))
  (= line "exit") (System/exit 3)
  (= line "crash") (throw (IllegalStateException. "no"))
  (= line "spin") (loop [] (recur))
  (= line "memory") (loop [held ()] (recur (cons (byte-array (repeat 1048576 (byte 1))) held))))
