"""programs.py - the programs that are measured, and why these.

A program is a row: an id, what it runs at each size, why it is here, which
Debian package has it.  Size M takes 0.3 to 0.6 seconds natively on a machine
of 2025, S a tenth of that (a quick look), L about one to three (releases).
Commands run in the folder of the inputs; a word that names an input makes
that input needed.  {mt}, {fib}, {cc1}, {cc1plus} stand for paths found at run
time.

Kinds: `plain` rows are commands.  `redis` rows are numbers of requests sent
to a server that runs behind the tool.  `start` rows are numbers of times that
/bin/true is started behind the tool.

Groups: geometric means are taken over `single` and over `threads`; a row in
`other` measures something else than code that runs (waiting, starting), and
stands for itself.  A row with threads names the one that does the same work
without (`alone`): what threads cost a way is the quotient of their multiples.
"""
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

import inputs

Argv = list[str]


@dataclass(frozen=True)
class Program:
    """One row of the table."""
    id: str
    small: str
    medium: str
    large: str
    why: str
    package: str
    group: str = "single"
    kind: str = "plain"
    tool: str = ""  # what must be installed, if not the command's first word
    alone: str = ""  # the row that does the same work with one thread

    def at(self, size: str) -> str:
        """The command (or the number) at size S, M or L."""
        return {"S": self.small, "M": self.medium, "L": self.large}[size]


def digests(n: int) -> str:
    """Hash the same long text n times."""
    return "openssl dgst -sha3-256" + n * " text-24m"


# Left to itself, x264 codes a little differently on every kind of cpu, and
# translators show their programs another cpu than the real one.
X264 = ("x264 --quiet --no-progress --threads 1 --cpu-independent "
        "--muxer raw -o - ")

PROGRAMS = [
    Program("gzip", "gzip -9 -c text-200k", "gzip -9 -c text-2m",
            "gzip -9 -c text-8m", "tight loop, low IPC", "gzip"),
    Program("bzip2", "bzip2 -9 -c text-800k", "bzip2 -9 -c text-8m",
            "bzip2 -9 -c text-24m", "random loads", "bzip2"),
    Program("xz", "xz -3 -T1 -c text-200k", "xz -3 -T1 -c text-2m",
            "xz -6 -T1 -c text-2m", "match finder that misses the cache",
            "xz-utils"),
    Program("sqlite", "sqlite3 -init rows-16000.sql :memory: .quit",
            "sqlite3 -init rows-160000.sql :memory: .quit",
            "sqlite3 -init rows-400000.sql :memory: .quit",
            "calls, returns, indirect jumps", "sqlite3"),
    Program("lua", "lua5.4 mix.lua 8", "lua5.4 mix.lua 9",
            "lua5.4 mix.lua 10", "interpreter at high IPC", "lua5.4"),
    Program("python", "/usr/bin/python3 mix.py 200000",
            "/usr/bin/python3 mix.py 2000000",
            "/usr/bin/python3 mix.py 5000000", "interpreter, allocator",
            "python3"),
    Program("perl", "perl mix.pl text-800k", "perl mix.pl text-8m",
            "perl mix.pl text-24m", "regular expressions, hashes", "perl"),
    Program("cc1", "{cc1} -quiet -O2 functions-6.c -o -",
            "{cc1} -quiet -O2 functions-60.c -o -",
            "{cc1} -quiet -O2 functions-110.c -o -",
            "cold code: much of it, each piece seldom run", "gcc", tool="gcc"),
    Program("openssl", digests(1), digests(10), digests(30),
            "hand-written assembly at high IPC", "openssl"),
    Program("x264", X264 + "frames-6.y4m", X264 + "frames-60.y4m",
            X264 + "frames-180.y4m", "AVX2 and AVX-512, wide loads", "x264"),
    Program("zstd-2t", "zstd -q -1 -T2 -c text-24m",
            "zstd -q -6 -T2 -c text-24m", "zstd -q -9 -T2 -c text-24m",
            "2 threads and a queue between them", "zstd", "threads",
            alone="zstd-1t"),
    Program("zstd-1t", "zstd -q -1 -T1 -c text-24m",
            "zstd -q -6 -T1 -c text-24m", "zstd -q -9 -T1 -c text-24m",
            "as much work as zstd-2t, by one thread", "zstd", "other"),
    Program("pigz-2t", "pigz -9 -p2 -c text-200k", "pigz -9 -p2 -c text-2m",
            "pigz -9 -p2 -c text-8m", "2 threads that share little", "pigz",
            "threads", alone="pigz-1t"),
    Program("pigz-1t", "pigz -9 -p1 -c text-200k", "pigz -9 -p1 -c text-2m",
            "pigz -9 -p1 -c text-8m", "as much work as pigz-2t, by one thread",
            "pigz", "other"),
    Program("mt-2t", "{mt} 10000000 2", "{mt} 100000000 2",
            "{mt} 400000000 2", "2 threads, mutex and atomics on hot lines",
            "gcc", "threads", tool="gcc", alone="mt-1t"),
    Program("mt-1t", "{mt} 20000000 1", "{mt} 200000000 1",
            "{mt} 800000000 1", "as much work as mt-2t, and nobody to meet",
            "gcc", "other", tool="gcc"),
    Program("redis", "2000", "20000", "100000",
            "system calls, latency (CPU: server; wall: client)",
            "redis-server redis-tools", "other", "redis", "redis-server"),
    Program("start", "20", "200", "1000", "starting and ending /bin/true",
            "coreutils", "other", "start", "/bin/true"),
    Program("fib", "{fib} 8000", "{fib} 8000", "{fib} 8000",
            "so short that a single-stepping tool can end it", "gcc", "other",
            tool="gcc"),
]

# Large programs with large libraries, for bench/sampling: what it takes to get
# to know their code counts there.
PROFILED = [
    Program("clang", "clang -O2 -S functions-6.c -o -",
            "clang -O2 -S functions-60.c -o -",
            "clang -O2 -S functions-110.c -o -",
            "160 MB of libraries, 20 of them", "clang"),
    Program("cc1plus", "{cc1plus} -quiet -O2 functions-6.c -o -",
            "{cc1plus} -quiet -O2 functions-60.c -o -",
            "{cc1plus} -quiet -O2 functions-110.c -o -",
            "as cc1, with a larger compiler", "g++", tool="g++"),
]


@lru_cache(maxsize=None)
def find_compiler(name: str) -> str:
    """gcc's own compilers: the driver would start three more programs."""
    asked = subprocess.run(["gcc", f"-print-prog-name={name}"], text=True,
                           capture_output=True, check=True)
    return asked.stdout.strip()


def missing(program: Program) -> str:
    """What is not installed for this row, or nothing."""
    tools = [program.tool or shlex.split(program.medium)[0]]
    if program.kind == "redis":
        tools.append("redis-benchmark")
    return " ".join(tool for tool in tools if shutil.which(tool) is None)


def command(program: Program, size: str, paths: dict[str, str]) -> Argv:
    """The words of a plain row; paths says where {mt} and {fib} are.

    The program is named by its whole path: not every tool searches PATH.
    """
    words = shlex.split(program.at(size))
    if words[0] in ("{cc1}", "{cc1plus}"):
        words[0] = find_compiler(words[0][1:-1])
    words = [word.format(**paths) for word in words]
    return [shutil.which(words[0]) or words[0], *words[1:]]


def inputs_of(program: Program, size: str) -> list[str]:
    """The inputs that this row reads at this size."""
    return sorted({w for w in program.at(size).split() if inputs.is_input(w)})
