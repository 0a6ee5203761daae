#!/usr/bin/env python3
"""tests/end-to-end/probe_check.py - holds what hark counted against the truth.

    probe_check.py counts SHOWN SAID [WORD]  by function, as the guest SAID
    probe_check.py total SHOWN N             one number
    probe_check.py each SHOWN N [MUL ADD]    every ordinal below N once, its key
                                             being MUL * ordinal + ADD
    probe_check.py tids SHOWN SAID           by thread, as the guest SAID
    probe_check.py pairs SHOWN TRUTH         lines of "FUNCTION NAME N"
    probe_check.py accounts ERRORS [KEY=N]   executed = recorded + dropped +
                                             recursed + faulted, in every line
    probe_check.py account ERRORS KEY        the total of KEY alone
    probe_check.py session SHOWN ERRORS      both, of one number: all executed
                                             were counted; prints the number
    probe_check.py sessions FOLDER           the same of each pair N.shown and
                                             N.errors; prints how many pairs
                                             there are, and the sum

SHOWN is an aggregation as hark shows it: keys, then a count. SAID is what a
guest wrote: "hit FUNCTION N", "returned FUNCTION N", "tid TID N". Prints
"right", or what is wrong in a few lines.
"""
import collections
import pathlib
import re
import sys

PARTS = ["executed", "recorded", "dropped", "recursed", "faulted"]


def shown(path):
    """Counts by key (a tuple of words); a key that comes twice is an error."""
    out = {}
    for line in open(path, errors="replace"):
        words = line.split()
        if not words or words[-1] == "FUNCTION:NAME" or \
                re.fullmatch(r":tick-\w+", words[-1]):
            continue
        if not re.fullmatch(r"-?\d+", words[-1]):
            raise SystemExit(f"not a count: {line.strip()}")
        key = tuple(words[:-1])
        if key in out:
            raise SystemExit(f"{' '.join(key)}: shown twice")
        out[key] = int(words[-1])
    return out


def said(path, word):
    out = {}
    for line in open(path, errors="replace"):
        words = line.split()
        if len(words) == 3 and words[0] == word:
            out[(words[1],)] = int(words[2])
    if not out:
        raise SystemExit(f"the guest said nothing of '{word}'")
    return out


def compare(got, want):
    """One line for each difference, the first ten."""
    wrong = []
    for key in sorted(got.keys() | want.keys()):
        a, b = got.get(key, 0), want.get(key, 0)
        if a != b:
            wrong.append(f"{' '.join(key) or 'count'}: {a} counted, "
                         f"{b} executed")
    return wrong


def each(got, n, mul, add):
    missed = double = strange = 0
    keys = collections.Counter()
    for key, count in got.items():
        number = int(key[0]) & (1 << 64) - 1
        keys[number] += count
    for i in range(n):
        c = keys.pop((mul * i + add) & (1 << 64) - 1, 0)
        missed += c == 0
        double += c > 1
    strange = len(keys)
    if missed or double or strange:
        return [f"of {n}: {missed} missed, {double} double, "
                f"{strange} that never were"]
    return []


def account_of(line):
    """The five numbers of a line, however they are put into words."""
    names = ["executed", "recorded", "dropped", r"recurs\w*", "faulted"]
    if re.search(r"\d+ executed", line):
        ways = [r"(\d+) %s"] * 5
    elif re.search(r"executed\W+\d+\W*=\W*\d+ recorded", line):
        ways = [r"%s\W+(\d+)"] + [r"(\d+) %s"] * 4
    elif re.search(r"executed\W+\d+", line):
        ways = [r"%s\W+(\d+)"] * 5
    else:
        return None
    found = [re.search(way % name, line) for way, name in zip(ways, names)]
    if None in found:
        return None
    return [int(m.group(1)) for m in found]


def accounts(path):
    """(name, five numbers) of every line that has them, or of the rows of a
    table with such columns."""
    rows, table = [], False
    for line in open(path, errors="replace"):
        line = line.strip()
        one = account_of(line)
        numbers = re.findall(r"(?<!\S)\d+(?!\S)", line)
        if one is not None:
            rows.append((line, one))
        elif all(p[:6] in line for p in PARTS) and not numbers:
            table = True
        elif table and len(numbers) >= 5:
            rows.append((line, [int(n) for n in numbers[-5:]]))
        else:
            table = False
    return rows


def totals(rows):
    """The sum over probes; a line of totals must be the same sum."""
    all_of_them = re.compile(r"\btotal\b|^hark: \d+ probes?:")
    total = [r for name, r in rows if all_of_them.search(name)]
    rest = [r for name, r in rows if not all_of_them.search(name)]
    sums = [sum(column) for column in zip(*rest)] if rest else None
    if total and sums and total[-1] != sums:
        raise SystemExit(f"the total is {total[-1]}, the sum {sums}")
    return dict(zip(PARTS, sums or total[-1]))


def check_accounts(path, wanted):
    rows = accounts(path)
    wrong = []
    if not rows:
        text = open(path, errors="replace").read().strip()
        return ["no accounts: " + text[:300]]
    for name, r in rows:
        cut = re.search(r"\+ (\d+) that the end of a thread cut off", name)
        if r[0] != sum(r[1:]) + (int(cut.group(1)) if cut else 0):
            wrong.append(f"{r[0]} is not {r[1:]}: {name}")
    sums = totals(rows)
    for word in wanted:
        key, n = word.split("=")
        if sums[key] != int(n):
            wrong.append(f"{key}: {sums[key]}, not {n}")
    return wrong


def session(path, errors):
    """What one hark has counted; and what is wrong with that."""
    n = sum(shown(path).values())
    wrong = check_accounts(errors, [])
    if not wrong and totals(accounts(errors))["executed"] != n:
        wrong = [f"{path}: {n} shown of {totals(accounts(errors))}"]
    return n, wrong


def main():
    what, path, *rest = sys.argv[1:]
    if what == "counts":
        wrong = compare(shown(path), said(*rest) if len(rest) > 1
                        else said(rest[0], "hit"))
    elif what == "total":
        got = shown(path)
        wrong = compare(got, {(): int(rest[0])}) if int(rest[0]) else []
    elif what == "each":
        n, mul, add = (int(x) for x in (rest + [1, 0])[:3])
        wrong = each(shown(path), n, mul, add)
    elif what == "tids":
        wrong = compare(shown(path), said(rest[0], "tid"))
    elif what == "pairs":
        wrong = compare(shown(path), shown(rest[0]))
    elif what == "accounts":
        wrong = check_accounts(path, rest)
    elif what == "account":
        print(totals(accounts(path))[rest[0]] if accounts(path) else "none")
        return
    elif what == "session":
        n, wrong = session(path, rest[0])
        if not wrong:
            print(n)
            return
    elif what == "sessions":
        counts, wrong = zip(*(session(p, p.with_suffix(".errors"))
                              for p in pathlib.Path(path).glob("*.shown")))
        wrong = [text for texts in wrong for text in texts]
        if not wrong:
            print(len(counts), sum(counts))
            return
    else:
        raise SystemExit(__doc__)
    more = [f"and {len(wrong) - 10} more"] if len(wrong) > 10 else []
    print("\n".join(wrong[:10] + more) or "right")


main()
