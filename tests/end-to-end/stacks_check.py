"""tests/end-to-end/stacks_check.py FORMAT TRUTH FILE - is FILE what TRUTH says?

TRUTH is what stacks_write says of a profile without any presenter. FILE is
decoded here by hand, as its format's documents have it, and every stack, weight,
thread and time that the format can keep must be there. Prints `ok` and some
figures, or what is wrong."""
import collections
import gzip
import json
import re
import sys

GUESS = " [guess]"


def utf8(raw):
    """As text; U+FFFD for each byte that belongs to no character."""
    out, at = [], 0
    while at < len(raw):
        for n in (1, 2, 3, 4):
            try:
                out.append(raw[at:at + n].decode())
                break
            except UnicodeDecodeError:
                continue
        else:
            n = 1
            out.append("\ufffd")
        at += n
    return "".join(out)


class Truth:
    """Frames, nodes, threads and samples, as they were made."""

    def __init__(self, path):
        self.frames, self.nodes, self.threads, self.samples = [], [], [], []
        with open(path) as lines:
            for what, *words in map(str.split, lines):
                texts = [utf8(bytes.fromhex(w[1:])) for w in words
                         if w.startswith("x")]
                numbers = [int(w) for w in words if not w.startswith("x")]
                if what == "F":
                    self.frames.append((*numbers, *texts))
                elif what == "N":
                    self.nodes.append(tuple(numbers))
                elif what == "T":
                    self.threads.append((*numbers, *texts))
                elif what == "S":
                    self.samples.append(tuple(numbers))
                else:
                    self.unit, self.period, self.duration = numbers
        self.paths = {0: ()}

    def name(self, frame):
        line, inlined, guess, unknown, name, module, file = self.frames[frame]
        return (name or "[unknown]") + (GUESS if guess else "")

    def path(self, node):
        """Frames, the outermost first."""
        todo = []
        while node not in self.paths:
            todo.append(node)
            node = self.nodes[node][0]
        path = list(self.paths[node])
        for node in reversed(todo):
            path.append(self.nodes[node][1])
            if len(path) < 200:  # a deep stack's would be all of memory
                self.paths[node] = tuple(path)
        return tuple(path)

    def names(self, node):
        return tuple(self.name(f) for f in self.path(node))

    def by_thread(self):
        """For each thread, stack -> weight."""
        out = [collections.Counter() for _ in self.threads]
        for _, thread, node, weight in self.samples:
            out[thread][self.names(node)] += weight
        return out


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {str(got)[:600]}\nwant {str(want)[:600]}")


def same_counts(got, want, what):
    """Counters; what weighs nothing may be there or not."""
    got = {k: v for k, v in got.items() if v}
    want = {k: v for k, v in want.items() if v}
    for key in got.keys() | want.keys():
        same(got.get(key), want.get(key), f"{what}: {key!r:.300}")


def strict_json(path):
    def no(word):
        raise ValueError(word)
    with open(path, "rb") as f:
        return json.loads(f.read().decode("utf-8"), parse_constant=no)


# -- Lines of text -------------------------------------------------------------

def is_plain(truth):
    return all(re.fullmatch(r"[^;\\\x00-\x1f\x7f-\x9f\ufffd\u2028\u202e]+", f[4])
               for f in truth.frames)


def check_folded(truth, path):
    with open(path, "rb") as f:
        text = f.read().decode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "a control"
    got, want = collections.Counter(), collections.Counter()
    shape = not is_plain(truth)
    for line in text.splitlines() if text else ():
        stack, weight = line.rsplit(" ", 1)
        assert weight.isdecimal(), line
        names = tuple(stack.split(";"))
        got[len(names) if shape else names] += int(weight)
    for thread, stacks in zip(truth.threads, truth.by_thread()):
        for stack, weight in stacks.items():
            want[len(stack) + 1 if shape else (thread[2], *stack)] += weight
    same_counts(got, want, "stacks")


def check_perf(truth, path):
    with open(path, "rb") as f:
        blocks = f.read().decode("utf-8").split("\n\n")[:-1]
    same(len(blocks), len(truth.samples), "samples")
    for block, (time, thread, node, weight) in zip(blocks, truth.samples):
        head, *frames = block.split("\n")
        m = re.fullmatch(r"(\S+) (\d+)/(\d+) (\d+\.\d{6}): (\d+) cpu-clock:", head)
        assert m, head
        pid, tid, _ = truth.threads[thread]
        same((int(m[2]), int(m[3])), (pid, tid), "thread")
        same(m[4], f"{time // 10**9}.{time % 10**9 // 1000:06}", "time")
        same(int(m[5]), weight * (1 if truth.unit else truth.period), "period")
        stack = []
        for frame in frames:
            f = re.fullmatch(r"\t\s*([0-9a-f]+) (.+) \((\S*)\)", frame)
            assert f, frame
            stack.insert(0, f[2])
        if is_plain(truth):
            same(tuple(stack), truth.names(node), "stack")
        else:
            same(len(stack), len(truth.path(node)), "depth")


# -- speedscope ----------------------------------------------------------------

def middle_left_out(stacks):
    out = collections.Counter()
    for stack, weight in stacks.items():
        if len(stack) > 2000:
            stack = (*stack[:1000], "[frames left out]", *stack[-999:])
        out[stack] += weight
    return out


def check_speedscope(truth, path):
    data = strict_json(path)
    same(data["$schema"], "https://www.speedscope.app/file-format-schema.json",
         "schema")
    frames = data["shared"]["frames"]
    for f in frames:
        assert isinstance(f["name"], str) and f["name"], f
        assert set(f) <= {"name", "file", "line", "col"}, f
    same([f["name"] for f in frames[:-2]],
         [truth.name(i) for i in range(len(truth.frames))], "frames")
    wanted = [middle_left_out(c) for c in truth.by_thread()]
    running = [t for t, c in enumerate(wanted) if c]
    same(len(data["profiles"]), len(running), "profiles")
    n_names = small = 0
    for profile, t in zip(data["profiles"], running):
        same(profile["type"], "sampled", "type")
        assert profile["unit"] in ("none", "nanoseconds")
        same(len(profile["samples"]), len(profile["weights"]), "weights")
        same(profile["endValue"] - profile["startValue"], sum(profile["weights"]),
             "total")
        got, want = collections.Counter(), wanted[t]
        for stack, weight in zip(profile["samples"], profile["weights"]):
            n_names += len(stack) + 1
            got[tuple(frames[i]["name"] for i in stack)] += weight
        small = got.pop(("[small stacks, merged]",), 0)
        if not small:
            same_counts(got, want, "stacks")
        else:
            for stack, weight in got.items():
                # Stacks may be alike without their middle.
                same(weight <= want[stack], True, "stack")
        same(sum(got.values()) + small, sum(want.values()), "all")
    assert n_names <= (4 << 20) + 1000, f"{n_names} frames"
    return f"{n_names} frames named, {small} merged"


# -- protobuf ------------------------------------------------------------------

def varint(raw, at):
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(raw):
    """Field number -> values, in order."""
    out, at = collections.defaultdict(list), 0
    while at < len(raw):
        key, at = varint(raw, at)
        if key & 7 == 0:
            value, at = varint(raw, at)
        elif key & 7 == 2:
            n, at = varint(raw, at)
            value, at = raw[at:at + n], at + n
            assert len(value) == n, "cut off"
        else:
            raise ValueError(f"wire type {key & 7}")
        out[key >> 3].append(value)
    return out


def packed(values):
    out = []
    for raw in values:
        at = 0
        while at < len(raw):
            value, at = varint(raw, at)
            out.append(value)
    return out


def one(message, field, default=0):
    values = message[field]
    assert len(values) <= 1, f"field {field} twice"
    return values[0] if values else default


def check_pprof(truth, path):
    with gzip.open(path) as f:
        profile = fields(f.read())
    strings = [s.decode("utf-8") for s in profile[6]]
    same(strings[0], "", "the first string")
    assert len(set(strings)) == len(strings) or not is_plain(truth), "twice"
    tables = {}
    for number in (3, 4, 5):
        tables[number] = {}
        for raw in profile[number]:
            m = fields(raw)
            assert one(m, 1) not in tables[number] and one(m, 1) > 0
            tables[number][one(m, 1)] = m
    functions = {i: strings[one(m, 2)] for i, m in tables[5].items()}
    locations = {}
    for i, m in tables[4].items():
        lines = [fields(raw) for raw in m[4]]
        assert lines, "a location without a line"
        assert one(m, 2) == 0 or one(m, 2) in tables[3], "no such mapping"
        locations[i] = [functions[one(l, 1)] for l in lines]
    types = [(strings[one(fields(t), 1)], strings[one(fields(t), 2)])
             for t in profile[1]]
    same(types, [("samples", "count"), ("time", "nanoseconds")], "types")
    same(one(profile, 12), truth.period, "period")
    same(one(profile, 10), truth.duration, "duration")
    got = [collections.Counter() for _ in truth.threads]
    tids = {t[1]: i for i, t in enumerate(truth.threads)}
    for raw in profile[2]:
        m = fields(raw)
        names = [n for i in packed(m[1]) for n in locations[i]]
        n, ns = packed(m[2])
        labels = {strings[one(l, 1)]: l for l in map(fields, m[3])}
        same(ns, n * truth.period if truth.unit == 0 else ns, "time")
        got[tids[one(labels["tid"], 3)]][tuple(reversed(names))] += \
            n if truth.unit == 0 else ns
    for t, want in enumerate(truth.by_thread()):
        same_counts(got[t], want, f"thread {t}")
    inlined = sum(len(l) > 1 for l in locations.values())
    if any(f[1] for f in truth.frames):
        assert inlined, "nothing is inlined"
    return f"{len(profile[2])} samples, {inlined} locations with inlined lines"


def check_raw(truth, path):
    """What `pprof -raw` prints of it: as many, of each thread, so deep."""
    got, now, lines = collections.Counter(), None, 0
    with open(path, errors="replace") as f:
        text = f.read().split("\nSamples:\n")[1].split("\nLocations\n")[0]
    for line in text.splitlines()[1:]:
        sample = re.match(r" *(\d+) +\d+: ([\d ]*)$", line)
        label = re.search(r"\btid:\[(\d+)\]", line)
        if sample:
            now = int(sample[1])
        elif label:
            got[int(label[1])] += now
            lines += 1
    want = collections.Counter()
    for _, thread, node, weight in truth.samples:
        if node != 0:  # it leaves out samples without a stack
            want[truth.threads[thread][1]] += weight
    same_counts(got, want, "threads")
    return f"{lines} stacks"


def check_perfetto(truth, path):
    with open(path, "rb") as f:
        packets = fields(f.read())[1]
    tables = collections.defaultdict(dict)
    names, at = {}, 0
    for raw in packets:
        p = fields(raw)
        same(one(p, 10), 1, "sequence")
        for number, values in fields(one(p, 12, b"")).items():
            for value in values:
                m = fields(value)
                assert one(m, 1) > 0 and one(m, 1) not in tables[number]
                tables[number][one(m, 1)] = m
        for raw_thread in fields(one(p, 2, b""))[2]:
            m = fields(raw_thread)
            names[one(m, 1)] = one(m, 2, b"").decode("utf-8")
        if not p[66]:
            continue
        sample = fields(one(p, 66))
        time, thread, node, _ = truth.samples[at]
        same(one(p, 8), time, "time")
        same((one(sample, 2), one(sample, 3)), truth.threads[thread][:2], "thread")
        stack = one(sample, 4)
        got = ()
        if stack:  # all of it is known by now
            frames = [tables[6][i] for i in tables[7][stack][2]]
            for m in frames:
                tables[17][one(tables[19][one(m, 3)], 7)]
            got = tuple(one(tables[5][one(m, 2)], 2).decode("utf-8")
                        for m in frames)
        same(got, truth.names(node), "stack")
        at += 1
    same(at, len(truth.samples), "samples")
    same(names, {t[1]: t[2] for t in truth.threads}, "threads")


# -- Firefox -------------------------------------------------------------------

def check_columns(table, what):
    for key, column in table.items():
        if key not in ("length", "weightType"):
            same(len(column), table["length"], f"{what}.{key}")


def check_firefox(truth, path):
    data = strict_json(path)
    shared, strings = data["shared"], data["shared"]["stringArray"]
    assert any(c["color"] == "grey" for c in data["meta"]["categories"])
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable",
                 "nativeSymbols", "sources"):
        check_columns(shared[name], name)
    stacks, frames = shared["stackTable"], shared["frameTable"]
    funcs = shared["funcTable"]
    for i, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < i, f"prefix of {i}"
    for r in funcs["resource"]:
        assert -1 <= r < shared["resourceTable"]["length"]
    for lib in shared["resourceTable"]["lib"]:
        assert 0 <= lib < len(data["libs"])
    for s in funcs["source"]:
        assert s is None or 0 <= s < shared["sources"]["length"]

    def stack_of(i):
        out = []
        while i is not None:
            out.append(strings[funcs["name"][frames["func"][stacks["frame"][i]]]])
            i = stacks["prefix"][i]
        return tuple(reversed(out))

    same(len(data["threads"]), len(truth.threads), "threads")
    for t, thread in enumerate(data["threads"]):
        pid, tid, name = truth.threads[t]
        same((thread["pid"], thread["tid"], thread["name"]), (str(pid), tid, name),
             "thread")
        check_columns(thread["samples"], "samples")
        check_columns(thread["markers"], "markers")
        mine = [s for s in truth.samples if s[1] == t]
        rows = thread["samples"]
        same(rows["length"], len(mine), "samples")
        for k, (time, _, node, weight) in enumerate(mine):
            assert abs(rows["time"][k] - time / 1e6) < 1e-5 * (1 + time / 1e6)
            if truth.unit == 0:
                same(rows["weight"][k], weight, "weight")
            same(stack_of(rows["stack"][k]), truth.names(node), "stack")


# -- The page ------------------------------------------------------------------

FLAG_MERGED = 8


def page_data(path):
    with open(path, "rb") as f:
        text = f.read().decode("utf-8")
    m = re.search(r'<script id="data" type="application/json">(.*?)</script>',
                  text, re.S)
    assert "<" not in m[1] and "&" not in m[1], "markup in the data"
    return json.loads(m[1]), len(text.encode())


def truth_totals(truth):
    """Function path -> weight with all below it; as a tree of dictionaries."""
    def key(frame):
        _, inlined, guess, unknown, name, module, file = truth.frames[frame]
        return (name or "[unknown]", module, file,
                inlined + 2 * guess + 4 * unknown)
    keys = [key(i) for i in range(len(truth.frames))]
    own = collections.Counter()
    for _, _, node, weight in truth.samples:
        own[node] += weight
    tree, place, total = {}, [0] * len(truth.nodes), [0]
    for i in range(1, len(truth.nodes)):
        up, frame = truth.nodes[i]
        at = tree.setdefault((place[up], keys[frame]), len(total))
        if at == len(total):
            total.append(0)
        place[i] = at
    for node, weight in own.items():
        total[place[node]] += weight if node else 0
    none = own[0]
    back = {at: (up, k) for (up, k), at in tree.items()}
    for at in range(len(total) - 1, 0, -1):
        total[back[at][0]] += total[at]
    return tree, total, none


def check_flame(truth, path):
    data, size = page_data(path)
    assert size <= 5 * 1000 * 1000, f"{size} bytes"
    texts, funcs = data["texts"], data["funcs"]
    keys = [(*(texts[t] for t in funcs[i:i + 3]), funcs[i + 3])
            for i in range(0, len(funcs), 4)]
    n = len(data["up"]) + 1
    same((len(data["func"]), len(data["line"])), (n - 1, n - 1), "columns")
    depth, parent, last, total = [0], [0], [0], [0] * n
    for i, up in enumerate(data["up"], 1):
        depth.append(depth[-1] + 1 - up)
        assert 0 < depth[i] <= depth[i - 1] + 1, "depth"
        parent.append(last[depth[i] - 1])
        del last[depth[i]:]
        last.append(i)
    by_thread, steps = collections.Counter(), 0
    for t, flat in zip(data["threads"], data["course"]):
        node = 0
        for k in range(0, len(flat), 3):
            node += flat[k]
            assert 0 < node < n and flat[k + 1] >= 0 and flat[k + 2] > 0
            total[node] += flat[k + 2]
            by_thread[t[1] if t[3] == 1 else "others"] += flat[k + 2]
            steps += 1
    want = collections.Counter()
    single = {t[1] for t in data["threads"] if t[3] == 1}
    for _, thread, _, weight in truth.samples:
        tid = truth.threads[thread][1]
        want[tid if tid in single else "others"] += weight
    same_counts(by_thread, want, "threads")
    for i in range(n - 1, 0, -1):
        total[parent[i]] += total[i]
    same((total[0], data["total"]), (sum(want.values()),) * 2, "all")
    tree, truly, none = truth_totals(truth)
    place, seen, merged = [0] * n, 0, 0
    for i in range(1, n):
        key = keys[data["func"][i - 1]]
        if key[3] & FLAG_MERGED:
            merged += total[i]
        elif key[0] == "[no stack]" and depth[i] == 1:
            same(total[i], none, "no stack")
        else:
            if max(map(len, key[:3])) > 900:
                continue
            place[i] = tree[place[parent[i]], key]
            same(total[i], truly[place[i]], f"{key}")
            seen += 1
    same(merged, data["merged_weight"], "what is merged")
    same(bool(merged), bool(data["merged"]), "whether anything is merged")
    if not merged:
        same(seen, sum(t > 0 for t in truly[1:]), "functions in the tree")
    return f"{size} bytes, {seen} boxes, {data['merged']} merged, {steps} steps"


if __name__ == "__main__":
    sys.setrecursionlimit(100)  # nothing here may need more
    check = globals()["check_" + sys.argv[1]]
    print("ok", check(Truth(sys.argv[2]), sys.argv[3]) or "")
