"""report.py - samples judged, summed up, printed, and kept as JSON.

A run is right if it ended as the native run did and wrote the same bytes to
standard output.  One that did not is WRONG, however fast it was, and has no
part in any mean.  A peer that was killed at the time limit is only slow; hark
killed at the limit is WRONG as well.
"""
import datetime
import json
import math
import os
import pathlib
import platform
from dataclasses import dataclass, field

from measure import Sample, as_json
from programs import Program
from stats import Figure, figure, geomean
from ways import Way

FIELDS = ("cpu_s", "wall_s", "rss_kb", "bytes")
THREADS_BAR = 1.3  # threads may make a way so much dearer


@dataclass
class Cell:
    """One program in one way: all its runs."""
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def killed(self) -> bool:
        """Was any run too long?"""
        return any(s.killed for s in self.samples)

    @property
    def valid(self) -> bool:
        """May this cell be shown as a number?"""
        return bool(self.samples) and not self.faults and not self.killed

    def figure(self, name: str) -> Figure:
        """Median and spread of one field."""
        return figure([getattr(s, name) for s in self.samples])


Row = dict[str, Cell]  # by the name of the way


def fault(sample: Sample, truth: Sample, way: Way) -> str:
    """What is wrong with this run, or nothing."""
    if sample.killed:
        slow_peer = not way.ours and way.name != "native"
        return "" if slow_peer else sample.ending
    if way.own_output:
        ok = sample.status == 0 and sample.signal == 0
        return "" if ok else f"{sample.ending} {sample.error}".strip()
    if (sample.status, sample.signal) != (truth.status, truth.signal):
        text = f"{sample.ending}, native {truth.ending}"
        return f"{text}: {sample.error}" if sample.error else text
    if sample.sha256 != truth.sha256:
        return "output differs from native"
    if sample.left and not truth.left:
        return "left a process behind"
    return ""


def ratio(row: Row, way: str, name: str) -> Figure | None:
    """A cell as a multiple of the native one, if both are valid."""
    cell, base = row.get(way), row["native"]
    if cell is None or not cell.valid or not base.valid:
        return None
    return cell.figure(name).over(base.figure(name).median)


# -- Tables -------------------------------------------------------------------

WIDTH = 19


def short(x: float) -> str:
    """Three digits are what a benchmark is good for."""
    if math.isnan(x):
        return "?"
    if x < 9.995:
        return f"{x:.2f}"
    return f"{x:.1f}" if x < 99.95 else f"{x:.0f}"


def spread(f: Figure) -> str:
    """Median (min..max)."""
    return f"{short(f.median)} ({short(f.min)}..{short(f.max)})"


def mark(cell: Cell | None) -> str:
    """What stands in a cell that has no number."""
    if cell is None:
        return "-"
    return "WRONG" if cell.faults else "> limit"


def line(head: str, cells: list[str]) -> str:
    """One line of a table."""
    return f"{head:<10}" + "".join(f"{c:>{WIDTH}}" for c in cells)


def cpu_line(program: Program, row: Row, names: list[str]) -> str:
    """Native CPU seconds, then every other way as a multiple of them."""
    cells = []
    for name in names:
        cell, f = row.get(name), ratio(row, name, "cpu_s")
        if name == "native" and cell is not None and cell.valid:
            f = cell.figure("cpu_s")
            cells.append(f"{f.median:.3f} ({f.min:.3f}..{f.max:.3f})")
        else:
            cells.append(spread(f) if f else mark(cell))
    return line(program.id, cells)


def value_line(head: str, row: Row, names: list[str], what: str) -> str:
    """Medians of another field: wall as multiples, sizes in MB."""
    cells = []
    for name in names:
        cell, f = row.get(name), ratio(row, name, what)
        if cell is None or not cell.valid:
            cells.append(mark(cell))
        elif what == "wall_s" and name != "native":
            cells.append(short(f.median) if f else "?")
        else:
            unit = {"wall_s": 1.0, "rss_kb": 1e3 / 1.024, "bytes": 1e6}[what]
            cells.append(f"{cell.figure(what).median / unit:.3f}")
    return line(head, cells)


def means(programs: list[Program], rows: dict[str, Row], way: str,
          group: str) -> dict[str, float]:
    """The CPU ratios of one way over one group of programs."""
    found = {}
    for p in programs:
        f = ratio(rows[p.id], way, "cpu_s") if p.id in rows else None
        if p.group == group and f is not None:
            found[p.id] = f.median
    return found


def mean_lines(programs: list[Program], rows: dict[str, Row],
               names: list[str]) -> list[str]:
    """Geometric mean and worst of each group, as far as it was measured."""
    lines = []
    for group in ("single", "threads"):
        all_means = [means(programs, rows, n, group) for n in names[1:]]
        if not any(all_means):
            continue
        lines.append(line("geomean", [f"{group}:"] + [
            f"{short(geomean(list(m.values())))} of {len(m)}" if m else "-"
            for m in all_means]))
        lines.append(line("worst", [f"{group}:"] + [
            f"{short(max(m.values()))} {max(m, key=lambda k: m[k])}"
            if m else "-" for m in all_means]))
    return lines


def thread_ratios(programs: list[Program], rows: dict[str, Row],
                  way: str) -> dict[str, float]:
    """The multiple of each program with threads over that of one thread."""
    found = {}
    for p in programs:
        both = [ratio(rows[k], way, "cpu_s") if k in rows else None
                for k in (p.id, p.alone)]
        if both[0] is not None and both[1] is not None:
            found[p.id] = both[0].median / both[1].median
    return found


def thread_lines(programs: list[Program], rows: dict[str, Row],
                 names: list[str]) -> list[str]:
    """What threads cost each way, and whether that is too much."""
    found = [thread_ratios(programs, rows, name) for name in names[1:]]
    return [line("threads", [f"{p.id}:"] + [
        (f"{short(f[p.id])} {'<=' if f[p.id] <= THREADS_BAR else 'OVER'} "
         f"{THREADS_BAR}") if p.id in f else "-" for f in found])
            for p in programs if any(p.id in f for f in found)]


def other_tables(rows: dict[str, Row], names: list[str]) -> list[str]:
    """Wall time, memory and what was written."""
    writers = [name for name in names
               if any(s.bytes for row in rows.values() if name in row
                      for s in row[name].samples)]
    lines = []
    for title, what, columns in (("wall, s and multiples", "wall_s", names),
                                 ("peak RSS, MB", "rss_kb", names),
                                 ("files written, MB", "bytes", writers)):
        if columns:
            lines += ["", title, line("program", columns)]
            lines += [value_line(k, row, columns, what)
                      for k, row in rows.items()]
    return lines


def fault_lines(rows: dict[str, Row]) -> list[str]:
    """Everything that went wrong, one line each."""
    return [f"WRONG {program} {way}: {text}"
            for program, row in rows.items() for way, cell in row.items()
            for text in sorted(set(cell.faults))]


# -- The file -----------------------------------------------------------------

def cpu_info(key: str) -> str:
    """A line of /proc/cpuinfo, as the first cpu has it."""
    for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = text.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def machine() -> dict[str, object]:
    """Where and when; figures without this are worth nothing."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu_info("model name"),
        "cores": len(os.sched_getaffinity(0)),
        "virtual": "hypervisor" in cpu_info("flags").split(),
        "memory_mb": memory // 1000000,
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "date": datetime.datetime.now().astimezone().isoformat(
            timespec="seconds"),
        "load": os.getloadavg()[0],
    }


def machine_line(m: dict[str, object]) -> str:
    """The machine in one line, with a warning if others are at work."""
    kind = "virtual" if m["virtual"] else "bare metal"
    text = (f"{m['cpu']}, {m['cores']} cores ({kind}), Linux {m['kernel']}, "
            f"{m['date']}, load {m['load']:.2f}")
    busy = os.getloadavg()[0] > 0.25 * len(os.sched_getaffinity(0))
    return text + ("; BUSY: trust CPU time, not wall time" if busy else "")


def cell_json(row: Row, way: str) -> dict[str, object]:
    """The figures of one cell; ratios are null where there are none."""
    cell = row[way]
    out: dict[str, object] = {"n": len(cell.samples), "faults": cell.faults,
                              "killed": cell.killed}
    for name in FIELDS:
        f = cell.figure(name)
        out[name] = {"median": f.median, "min": f.min, "max": f.max}
    for name in ("cpu_s", "wall_s", "rss_kb"):
        r = ratio(row, way, name)
        known = r is not None and not math.isnan(r.median)
        out[name.rsplit("_", 1)[0] + "_ratio"] = \
            r.median if r is not None and known else None
    return out


def means_json(programs: list[Program], rows: dict[str, Row],
               names: list[str]) -> dict[str, object]:
    """Geometric mean and worst, by way and group."""
    out: dict[str, object] = {}
    for name in names[1:]:
        for group in ("single", "threads"):
            found = means(programs, rows, name, group)
            if found:
                worst = max(found, key=lambda k: found[k])
                out.setdefault(name, {})[group] = {  # type: ignore
                    "n": len(found), "geomean": geomean(list(found.values())),
                    "worst": found[worst], "worst_program": worst}
    return out


def threads_json(programs: list[Program], rows: dict[str, Row],
                 names: list[str]) -> dict[str, object]:
    """What threads cost, by way and program."""
    return {name: thread_ratios(programs, rows, name) for name in names[1:]}


def samples_json(rows: dict[str, Row]) -> list[dict[str, object]]:
    """Every single run."""
    return [{"program": program, "way": way, "repeat": k, **as_json(sample)}
            for program, row in rows.items() for way, cell in row.items()
            for k, sample in enumerate(cell.samples)]


def write_json(path: pathlib.Path, data: object) -> None:
    """All of it or nothing."""
    part = path.with_name(f".part-{os.getpid()}-{path.name}")
    part.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n")
    part.rename(path)


def keep(out: pathlib.Path, name: str, data: object) -> pathlib.Path:
    """Write name-TIME.json and name-latest.json (without `name-` if empty)."""
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    prefix = f"{name}-" if name else ""
    path = out / f"{prefix}{stamp}.json"
    write_json(path, data)
    write_json(out / f"{prefix}latest.json", data)
    return path
