#!/usr/bin/env python3
"""tests/end-to-end/probe_every.py HARK PROG [MODULE FUNCTION...] - descriptions
of all instructions, as objdump sees them.

Without MODULE, of the program itself, all functions. FUNCTION may be a pattern.
Instructions that hark -l says cannot be probed are left out, and counted on
standard error. Beside each description stands the offset in the file:
"MODULE:FUNCTION:OFFSET ADDRESS".
"""
import bisect
import fnmatch
import json
import os
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def instructions(path):
    """Address as linked -> bytes in hexadecimal, of .text."""
    out = {}
    for line in run("objdump", "-dw", "-j", ".text", path).splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+)\t(.*)", line)
        if m and "(bad)" not in m.group(3):
            out[int(m.group(1), 16)] = m.group(3)
    return out


def symbols(path, also):
    """Address as linked -> (name, size) of functions."""
    out = {}
    for table in [path] + also:
        for line in run("readelf", "-sW", table).splitlines():
            w = line.split()
            if len(w) >= 8 and w[3] in ("FUNC",) and w[6] != "UND":
                size = int(w[2], 0)
                if size:
                    out.setdefault(int(w[1], 16),
                                   (w[7].split("@")[0], size))
    return out


def debug_file(path):
    m = re.search(r"Build ID: (..)(\S+)", run("readelf", "-n", path))
    if not m:
        return []
    name = f"/usr/lib/debug/.build-id/{m.group(1)}/{m.group(2)}.debug"
    return [name] if os.path.exists(name) else []


def candidates(path, module, patterns):
    """Description -> address, of instructions in functions with a name."""
    insns = sorted(instructions(path).items())
    starts = [a for a, _ in insns]
    out = {}
    for start, (name, size) in sorted(symbols(path,
                                              debug_file(path)).items()):
        if not any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        for i in range(bisect.bisect_left(starts, start), len(insns)):
            addr, text = insns[i]
            if addr >= start + size:
                break
            if not re.match(r"int3|ud2|hlt|int1", text):
                out[f"{module}:{name}:{addr - start:x}"] = addr
    return out


def probed(hark, prog, all_of):
    """Those that can be."""
    out = set()
    names = list(all_of)
    refused = 0
    while names:
        some, names = names[:2000], names[2000:]
        args = []
        for n in some:
            args += ["-n", n]
        said = subprocess.run([hark, "probe", "-l", "--json", *args, "--",
                               *prog], capture_output=True, text=True)
        if said.returncode:
            m = re.search(r"(\S+:[0-9a-f]+): no instruction", said.stderr)
            if not m:
                raise SystemExit(said.stderr)
            print(f"refused: {said.stderr.strip()}", file=sys.stderr)
            refused += 1
            names = [n for n in some if not n.endswith(":" + m.group(1))
                     ] + names
            continue
        for line in said.stdout.splitlines():
            one = json.loads(line)
            if "form" not in one:
                continue
            key = (one["linked"], one["name"])
            if one["form"] == "-":
                refused += 1
                print(f"refused: {key} {one.get('refusal')}", file=sys.stderr)
            else:
                out.add(key)
    return out, refused


def main():
    hark, prog, *rest = sys.argv[1:]
    hark = os.environ.get("HARK_LISTS", hark)
    module, patterns = (rest[0], rest[1:]) if rest else ("a.out", ["*"])
    path = prog
    if module != "a.out":
        path = next(w for w in run("ldd", prog).split()
                    if os.path.basename(w).startswith(module)
                    and w.startswith("/"))
    all_of = candidates(path, module, patterns)
    ok, refused = probed(hark, [prog], all_of)
    for name, addr in all_of.items():
        if tuple(name.split(":")[1:]) in ok:
            print(f"{name} {addr:x}")
    print(f"{len(all_of)} instructions, {refused} refused", file=sys.stderr)


main()
