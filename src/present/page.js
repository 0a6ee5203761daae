// page.js - draws the profile that is in the page.
//
// Nodes are numbered from the root down, so a subtree is a range [node, end):
// trees are walked by counting, and nothing here calls itself, however deep
// the stacks are. Only what can be seen is drawn, or even looked at.
//
// A view answers: how many rows, what is drawn, what is at a point, what a box
// is. Boxes are small objects; each view makes its own and compares them.
'use strict';
(() => {
const $ = (id) => document.getElementById(id);
const D = JSON.parse($('data').textContent);
const ROW = 18, RULER = 22, LEAST = 0.35; // pixels; narrower is not drawn
const INLINED = 1, GUESS = 2, UNKNOWN = 4, MERGED = 8; // as in flame.c

// -- What is in the page ------------------------------------------------------

const N = D.up.length + 1;
const depth = new Int32Array(N), parent = new Int32Array(N);
const func = new Int32Array(N), line = new Int32Array(N);
const end = new Int32Array(N);
const jump = new Int32Array(N); // far up: finds any ancestor in a few steps
const F = D.funcs.length / 4;
const nameOf = (f) => f < 0 ? 'all' : D.texts[D.funcs[f * 4]];
const moduleOf = (f) => f < 0 ? '' : D.texts[D.funcs[f * 4 + 1]];
const fileOf = (f) => f < 0 ? '' : D.texts[D.funcs[f * 4 + 2]];
const flagsOf = (f) => f < 0 ? 0 : D.funcs[f * 4 + 3];

{
  const last = [0];
  func[0] = -1;
  for (let i = 1; i < N; i++) {
    const d = depth[i - 1] + 1 - D.up[i - 1], p = last[d - 1];
    depth[i] = d;
    parent[i] = p;
    last[d] = i;
    func[i] = D.func[i - 1];
    line[i] = D.line[i - 1];
    const j = jump[p];
    jump[i] = depth[p] - depth[j] === depth[j] - depth[jump[j]] ? jump[j] : p;
  }
  for (let i = N - 1; i >= 0; i--) {
    end[i] = Math.max(end[i], i + 1);
    if (i > 0) end[parent[i]] = Math.max(end[parent[i]], end[i]);
  }
}

const isAbove = (a, v) => a <= v && v < end[a];

function ancestorAt(v, d) {
  while (depth[v] > d) v = depth[jump[v]] >= d ? jump[v] : parent[v];
  return v;
}

const clock = D.unit === 'ns' ? 1 : D.period; // ns a weight; 0: none is known
const lasts = (w) => clock ? w * clock : w;

// What ran when: for each thread its entries.
const course = D.course.map((flat) => {
  const n = flat.length / 3;
  const c = {n, node: new Int32Array(n), start: new Float64Array(n),
             weight: new Float64Array(n), deepest: 0, total: 0, end: 0};
  let v = 0, at = 0;
  for (let i = 0; i < n; i++) {
    v += flat[i * 3];
    at += flat[i * 3 + 1] * D.tick;
    c.node[i] = v;
    c.start[i] = at;
    c.weight[i] = flat[i * 3 + 2];
    c.total += c.weight[i];
    c.deepest = Math.max(c.deepest, depth[v]);
    at += lasts(c.weight[i]);
  }
  c.end = at;
  return c;
});
const endOf = (c, i) => c.start[i] + lasts(c.weight[i]);

// -- Words --------------------------------------------------------------------

const count = new Intl.NumberFormat('en');
function time(ns) {
  const a = Math.abs(ns);
  if (a === 0) return '0 s';
  const [by, unit] = a >= 1e9 ? [1e9, 's'] : a >= 1e6 ? [1e6, 'ms']
                   : a >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${+(ns / by).toPrecision(a >= 1e12 ? 6 : 4)} ${unit}`;
}
const amount = (w) => D.unit === 'ns' ? time(w)
  : `${count.format(w)} ${w === 1 ? 'sample' : 'samples'}`;
const percent = (w, of) => of > 0 ? `${(100 * w / of).toFixed(2)} %` : '–';

// Without what stands in brackets of any kind: enough to know a function by.
const shorts = new Map();
function shortOf(f) {
  if (shorts.has(f)) return shorts.get(f);
  const name = nameOf(f);
  let out = '', open = 0;
  for (const c of name.startsWith('(') || name.startsWith('<') ||
                  name.startsWith('[') ? '' : name) {
    if (c === '(' || c === '<') open++;
    else if ((c === ')' || c === '>') && open > 0) open--;
    else if (open === 0) out += c;
  }
  out = out.trim().replace(/ const$/, '').replace(/^.* /, '');
  if (out === '' || /operator/.test(name)) out = name;
  shorts.set(f, out);
  return out;
}

// -- Sums over the chosen threads -----------------------------------------------

let chosen = -1; // a thread; -1: all
const self = new Float64Array(N), total = new Float64Array(N);
const left = new Float64Array(N); // where a box begins
let whole = 0, deepest = 0;

const chosenThreads = () =>
  chosen >= 0 ? [chosen] : course.map((_, t) => t).filter((t) => course[t].n);

function sum() {
  self.fill(0);
  deepest = 0;
  for (const t of chosenThreads()) {
    const c = course[t];
    for (let i = 0; i < c.n; i++) self[c.node[i]] += c.weight[i];
    deepest = Math.max(deepest, c.deepest);
  }
  total.set(self);
  for (let i = N - 1; i > 0; i--) total[parent[i]] += total[i];
  whole = total[0];
  const used = new Float64Array(N);
  for (let i = 1; i < N; i++) {
    left[i] = left[parent[i]] + used[parent[i]];
    used[parent[i]] += total[i];
  }
  callers = null;
  sumFunctions();
}

// Of each function, what it took itself and with all that it called; a
// function that calls itself is not counted twice.
const funcSelf = new Float64Array(F), funcTotal = new Float64Array(F);
const funcLine = new Int32Array(F);
function sumFunctions() {
  const inside = new Int32Array(F), open = [], best = new Float64Array(F);
  funcSelf.fill(0);
  funcTotal.fill(0);
  for (let i = 1; i < N; i++) {
    while (open.length && i >= end[open[open.length - 1]])
      inside[func[open.pop()]]--;
    const f = func[i];
    if (inside[f]++ === 0) funcTotal[f] += total[i];
    funcSelf[f] += self[i];
    if (total[i] > best[f]) {
      best[f] = total[i];
      funcLine[f] = line[i];
    }
    open.push(i);
  }
}

// -- Search ---------------------------------------------------------------------

const isMatch = new Uint8Array(F);
let searched = '', matches = [], nextMatch = 0;

function matcher(text) {
  const m = /^\/(.+)\/$/.exec(text);
  if (m) {
    try {
      const r = new RegExp(m[1], 'i');
      return (s) => r.test(s);
    } catch { return () => false; }
  }
  const low = text.toLowerCase();
  return (s) => s.toLowerCase().includes(low);
}

function search(text) {
  searched = text.trim();
  isMatch.fill(0);
  matches = [];
  nextMatch = 0;
  let n = 0, weight = 0;
  if (searched) {
    const test = matcher(searched);
    for (let f = 0; f < F; f++)
      if (test(nameOf(f)) || (flagsOf(f) & GUESS && test('[guess]'))) {
        isMatch[f] = 1;
        if (funcTotal[f] > 0) n++;
      }
    // The outermost ones: what is inside of one is counted with it.
    for (let i = 1; i < N;) {
      if (isMatch[func[i]] && total[i] > 0) {
        weight += total[i];
        matches.push(i);
        i = end[i];
      } else {
        i++;
      }
    }
    matches.sort((a, b) => total[b] - total[a]);
  }
  const out = $('found');
  out.dataset.functions = n;
  out.dataset.weight = weight;
  out.textContent = '';
  if (searched) {
    const b = document.createElement('b');
    b.textContent = percent(weight, whole);
    out.append(b, ` in ${count.format(n)} ${n === 1 ? 'function' : 'functions'}`);
  }
}

// -- Colours --------------------------------------------------------------------

// The module with the most in it has the colour of fire.
const HUES = [22, 205, 150, 268, 338, 48, 180, 100, 300, 236];
const hueOf = new Map();
{
  const by = new Map();
  for (const c of course)
    for (let i = 0; i < c.n; i++) {
      const f = func[c.node[i]];
      if (f >= 0 && !(flagsOf(f) & (MERGED | UNKNOWN)) && moduleOf(f))
        by.set(moduleOf(f), (by.get(moduleOf(f)) ?? 0) + c.weight[i]);
    }
  // Modules that only call others come last.
  for (let f = 0; f < F; f++)
    if (moduleOf(f) && !by.has(moduleOf(f))) by.set(moduleOf(f), 0);
  [...by].sort((a, b) => b[1] - a[1]).forEach(([m], i) =>
    hueOf.set(m, HUES[i % HUES.length] + 7 * Math.floor(i / HUES.length)));
}

function hash(s) {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++)
    h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return (h ^ h >>> 15) >>> 0;
}

let dark = false, colours = [];
function paint() {
  colours = new Array(F);
  for (let f = 0; f < F; f++) {
    const flags = flagsOf(f), h = hueOf.get(moduleOf(f));
    const vary = hash(nameOf(f)) % 1000 / 1000;
    if (flags & (UNKNOWN | MERGED) || h === undefined) {
      colours[f] = dark ? `hsl(220 6% ${34 + 8 * vary}%)`
                        : `hsl(220 8% ${78 + 7 * vary}%)`;
      continue;
    }
    const hue = h + 30 * (vary - .5), pale = flags & INLINED ? 1 : 0;
    colours[f] = dark
      ? `hsl(${hue} ${52 - 14 * pale}% ${38 + 10 * vary - 6 * pale}%)`
      : `hsl(${hue} ${86 - 18 * pale}% ${67 + 9 * vary + 6 * pale}%)`;
  }
}

// -- The camera -------------------------------------------------------------------

const scroll = $('scroll'), tall = $('tall'), canvas = $('graph');
const ctx = canvas.getContext('2d');
let width = 0, height = 0, dirty = false;
let cam = {a: 0, b: 1}, goal = cam, from = cam, since = 0;
let history = []; // where one was before
let view, selected = null, hovered = null;

const calm = matchMedia('(prefers-reduced-motion: reduce)');

function draw() {
  if (!dirty) requestAnimationFrame(frame);
  dirty = true;
}

function frame(now) {
  dirty = false;
  if (goal !== cam) {
    const t = calm.matches ? 1 : Math.min(1, (now - since) / 180);
    const e = 1 - (1 - t) ** 3;
    cam = t >= 1 ? goal : {a: from.a + (goal.a - from.a) * e,
                           b: from.b + (goal.b - from.b) * e};
    if (t < 1) draw();
  }
  render();
}

function look(a, b) {
  const all = view.range();
  if (b - a < (all.b - all.a) * 1e-9) b = a + (all.b - all.a) * 1e-9;
  goal = {a: Math.max(all.a, a), b: Math.min(all.b, b)};
  from = cam;
  since = performance.now();
  buttons();
  draw();
}

function zoom(box) {
  const r = view.rangeOf(box);
  if (r.a === goal.a && r.b === goal.b) return;
  history.push(goal);
  look(r.a, r.b);
}

function goBack() {
  if (!history.length) return false;
  const to = history.pop();
  look(to.a, to.b);
  return true;
}

function seeAll() {
  const all = view.range();
  if (goal.a === all.a && goal.b === all.b) return;
  history = [];
  look(all.a, all.b);
}

function buttons() {
  const all = view.range();
  $('back').disabled = !history.length;
  $('reset').disabled = goal.a === all.a && goal.b === all.b;
  const g = $('graph').dataset;
  g.view = view.name;
  g.from = goal.a;
  g.to = goal.b;
  g.all = all.b;
}

const xOf = (u) => (u - cam.a) / (cam.b - cam.a) * width;
const uOf = (x) => cam.a + x / width * (cam.b - cam.a);
const tallness = () => Math.max(height, view.rows() * ROW + view.top);
const yOf = (row) => (view.isUp ? tallness() - (row + 1) * ROW
                                : view.top + row * ROW) - scroll.scrollTop;
// Rows that can be seen, and the row at a height.
function rowAt(y) {
  const at = y + scroll.scrollTop;
  return Math.floor(view.isUp ? (tallness() - at) / ROW : (at - view.top) / ROW);
}
const rowsSeen = () => view.isUp ? [Math.max(0, rowAt(height)), rowAt(0)]
                                 : [Math.max(0, rowAt(0)), rowAt(height)];

// -- Drawing boxes ------------------------------------------------------------------

let theme = {}, hatch = null, told = null; // told: boxes, for whoever asks
let textWide = 7;

function makeTheme() {
  const css = getComputedStyle(document.documentElement);
  const get = (n) => css.getPropertyValue(n).trim();
  theme = {paper: get('--paper'), ink: get('--ink'), soft: get('--soft'),
           line: get('--line'), accent: get('--accent')};
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  t.strokeStyle = dark ? '#ffffff55' : '#00000040';
  t.lineWidth = 1.6;
  t.beginPath();
  for (const k of [-8, 0, 8]) { t.moveTo(k, 8); t.lineTo(k + 8, 0); }
  t.stroke();
  hatch = ctx.createPattern(tile, 'repeat');
  paint();
}

function fit(text, room) {
  if (room < 2 * textWide) return '';
  if (text.length * textWide <= room * .8 || ctx.measureText(text).width <= room)
    return text;
  let n = Math.max(1, Math.floor(room / textWide) - 1);
  while (n > 1 && ctx.measureText(text.slice(0, n) + '…').width > room) n--;
  return n > 1 ? text.slice(0, n) + '…' : '';
}

function label(f, room) {
  const mark = flagsOf(f) & GUESS ? ' [guess]' : '';
  const full = nameOf(f) + mark;
  if (full.length * textWide <= room * 1.3 && ctx.measureText(full).width <= room)
    return full;
  return fit(shortOf(f) + mark, room);
}

function drawBox(f, x0, x1, row, box) {
  const y = yOf(row), a = Math.max(0, x0), b = Math.min(width, x1);
  const w = Math.max(b - a - (b - a > 3 ? 1 : 0), .5);
  const flags = flagsOf(f), hit = f >= 0 && isMatch[f];
  if (told)
    told.push({...view.facts(box), name: nameOf(f), row, x: a, y, w: b - a, h: ROW - 1,
               hit: Boolean(hit)});
  ctx.globalAlpha = searched && !hit ? .38 : 1;
  ctx.fillStyle = hit ? (dark ? '#c026d3' : '#e879f9')
                : f < 0 ? theme.line : colours[f];
  ctx.fillRect(a, y, w, ROW - 1);
  if (flags & (GUESS | MERGED) && w > 2) {
    ctx.fillStyle = hatch;
    ctx.fillRect(a, y, w, ROW - 1);
  }
  ctx.globalAlpha = searched && !hit ? .6 : 1;
  if (w > 18) {
    const text = f < 0 ? fit(view.allName(), w - 8) : label(f, w - 8);
    if (text) {
      ctx.fillStyle = f < 0 ? theme.ink : dark ? '#fffaf3' : '#231405';
      ctx.font = flags & INLINED ? fonts.slant : fonts.plain;
      ctx.fillText(text, a + 4, y + ROW / 2);
      ctx.font = fonts.plain;
    }
  }
  ctx.globalAlpha = 1;
  const isSelected = selected && view.same(selected, box);
  if (isSelected || (hovered && view.same(hovered, box))) {
    ctx.strokeStyle = isSelected ? theme.accent : theme.ink;
    ctx.lineWidth = isSelected ? 2 : 1.25;
    ctx.strokeRect(a + .75, y + .75, Math.max(1, w - 1.5), ROW - 2.5);
  }
}

const family = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const fonts = {plain: '12px ' + family, slant: 'italic 12px ' + family};

function render() {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) ||
      canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.textBaseline = 'middle';
  ctx.font = fonts.plain;
  view.draw();
  canvas.dataset.drawn = (+canvas.dataset.drawn || 0) + 1;
}

// -- Flame graph ----------------------------------------------------------------------

const flame = {
  name: 'flame', isUp: true, top: 0,
  allName: () => `all: ${amount(whole)}`,
  rows: () => deepest + 1,
  range: () => ({a: 0, b: whole || 1}),
  rangeOf: ({node}) => ({a: left[node], b: left[node] + total[node]}),
  same: (p, q) => p.node === q.node,
  draw() {
    const [r0, r1] = rowsSeen();
    for (let i = 0; i < N;) {
      const x0 = xOf(left[i]), x1 = xOf(left[i] + total[i]);
      if (depth[i] > r1 || x1 - x0 < LEAST || x1 < 0 || x0 > width) {
        i = end[i];
        continue;
      }
      if (depth[i] >= r0) drawBox(func[i], x0, x1, depth[i], {node: i});
      i++;
    }
  },
  at(u, row) {
    if (row < 0 || u < 0 || u >= whole) return null;
    for (let i = 0; i < N;) {
      if (u < left[i] || u >= left[i] + total[i]) i = end[i];
      else if (depth[i] === row) return {node: i};
      else i++;
    }
    return null;
  },
  rowOf: ({node}) => depth[node],
  facts: ({node}) => ({f: func[node], line: line[node], total: total[node],
                       self: self[node], many: line[node]}),
  move({node}, way) {
    if (way === 'out') return node > 0 ? {node: parent[node]} : null;
    if (way === 'in') {
      let best = 0;
      for (let i = node + 1; i < end[node]; i = end[i])
        if (!best || total[i] > total[best]) best = i;
      return best && total[best] > 0 ? {node: best} : null;
    }
    let before = 0, p = parent[node];
    for (let i = p + 1; node > 0 && i < end[p]; i = end[i]) {
      if (total[i] <= 0) continue;
      if (way === 'next' && before === node) return {node: i};
      if (way === 'previous' && i === node) return before ? {node: before} : null;
      before = i;
    }
    return null;
  },
  first: () => ({node: 0}),
  nextMatch: () => matches.length
    ? {node: matches[nextMatch++ % matches.length]} : null,
};

// -- Callers ----------------------------------------------------------------------------
//
// The tree the other way round could be far larger than the tree: it is made
// only where it is looked at. A box has a range of `leaf`, the stacks that it
// stands for; to open it is to put that range in order by who called.

let callers = null;

function makeCallers() {
  const leaf = [];
  for (let i = 1; i < N; i++) if (self[i] > 0) leaf.push(i);
  callers = {
    leaf: Int32Array.from(leaf), at: Int32Array.from(leaf),
    f: [-1], up: [-1], depth: [0], lo: [0], hi: [leaf.length],
    total: [leaf.reduce((s, v) => s + self[v], 0)], left: [0],
    child: [-1], n: [0], line: [0],
  };
  openCaller(0);
}

function openCaller(v) {
  const c = callers;
  if (c.child[v] >= 0) return;
  const lo = c.lo[v], hi = c.hi[v], groups = new Map();
  for (let k = lo; k < hi; k++) {
    if (v > 0) c.at[k] = parent[c.at[k]];
    const f = func[c.at[k]];
    if (f < 0) continue; // nobody called it
    let g = groups.get(f);
    if (!g) groups.set(f, g = {f, list: [], total: 0, line: line[c.at[k]], best: 0});
    g.list.push(c.leaf[k], c.at[k]);
    g.total += self[c.leaf[k]];
    if (self[c.leaf[k]] > g.best) {
      g.best = self[c.leaf[k]];
      g.line = line[c.at[k]];
    }
  }
  c.child[v] = c.f.length;
  c.n[v] = groups.size;
  let k = lo, x = c.left[v];
  for (const g of [...groups.values()].sort((p, q) => q.total - p.total)) {
    c.f.push(g.f);
    c.up.push(v);
    c.depth.push(c.depth[v] + 1);
    c.lo.push(k);
    for (let i = 0; i < g.list.length; i += 2) {
      c.leaf[k] = g.list[i];
      c.at[k++] = g.list[i + 1];
    }
    c.hi.push(k);
    c.total.push(g.total);
    c.left.push(x);
    c.child.push(-1);
    c.n.push(0);
    c.line.push(g.line);
    x += g.total;
  }
}

const upside = {
  name: 'callers', isUp: false, top: 0,
  allName: () => `all: ${amount(whole)}; below each function those who called it`,
  rows: () => deepest + 1,
  range: () => ({a: 0, b: whole || 1}),
  rangeOf: ({caller: v}) =>
    ({a: callers.left[v], b: callers.left[v] + callers.total[v]}),
  same: (p, q) => p.caller === q.caller,
  draw() {
    if (!callers) makeCallers();
    const c = callers, [r0, r1] = rowsSeen(), todo = [0];
    while (todo.length) {
      const v = todo.pop();
      const x0 = xOf(c.left[v]), x1 = xOf(c.left[v] + c.total[v]);
      if (c.depth[v] > r1 || x1 - x0 < LEAST || x1 < 0 || x0 > width) continue;
      if (c.depth[v] >= r0) drawBox(c.f[v], x0, x1, c.depth[v], {caller: v});
      if (c.depth[v] < r1) {
        openCaller(v);
        for (let i = 0; i < c.n[v]; i++) todo.push(c.child[v] + i);
      }
    }
  },
  at(u, row) {
    if (!callers) makeCallers();
    const c = callers;
    if (row < 0 || u < 0 || u >= whole) return null;
    for (let v = 0;;) {
      if (c.depth[v] === row) return {caller: v};
      let next = -1;
      for (let i = c.child[v]; c.child[v] >= 0 && i < c.child[v] + c.n[v]; i++)
        if (u >= c.left[i] && u < c.left[i] + c.total[i]) next = i;
      if (next < 0) return null;
      v = next;
    }
  },
  rowOf: ({caller}) => callers.depth[caller],
  facts: ({caller: v}) => ({f: callers.f[v], line: callers.line[v],
    total: callers.total[v], many: callers.line[v],
    self: callers.depth[v] <= 1 ? callers.total[v] : NaN}),
  move({caller: v}, way) {
    const c = callers;
    if (way === 'out') return v > 0 ? {caller: c.up[v]} : null;
    if (way === 'in') {
      openCaller(v);
      return c.n[v] ? {caller: c.child[v]} : null;
    }
    if (v === 0) return null;
    const i = v + (way === 'next' ? 1 : -1), p = c.up[v];
    return i >= c.child[p] && i < c.child[p] + c.n[p] ? {caller: i} : null;
  },
  first: () => ({caller: 0}),
  nextMatch() {
    if (!callers) makeCallers();
    const c = callers, all = [];
    for (let i = c.child[0]; i < c.child[0] + c.n[0]; i++)
      if (isMatch[c.f[i]]) all.push(i);
    return all.length ? {caller: all[nextMatch++ % all.length]} : null;
  },
};

// -- Time order ---------------------------------------------------------------------------
//
// A lane a thread. For each column of pixels the heaviest entry stands for all
// that are too short to be seen.

let lanes = [];
function makeLanes() {
  lanes = [];
  let row = 0;
  for (const t of chosenThreads()) {
    lanes.push({t, c: course[t], row});
    row += course[t].deepest + 2;
  }
  lanes.rows = row;
}

function entryAt(c, u) { // the last that begins at or before
  let lo = 0, hi = c.n;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (c.start[m] <= u) lo = m + 1;
    else hi = m;
  }
  return lo - 1;
}

function columns(c) {
  const out = [];
  let last = null;
  for (let i = Math.max(0, entryAt(c, cam.a)); i < c.n; i++) {
    const x0 = xOf(c.start[i]), x1 = xOf(endOf(c, i));
    if (x0 > width) break;
    if (x1 < 0) continue;
    if (x1 - x0 < 1 && last && last.tiny && x1 - last.x0 < 1) {
      if (c.weight[i] > c.weight[last.i]) last.i = i;
      last.x1 = x1;
    } else {
      out.push(last = {i, x0, x1, tiny: x1 - x0 < 1});
    }
  }
  return out;
}

const contiguous = (c, i) => // with the one before
  c.start[i] - endOf(c, i - 1) <= D.tick * 1.5;

// All entries that belong to the box of entry i at that depth.
function spanOf({t, i, d}) {
  const c = course[t], v = ancestorAt(c.node[i], d);
  let a = i, b = i;
  while (a > 0 && isAbove(v, c.node[a - 1]) && contiguous(c, a)) a--;
  while (b + 1 < c.n && isAbove(v, c.node[b + 1]) && contiguous(c, b + 1)) b++;
  return {v, a, b};
}

const timely = {
  name: 'time', isUp: false, top: RULER,
  allName: () => '',
  rows: () => lanes.rows,
  range: () => ({a: 0, b: Math.max(1, ...lanes.map((l) => l.c.end),
                                   clock ? D.duration : 0)}),
  rangeOf(box) {
    const c = course[box.t];
    if (box.d === 0) return timely.range();
    const {a, b} = spanOf(box);
    return {a: c.start[a], b: endOf(c, b)};
  },
  same(p, q) {
    if (p.t !== q.t || p.d !== q.d) return false;
    if (p.d === 0 || p.i === q.i) return true;
    const c = course[p.t], [i, k] = p.i < q.i ? [p.i, q.i] : [q.i, p.i];
    if (k - i > 100000) return false;
    return ancestorAt(c.node[i], p.d) === ancestorAt(c.node[k], p.d) &&
           spanOf(p).b >= k && spanOf(p).a <= i;
  },
  draw() {
    const [r0, r1] = rowsSeen();
    for (const lane of lanes) {
      if (lane.row > r1 || lane.row + lane.c.deepest + 1 < r0) continue;
      if (lane.row >= r0) timely.drawHead(lane);
      timely.drawLane(lane, Math.max(1, r0 - lane.row),
                      Math.min(lane.c.deepest, r1 - lane.row));
    }
    timely.drawRuler();
  },
  drawHead(lane) {
    const y = yOf(lane.row);
    ctx.fillStyle = theme.ink;
    ctx.font = '600 ' + fonts.plain;
    ctx.fillText(fit(threadName(lane.t), width - 16), 6, y + ROW / 2);
    ctx.font = fonts.plain;
  },
  drawLane({t, c, row}, d0, d1) {
    const cols = columns(c), rows = d1 - d0 + 1;
    if (rows <= 0 || !cols.length) return;
    const grid = new Int32Array(rows * cols.length);
    cols.forEach((col, k) => {
      for (let v = ancestorAt(c.node[col.i], d1); depth[v] >= d0 && v; v = parent[v])
        grid[(depth[v] - d0) * cols.length + k] = v;
    });
    for (let r = 0; r < rows; r++)
      for (let k = 0; k < cols.length;) {
        const v = grid[r * cols.length + k], first = k;
        for (k++; k < cols.length && grid[r * cols.length + k] === v &&
                  cols[k].x0 - cols[k - 1].x1 < .6;) k++;
        const x0 = cols[first].x0, x1 = cols[k - 1].x1;
        if (v && x1 - x0 >= LEAST)
          drawBox(func[v], x0, x1, row + d0 + r, {t, i: cols[first].i, d: d0 + r});
      }
  },
  drawRuler() {
    ctx.fillStyle = theme.paper;
    ctx.fillRect(0, 0, width, RULER - 2);
    const span = cam.b - cam.a, raw = span / Math.max(2, width / 110);
    const ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((k) => k * ten >= raw) * ten;
    ctx.strokeStyle = theme.line;
    ctx.fillStyle = theme.soft;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let u = Math.ceil(cam.a / step) * step; u <= cam.b; u += step) {
      const x = Math.round(xOf(u)) + .5;
      ctx.moveTo(x, 0);
      ctx.lineTo(x, RULER - 2);
      ctx.fillText(clock ? time(+u.toPrecision(12)) : count.format(u), x + 4, 10);
    }
    ctx.moveTo(0, RULER - 1.5);
    ctx.lineTo(width, RULER - 1.5);
    ctx.stroke();
  },
  at(u, row) {
    const lane = lanes.findLast((l) => l.row <= row);
    if (!lane || row < 0) return null;
    const d = row - lane.row, i = entryAt(lane.c, u);
    if (d === 0) return null;
    if (i < 0 || u > endOf(lane.c, i) || d > depth[lane.c.node[i]]) return null;
    return {t: lane.t, i, d};
  },
  rowOf: ({t, d}) => lanes.find((l) => l.t === t).row + d,
  facts(box) {
    const c = course[box.t], {v, a, b} = spanOf(box);
    let all = 0, own = 0;
    for (let i = a; i <= b; i++) {
      all += c.weight[i];
      if (c.node[i] === v) own += c.weight[i];
    }
    return {f: func[v], line: line[v], total: all, self: own, many: line[v],
            start: c.start[a], took: endOf(c, b) - c.start[a], t: box.t};
  },
  move(box, way) {
    const c = course[box.t], {a, b} = spanOf(box);
    if (way === 'out') return box.d > 1 ? {...box, d: box.d - 1} : null;
    if (way === 'in')
      for (let i = a; i <= b; i++)
        if (depth[c.node[i]] > box.d) return {t: box.t, i, d: box.d + 1};
    const by = way === 'next' ? 1 : way === 'previous' ? -1 : 0;
    for (let i = by > 0 ? b + 1 : a - 1; by && i >= 0 && i < c.n; i += by)
      if (depth[c.node[i]] >= box.d) return {t: box.t, i, d: box.d};
    return null;
  },
  first() {
    const lane = lanes.find((l) => l.c.n);
    return lane ? {t: lane.t, i: 0, d: 1} : null;
  },
  nextMatch() {
    if (!matches.length) return null;
    const v = matches[nextMatch++ % matches.length];
    for (const {t, c} of lanes) {
      let best = -1;
      for (let i = 0; i < c.n; i++)
        if (isAbove(v, c.node[i]) && (best < 0 || c.weight[i] > c.weight[best]))
          best = i;
      if (best >= 0) return {t, i: best, d: depth[v]};
    }
    return null;
  },
};

// -- Functions ------------------------------------------------------------------------------

const LIST_MAX = 1000;
let sortBy = 'self', sortDown = true;

function cell(row, text) {
  const td = document.createElement('td');
  td.textContent = text;
  row.append(td);
  return td;
}

function fillList() {
  const all = [], key = {self: (f) => funcSelf[f], total: (f) => funcTotal[f],
                         name: nameOf, module: moduleOf}[sortBy];
  for (let f = 0; f < F; f++)
    if (funcTotal[f] > 0 && !(flagsOf(f) & MERGED) && (!searched || isMatch[f]))
      all.push(f);
  all.sort((p, q) => {
    const a = key(p), b = key(q), c = a < b ? -1 : a > b ? 1 : funcTotal[p] - funcTotal[q];
    return sortDown ? -c : c;
  });
  const body = $('list').querySelector('tbody');
  body.textContent = '';
  for (const f of all.slice(0, LIST_MAX)) {
    const tr = document.createElement('tr');
    for (const w of [funcSelf[f], funcTotal[f]]) {
      const td = cell(tr, percent(w, whole));
      td.title = amount(w);
      td.style.setProperty('--share', 100 * w / whole + '%');
    }
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = nameOf(f) + tags(f).map((t) => ` [${t}]`).join('');
    b.addEventListener('click', () => {
      $('search').value = nameOf(f);
      show('flame');
      find();
    });
    cell(tr, '').append(b);
    cell(tr, moduleOf(f));
    cell(tr, fileOf(f) && fileOf(f) + (funcLine[f] ? ':' + funcLine[f] : ''));
    body.append(tr);
  }
  $('list-more').textContent = all.length > LIST_MAX
    ? `and ${count.format(all.length - LIST_MAX)} more: search for them` : '';
  for (const th of $('list').querySelectorAll('th')) {
    const by = th.querySelector('button')?.dataset.sort;
    if (by === sortBy)
      th.setAttribute('aria-sort', sortDown ? 'descending' : 'ascending');
    else th.removeAttribute('aria-sort');
  }
}

const table = {...flame, name: 'list', draw() {}, at: () => null,
               move: () => null, rows: () => 0};

// -- What a box is ---------------------------------------------------------------------------

function tags(f) {
  const flags = flagsOf(f);
  return [flags & GUESS && 'guess', flags & INLINED && 'inlined',
          flags & UNKNOWN && 'no symbol'].filter(Boolean);
}

function threadName(t) {
  const [pid, tid, name, n] = D.threads[t];
  return n > 1 ? `${count.format(n)} lighter threads`
               : `${name || 'thread'} (${pid === tid ? tid : pid + '/' + tid})`;
}

function where(x) {
  if (flagsOf(x.f) & MERGED)
    return `${count.format(x.many)} branches, each too light for a box of its own`;
  const file = fileOf(x.f);
  return [moduleOf(x.f), file && file + (x.line ? ':' + x.line : '')]
    .filter(Boolean).join(' · ');
}

function weights(x) {
  const rows = [['Total', x.total]];
  if (x.self === x.self) rows.push(['Self', x.self]);
  return rows.map(([k, w]) =>
    [k, amount(w) + (D.unit !== 'ns' && clock ? ` (${time(lasts(w))})` : ''),
     percent(w, whole)]);
}

function describe(box) {
  const x = view.facts(box), t = tags(x.f).map((s) => ` [${s}]`).join('');
  return [x.f < 0 ? 'all' : nameOf(x.f) + t, x.f < 0 ? '' : where(x),
          ...weights(x).map(([k, a, p]) => `${k.toLowerCase()} ${p} (${a})`)]
    .filter(Boolean).join(' — ');
}

function put(tag, cls, text, to) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.textContent = text;
  to.append(e);
  return e;
}

function showTip(box, px, py) {
  const tip = $('tip'), x = view.facts(box);
  tip.textContent = '';
  const name = put('div', 'name', x.f < 0 ? 'all' : nameOf(x.f), tip);
  for (const t of tags(x.f)) put('span', 'tag', t, name);
  if (where(x)) put('div', 'where', where(x), tip);
  if (x.t !== undefined)
    put('div', 'where', threadName(x.t) + (clock
      ? `, from ${time(x.start)}, for ${time(x.took)}` : ''), tip);
  const dl = put('dl', '', '', tip);
  for (const [k, a, p] of weights(x)) {
    put('dt', '', k, dl);
    put('dd', '', a, dl);
    put('dd', '', p, dl);
  }
  const seen = goal.b - goal.a;
  if (view !== timely && seen < whole) {
    put('dt', '', 'Of what is seen', dl);
    put('dd', '', '', dl);
    put('dd', '', percent(Math.min(x.total, seen), seen), dl);
  }
  tip.hidden = false;
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(px + 14, innerWidth - r.width - 6)) + 'px';
  tip.style.top = (py + 20 + r.height > innerHeight ? Math.max(4, py - r.height - 12)
                                                    : py + 20) + 'px';
}

function hideTip() {
  $('tip').hidden = true;
  if (hovered) draw();
  hovered = null;
}

function say() {
  $('status').textContent = selected ? describe(selected) : '';
}

// -- What one does -----------------------------------------------------------------------------

const views = {flame, callers: upside, time: timely, list: table};

function settle(isNew) {
  scroll.hidden = view === table;
  $('list').hidden = view !== table;
  tall.style.height = tallness() + 'px';
  if (isNew) {
    history = [];
    selected = null;
    const all = view.range();
    cam = goal = {a: all.a, b: all.b};
    scroll.scrollTop = view.isUp ? tallness() : 0;
  }
  if (view === table) fillList();
  hideTip();
  say();
  buttons();
  draw();
}

function show(name) {
  view = views[name];
  for (const b of document.querySelectorAll('[data-view]'))
    b.setAttribute('aria-pressed', String(b.dataset.view === name));
  if (view === timely) makeLanes();
  settle(true);
}

function choose(t) {
  chosen = t;
  sum();
  makeLanes();
  search($('search').value);
  settle(true);
}

function find() {
  search($('search').value);
  if (view === table) fillList();
  draw();
}

function select(box) {
  selected = box;
  if (box) {
    const y = yOf(view.rowOf(box));
    if (y < view.top) scroll.scrollTop += y - view.top - ROW;
    if (y + ROW > height) scroll.scrollTop += y + 2 * ROW - height;
    const r = view.rangeOf(box);
    if (r.b < cam.a || r.a > cam.b) zoom(box);
  }
  say();
  draw();
}

function at(event) {
  const r = canvas.getBoundingClientRect();
  return view.at(uOf(event.clientX - r.left), rowAt(event.clientY - r.top));
}

let drag = null;
canvas.addEventListener('pointermove', (e) => {
  if (drag && e.buttons) {
    const by = (e.clientX - drag.x) / width * (drag.b - drag.a), all = view.range();
    if (Math.abs(e.clientX - drag.x) > 4) drag.moved = true;
    if (drag.moved) {
      const a = Math.min(Math.max(all.a, drag.a - by), all.b - (drag.b - drag.a));
      cam = goal = {a, b: a + drag.b - drag.a};
      hideTip();
      buttons();
      draw();
    }
    return;
  }
  const box = at(e);
  canvas.style.cursor = box ? 'pointer' : 'default';
  if (!box) return hideTip();
  if (!hovered || !view.same(hovered, box)) draw();
  hovered = box;
  showTip(box, e.clientX, e.clientY);
});
canvas.addEventListener('pointerleave', hideTip);
canvas.addEventListener('pointerdown', (e) => {
  if (e.button === 0) drag = {x: e.clientX, a: goal.a, b: goal.b, moved: false};
});
canvas.addEventListener('click', (e) => {
  const moved = drag && drag.moved, box = at(e);
  drag = null;
  if (moved || !box) return;
  selected = box;
  say();
  zoom(box);
  draw();
});
canvas.addEventListener('wheel', (e) => {
  if (!e.ctrlKey && !e.metaKey && !e.shiftKey) {
    hideTip();
    return; // scrolls
  }
  e.preventDefault();
  const u = uOf(e.clientX - canvas.getBoundingClientRect().left);
  const k = Math.exp((e.deltaY || e.deltaX) * .0022), all = view.range();
  const least = (all.b - all.a) * 1e-7;
  const span = Math.min(Math.max((goal.b - goal.a) * k, least), all.b - all.a);
  const a = Math.min(Math.max(all.a, u - (u - goal.a) / (goal.b - goal.a) * span),
                     all.b - span);
  cam = goal = {a, b: a + span};
  buttons();
  draw();
}, {passive: false});
scroll.addEventListener('scroll', draw);

const WAYS = {ArrowLeft: 'previous', ArrowRight: 'next'};
canvas.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const upDown = {ArrowUp: view.isUp ? 'in' : 'out', ArrowDown: view.isUp ? 'out' : 'in'};
  const way = WAYS[e.key] ?? upDown[e.key];
  if (way) {
    e.preventDefault();
    const to = selected ? view.move(selected, way) : view.first();
    if (to) select(to);
  } else if (e.key === 'Enter' && selected) {
    e.preventDefault();
    zoom(selected);
  }
});

document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target === $('search');
  if (e.key === '/' && !typing) {
    e.preventDefault();
    $('search').focus();
    $('search').select();
  } else if (e.key === 'Escape') {
    if (typing && $('search').value) {
      e.preventDefault();
      $('search').value = '';
      find();
    } else if (typing) {
      canvas.focus();
    } else if (!goBack() && (selected || searched)) {
      if (!selected) {
        $('search').value = '';
        find();
      }
      selected = null;
      say();
      draw();
    }
  } else if (e.key === 'Enter' && typing) {
    const box = searched && view !== table ? view.nextMatch() : null;
    if (box) {
      selected = box;
      zoom(box);
      select(box);
    }
  } else if (e.key === '0' && !typing) {
    seeAll();
  }
});

$('search').addEventListener('input', find);
$('back').addEventListener('click', goBack);
$('reset').addEventListener('click', seeAll);
$('thread').addEventListener('change', (e) => choose(+e.target.value));
for (const b of document.querySelectorAll('[data-view]'))
  b.addEventListener('click', () => show(b.dataset.view));
for (const b of document.querySelectorAll('[data-sort]'))
  b.addEventListener('click', () => {
    sortDown = b.dataset.sort === sortBy ? !sortDown : /self|total/.test(b.dataset.sort);
    sortBy = b.dataset.sort;
    fillList();
  });

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
let wanted = null; // what was chosen by hand
function setTheme() {
  dark = wanted ?? prefersDark.matches;
  document.documentElement.classList.toggle('dark', dark);
  makeTheme();
  showLegend();
  draw();
}
prefersDark.addEventListener('change', setTheme);
$('theme').addEventListener('click', () => { wanted = !dark; setTheme(); });

// -- Beginning ------------------------------------------------------------------------------------

function showLegend() {
  $('legend').textContent = '';
  for (const [m, h] of [...hueOf].slice(0, 6)) {
    const s = put('span', '', m.split('/').pop() || m, $('legend'));
    s.style.setProperty('--chip', dark ? `hsl(${h} 52% 44%)` : `hsl(${h} 86% 70%)`);
    s.title = m;
  }
}

function showFacts() {
  const title = D.title[0] || 'profile', running = course.filter((c) => c.n).length;
  document.title = title + ' – flame graph';
  $('title').textContent = title;
  $('title').title = title;
  const facts = [`${count.format(D.samples)} samples`];
  if (D.unit === 'ns') facts.push(time(D.total) + ' waited in all');
  if (D.duration) facts.push(time(D.duration));
  const n = D.threads.reduce((s, t) => s + t[3], 0);
  facts.push(n === 1 ? '1 thread' : `${count.format(n)} threads`);
  if (D.period) facts.push(`one sample every ${time(D.period)}`);
  facts.push('hark ' + D.hark);
  $('facts').textContent = facts.join(' · ');
  const pick = $('thread');
  pick.add(new Option(running === 1 ? 'all (1)' : `all (${running})`, '-1'));
  D.threads.forEach((_, t) => {
    if (course[t].n)
      pick.add(new Option(`${threadName(t)} – ${percent(course[t].total, D.total)}`, t));
  });
}

function showNotes() {
  const notes = [...D.notes];
  if (D.notes_left) notes.push(`and ${count.format(D.notes_left)} more notes`);
  if (D.merged)
    notes.push(`${count.format(D.merged)} light branches, ${percent(D.merged_weight, D.total)} ` +
      `(${amount(D.merged_weight)}) of all, are put together in hatched boxes ` +
      'to keep this page small; all totals are exact');
  if (D.step > 0)
    notes.push(D.step > D.duration
      ? 'time order: each stack once a thread, to keep this page small'
      : `time order: in steps of ${time(D.step)}, to keep this page small`);
  const box = $('notes');
  box.hidden = !notes.length;
  box.open = notes.length <= 4;
  box.querySelector('summary').textContent =
    notes.length === 1 ? '1 note' : `${notes.length} notes`;
  for (const n of notes) put('li', '', n, box.querySelector('ul'));
}

function resize() {
  const atEnd = view.isUp &&
    scroll.scrollTop + height >= parseFloat(tall.style.height || 0) - 2;
  width = scroll.clientWidth;
  height = scroll.clientHeight;
  tall.style.height = tallness() + 'px';
  if (atEnd) scroll.scrollTop = tallness();
  render();
}

// For scripts: whether all is drawn, and what, in the page's coordinates.
window.hark = {
  isStill: () => goal === cam && !dirty,
  boxes() {
    told = [];
    render();
    const r = canvas.getBoundingClientRect(), out = told;
    told = null;
    for (const b of out) {
      b.x += r.left;
      b.y += r.top;
    }
    return out;
  },
};

view = flame;
sum();
makeLanes();
showFacts();
showNotes();
ctx.font = fonts.plain;
textWide = ctx.measureText('abcdefghijklmnopqrstuvwxyz_:').width / 28;
setTheme();
width = scroll.clientWidth;
height = scroll.clientHeight;
show('flame');
new ResizeObserver(resize).observe(scroll);
document.documentElement.dataset.ready = 'yes';
})();
