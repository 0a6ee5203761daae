"""tests/end-to-end/flame_browser.py FOLDER - does the flame graph's page work?

FOLDER has NAME.html and NAME.truth of several profiles. For each test a line,
`pass NAME` or `fail NAME: why`."""
import collections
import json
import sys
import traceback

from stacks_check import Truth
from webdriver import Browser, Failed

HOT = "trace::Ray::bounce(int)"
folder = sys.argv[1]
truth = {name: Truth(f"{folder}/{name}.truth")
         for name in ("real", "few", "deep", "hostile")}


def check(what, why=""):
    if not what:
        raise Failed(why or "it is not so")


def same(got, want):
    check(got == want, f"got {got!r:.400}, want {want!r:.400}")


def boxes(b):
    return b.value("hark.boxes()")


def settled(b):
    """When nothing moves any more: what is drawn."""
    b.until("hark.isStill()")
    return boxes(b)


def seen(b):
    g = b.value("({...document.getElementById('graph').dataset})")
    return float(g["from"]), float(g["to"]), float(g["all"])


def show(b, view):
    b.press(f"[data-view={view}]")
    b.until(f"document.getElementById('graph').dataset.view === '{view}'")


def choose(b, thread):
    b.run("const s = document.getElementById('thread'); s.value = arguments[0];"
          "s.dispatchEvent(new Event('change'));", str(thread))


def search(b, text):
    b.run("const s = document.getElementById('search'); s.value = arguments[0];"
          "s.dispatchEvent(new Event('input'));", text)


def whole(t):
    return sum(s[3] for s in t.samples)


def matched(t, name):
    """Weight of all samples with that function in them."""
    return sum(w for _, _, node, w in t.samples if name in t.names(node))


def in_a_row(pairs):
    """Names with their weights; the same name in a row is one."""
    out = []
    for name, weight in pairs:
        if out and out[-1][0] == name:
            out[-1][1] += weight
        else:
            out.append([name, weight])
    return out


# -- Tests ---------------------------------------------------------------------

def loads_from_a_file(b):
    b.open(f"{folder}/real.html")
    check("mosaic render" in b.value("document.title"))
    check("6,000 samples" in b.value("document.getElementById('facts').innerText"))
    same(b.value("document.querySelectorAll('#notes li').length"), 2)
    root = [x for x in settled(b) if x["row"] == 0]
    same([x["total"] for x in root], [whole(truth["real"])])


def search_finds_the_hot_function(b):
    t = truth["real"]
    b.type("/")
    same(b.value("document.activeElement.id"), "search")
    b.type(*HOT)
    b.until("document.getElementById('found').dataset.functions === '1'")
    found = b.value("({...document.getElementById('found').dataset})")
    same(int(found["weight"]), matched(t, HOT))
    share = f"{100 * matched(t, HOT) / whole(t):.2f} %"
    check(share in b.value("document.getElementById('found').innerText"), share)
    hits = [x for x in settled(b) if x["hit"]]
    check(hits and all(x["name"] == HOT for x in hits), "highlights")
    check(any(x["name"] == HOT for x in boxes(b)) and len(hits) ==
          sum(x["name"] == HOT for x in boxes(b)), "all of them")


def enter_goes_there_and_escape_comes_back(b):
    b.type("Enter")
    b.until("!document.getElementById('back').disabled")
    settled(b)
    a, z, all_ = seen(b)
    check(z - a < all_)
    check(HOT in b.value("document.getElementById('status').innerText"))
    b.type("Escape")  # what was searched for
    b.until("document.getElementById('search').value === ''")
    same(sum(x["hit"] for x in boxes(b)), 0)
    b.type("Escape", "Escape")  # out of the field, and back
    b.until("document.getElementById('back').disabled")
    settled(b)
    same(seen(b)[:2], (0, all_))


def a_click_zooms_in(b):
    box = max((x for x in settled(b) if x["name"] == "main"), key=lambda x: x["w"])
    b.point(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2, click=True)
    b.until("!document.getElementById('back').disabled")
    now = settled(b)
    a, z, all_ = seen(b)
    same(z - a, matched(truth["real"], "main"))
    main = [x for x in now if x["name"] == "main"][0]
    check(main["w"] > 1100, main)
    inner = max((x for x in now if x["row"] == 2), key=lambda x: x["w"])
    b.point(inner["x"] + inner["w"] / 2, inner["y"] + inner["h"] / 2, click=True)
    b.until(f"+document.getElementById('graph').dataset.to - "
            f"document.getElementById('graph').dataset.from === {inner['total']}")
    b.type("Escape")
    b.until(f"+document.getElementById('graph').dataset.to === {z}")
    b.press("#reset")
    b.until("document.getElementById('reset').disabled")
    same(seen(b)[:2], (0, all_))


def details_on_hover(b):
    box = max((x for x in settled(b) if "Frame::draw" in x["name"]),
              key=lambda x: x["w"])
    b.point(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2)
    b.until("!document.getElementById('tip').hidden")
    text = b.value("document.getElementById('tip').innerText")
    t = truth["real"]
    weight = matched(t, box["name"])
    for word in (box["name"], "mosaic", "src/render/frame.cc:204", f"{weight:,}",
                 f"{100 * weight / whole(t):.2f} %", "Self", "Total"):
        check(word in text, f"{word} is not in {text}")


def guesses_are_marked(b):
    box = [x for x in settled(b) if x["name"] == "jit_shader_0"][0]
    b.point(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2)
    b.until("document.getElementById('tip').innerText.includes('jit_shader')")
    check("guess" in b.value("document.getElementById('tip').innerText"))
    search(b, "[guess]")
    b.until("document.getElementById('found').dataset.functions === '1'")
    search(b, "")


# The colours in the topmost line of a box, where no text is.
COLOURS = """
const c = document.getElementById('graph');
const r = c.getBoundingClientRect(), k = c.width / r.width;
const [x, y, w] = arguments;
const n = Math.floor((w - 6) * k);
const line = new OffscreenCanvas(n, 1).getContext('2d', {willReadFrequently: true});
line.drawImage(c, Math.ceil((x - r.left + 2) * k), Math.round((y - r.top + 1) * k),
               n, 1, 0, 0, n, 1);
const d = line.getImageData(0, 0, n, 1).data;
const all = new Set();
for (let i = 0; i < d.length; i += 4) all.add(d.slice(i, i + 3).join());
return all.size;
"""


def guesses_are_drawn_otherwise(b):
    """Hatched, with [guess] behind the name; others are of one colour."""
    box = [x for x in settled(b) if x["name"] == "jit_shader_0"][0]
    b.point(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2, click=True)
    b.until("!document.getElementById('back').disabled")
    now = [x for x in settled(b) if x["w"] > 100]
    guess = [x for x in now if x["name"] == "jit_shader_0"]
    callers = [x for x in now if 0 < x["row"] < guess[0]["row"]]
    check(callers, "no callers")
    same({b.run(COLOURS, x["x"], x["y"], x["w"]) for x in callers}, {1})
    check(all(b.run(COLOURS, x["x"], x["y"], x["w"]) > 1 for x in guess),
          "a guess is not hatched")
    texts = b.run("""
        const p = CanvasRenderingContext2D.prototype, old = p.fillText, all = [];
        p.fillText = function (text, ...more) {
          all.push(text); old.call(this, text, ...more); };
        hark.boxes();
        p.fillText = old;
        return all;""")
    same([t for t in texts if "guess" in t], ["jit_shader_0 [guess]"])
    b.press("#reset")
    b.until("document.getElementById('reset').disabled")
    settled(b)


def callers_have_the_same_totals(b):
    t, own = truth["real"], collections.Counter()
    for _, _, node, weight in t.samples:
        names = t.names(node)
        own[names[-1].replace(" [guess]", "") if names else "[no stack]"] += weight
    show(b, "callers")
    now = settled(b)
    same([x["total"] for x in now if x["row"] == 0], [whole(t)])
    first = {x["name"]: x["total"] for x in now if x["row"] == 1}
    for name, total in first.items():
        same((name, total), (name, own[name]))
    check(len(first) >= 10, first)
    # Who called them, and all of it.
    leaf = max((x for x in now if x["row"] == 1 and x["name"].startswith("texture::")),
               key=lambda x: x["w"])
    below = [x for x in now if x["row"] == 2 and leaf["x"] - 1 <= x["x"] and
             x["x"] + x["w"] <= leaf["x"] + leaf["w"] + 1]
    same(sum(x["total"] for x in below), leaf["total"])
    called = collections.Counter()
    for _, _, node, weight in t.samples:
        names = t.names(node)
        if names and names[-1] == leaf["name"]:
            called[names[-2]] += weight
    same({x["name"]: x["total"] for x in below}, dict(called))


def threads_can_be_chosen(b):
    t, totals = truth["real"], collections.Counter()
    for s in t.samples:
        totals[s[1]] += s[3]
    show(b, "flame")
    order = [thread for thread, _ in totals.most_common()]
    same(b.value("document.getElementById('thread').options.length"),
         len(totals) + 1)
    for option in (0, len(order) - 1):
        choose(b, option)
        root = [x for x in settled(b) if x["row"] == 0]
        same([x["total"] for x in root], [totals[order[option]]])
    choose(b, -1)
    same([x["total"] for x in settled(b) if x["row"] == 0], [whole(t)])


def functions_are_listed(b):
    t, own = truth["real"], collections.Counter()
    for _, _, node, weight in t.samples:
        if node:
            own[t.names(node)[-1]] += weight
    show(b, "list")
    rows = b.until("[...document.querySelectorAll('#list tbody tr')]"
                   ".map((r) => [...r.cells].map((c) => c.innerText))")
    name, weight = own.most_common(1)[0]
    same(rows[0][0], f"{100 * weight / whole(t):.2f} %")
    check(rows[0][2].startswith(name), rows[0])
    recursive = [r for r in rows if r[2] == HOT][0]
    same(recursive[1], f"{100 * matched(t, HOT) / whole(t):.2f} %")
    show(b, "flame")


def it_is_dark_and_light_and_of_any_size(b):
    was = b.value("document.documentElement.classList.contains('dark')")
    b.press("#theme")
    b.until(f"document.documentElement.classList.contains('dark') === {json.dumps(not was)}")
    b.press("#theme")
    width = b.value("document.getElementById('graph').width")
    b.tell("/window/rect", {"width": 900, "height": 620})
    b.until(f"document.getElementById('graph').width < {width} - 200")
    now = settled(b)
    check(max(x["x"] + x["w"] for x in now) <= 900)
    b.tell("/window/rect", {"width": 1200, "height": 800})
    b.until("document.getElementById('graph').width > 1100")


def keys_lead_everywhere(b):
    b.run("document.getElementById('graph').focus()")
    b.type("Down")
    b.until("document.getElementById('status').innerText.startsWith('all')")
    b.type("Up", "Up")
    b.until("!document.getElementById('status').innerText.startsWith('all')")
    b.type("Enter")
    b.until("!document.getElementById('back').disabled")
    b.type("0")
    b.until("document.getElementById('reset').disabled")
    unnamed = b.value("[...document.querySelectorAll('button, select, input, canvas')]"
                      ".filter((e) => !(e.getAttribute('aria-label') || "
                      "e.textContent.trim())).length")
    same(unnamed, 0)


def time_order_is_that_of_the_samples(b):
    t = truth["few"]
    b.open(f"{folder}/few.html")
    show(b, "time")
    choose(b, 0)
    totals = collections.Counter()
    for s in t.samples:
        totals[s[1]] += s[3]
    thread = totals.most_common(1)[0][0]
    now = settled(b)
    check(now)
    for row in (1, 2, 3):
        want = []
        for _, _, node, weight in (s for s in t.samples if s[1] == thread):
            names = t.names(node) or ("[no stack]",)
            if len(names) >= row:
                want.append((names[row - 1], weight))
        # A thread that did not run for a while has a gap there.
        got = [(x["name"], x["total"]) for x in
               sorted((x for x in now if x["row"] == row), key=lambda x: x["x"])]
        same(in_a_row(got), in_a_row(want))
    starts = [x["x"] for x in now if x["row"] == 1]
    check(len(starts) > 1, "no gap")


def deep_stacks_scroll(b):
    b.open(f"{folder}/deep.html")
    t = truth["deep"]
    deepest = max(len(t.path(s[2])) for s in t.samples)
    check(deepest > 10000)
    same(max(x["row"] for x in settled(b)) < 100, True)
    for view, far in (("flame", 0), ("time", 10**7)):
        show(b, view)
        b.run("document.getElementById('scroll').scrollTop = arguments[0];", far)
        b.until(f"hark.boxes().some((x) => x.row >= {deepest - 60})")
        rows = [x["row"] for x in settled(b)]
        check(min(rows) > deepest - 100, (min(rows), max(rows)))
    show(b, "callers")
    b.run("document.getElementById('scroll').scrollTop = 10 ** 7;")
    b.until(f"hark.boxes().some((x) => x.row >= {deepest - 60})")


def hostile_names_stay_text(b):
    b.open(f"{folder}/hostile.html")
    for view in ("callers", "time", "list", "flame"):
        show(b, view)
        settled(b)
    names = {x["name"]: x for x in settled(b)}
    check(len(names) > 10, names)
    for box in names.values():
        b.point(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2)
    search(b, "</script><script>")
    b.until("document.getElementById('found').dataset.functions > 0")
    check("owned" not in b.value("document.title"))
    same(b.value("document.querySelectorAll('script').length"), 2)
    same(b.value("document.querySelectorAll('img, b:not(#found b), iframe').length"), 0)
    check("<script>alert(1)" in b.value("document.getElementById('title').innerText"))


def what_is_merged_is_said(b):
    b.open(f"{folder}/wide.html")
    notes = b.value("document.getElementById('notes').innerText")
    check("are put together" in notes and "all totals are exact" in notes, notes)
    now = settled(b)
    data = b.value("JSON.parse(document.getElementById('data').textContent).total")
    same([x["total"] for x in now if x["row"] == 0], [data])


def nothing_at_all_is_fine(b):
    b.open(f"{folder}/empty.html")
    for view in ("callers", "time", "list", "flame"):
        show(b, view)
    check("0 samples" in b.value("document.getElementById('facts').innerText"))


def no_errors_on_the_console(b):
    same([e for e in b.log("browser") if e["level"] in ("SEVERE", "WARNING")], [])


def nothing_came_over_a_network(b):
    asked = []
    for entry in b.log("performance"):
        m = json.loads(entry["message"])["message"]
        if m["method"] == "Network.requestWillBeSent":
            asked.append(m["params"]["request"]["url"])
    check(any(u.startswith(f"file://{folder}/") for u in asked), "nothing was logged")
    # The browser's own first page is not ours.
    same([u for u in asked if not u.startswith(("file:", "data:", "chrome"))], [])


TESTS = [loads_from_a_file, search_finds_the_hot_function,
         enter_goes_there_and_escape_comes_back, a_click_zooms_in,
         details_on_hover, guesses_are_marked,
         guesses_are_drawn_otherwise, callers_have_the_same_totals,
         threads_can_be_chosen, functions_are_listed,
         it_is_dark_and_light_and_of_any_size, keys_lead_everywhere,
         time_order_is_that_of_the_samples, deep_stacks_scroll,
         hostile_names_stay_text, what_is_merged_is_said, nothing_at_all_is_fine,
         no_errors_on_the_console, nothing_came_over_a_network]


def main():
    browser = Browser(folder)
    try:
        for test in TESTS:
            name = test.__name__.replace("_", " ")
            try:
                test(browser)
                print("pass", name, flush=True)
            except Exception as e:  # each test has its line
                where = traceback.extract_tb(e.__traceback__)
                lines = [f.lineno for f in where if f.filename == __file__]
                print(f"fail {name}: line {lines[-1]}: {e!r}".replace("\n", " "),
                      flush=True)
    finally:
        browser.close()


main()
