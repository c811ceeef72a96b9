#!/bin/bash
good() {
    [ "$(stat -c '%a %F' /app/keys)" = "700 directory" ] &&
        [ "$(stat -c '%a %F' /app/keys/id)" = "600 regular file" ] &&
        [ "$(readlink /app/keys/current)" = "id" ] &&
        grep -Eqx '[0-9a-f]{64}' /app/keys/id &&
        [ "$(wc -l </app/keys/id)" = 1 ]
}
if good; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
