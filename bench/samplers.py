"""samplers.py - the profilers that are compared, and what each has seen.

A sampler makes a command that runs a program under it, and afterwards tells
from what it wrote how many samples there are, how many bytes they take, and
how many frames of a kind (dive_*, of deep.c) the deepest of them has.  How many
there should be is known of samples that have turn() in them: before, deep.c is
still on its way down.  (gperftools' file has no names: all samples, all
frames.)  To measure one more peer, add one entry to samplers().
"""
import os
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace

from measure import Lab
from ways import Argv

PREFIX = "dive_"  # how deep.c calls the functions that it is deep in
DOWN = "turn"     # and the one that it is in when it is down
PREVIEW = 60      # samples of which perf script is asked for the frames
PROFILER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"


@dataclass(frozen=True)
class Seen:
    """What is in a profile."""
    samples: int
    size: int      # bytes of the file
    deepest: int   # frames of deep.c's in the deepest sample looked at
    shallowest: int


@dataclass(frozen=True)
class Sampler:
    """One column."""
    name: str
    command: Callable[[str, int, Argv], Argv]  # hark, hz, program
    look: Callable[[Lab, str], Seen]           # hark
    needs: str
    package: str
    with_frame_pointers: bool = False  # of the program
    ours: bool = False


def output(lab: Lab) -> pathlib.Path:
    """The profile of this run."""
    return lab.scratch / "profile"


# -- hark ---------------------------------------------------------------------

def hark_command(hark: str, hz: int, program: Argv) -> Argv:
    """hark profile."""
    return [hark, "profile", "-q", "-F", str(hz), "-o", "{scratch}/profile",
            "--", *program]


def hark_look(lab: Lab, hark: str) -> Seen:
    """Folded stacks: `a;b;c N`."""
    text = subprocess.run([hark, "show", str(output(lab)), "--format",
                           "folded"], check=True, capture_output=True,
                          text=True).stdout
    n, depths = 0, []
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        n += int(count)
        frames = stack.split(";")
        if DOWN in frames:
            depths.append(sum(f.startswith(PREFIX) for f in frames))
    return Seen(n, output(lab).stat().st_size, max(depths, default=0),
                min(depths, default=0))


# -- perf ---------------------------------------------------------------------

def perf(*more: str) -> Callable[[str, int, Argv], Argv]:
    """perf record, by the clock that needs no hardware."""
    def command(_hark: str, hz: int, program: Argv) -> Argv:
        return ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(hz),
                *more, "-o", "{scratch}/profile", "--", *program]
    return command


def perf_flat_look(lab: Lab, hark: str) -> Seen:
    """Without call graphs, a sample is one frame."""
    return replace(perf_look(lab, hark), deepest=1, shallowest=1)


def perf_look(lab: Lab, _hark: str) -> Seen:
    """perf script; frames of the first samples only: it is slow."""
    base = ["perf", "script", "-i", str(output(lab))]
    env = dict(os.environ, PERF_PAGER="cat")
    flat = subprocess.run([*base, "-F", "pid", "-G"], env=env, check=True,
                          capture_output=True, text=True).stdout
    depths, frames = [], []
    with subprocess.Popen([*base, "-F", "ip,sym", "--max-stack", "100000",
                           "--no-inline"], env=env, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as script:
        assert script.stdout is not None
        for line in script.stdout:
            if words := line.split():
                frames.append(words[-1])
                continue
            if DOWN in frames:
                depths.append(sum(f.startswith(PREFIX) for f in frames))
            frames = []
            if len(depths) == PREVIEW:
                script.kill()
                break
    return Seen(len(flat.split()), output(lab).stat().st_size,
                max(depths, default=0), min(depths, default=0))


# -- gperftools ---------------------------------------------------------------

def preload(_hark: str, hz: int, program: Argv) -> Argv:
    """libprofiler in the program alone."""
    return ["env", f"LD_PRELOAD={PROFILER}", "CPUPROFILE={scratch}/profile",
            f"CPUPROFILE_FREQUENCY={hz}", *program]


def preload_look(lab: Lab, _hark: str) -> Seen:
    """Its file: words; a header of 5, then (count, depth, pcs...) until
    (0, 1, 0)."""
    data = output(lab).read_bytes()
    words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])
    at, n, depths = 5, 0, []
    while at + 2 < len(words) and words[at:at + 3] != (0, 1, 0):
        count, depth = words[at:at + 2]
        n += count
        depths.append(depth)
        at += 2 + depth
    return Seen(n, at * 8, max(depths, default=0), min(depths, default=0))


# -- All of them --------------------------------------------------------------

def samplers() -> list[Sampler]:
    """hark first."""
    return [
        Sampler("hark", hark_command, hark_look, "", "", ours=True),
        Sampler("perf", perf(), perf_flat_look, "perf", "linux-perf"),
        Sampler("perf fp", perf("--call-graph", "fp"), perf_look, "perf",
                "linux-perf", with_frame_pointers=True),
        Sampler("perf dwarf", perf("--call-graph", "dwarf"), perf_look,
                "perf", "linux-perf"),
        Sampler("perf dwarf 64k", perf("--call-graph", "dwarf,65528"),
                perf_look, "perf", "linux-perf"),
        Sampler("gperftools", preload, preload_look, PROFILER,
                "libgoogle-perftools4"),
    ]


def why_not(sampler: Sampler) -> str:
    """Why it cannot be used here, or nothing."""
    if not sampler.needs or pathlib.Path(sampler.needs).exists() \
            or shutil.which(sampler.needs):
        return ""
    return f"not found (apt-get install {sampler.package})"
