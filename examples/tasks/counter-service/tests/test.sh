#!/bin/bash
python3 - <<'END' >/logs/verifier/reward.txt
import socket
import time


def number() -> int:
    for _ in range(100):
        try:
            with socket.create_connection(("127.0.0.1", 9000), timeout=5) as connection:
                return int(connection.makefile().readline())
        except (OSError, ValueError):
            time.sleep(0.1)
    return 0


print(1 if (number(), number()) == (4, 5) else 0)
END
