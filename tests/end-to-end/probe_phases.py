#!/usr/bin/env python3
"""tests/end-to-end/probe_phases.py - was every call of every phase counted once?

    probe_phases.py SAID ATLEAST PHASE...

A phase is one session of hark probe. PHASE.probes has its probes, a line each:
FUNCTION:NAME. PHASE.shown has, of each thread, a line

    WHAT TID LINE VALUE

for n, lowest, highest and sum of the ordinals that a probe saw, which goes by
its line (from 0). PHASE.errors has the accounts. SAID is what the guest wrote (probe_switch.c): "sure PHASE TID
FUNCTION FIRST LAST", the ordinals that cannot but have met a probe.

Prints "right", or what is wrong in a few lines:

1. Of each thread and probe no ordinal between the lowest and the highest is
   missing, and none is there twice: the count and the sum say so.
2. All that surely met a probe are there, and at most two others.
3. No ordinal is of two phases.
4. The accounts have the same number of hits, and nothing was dropped.
5. There were at least ATLEAST hits.
"""
import re
import sys

WHATS = ["n", "lowest", "highest", "sum"]


def read_shown(phase):
    probes = open(phase + ".probes").read().split()
    rows = {}
    for line in open(phase + ".shown"):
        if not line.strip():
            continue
        what, tid, number, value = line.split()
        row = rows.setdefault((tid, *probes[int(number)].split(":")), {})
        if what in row:
            raise SystemExit(f"phase {phase}: twice: {line.strip()}")
        row[what] = int(value)
    return {key: [row[what] for what in WHATS] for key, row in rows.items()}


def read_sure(path):
    sure = {}
    for line in open(path):
        words = line.split()
        if words[:1] == ["sure"]:
            sure[tuple(words[1:4])] = int(words[4]), int(words[5])
    return sure


def account(path):
    total = re.findall(r"(\d+) executed = (\d+) recorded \+ (\d+) dropped "
                       r"\+ (\d+) recursed \+ (\d+) faulted",
                       open(path).read())
    if not total:
        raise SystemExit(f"{path}: no accounts")
    return [int(n) for n in total[-1]]


def check_row(name, row, sure):
    count, lowest, highest, total = row
    first, last = sure or (0, -1)
    if count != highest - lowest + 1:
        yield f"{name}: {count} of the ordinals {lowest} to {highest}"
    if 2 * total != (lowest + highest) * count:
        yield f"{name}: the sum {total} is not that of {lowest} to {highest}"
    if sure and not lowest <= first <= last <= highest:
        yield f"{name}: {first} to {last} executed, {lowest} to {highest} seen"
    if count > last - first + 1 + 2:
        yield f"{name}: {lowest} to {highest} seen, {first} to {last} executed"


def check_phase(phase, sure, before):
    rows = read_shown(phase)
    for (tid, function, probe), row in rows.items():
        name = f"phase {phase}, thread {tid}, {function}:{probe}"
        yield from check_row(name, row, sure.get((phase, tid, function)))
        if row[1] <= before.get((tid, function, probe), -1):
            yield f"{name}: {row[1]} was seen before"
        before[tid, function, probe] = row[2]
    probed = {(function, probe) for tid, function, probe in rows}
    for (turn, tid, function), (first, last) in sure.items():
        for f, probe in probed if turn == phase else ():
            if f == function and (tid, f, probe) not in rows:
                yield (f"phase {phase}, thread {tid}, {f}:{probe}: nothing of "
                       f"{first} to {last}")
    n = sum(row[0] for row in rows.values())
    hits = account(phase + ".errors")
    if hits != [n, n, 0, 0, 0]:
        yield f"phase {phase}: {n} counted, the accounts say {hits}"


def main():
    said, at_least, *phases = sys.argv[1:]
    sure, before, wrong = read_sure(said), {}, []
    if not sure:
        wrong.append("the guest never saw a probe")
    for phase in phases:
        wrong += check_phase(phase, sure, before)
    n = sum(row[0] for p in phases for row in read_shown(p).values())
    if n < int(at_least):
        wrong.append(f"{n} hits are too few")
    print("\n".join(wrong[:10]) or "right")


main()
