"""A server for debug files, on loopback, in many moods.

debuginfod_server.py DIR PORT_FILE LOG: serves DIR/ID, the debug file of the
build-id ID, as /MOOD/buildid/ID/debuginfo, and writes each question into LOG. It
ends when its standard input does.
"""

import http.server
import os
import sys
import threading
import time

ROOT, PORT_FILE, LOG = sys.argv[1:4]
gone = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def send(self, body, length=None):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def good(self, body):
        self.send(body)

    def garbage(self, body):
        self.send(bytes(range(256)) * 64)

    def nothing(self, body):
        self.send(b"")

    def broken(self, body):
        """The connection ends in the middle."""
        self.send(body[: len(body) // 2], len(body))
        self.wfile.flush()
        gone.wait(2)

    def cut(self, body):
        """So does the file, but the server does not say so."""
        self.send(body[: len(body) // 2])

    def other(self, body):
        names = sorted(os.listdir(ROOT))
        mine = self.path.split("/")[3]
        with open(os.path.join(ROOT, next(n for n in names if n != mine)), "rb") as f:
            self.send(f.read())

    def silent(self, body):
        gone.wait(300)

    def trickle(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for i in range(300):
            self.wfile.write(body[i : i + 1])
            self.wfile.flush()
            if gone.wait(0.5):
                break

    def angry(self, body):
        self.send_error(503)

    def loop(self, body):
        self.send_response(302)
        self.send_header("Location", self.path)
        self.end_headers()

    def do_GET(self):
        with open(LOG, "a") as log:
            log.write(self.path + "\n")
        parts = self.path.split("/")
        path = os.path.join(ROOT, parts[3]) if len(parts) == 5 else ""
        if parts[1] == "none" or not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as f:
            body = f.read()
        try:
            getattr(self, parts[1])(body)
        except OSError:
            pass  # nobody listens any more


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(PORT_FILE + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(PORT_FILE + ".new", PORT_FILE)
sys.stdin.read()
gone.set()
