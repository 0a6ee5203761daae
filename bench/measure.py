"""measure.py - one run of one program in one way, and what it cost.

Everything is started through the meter (meter.c), which is small, adopts
orphans and kills what outlives its limit.  Native runs and all others get the
same environment, the same folder, the same kind of stdin and stdout: the only
difference between two columns is the way.
"""
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import programs
from programs import Program
from ways import Argv, Way

HERE = pathlib.Path(__file__).resolve().parent
CFLAGS = ("-std=gnu17 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE "
          "-pthread").split()


class Trouble(Exception):
    """The bench itself cannot go on."""


@dataclass
class Sample:
    """What one run cost and how it ended."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    user_s: float = 0.0
    sys_s: float = 0.0
    rss_kb: int = 0
    status: int = 0
    signal: int = 0
    killed: int = 0   # the time limit was reached
    orphans: int = 0  # processes that outlived the command
    left: int = 0     # some of them had to be killed
    sha256: str = ""  # of standard output
    bytes: int = 0    # what the tool has written into its scratch folder
    error: str = ""   # the last line on stderr, where it did not go well

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.killed:
            return "killed at the time limit"
        if self.signal:
            return f"signal {self.signal}"
        return f"exit status {self.status}"


@dataclass
class Lab:
    """Where runs happen: folders, environment, limit."""
    out: pathlib.Path
    limit_s: int
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        self.inputs = self.out / "inputs"
        self.inputs.mkdir(exist_ok=True)
        self.sweep()
        self.work = self.out / f"work-{os.getpid()}"
        self.scratch = self.work / "scratch"
        self.scratch.mkdir(parents=True)
        self.env = dict(os.environ, LC_ALL="C", TZ="UTC",
                        HARK_DIR=str(self.scratch),
                        _RR_TRACE_DIR=str(self.scratch))
        self.env.pop("BENCH", None)

    def sweep(self) -> None:
        """Take away what a bench that was killed has left."""
        for old in self.out.glob("work-*"):
            if not pathlib.Path("/proc", old.name[len("work-"):]).exists():
                shutil.rmtree(old, ignore_errors=True)

    def close(self) -> None:
        """Take the folder of the runs away; inputs and results stay."""
        shutil.rmtree(self.work, ignore_errors=True)

    def tool(self, name: str) -> str:
        """One of our own C programs, compiled if it is not up to date."""
        source, binary = HERE / f"{name}.c", self.out / name
        if not up_to_date(binary, source):
            compile_c(["gcc", *CFLAGS], source, binary)
        return str(binary)

    def empty_scratch(self) -> None:
        """Nothing of the run before is left for the next."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()


def up_to_date(binary: pathlib.Path, source: pathlib.Path) -> bool:
    """Is the binary there, and newer than its source?"""
    return (binary.exists() and
            binary.stat().st_mtime > source.stat().st_mtime)


def compile_c(compiler: Argv, source: pathlib.Path,
              binary: pathlib.Path) -> None:
    """Compile under another name, then rename: others may be running it."""
    if shutil.which(compiler[0]) is None:
        raise Trouble(f"{compiler[0]} is not on PATH "
                      "(apt-get install gcc musl-tools)")
    part = binary.with_name(f".part-{os.getpid()}-{binary.name}")
    done = subprocess.run([*compiler, str(source), "-o", str(part)])
    if done.returncode != 0:
        raise Trouble(f"cannot compile {source}")
    part.rename(binary)


# -- Through the meter --------------------------------------------------------

class Metered:
    """A command that runs behind the meter."""

    def __init__(self, lab: Lab, argv: Argv, limit_s: int | None = None
                 ) -> None:
        words = [w.replace("{scratch}", str(lab.scratch)) for w in argv]
        self.lab = lab
        self.out = lab.work / "stdout"
        self.err = lab.work / "stderr"
        report, to = os.pipe()
        meter = [lab.tool("meter"), "-l", str(limit_s or lab.limit_s),
                 "-o", str(to)]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                meter + words, cwd=lab.inputs, env=lab.env, pass_fds=[to],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        os.close(to)
        self.report = report

    def finish(self) -> Sample:
        """Wait for the end (the meter keeps the limit) and read the bill."""
        with os.fdopen(self.report, "rb") as report:
            line = report.read()
        self.process.wait()
        if not line:
            raise Trouble(f"the meter failed: {last_line(self.err)}")
        bill = json.loads(line)
        sample = Sample(cpu_s=bill["user_s"] + bill["sys_s"], **bill)
        sample.sha256 = digest_of(self.out)
        sample.bytes = weight_of(self.lab.scratch)
        if sample.status or sample.signal or sample.killed:
            sample.error = last_line(self.err)
        return sample

    def abandon(self) -> None:
        """End everything now; harmless if it has ended."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@contextmanager
def metered(lab: Lab, argv: Argv, limit_s: int | None = None
            ) -> Iterator[Metered]:
    """Start argv; whatever happens then, nothing of it survives."""
    run = Metered(lab, argv, limit_s)
    try:
        yield run
    finally:
        run.abandon()


def last_line(path: pathlib.Path) -> str:
    """The last line of a text, cut to what fits a report."""
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


def digest_of(path: pathlib.Path) -> str:
    """The sha256 of a file."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def weight_of(folder: pathlib.Path) -> int:
    """The bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*")
               if path.is_file() and not path.is_symlink())


def run_command(lab: Lab, argv: Argv, limit_s: int | None = None) -> Sample:
    """Run one command to its end."""
    with metered(lab, argv, limit_s) as run:
        return run.finish()


# -- The three kinds of rows --------------------------------------------------

def run_plain(lab: Lab, way: Way, argv: Argv) -> Sample:
    """A command; with what must come first (untimed) if the way says so."""
    if way.first is not None:
        before = run_command(lab, way.first(argv))
        if before.status or before.signal:
            return before
    return run_command(lab, way.wrap(argv))


def run_start(lab: Lab, way: Way, times: int) -> Sample:
    """/bin/true, so many times one after the other."""
    return run_command(lab, [lab.tool("start"), "-l", str(times),
                             *way.wrap(["/bin/true"])])


def run_redis(lab: Lab, way: Way, requests: int) -> Sample:
    """A redis server behind the way, with redis-benchmark in front of it.

    CPU and memory are the server's; wall time is the client's.  What the
    server holds in the end stands for the output: every push and every
    increment must have arrived.
    """
    port = free_port()
    server = [shutil.which("redis-server") or "redis-server",
              "--port", str(port), "--bind", "127.0.0.1", "--save", "",
              "--appendonly", "no", "--dir", str(lab.scratch)]
    with metered(lab, way.wrap(server)) as run:
        try:
            wait_for_redis(run, port)
            wall_s = drive_redis(lab, port, requests)
            held = redis_content(port)
            ask_redis(port, b"SHUTDOWN NOSAVE\r\n")
        except (OSError, ValueError, subprocess.SubprocessError) as trouble:
            run.abandon()
            return Sample(status=-1, error=f"redis: {trouble}; "
                          + last_line(run.err))
        sample = run.finish()
    sample.wall_s = wall_s
    sample.sha256 = hashlib.sha256(held).hexdigest()
    return sample


def drive_redis(lab: Lab, port: int, requests: int) -> float:
    """Send the requests; the seconds that it took."""
    client = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-q",
              "-n", str(requests), "-c", "10", "-d", "64", "-r", "10000",
              "-t", "set,get,lpush,incr"]
    start = time.monotonic()
    subprocess.run(client, check=True, timeout=lab.limit_s, env=lab.env,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def ask_redis(port: int, line: bytes) -> bytes:
    """One inline command, and the first bytes of its answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(line)
        return s.recv(4096)


def wait_for_redis(run: Metered, port: int, patience_s: float = 15.0) -> None:
    """Until the server answers; an error if it ends or never does."""
    until = time.monotonic() + patience_s
    while True:
        try:
            if ask_redis(port, b"PING\r\n") == b"+PONG\r\n":
                return
        except OSError:
            pass
        if run.process.poll() is not None or time.monotonic() > until:
            raise ValueError("the server does not answer")
        time.sleep(0.01)


def redis_content(port: int) -> bytes:
    """The length of the list, the sum of all counters."""
    script = ("local n = 0 "
              "for _, k in ipairs(redis.call('keys', 'counter:*')) do "
              "n = n + redis.call('get', k) end "
              "return n")
    summed = ask_redis(port, f'EVAL "{script}" 0\r\n'.encode())
    return ask_redis(port, b"LLEN mylist\r\n") + summed


def run_once(lab: Lab, program: Program, size: str, way: Way) -> Sample:
    """One run of any kind, in an empty scratch folder."""
    lab.empty_scratch()
    if program.kind == "redis":
        return run_redis(lab, way, int(program.at(size)))
    if program.kind == "start":
        return run_start(lab, way, int(program.at(size)))
    return run_plain(lab, way, argv_of(lab, program, size))


def argv_of(lab: Lab, program: Program, size: str) -> Argv:
    """The native command of a plain row."""
    paths = {name: lab.tool(name) for name in ("mt", "fib")}
    return programs.command(program, size, paths)


def trial(lab: Lab, way: Way) -> str:
    """Why this way cannot run even a trivial program, or nothing."""
    lab.empty_scratch()
    sample = run_plain(lab, way, [lab.tool("fib"), "1"])
    if sample.status or sample.signal or sample.killed:
        return f"{sample.ending}: {sample.error}" if sample.error \
            else sample.ending
    return ""


def shown(argv: Argv) -> str:
    """A command as one would type it."""
    return shlex.join(argv)


def as_json(sample: Sample) -> dict[str, object]:
    """A sample for the file."""
    return asdict(sample)
