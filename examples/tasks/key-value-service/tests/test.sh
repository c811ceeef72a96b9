#!/bin/bash
python3 /app/server.py >/tmp/server.log 2>&1 &
python3 -m pytest -q -p no:cacheprovider /tests
code=$?
kill $!
if [ $code -eq 0 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
