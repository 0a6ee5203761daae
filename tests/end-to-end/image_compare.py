#!/usr/bin/env python3
"""image_compare.py FILE ADDRESSES OURS THEIRS - do two lists of frames agree?

OURS is from image_ask, THEIRS from llvm-symbolizer, both for ADDRESSES. Depth,
functions and lines must agree for every address. These differences are known,
and are not counted:

alias   The outermost function has several names at one address; each side
        shows another (ours: global before weak before local, then the shortest).
twice   A relative compilation directory, which llvm-symbolizer puts before
        files of directory 0 although that is it: "./csu/./csu/x.c".
sub     Code without a symbol, which we call sub_ADDRESS.
"""
import collections
import os.path
import subprocess
import sys


def read(path):
    with open(path, errors="replace") as f:
        return [b.split("\n") for b in f.read().rstrip("\n").split("\n\n")]


def aliases(path):
    """Names by address, of both symbol tables."""
    names = collections.defaultdict(set)
    for args in ([], ["-D"]):
        out = subprocess.run(["nm", "--defined-only", *args, path],
                             capture_output=True, text=True).stdout
        for line in out.splitlines():
            addr, _, name = line.split(maxsplit=2)
            names[int(addr, 16)].add(name.split("@")[0])
    groups = {}
    for group in names.values():
        for name in group:
            groups.setdefault(name, set()).update(group)
    return groups


def place(text):
    """path:line of path:line:column, the path made plain."""
    path, line, _ = text.rsplit(":", 2)
    if line == "0" or path == "??":
        return "??:0"
    return os.path.normpath(path) + ":" + line


def halve(text):
    """a/a/x.c is a/x.c, for a relative directory."""
    path, line = text.rsplit(":", 1)
    parts = path.split("/")
    for n in range(1, len(parts) // 2 + 1):
        if parts[:n] == parts[n:2 * n] and parts[0] != "":
            return "/".join(parts[n:]) + ":" + line
    return text


def main():
    elf, addresses, ours, theirs = sys.argv[1:]
    addrs = open(addresses).read().split()
    a, b = read(ours), read(theirs)
    if not len(addrs) == len(a) == len(b):
        sys.exit(f"{len(addrs)} addresses, {len(a)} and {len(b)} answers")
    groups = aliases(elf)
    known = collections.Counter()
    bad = 0
    for addr, x, y in zip(addrs, a, b):
        fx, fy = x[0::2], y[0::2]
        lx, ly = [place(t) for t in x[1::2]], [place(t) for t in y[1::2]]
        if lx != ly and lx == [halve(t) for t in ly]:
            known["twice"] += 1
            ly = lx
        if fx != fy and len(fx) == len(fy) and fx[:-1] == fy[:-1]:
            n, m = fx[-1].split("@")[0], fy[-1].split("@")[0]
            if n == m or m in groups.get(n, ()):
                known["alias"] += 1
                fy = fx
            elif m == "??" and n.startswith("sub_"):
                known["sub"] += 1
                fy = fx
        if fx != fy or lx != ly:
            bad += 1
            if bad <= 5:
                print(f"{addr}:\n  ours   {list(zip(fx, lx))}\n"
                      f"  theirs {list(zip(fy, ly))}")
    print(f"{len(addrs)} addresses, {bad} differ; known: {dict(known)}")
    sys.exit(bad != 0)


main()
