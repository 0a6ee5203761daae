"""probes.py - the ways to ask a question at a place of a running program.

The program is hot.c: a function of some shape, called very often.  A way is a
tool, a question and a shape; it makes a command that runs the program with the
question asked, and afterwards tells from what the tool wrote how many calls it
has seen.  To measure one more peer, add one entry to peers().

A way that cannot be used says why: *not found*, *not permitted*, or *failed*
with the first thing that the tool said in a trial of a few calls.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import measure
from measure import CFLAGS, HERE, Lab, Trouble
from stats import Figure, figure
from ways import Argv

STATUS = 3       # hot.c ends so
LIMIT_S = 60     # for one run
AGENT = "/usr/lib/libinproctrace.so"  # gdbserver's, of Debian's package

# Compiler flags of the program, by the name of the build.
BUILDS = {
    "hot": [],
    "hot-fixed": ["-no-pie"],
    "hot-lttng": ["-DHOT_LTTNG", f"-I{HERE}", "-Wl,--no-as-needed",
                  "-llttng-ust", "-ldl"],
    "hot-fentry": ["-pg", "-mfentry"],
}


@dataclass(frozen=True)
class Scene:
    """One run: where, of what, how often."""
    lab: Lab
    hark: str
    way: "Way"
    calls: int
    threads: int

    @property
    def result(self) -> pathlib.Path:
        """Where the program says what it has measured."""
        return self.lab.scratch / "result"

    @property
    def shown(self) -> pathlib.Path:
        """Where hark puts its answer."""
        return self.lab.scratch / "shown"

    @property
    def binary(self) -> str:
        """The program in the build that this way needs."""
        return str(self.lab.out / self.way.build)

    @property
    def program(self) -> Argv:
        """The program as it is started without any tool."""
        return [self.binary, self.way.shape, str(self.calls),
                str(self.threads), str(self.result)]

    @property
    def function(self) -> str:
        """What is probed."""
        return f"hot_{self.way.shape}"

    def said(self) -> str:
        """All that the tool wrote; the program itself writes nothing."""
        paths = [self.lab.work / "stdout", self.lab.work / "stderr", self.shown]
        return "".join(path.read_text(errors="replace")
                       for path in paths if path.exists())

    def file(self, name: str, text: str) -> str:
        """A file for the tool."""
        path = self.lab.scratch / name
        path.write_text(text)
        return str(path)


@dataclass(frozen=True)
class Way:
    """One row of the table."""
    question: str
    name: str
    shape: str
    calls: int  # of each thread
    command: Callable[[Scene], Argv]
    counted: Callable[[Scene], int]
    needs: tuple[tuple[str, str], ...] = ()  # command or header, its package
    build: str = "hot"
    root: bool = False
    ours: bool = False

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.question}, {self.name}, {self.shape}"


@dataclass(frozen=True)
class Sample:
    """One run: nanoseconds a call, and whether all was well."""
    cpu_ns: float = 0.0
    wall_ns: float = 0.0
    executed: int = 0
    counted: int = 0
    right: bool = False   # the sum of all results
    status: str = ""
    error: str = ""       # why there is no figure

    @property
    def missed(self) -> int:
        """Calls that the tool has not seen; below 0: seen twice."""
        return self.executed - self.counted


# -- What a tool has seen -----------------------------------------------------

def add_up(pattern: str, text: str) -> int:
    """The sum of all numbers that the pattern finds."""
    return sum(int(n) for n in re.findall(pattern, text, re.MULTILINE))


def lone_number(scene: Scene) -> int:
    """A number that has a line for itself."""
    return add_up(r"^ *(\d+)$", scene.said())


def dtrace_rows(scene: Scene) -> int:
    """Pictures as DTrace draws them: `64 |@@@@      1000`."""
    return add_up(r"\|@* +(\d+) *$", scene.said())


def bpftrace_rows(scene: Scene) -> int:
    """`@: 1000`, or rows of pictures: `[64, 128)  1000 |@@@@ |`."""
    said = scene.said()
    return (add_up(r"^@\w*: (\d+)$", said)
            + add_up(r"^[\[(].*[\])] +(\d+) +\|", said))


def hark_records(scene: Scene) -> int:
    """Lines of a time and two arguments, the second of which is 7."""
    return len(re.findall(r"^\d+ \d+ 7$", scene.said(), re.MULTILINE))


def ask(argv: Argv) -> str:
    """What a command prints; nothing if it fails."""
    done = subprocess.run(argv, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=LIMIT_S)
    return done.stdout if done.returncode == 0 else ""


def lttng_events(scene: Scene) -> int:
    """What is in the trace; the counter tells again and again, of all yet."""
    said = ask(["babeltrace2", str(scene.lab.scratch / "trace"),
                "-c", "sink.utils.counter"])
    found = re.findall(r"(\d+) Event message", said)
    return int(found[-1]) if found else 0


def uftrace_calls(scene: Scene) -> int:
    """What is in the recording."""
    said = ask(["uftrace", "report", "--no-pager", "-f", "call",
                "-d", str(scene.lab.scratch / "uftrace")])
    return add_up(rf"^ *(\d+) +{scene.function}$", said)


def gdb_frames(scene: Scene) -> int:
    """What is in the trace buffer of gdbserver."""
    return add_up(r"^Collected (\d+) trace frames", scene.said())


# -- How the program is run ---------------------------------------------------

def plainly(scene: Scene) -> Argv:
    """Nothing is asked."""
    return scene.program


def hark(script: str, *more: str) -> Callable[[Scene], Argv]:
    """A script of ours, with the function for FUNCTION."""
    return lambda scene: [
        scene.hark, "probe", "-q", "-o", str(scene.shown), *more, "-n",
        script.replace("FUNCTION", f"pid$target:a.out:{scene.function}"),
        "--", *scene.program]


def bpftrace(script: str) -> Callable[[Scene], Argv]:
    """A script of bpftrace's, with the file for FILE and so on."""
    return lambda scene: [
        "bpftrace", "-e", script.replace("FILE", scene.binary)
        .replace("FUNCTION", scene.function),
        "-c", shlex.join(scene.program)]


def offset_of(binary: str, function: str) -> int:
    """Where in the file a function begins."""
    symbols = re.findall(rf"^([0-9a-f]+) \w {function}$",
                         ask(["nm", binary]), re.MULTILINE)
    loads = re.findall(r"^ *LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)",
                       ask(["readelf", "-lW", binary]), re.MULTILINE)
    for at in symbols:
        for load in loads:
            offset, start, size = (int(field, 16) for field in load)
            if start <= int(at, 16) < start + size:
                return int(at, 16) - start + offset
    raise Trouble(f"{binary} has no {function}")


def uprobe(where: str) -> Callable[[Scene], Argv]:
    """The kernel's own, and a counter (uprobe.c)."""
    return lambda scene: [
        scene.lab.tool("uprobe"), scene.binary,
        hex(offset_of(scene.binary, scene.function)), where, *scene.program]


def gdb(scene: Scene) -> Argv:
    """A breakpoint that counts and goes on."""
    script = scene.file("script", f"""\
set confirm off
set startup-with-shell off
set $n = 0
break *{scene.function}
commands
silent
set $n = $n + 1
continue
end
run
printf "%d\\n", $n
quit $_exitcode
""")
    return ["gdb", "-nx", "-q", "-batch", "-x", script, "--args",
            *scene.program]


def gdbserver(actions: str, scene: Scene) -> Argv:
    """A jump into gdbserver's agent, which does this, and keeps a frame."""
    server = ["gdbserver", "--once", "--wrapper", "env", f"LD_PRELOAD={AGENT}",
              "--", "-", *scene.program]
    script = scene.file("script", f"""\
set confirm off
set sysroot
file {scene.binary}
target remote | {shlex.join(server)}
break main
continue
break hot_done
ftrace *{scene.function}
{actions}
tstart
continue
tstatus
tstop
continue
quit $_exitcode
""")
    return ["gdb", "-nx", "-q", "-batch", "-x", script]


# A daemon of our own, for as long as the program runs.
LTTNG = """
export HOME="$1" LTTNG_HOME="$1"
scratch=$1
shift
lttng-sessiond --background --no-kernel --pidfile="$scratch/pid" || exit 124
trap 'kill "$(cat "$scratch/pid")"
	while [ -e "$scratch/pid" ]; do sleep 0.02; done' EXIT
{
	lttng create bench --output="$scratch/trace" &&
	lttng enable-channel -u room --subbuf-size=4M --num-subbuf=4 &&
	lttng enable-event -u -c room bench:hot && lttng start
} >/dev/null || exit 124
"$@"
status=$?
lttng stop >/dev/null && lttng destroy >/dev/null
exit $status
"""


def lttng(scene: Scene) -> Argv:
    """A tracepoint of two longs, compiled in."""
    return ["sh", "-c", LTTNG, "sh", str(scene.lab.scratch), *scene.program]


def uftrace(scene: Scene) -> Argv:
    """Entry and exit with their times, compiled in (-pg -mfentry)."""
    return ["uftrace", "record", "--no-libcall", "--no-event", "-d",
            str(scene.lab.scratch / "uftrace"), *scene.program]


# -- All ways -----------------------------------------------------------------

SDT = (("sys/sdt.h", "systemtap-sdt-dev"),)
GDBSERVER = (("gdb", "gdb"), ("gdbserver", "gdbserver"), (AGENT, "gdbserver"))
TEVAL = "tvariable $n = 0\nactions\nteval $n = $n + 1\nend"
LATENCY = ("FUNCTION:entry { self->t = timestamp; } "
           "FUNCTION:return /self->t/ "
           "{ @ = quantize(timestamp - self->t); self->t = 0; }")
BPF_LATENCY = ("uprobe:FILE:FUNCTION { @t[tid] = nsecs; } "
               "uretprobe:FILE:FUNCTION /@t[tid]/ "
               "{ @ns = hist(nsecs - @t[tid]); delete(@t[tid]); }")


def bases() -> list[Way]:
    """The loop alone, for every shape."""
    return [Way("base", "-", shape, 20000000, plainly, lambda scene: 0)
            for shape in ("lea", "push", "nop5", "usdt", "trap", "plain")]


def our_ways() -> list[Way]:
    """hark."""
    def way(question: str, shape: str, calls: int,
            command: Callable[[Scene], Argv],
            counted: Callable[[Scene], int]) -> Way:
        return Way(question, "hark", shape, calls, command, counted,
                   SDT if shape == "usdt" else (), ours=True)

    count = hark("FUNCTION:entry { @ = count(); }")
    return [
        *(way("count", shape, 2000000, count, lone_number)
          for shape in ("lea", "push", "nop5")),
        way("count", "usdt", 2000000,
            hark("usdt$target:bench::hot { @ = count(); }"), lone_number),
        way("return", "push", 2000000,
            hark("FUNCTION:return { @ = count(); }"), lone_number),
        way("latency", "push", 1000000, hark(LATENCY), dtrace_rows),
        way("keyed", "push", 1000000,
            hark("FUNCTION:entry { @[arg0 & 7] = quantize(arg0); }"),
            dtrace_rows),
        way("record", "plain", 200000,
            hark('FUNCTION:entry { printf("%d %d %d\\n", timestamp, arg0, '
                 'arg1); }', "-x", "bufsize=32m"), hark_records),
        way("trap", "trap", 20000, count, lone_number),
    ]


def kernel_ways() -> list[Way]:
    """Probes of the kernel, read by a counter or by bpftrace."""
    def counter(question: str, shape: str, calls: int, where: str) -> Way:
        return Way(question, "uprobe", shape, calls, uprobe(where),
                   lone_number, root=True)

    def bpf(question: str, shape: str, script: str) -> Way:
        needs = (("bpftrace", "bpftrace"),)
        return Way(question, "bpftrace", shape, 50000, bpftrace(script),
                   bpftrace_rows, needs + SDT if shape == "usdt" else needs,
                   root=True)

    return [
        counter("count", "lea", 5000, "entry"),
        counter("count", "push", 50000, "entry"),
        counter("count", "nop5", 50000, "entry"),
        bpf("count", "push", "uprobe:FILE:FUNCTION { @ = count(); }"),
        bpf("count", "nop5", "uprobe:FILE:FUNCTION { @ = count(); }"),
        bpf("count", "usdt", "usdt:FILE:bench:hot { @ = count(); }"),
        counter("return", "push", 50000, "return"),
        bpf("return", "push", "uretprobe:FILE:FUNCTION { @ = count(); }"),
        bpf("latency", "push", BPF_LATENCY),
        bpf("keyed", "push",
            "uprobe:FILE:FUNCTION { @[arg0 & 7] = hist(arg0); }"),
        counter("trap", "trap", 50000, "entry"),
    ]


def peers() -> list[Way]:
    """All others."""
    return kernel_ways() + [
        Way("count", "gdb", "push", 200, gdb, lone_number,
            (("gdb", "gdb"),)),
        # a frame for each hit, with nothing in it; and a counter beside it
        Way("count", "gdbserver", "nop5", 100000, partial(gdbserver, ""),
            gdb_frames, GDBSERVER, "hot-fixed"),
        Way("count", "gdbserver-n", "nop5", 100000,
            partial(gdbserver, TEVAL), gdb_frames, GDBSERVER, "hot-fixed"),
        Way("record", "lttng-ust", "plain", 200000, lttng, lttng_events,
            (("lttng-sessiond", "lttng-tools"), ("babeltrace2", "babeltrace2"),
             ("lttng/tracepoint.h", "liblttng-ust-dev")), "hot-lttng"),
        Way("record", "uftrace", "plain", 200000, uftrace, uftrace_calls,
            (("uftrace", "uftrace"),), "hot-fentry"),
    ]


# -- Is it there? -------------------------------------------------------------

def is_there(thing: str) -> bool:
    """A command, a file, or a header (which has a dot in its name)."""
    if thing.startswith("/"):
        return pathlib.Path(thing).exists()
    if not thing.endswith(".h"):
        return shutil.which(thing) is not None
    return subprocess.run(
        ["gcc", "-E", "-x", "c", "-include", thing, "/dev/null"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def why_not(way: Way) -> str:
    """Why this way cannot even be tried, or nothing."""
    for thing, package in way.needs:
        if not is_there(thing):
            return f"not found: {thing} (apt-get install {package})"
    if way.root and os.geteuid() != 0:
        return "not permitted: it needs root"
    return ""


def build(lab: Lab, name: str) -> None:
    """The program, if it is not up to date."""
    source, binary = HERE / "hot.c", lab.out / name
    if not measure.up_to_date(binary, source):
        measure.compile_c(["gcc", *CFLAGS, *BUILDS[name]], source, binary)


# -- One run ------------------------------------------------------------------

def right_sum(executed: int, threads: int) -> int:
    """What the program must have added up: i + 8 for each call."""
    n = executed // threads
    return threads * (n * (n - 1) // 2 + 8 * n)


def read_result(scene: Scene, ending: str) -> Sample:
    """What the program says of itself."""
    cpu, wall, executed, total = map(int, scene.result.read_text().split())
    return Sample(cpu / scene.calls / scene.threads, wall / scene.calls,
                  executed, 0, total == right_sum(executed, scene.threads),
                  ending)


def first_line(path: pathlib.Path) -> str:
    """What a tool complained of first."""
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[0][:200] if lines else ""


def no_figure(error: str, ending: str) -> Sample:
    """A run that came to nothing."""
    refused = re.search("not permitted|permission denied", error, re.I)
    kind = "not permitted" if refused else "failed"
    return Sample(status=ending, error=f"{kind}: {error or ending}")


def run(scene: Scene) -> Sample:
    """One run of one way."""
    scene.lab.empty_scratch()
    bill = measure.run_command(scene.lab, scene.way.command(scene), LIMIT_S)
    ending = str(bill.status) if not bill.signal and not bill.killed \
        else bill.ending
    if not scene.result.exists() or bill.killed:
        return no_figure(first_line(scene.lab.work / "stderr"), ending)
    sample = read_result(scene, ending)
    return replace(sample, counted=scene.way.counted(scene))


def over(samples: list[float], base_ns: float) -> Figure:
    """Median, least and most of what a call costs more than without."""
    f = figure(samples)
    return Figure(f.median - base_ns, f.min - base_ns, f.max - base_ns)
