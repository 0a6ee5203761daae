"""tests/end-to-end/webdriver.py - a browser without a window, led over HTTP.

Debian's chromium and chromedriver, the WebDriver protocol, nothing else. All
that it starts is ended by its number, also when a test fails."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Down": "\ue015", "Up": "\ue013",
        "Left": "\ue012", "Right": "\ue014"}
PATIENCE = 60


class Failed(Exception):
    """What was expected did not come about."""


def children(pid):
    """Processes below that one, however deep."""
    out, above = [], {pid}
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(words[1])
    while above:
        above = {p for p, up in parents.items() if up in above}
        out += above
    return out


class Browser:
    """One window, and what it says."""

    def __init__(self, folder, size=(1200, 800)):
        env = {**os.environ, "HOME": folder, "TMPDIR": folder,
               "XDG_RUNTIME_DIR": folder}
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL)
        self.session, self.started = None, []
        try:
            self.port = self.find_port()
            self.open_window(folder, size)
        except BaseException:
            self.close()
            raise

    def find_port(self):
        for line in self.driver.stdout:
            if m := re.search(r"successfully on port (\d+)", line):
                return int(m[1])
        raise Failed("chromedriver does not start")

    def open_window(self, folder, size):
        args = ["--headless=new", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--force-device-scale-factor=1",
                "--disable-background-networking", "--disable-sync",
                f"--user-data-dir={folder}/browser",
                f"--window-size={size[0]},{size[1]}",
                # Root has none, nor have many containers; the pages are ours.
                "--no-sandbox",
                # Without it chromedriver looks for "localhost", which a bare
                # machine has no /etc/hosts for.
                "--remote-debugging-pipe"]
        answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": args},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]
        self.started = children(self.driver.pid)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, method=method,
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise Failed(e.read().decode(errors="replace")[:500]) from e

    def tell(self, path, body):
        return self.ask("POST", self.session + path, body)

    def close(self):
        started = self.started + children(self.driver.pid)
        if self.session:
            try:
                self.ask("DELETE", self.session)
            except (OSError, Failed):
                pass
        for pid in started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.driver.kill()
        self.driver.wait()
        self.driver.stdout.close()

    def open(self, path):
        self.tell("/url", {"url": "file://" + os.path.abspath(path)})
        self.until("document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *args):
        return self.tell("/execute/sync", {"script": script, "args": list(args)})

    def value(self, expression):
        return self.run(f"return {expression};")

    def until(self, expression):
        """Waits for it to be true; returns it."""
        end = time.monotonic() + PATIENCE
        while not (value := self.value(expression)):
            if time.monotonic() > end:
                raise Failed(f"never: {expression}")
            time.sleep(.02)
        return value

    def act(self, kind, actions, **more):
        self.tell("/actions", {"actions": [
            {"type": kind, "id": kind, "actions": actions, **more}]})

    def point(self, x, y, click=False):
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y),
                    "origin": "viewport"}]
        if click:
            actions += [{"type": "pointerDown", "button": 0},
                        {"type": "pointerUp", "button": 0}]
        self.act("pointer", actions, parameters={"pointerType": "mouse"})

    def type(self, *keys):
        actions = []
        for key in keys:
            key = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": key},
                        {"type": "keyUp", "value": key}]
        self.act("key", actions)

    def press(self, selector):
        """A button, as a user does."""
        x, y = self.run("const r = document.querySelector(arguments[0])"
                        ".getBoundingClientRect();"
                        "return [r.x + r.width / 2, r.y + r.height / 2];", selector)
        self.point(x, y, click=True)

    def log(self, kind):
        return self.tell("/se/log", {"type": kind})

    def picture(self):
        return self.ask("GET", self.session + "/screenshot")
