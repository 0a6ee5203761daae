"""tests/end-to-end/back_tui.py HARK FILE TEXT - does gdb's TUI show TEXT?"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "back", sys.argv[2], "--", "-nx",
                           "-ex", "set tui border-kind ascii",
                           "-ex", "handle SIGUSR2 nostop noprint",
                           "-ex", "tbreak main", "-ex", "reverse-continue",
                           "-ex", "layout src"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
out = b""
end = time.time() + 90
while sys.argv[3].encode() not in out and time.time() < end:
    if select.select([fd], [], [], 1)[0]:
        try:
            out += os.read(fd, 4096)
        except OSError:
            break
print("shown" if sys.argv[3].encode() in out else out[-2000:])
os.write(fd, b"quit\n")
while True:
    try:
        if not os.read(fd, 4096):
            break
    except OSError:
        break
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
