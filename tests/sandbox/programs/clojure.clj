(def line (read-line))
(defn block [] (let [held (byte-array 1048576)] (java.util.Arrays/fill held (byte 1)) held))
(cond
  (.startsWith line "echo ") (println (str "é " (subs line 5)))
  (= line "exit") (System/exit 3)
  (= line "crash") (throw (IllegalStateException. "no"))
  (= line "spin") (loop [] (recur))
  (= line "memory") (loop [held ()] (recur (cons (block) held))))
