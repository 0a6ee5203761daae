import os, pty, signal, sys, time
def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0].upper()
def shell():
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[1], sys.argv[1:])
    status = os.waitpid(job, os.WUNTRACED)[1]
    child = int(open(f"/proc/{job}/task/{job}/children").read().split()[0])
    while state(child) != "T":
        time.sleep(0.01)
    print("stopped", os.WIFSTOPPED(status), flush=True)
    os.killpg(job, signal.SIGCONT)
    print("status", os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
pid, fd = pty.fork()
if pid == 0:
    shell()
    sys.exit(0)
out = b""
def until(text):
    global out
    while text not in out:
        out += os.read(fd, 1000)
until(b"up")
for i in range(3):
    out = b""
    os.write(fd, b"\x03")
    until(b"INT\r\n")
os.write(fd, b"\x1a")
until(b"stopped")
open("stop", "w")
until(b"status 4")
print("well")
