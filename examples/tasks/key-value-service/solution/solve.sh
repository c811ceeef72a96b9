#!/bin/bash
cat >/app/server.py <<'END'
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STORED: dict[str, bytes] = {}


class Handler(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        STORED[self.path] = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        found = STORED.get(self.path)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")


ThreadingHTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
END
