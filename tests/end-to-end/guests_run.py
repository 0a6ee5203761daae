#!/usr/bin/env python3
"""tests/end-to-end/guests_run.py - runs guests natively and by hark, as one process
that answers for all of them.

Each line of the input is a guest and a command of hark, which ends with the option
that the guest is put behind, separated by tabs. The guest is run alone, then the
command with `-- GUEST` at its end, each with an empty standard input and in a
session of its own; out.native, err.native, out.run and err.run get what they write.
Answered is one line: `alike`, if they end and write alike and the guest found
itself well, or else how each of them ended and whether the guest was well,
separated by tabs.
"""
import os
import re
import subprocess
import sys


def end(name, seconds, command):
    """How it ended; a shell cannot tell a signal from a status above 128."""
    with open("out." + name, "wb") as out, open("err." + name, "wb") as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=err, start_new_session=True)
        try:
            n = p.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            p.wait()
            return "time is up"
        return f"signal {-n}" if n < 0 else f"status {n}"


def text(name):
    with open(name, "rb") as file:
        return file.read()


def is_well():
    last = text("out.native").removesuffix(b"\n").rpartition(b"\n")[2]
    return re.fullmatch(rb"ok|ok \(not on this .*\)", last) is not None


for line in sys.stdin:
    guest, *hark = line.rstrip("\n").split("\t")
    native = end("native", 120, [guest])
    run = end("run", 300, [*hark, "--", guest])
    if (native == run and is_well() and text("out.native") == text("out.run") and
            text("err.native") == text("err.run")):
        print("alike", flush=True)
    else:
        print(native, run, "well" if is_well() else "ill", sep="\t", flush=True)
