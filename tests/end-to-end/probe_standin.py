#!/usr/bin/env python3
"""tests/end-to-end/probe_standin.py - stands for hark where the scripts of
`hark probe` are themselves to be tried out.

    HARK=tests/end-to-end/probe_standin.py HARK_LISTS=build/hark \\
        STANDIN=right tests/end-to-end/probe-exact.sh

It puts no probes anywhere. It runs the program, reads what the program says of
itself, and answers in hark's manner what hark should have found: all tests of
counts must pass. With STANDIN=wrong one number of each answer is one too high,
with STANDIN=lost one key is missing, with STANDIN=harm the program's status is
another: then the tests that look at it must fail. Lists are hark's own.

Of scripts it understands clauses with one @[KEY, ...] = count().
"""
import os
import re
import resource
import signal
import subprocess
import sys

MODE = os.environ.get("STANDIN", "right")


def arguments(words):
    opt = {"n": [], "x": []}
    while words:
        w = words.pop(0)
        if w == "--":
            break
        if w in ("-q", "--force", "--json"):
            continue
        if w.startswith("-") and w[1:2] in "nospx":
            value = words.pop(0)
            key = w[1]
            if key in "nx":
                opt[key].append(value)
            else:
                opt[key] = value
            continue
        words.insert(0, w)
        break
    opt["prog"] = words
    if "s" in opt:
        opt["n"].append(open(opt["s"]).read())
    return opt


def clauses(text):
    """(descriptions, keys) of every clause that counts."""
    for m in re.finditer(r"([^{}]*)\{([^{}]*)\}", text):
        names = re.sub(r"/[^/]*/\s*$", "", m.group(1).strip())
        for action in re.finditer(r"@\w*\s*(?:\[(.*)\])?\s*=\s*count",
                                  m.group(2)):
            keys = [k.strip() for k in (action.group(1) or "").split(",")]
            yield ([d.strip() for d in names.split(",")],
                   [k for k in keys if k])


def said(text, word):
    return {m[1]: int(m[2]) for m in
            re.finditer(rf"^{word} (\S+) (\d+)$", text, re.M)}


def truth():
    """What the script has found another way: FUNCTION NAME -> N."""
    path = os.environ.get("STANDIN_TRUTH", "")
    if not os.path.exists(path):
        return {}
    return {tuple(line.split()[:2]): int(line.split()[2])
            for line in open(path)}


def rows(descriptions, keys, text):
    hits, returns = said(text, "hit"), said(text, "returned")
    known = truth()
    out = {}
    hits.update((m[2], int(m[3])) for m in
                re.finditer(r"^about (\d+) (\S+) (\d+)$", text, re.M))
    spread = []
    for d in descriptions:
        if ":" not in d:
            continue
        function, name = d.split(":")[-2:]
        spread += [(f, name) for f in ([function] if function else hits)]
    for function, name in spread:
        n = hits.get(function, 0)
        if function.startswith("sub_"):
            n = sum(hits.values())
        if name == "return":
            n = returns.get(function, n)
        if name == "4" and not known:
            n = hits.get(function, 0)
        elif re.fullmatch("[1-9a-f][0-9a-f]*", name):
            n = 0
        n = known.get((function, name), n)
        if keys == ["tid"]:
            for tid, c in said(text, "tid").items():
                out[tid] = out.get(tid, 0) + c
        elif keys in (["arg0"], ["arg1"], ["uregs[R_RDI]"]):
            for i in range(n):
                key = str(2 * i + 1 if keys == ["arg1"] else i)
                out[key] = out.get(key, 0) + 1
        else:
            names = {"probefunc": function, "probename": name}
            key = " ".join(names.get(k, k.strip('"')) for k in keys)
            out[key] = out.get(key, 0) + n
    return {k: n for k, n in out.items() if n}


def answer(opt, text):
    each = {}
    lines = []
    for descriptions, keys in clauses("\n".join(opt["n"])):
        found = rows(descriptions, keys, text)
        if MODE == "lost" and found:
            del found[next(iter(found))]
        if MODE == "wrong" and found:
            found[next(iter(found))] += 1
        each[tuple(descriptions)] = sum(found.values())
        lines += [f"  {k:50} {n:16}" for k, n in found.items()]
    if "o" in opt:
        with open(opt["o"], "w") as f:
            f.write("\n" + "\n".join(lines) + "\n")
    total = sum(each.values())
    print(f"hark: all executed {total}, recorded {total}, dropped 0, "
          "recursed 0, faulted 0", file=sys.stderr)


def main():
    words = sys.argv[1:]
    if words[:1] != ["probe"] or "-l" in words:
        os.execv(os.environ["HARK_LISTS"], ["hark"] + words)
    opt = arguments(words[1:])
    if "p" in opt:
        answer(opt, "".join(f"hit {f} 1000\n" for f in
                            ("jump", "window", "trap", "plain")))
        return 0
    p = subprocess.Popen(opt["prog"], stdout=subprocess.PIPE, text=True)
    text = ""
    for line in p.stdout:
        text += line
        sys.stdout.write(line)
        sys.stdout.flush()
    p.wait()
    answer(opt, text)
    if MODE == "harm":
        return 77
    if p.returncode < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if p.returncode != -signal.SIGKILL:
            signal.signal(-p.returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -p.returncode)
    return p.returncode


sys.exit(main())
