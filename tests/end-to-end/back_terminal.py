"""tests/end-to-end/back_terminal.py HARK FILE - a person at hark back.

Types commands that take long, presses Ctrl-C, and says how long it took until
gdb's prompt was back."""
import os
import pty
import select
import sys
import time

pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execv(sys.argv[1], [sys.argv[1], "back", sys.argv[2], "--", "-nx"])

out = b""


def until(text, seconds):
    """Reads until the text comes, or time is up: how long it took."""
    global out
    begun = time.time()
    while text not in out:
        left = begun + seconds - time.time()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            print("no", text, "in", out[-400:])
            os.kill(pid, 15)
            sys.exit(1)
        out += os.read(fd, 4096)
    return time.time() - begun


def command(line, seconds=60):
    global out
    out = b""
    os.write(fd, line.encode() + b"\n")
    return until(b"(gdb) ", seconds)


def interrupted(line, after):
    """The same, with Ctrl-C after some time; and what was said."""
    global out
    out = b""
    os.write(fd, line.encode() + b"\n")
    time.sleep(after)
    is_back = b"(gdb) " in out
    os.write(fd, b"\x03")
    took = until(b"(gdb) ", 20)
    return took, is_back


print("prompt", f"{until(b'(gdb) ', 30):.2f}")
command("set pagination off")
command("set width 0")
command("watch never")
took, is_back = interrupted("reverse-continue", 0.3)
print("run", "early" if is_back else "late", f"{took:.2f}",
      "SIGINT" if b"SIGINT" in out else out)
print("when", "yes" if command("when") and b"1:" in out else out)
command("delete 1")
command("break 12 if x == -5")
took, is_back = interrupted("reverse-continue", 1)
print("condition", "early" if is_back else "late", f"{took:.2f}",
      "SIGINT" if b"SIGINT" in out else out)
command("delete 2")
took, is_back = interrupted("last-write *(char *)(&never + 3)", 1)
print("ask", f"{took:.2f}",
      "interrupted" if b"interrupted" in out else out)
print("when", "yes" if command("when") and b"1:" in out else out)
os.write(fd, b"quit\n")
end = time.time() + 20
status = None
while status is None and time.time() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            os.read(fd, 4096)
        except OSError:
            pass
    done, code = os.waitpid(pid, os.WNOHANG)
    if done:
        status = os.waitstatus_to_exitcode(code)
print("status", status)
