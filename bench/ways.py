"""ways.py - the ways to run a program: plainly, behind hark, behind a peer.

A way turns a command into another command that runs it.  To measure one more
instrument or peer, add one entry to WAYS; nothing else knows their names.

A way is *absent* when its tool is not installed, when hark does not have the
subcommand or option, or when hark says that it is not "there yet"; it is
*broken* when the tool is there and cannot run even a trivial program.  Both
are told in one line and never passed over: a broken way of hark's own, or an
absent one that was asked for by name, makes the whole run fail.

Every run has a scratch folder of its own, empty at first, which is also where
HARK_DIR and its like point and what {scratch} in a command stands for: what
the tool has written is found and weighed there.
"""
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

Argv = list[str]
Wrap = Callable[[Argv], Argv]


@dataclass(frozen=True)
class Way:
    """One column of the table."""
    name: str
    why: str
    wrap: Wrap
    tool: str = ""       # what must be installed
    package: str = ""    # Debian's package that has it
    option: str = ""     # hark: `COMMAND` or `COMMAND --option` it must know
    first: Wrap | None = None  # runs before, untimed, in the same scratch
    own_output: bool = False   # stdout is the tool's: only the status counts
    only: frozenset[str] = frozenset()  # rows it can do; empty: all

    @property
    def ours(self) -> bool:
        """Is it hark that must answer for this one?"""
        return bool(self.option)

    def fits(self, program_id: str, kind: str) -> bool:
        """May this way run that row?"""
        if self.only:
            return program_id in self.only
        return kind == "plain" or self.first is None


def behind(prefix: str) -> Wrap:
    """The command with these words in front of it."""
    words = shlex.split(prefix)
    return lambda argv: words + argv


def instead(line: str) -> Wrap:
    """These words, whatever the command was."""
    words = shlex.split(line)
    return lambda argv: list(words)


def gdb_record(argv: Argv) -> Argv:
    """gdb steps through fib_run() and records; the program's stdout is ours.

    gdb talks on stdout too, so that goes away and the program gets a
    duplicate of the real one; `quit` passes the exit status on.
    """
    steps = ["set confirm off", "tbreak fib_run",
             f"run {shlex.join(argv[1:])} >&3", "record full",
             "set record full insn-number-max unlimited", "finish",
             "record stop", "continue", "quit $_exitcode"]
    gdb = ["gdb", "-nx", "-q", "-batch"]
    for step in steps:
        gdb += ["-ex", step]
    return ["sh", "-c", 'exec "$@" 3>&1 >/dev/null', "sh", *gdb, argv[0]]


def hark_ways(hark: str) -> list[Way]:
    """The instruments.  Files go to HARK_DIR, where `latest` finds them."""
    h = shlex.quote(hark)

    def way(name: str, option: str, prefix: str, why: str) -> Way:
        return Way(name, why, behind(f"{h} {prefix} --"), hark, "", option)

    record = behind(f"{h} record -q --")
    return [
        way("run-native", "run --native", "run --native -q",
            "the door alone: the image is in, the program runs itself"),
        way("run-native-f", "run --native", "run --native -q -f",
            "the same, following children and execs"),
        way("run", "run", "run -q", "the virtual processor alone"),
        way("record", "record", "record -q", "time-travel recording"),
        Way("verify", "replay of a whole recording on one cpu",
            instead(f"{h} verify -q -j 1"), hark, "", "verify", record, True),
        way("flight", "flight", "flight -q", "flight recorder"),
        way("profile", "profile", "profile -q", "sampling profiler"),
    ]


PEERS = [
    Way("valgrind", "translator without a tool",
        behind("valgrind --tool=none -q"), "valgrind", "valgrind"),
    Way("qemu", "user-mode emulator", behind("qemu-x86_64 -cpu max"),
        "qemu-x86_64", "qemu-user"),
    Way("dynamorio", "translator without a client", behind("drrun --"),
        "drrun"),
    Way("rr", "recorder on hardware counters", behind("rr record"), "rr",
        "rr"),
    Way("rr-soft", "recorder on software counters", behind("rr record -W"),
        "rr"),
    Way("strace", "counts system calls", behind("strace -c -f -o /dev/null"),
        "strace", "strace"),
    Way("perf", "sampling profiler",
        behind("perf record -q -o {scratch}/perf.data --"), "perf",
        "linux-perf"),
    Way("gdb-record", "gdb's own recorder, one step at a time", gdb_record,
        "gdb", "gdb", only=frozenset(["fib"])),
]

NATIVE = Way("native", "the program by itself", lambda argv: argv)


def all_ways(hark: str) -> list[Way]:
    """Every way that this file knows, native first."""
    return [NATIVE, *hark_ways(hark), *PEERS]


def extra_way(text: str) -> Way:
    """A way from the command line: NAME=WORDS before the command."""
    name, _, prefix = text.partition("=")
    words = shlex.split(prefix)
    if not name or not words:
        raise ValueError(f"{text}: NAME=COMMAND expected")
    return Way(name, f"behind `{prefix}`", behind(prefix), words[0])


def why_absent(way: Way) -> str:
    """Why there is no such way here, or nothing."""
    if way.tool and shutil.which(way.tool) is None:
        if way.ours:
            return f"{way.tool} is not built"
        hint = f" (apt-get install {way.package})" if way.package else ""
        return f"{way.tool} is not on PATH{hint}"
    if way.ours:
        return why_unknown(way.tool, *way.option.split())
    return ""


def not_yet(way: Way, trouble: str) -> bool:
    """Does hark itself say that this is still to come?"""
    return way.ours and "there yet" in trouble


def why_unknown(hark: str, subcommand: str, option: str = "") -> str:
    """Why this hark lacks a subcommand or one of its options, or nothing."""
    asked = subprocess.run([hark, subcommand, "--help"], text=True, timeout=10,
                           stdin=subprocess.DEVNULL, capture_output=True)
    if asked.returncode != 0:
        return f"{hark} has no `{subcommand}`"
    if option not in asked.stdout + asked.stderr:
        return f"{hark} {subcommand} has no {option}"
    return ""
