#!/usr/bin/env python3
"""tests/long/record_kills.py - what is left of a recording when somebody dies?

    record_kills.py target|writer N BEAT KEEP [--spoil] [--seed=N] [--only=N]

Records BEAT (record_beat.c) N times and kills it, or hark, at a moment that
chance chooses. HARK is the tool, DUMP what tools/record-dump has built. Each
time the following must hold; what does not is printed, and its recording kept
in the directory KEEP. The last line is the sum of it all.

1. Of a killed program, hark has died of the same signal, and the file says so
   at its end. Of a killed hark, the program goes on, computes what it should
   and ends by itself.
2. hark verify finds a segment for every key frame that stands whole in the
   file, and no mismatch up to the end.
3. Of a killed program, no beater has lost more than LOSS_MS. Its last beat is
   in the shared file; the recording's last beat is found by the time stamp
   counter, which every beat reads, in the last records of that very thread.
   Quiet beaters read no clock: of those hark ask says how far they came, and
   CPU time what it took them.
4. hark ask, at the end, knows that beat, or the one before it (it may not have
   come to be counted). It does so only if no other mapping has the same low
   half of an address (docs/travel.md): run this without random addresses.
5. A file without a key frame is of a program that has not begun, or of a hark
   that has not written one; hark says so in one line. (With --ring nothing is
   written before the end.) Of a program that was not even entered there is no
   file, and hark has said in one line why.

--spoil takes the last quarter of the recording away first: this must be told.
"""
import concurrent.futures
import json
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HARK, DUMP = os.environ["HARK"], os.environ["DUMP"]
LOSS_MS = 10
PATIENCE = 1200  # seconds, for anything: the machine may be busy

# ORDER record_beat.c: struct shared
LAYOUT = {"kept": 1 << 15, "first": 8, "head": "<3q"}
BEATER_SIZE = 24 + 2 * 8 * LAYOUT["kept"]
MAIN, THREAD, CHILD = range(3)

KINDS = ["", "t", "s", "ts", "c", "tc", "tcf", "q", "qt", "qc"]
OPTIONS = {  # a killed hark leaves nothing of a ring: few of those
    "target": [[], ["--key-every", "20000"], ["--ring", "2M"]],
    "writer": [[], [], ["--key-every", "300000"], ["--key-every", "300000"],
               ["--ring", "2M"]],
}
PAUSE = {"target": 0.15, "writer": 2}  # seconds at most, until the kill


class Beater:
    """What one of the guest's beaters has put down."""

    def __init__(self, data, which):
        at = LAYOUT["first"] + which * BEATER_SIZE
        self.which, self.data, self.at = which, data, at
        self.pid, self.tid, self.n = struct.unpack_from(LAYOUT["head"], data, at)

    def _clock(self, row, beat):
        kept = LAYOUT["kept"]
        at = self.at + 24 + 8 * (row * kept + beat % kept)
        return struct.unpack_from("<q", self.data, at)[0]

    def last_before(self, tsc):
        """The last beat that had read its clock by then; None: long ago."""
        oldest = max(0, self.n - LAYOUT["kept"] + 2)
        for beat in range(self.n, oldest, -1):
            if self._clock(0, beat) <= tsc:
                return beat
        return None if oldest > 0 else 0

    def ns(self, beat):
        return self._clock(1, max(beat, 1))


class Case:
    """One recording, and how it ended."""

    def __init__(self, what, seed, number):
        chance = random.Random(f"{what} {seed} {number}")
        self.what, self.number = what, number
        self.letters = chance.choice(KINDS)
        self.options = chance.choice(OPTIONS[what])
        self.early = chance.random() < 0.15
        self.pause = chance.random() * (0.02 if self.early else PAUSE[what])
        self.child_first = chance.random() < 0.5
        self.faults, self.lost = [], []
        self.empty = self.child_was_killed = False
        self.killed_ns = 0  # when hark was
        self.cpu_ns = {}  # what a beat takes each beater

    def fault(self, text):
        self.faults.append(text)

    def __str__(self):
        return (f"{self.what} {self.number} [{self.letters}] "
                f"{' '.join(self.options)}{' early' if self.early else ''}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          timeout=PATIENCE)


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.002)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def ended(pid):
    return state(pid) in "XZ"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def read_beaters(path):
    """All that have begun."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return []
    if len(data) < LAYOUT["first"] + 3 * BEATER_SIZE:
        return []
    beaters = [Beater(data, i) for i in range(3)]
    return [b for b in beaters if b.pid != 0]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# -- Killing -----------------------------------------------------------------


def begin(case, beat, work):
    with open(f"{work}/out", "wb") as out, open(f"{work}/err", "wb") as err:
        hark = subprocess.Popen(
            [HARK, "record", "-q", *case.options, "-o", f"{work}/k.hark", "--",
             beat, f"{work}/mem", case.letters],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True)
    if case.early:
        until(lambda: children(hark.pid) or hark.poll() is not None, "a child")
    else:
        want = 1 + sum(letter in case.letters for letter in "tc")
        until(lambda: hark.poll() is not None or
              sum(b.n > 0 for b in read_beaters(f"{work}/mem")) == want,
              "beats")
    kids = children(hark.pid)
    time.sleep(case.pause)
    return hark, kids[0] if kids else 0


def cpu_ns(beater):
    try:
        with open(f"/proc/{beater.pid}/task/{beater.tid}/schedstat") as f:
            return int(f.read().split()[0])
    except OSError:
        return 0


def kill_target(case, hark, target, work):
    beaters = read_beaters(f"{work}/mem")
    case.cpu_ns = {b.which: cpu_ns(b) / max(b.n, 1) for b in beaters}
    child = [b.pid for b in beaters if b.which == CHILD]
    if child and case.child_first:
        kill(child[0])
        case.child_was_killed = True
        time.sleep(case.pause / 10)
    kill(target)
    hark.wait(PATIENCE)
    with open(f"{work}/err") as f:
        said = f.read()
    if hark.returncode == 125 and case.early:
        if not re.fullmatch(r"hark: .* ended before it began\n", said):
            case.fault(f"killed early, hark says {said}")
        if os.path.exists(f"{work}/k.hark") or os.path.exists(f"{work}/mem"):
            case.fault("hark says that it has not begun, but it has")
    elif hark.returncode != -signal.SIGKILL or said:
        case.fault(f"hark has ended with {hark.returncode}: {said}")


def goes_on(case, before, work):
    def all_on():
        return all(b.n > was.n + 2 or ended(b.pid) for was, b in
                   zip(before, read_beaters(f"{work}/mem")))
    until(all_on, "more beats")
    for b in before:
        if ended(b.pid):
            case.fault(f"beater {b.which} has died with hark")


def stop(path):
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 8) as m:
        m[0:8] = struct.pack("<q", 1)


def kill_writer(case, hark, target, work):
    case.killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    kill(hark.pid)
    hark.wait(PATIENCE)
    if target == 0:
        return
    # One that was not yet let into the program's first instruction ends.
    until(lambda: ended(target) or read_beaters(f"{work}/mem"), "a beat")
    before = read_beaters(f"{work}/mem")
    if not before:
        if not case.early:
            case.fault("the program has died with hark")
        return
    goes_on(case, before, work)
    stop(f"{work}/mem")
    until(lambda: ended(target), "its end")
    with open(f"{work}/out") as f:
        said = f.read().split("\n")
    want = sorted(f"{i} right" for i, letter in enumerate(" tc")
                  if letter in " " + case.letters)
    if sorted(line for line in said if line and line != "ready") != want:
        case.fault(f"the program has said {said}")


# -- Looking at what is left -------------------------------------------------


def key_frames(path):
    """Those that stand whole in the file, by docs/format.md alone."""
    with open(path, "rb") as f:
        data = f.read()
    at, found = 32, 0
    while at + 48 <= len(data):
        magic, _, flags, _, thread = struct.unpack_from("<4sHHII", data, at)
        stored, = struct.unpack_from("<I", data, at + 24)
        at += 48 + (stored + 7) // 8 * 8
        if magic != b"chnk" or at > len(data):
            break
        found += flags >> 1 & 1 and thread > 0
    return found


def look_empty(case, verified, work):
    """Nothing to replay: is that right, and told?"""
    said = verified.stderr.strip()
    case.empty = True
    if verified.returncode != 125 or "\n" in said or verified.stdout:
        case.fault(f"nothing to verify: {verified}")
    elif not re.search("before its first key frame$|no key frame in it$", said):
        case.fault(f"nothing to verify, but it says {said}")
    if case.what == "target" and any(
            b.n > 0 for b in read_beaters(f"{work}/mem")):
        case.fault("it has begun, and nothing of it is there")


def recorded_tsc(file, process, thread):
    """The last time stamp that this thread has read, as far as is known."""
    said = run(DUMP, file, f"{process}.{thread}").stdout
    found = re.findall(r"RESULT .*rax=([0-9a-f]+) (?:rcx=\w+ )?rdx=([0-9a-f]+)$",
                       said, re.M)
    return int(found[-1][0], 16) | int(found[-1][1], 16) << 32 if found else 0


def asked_beats(file, process, which):
    """How many there were at the end, and in which words."""
    answer = run(HARK, "ask", "--process", str(process), file, "value",
                 f"beats[{which}]")
    said = re.search(r"= (\d+)$", answer.stdout.strip())
    return int(said[1]) if said else 0, answer.stdout + answer.stderr


def count_loss(case, beater, got, ms):
    case.lost.append(ms)
    if ms > LOSS_MS and case.what == "target":
        case.fault(f"beater {beater.which}: lost {beater.n - got} of {beater.n} "
                   f"beats, {ms:.1f} ms")


def look_for_quiet(case, beater, process, file):
    if case.what == "target" and not case.early:
        got, _ = asked_beats(file, process, beater.which)
        count_loss(case, beater, got,
                   (beater.n - got) * case.cpu_ns[beater.which] / 1e6)


def look_for_beats(case, beater, process, file):
    tsc = recorded_tsc(file, process, 2 if beater.which == THREAD else 1)
    got = beater.last_before(tsc)
    if got is None:
        if case.what == "target":
            case.fault(f"beater {beater.which}: its last beats are lost")
        return
    end_ns = case.killed_ns or beater.ns(beater.n)
    count_loss(case, beater, got, 0 if got >= beater.n else
               max(0, end_ns - beater.ns(got)) / 1e6)
    if got < 2:
        return
    asked, said = asked_beats(file, process, beater.which)
    if not got - 1 <= asked <= got + 1:
        case.fault(f"beater {beater.which}: {got} beats are recorded, hark ask "
                   f"says {said}")


def look(case, work):
    file = f"{work}/k.hark"
    if not os.path.exists(file):
        case.empty = True
        if not case.early:
            case.fault("there is no recording")
        return
    verified = run(HARK, "verify", file)
    frames = key_frames(file)
    if frames == 0:
        look_empty(case, verified, work)
        return
    if not re.search(rf"^verified: {frames} segments?, \d+ instructions, "
                     "0 mismatches$", verified.stdout.strip()):
        case.fault(f"{frames} key frames, but {verified}")
    info = json.loads(run(HARK, "info", "--json", file).stdout)
    if case.what == "target" and (not info["complete"] or info["signal"] != 9):
        case.fault(f"complete {info['complete']}, signal {info['signal']}")
    numbers = {p["pid"]: p["number"] for p in info["process_list"]}
    for b in read_beaters(f"{work}/mem"):
        if b.which == CHILD and (case.what == "target") > case.child_was_killed:
            continue  # hark has not seen its end
        if b.pid in numbers:
            find = look_for_quiet if "q" in case.letters else look_for_beats
            find(case, b, numbers[b.pid], file)
        elif case.what == "target" and b.n > 0:
            case.fault(f"beater {b.which}: its process is not in the recording")


def spoil(file):
    os.truncate(file, os.path.getsize(file) * 3 // 4)


def clean_up(hark, work):
    """Whoever is still there is the test's own."""
    for b in read_beaters(f"{work}/mem"):
        if os.path.basename(beat_of(b.pid)) == "record_beat":
            kill(b.pid)
    if hark is not None and hark.poll() is None:
        kill(hark.pid)
        hark.wait()


def beat_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def one(case, beat, keep, spoiled):
    work, hark = tempfile.mkdtemp(dir="."), None
    try:
        hark, target = begin(case, beat, work)
        if case.what == "target":
            kill_target(case, hark, target or hark.pid, work)
        else:
            kill_writer(case, hark, target, work)
        if spoiled and os.path.exists(f"{work}/k.hark"):
            spoil(f"{work}/k.hark")
        look(case, work)
    except (TimeoutError, subprocess.TimeoutExpired) as late:
        case.fault(f"waited in vain: {late}")
    finally:
        clean_up(hark, work)
        if case.faults and not spoiled:
            shutil.copytree(work, f"{keep}/{case.what}-{case.number}",
                            dirs_exist_ok=True)
        shutil.rmtree(work)
    return case


def main(what, n, beat, keep, *options):
    wish = dict(o.lstrip("-").split("=") for o in options if "=" in o)
    numbers = [int(wish["only"])] if "only" in wish else range(int(n))
    cases = [Case(what, wish.get("seed", "1"), i) for i in numbers]
    faults, empty, lost = 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as lanes:
        done = [lanes.submit(one, case, beat, keep, "--spoil" in options)
                for case in cases]
        for k, future in enumerate(concurrent.futures.as_completed(done)):
            case = future.result()
            faults += bool(case.faults)
            empty += case.empty
            lost += case.lost
            for fault in case.faults:
                print(f"{case}: {fault}")
            if k % 100 == 99:
                print(f"... {k + 1} kills, {faults} faults", flush=True)
    lost.sort()
    print(f"{what}: {len(cases)} kills, {empty} before there was anything; "
          f"{len(lost)} ends of beaters, {sum(ms == 0 for ms in lost)} of them "
          f"whole; lost at most {max(lost, default=0):.1f} ms, the median "
          f"{lost[len(lost) // 2] if lost else 0:.1f} ms; {faults} faults")
    return faults > 0


sys.exit(main(*sys.argv[1:]))
