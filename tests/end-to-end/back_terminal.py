"""tests/end-to-end/back_terminal.py HARK FILE - a person at hark back.

Types commands that take long, presses Ctrl-C when hark is at work, and says
whether gdb's prompt was back at once: within a second of processor time, for
nobody knows what else the machine has to do."""
import os
import pathlib
import pty
import select
import sys
import time

AT_ONCE = 1.0
TICKS = os.sysconf("SC_CLK_TCK")
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execv(sys.argv[1], [sys.argv[1], "back", sys.argv[2], "--", "-nx"])

out = b""


def cpu_seconds(name=None):
    """Of all processes of that session, or of those with that name."""
    spent = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = stat.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        words = rest.split()
        if words[3] == str(pid) and name in (None, head.partition("(")[2]):
            spent += int(words[11]) + int(words[12])
    return spent / TICKS


def read(seconds):
    """What comes within so long; False: nothing."""
    global out
    if not select.select([fd], [], [], seconds)[0]:
        return False
    out += os.read(fd, 4096)
    return True


def until(text, seconds=100):
    end = time.monotonic() + seconds
    while text not in out:
        if not read(max(end - time.monotonic(), 0)):
            print("no", text, "in", out[-400:])
            os.kill(pid, 15)
            sys.exit(1)


def command(line):
    global out
    out = b""
    os.write(fd, line.encode() + b"\n")
    until(b"(gdb) ")


def interrupted(line):
    """The same, with Ctrl-C when hark has worked on it for a while: was the
    prompt there before, and was it soon after?"""
    global out
    out = b""
    begun = cpu_seconds("hark")
    os.write(fd, line.encode() + b"\n")
    while cpu_seconds("hark") < begun + 0.3 and b"(gdb) " not in out:
        read(0.02)
    early = b"(gdb) " in out
    spent = cpu_seconds()
    os.write(fd, b"\x03")
    until(b"(gdb) ")
    spent = cpu_seconds() - spent
    return ("early" if early else "late") + " " + (
        "at once" if spent < AT_ONCE else f"after {spent:.2f} s")


until(b"(gdb) ")
command("set pagination off")
command("set width 0")
# Of more bytes than an index is asked for: all of it is looked through.
command("watch *(char (*)[3000000])0x10000000")
how = interrupted("reverse-continue")
print("run", how, "SIGINT" if b"SIGINT" in out else out)
command("when")
print("when", "yes" if b"1:" in out else out)
command("delete 1")
command("watch x if x == -5")
how = interrupted("reverse-continue")
print("condition", how, "SIGINT" if b"SIGINT" in out else out)
command("delete 2")
how = interrupted("last-write *(char (*)[3000000])0x10000000")
print("ask", how, "interrupted" if b"interrupted" in out else out)
command("when")
print("when", "yes" if b"1:" in out else out)
os.write(fd, b"quit\n")
end = time.monotonic() + 60
status = None
while status is None and time.monotonic() < end:
    try:
        read(0.1)
    except OSError:
        pass
    done, code = os.waitpid(pid, os.WNOHANG)
    if done:
        status = os.waitstatus_to_exitcode(code)
print("status", status)
