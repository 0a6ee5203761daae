#!/usr/bin/env python3
"""tests/end-to-end/probe_same.py PID - all of a process that probes could leave
something in: one line each of its mappings, of its code, and of what each
thread does with signals. Two outputs are compared by the caller; that code is
that of the file is seen here.
"""
import os
import sys


def mappings(pid):
    """Lines of maps; the heap may grow of itself."""
    for line in open(f"/proc/{pid}/maps"):
        words = line.split(None, 5)
        path = words[5].strip() if len(words) > 5 else ""
        start, end = (int(x, 16) for x in words[0].split("-"))
        yield start, end, words[1], int(words[2], 16), path


def code(pid, start, end, offset, path):
    with open(f"/proc/{pid}/mem", "rb") as mem:
        mem.seek(start)
        have = mem.read(end - start)
    with open(path, "rb") as f:
        f.seek(offset)
        want = f.read(end - start).ljust(end - start, b"\0")
    if have == want:
        return "as in the file"
    places = [i for i in range(len(have)) if have[i] != want[i]]
    return (f"{len(places)} bytes differ, from {offset + places[0]:#x}: "
            f"{have[places[0]:places[0] + 8].hex()}")


def main():
    pid = int(sys.argv[1])
    for start, end, mode, offset, path in mappings(pid):
        if path in ("[heap]", "[stack]"):
            print(mode, path)
            continue
        print(f"{start:x}-{end:x} {mode} {offset:x} {path}")
        if "x" in mode and path.startswith("/") and os.path.exists(path):
            print("  code:", code(pid, start, end, offset, path))
    for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        for line in open(f"/proc/{pid}/task/{tid}/status"):
            if line.startswith(("SigBlk", "SigIgn", "SigCgt", "TracerPid",
                                "Seccomp:", "NoNewPrivs")):
                print(tid, *line.split())


main()
