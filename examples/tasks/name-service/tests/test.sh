#!/bin/bash
address=$(python3 -c 'import socket; print(socket.gethostbyname("registry.internal"))' 2>/dev/null)
if [ "$address" = 10.1.2.3 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
