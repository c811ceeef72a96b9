#!/bin/bash
cat >/app/counter.py <<'END'
import socket
from pathlib import Path

COUNT = Path("/app/count")

with socket.create_server(("127.0.0.1", 9000)) as server:
    while True:
        connection, _ = server.accept()
        number = int(COUNT.read_text()) + 1 if COUNT.exists() else 1
        COUNT.write_text(str(number))
        with connection:
            connection.sendall(f"{number}\n".encode())
END
python3 /app/counter.py &
python3 - <<'END'
import socket
import time

got = 0
while got < 3:
    try:
        with socket.create_connection(("127.0.0.1", 9000)) as connection:
            got = int(connection.makefile().readline())
    except OSError:
        time.sleep(0.05)
END
