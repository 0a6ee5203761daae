#!/usr/bin/env python3
"""inputs.py - the files that the benchmark programs work on.

    inputs.py DIR [NAME...]    make these inputs (all of them by default)

Every input is a pure function of its name: no clock, no locale, no library
generator, only a 64-bit linear congruence with a fixed start.  Two machines
therefore measure the same work, and a checked output stays the same for ever.

    text-SIZE           words as frequent as in prose: a few are everywhere,
                        most are rare; a shorter text is the head of a longer
                        one.  text-24m is text-8m, then the same with its two
                        halves swapped, then backwards.
    rows-N.sql          fills a table of N rows, indexes, joins, changes it
    mix.lua mix.py mix.pl
                        interpreters at their usual work; the amount of work
                        is an argument
    functions-N.c       N functions full of branches, for a compiler
    frames-N.y4m        N frames of a moving picture with noise, 320x240

An input is written under another name and then renamed, so a file that is
there is whole.  DIR/.made holds the digest of this file: when the generator
changes, what it made before is made again.
"""
import hashlib
import os
import pathlib
import re
import sys
from collections.abc import Callable
from functools import lru_cache

KIB = 1024
MIB = 1024 * KIB
SIZES = {"200k": 200 * KIB, "800k": 800 * KIB, "2m": 2 * MIB, "8m": 8 * MIB}


class Draw:
    """Numbers that look random and are always the same."""

    def __init__(self, start: int) -> None:
        self.state = start

    def below(self, n: int) -> int:
        """A number from 0 to n - 1; the weak low bits are thrown away."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407
                      ) & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % n


# -- Text ---------------------------------------------------------------------

SYLLABLES = "ka to ri men sol da vi qu ex lo an ter is um pe ra".split()
WORDS = 6000


def vocabulary(draw: Draw) -> list[str]:
    """Words of one to four syllables."""
    return ["".join(SYLLABLES[draw.below(16)]
                    for _ in range(1 + draw.below(4)))
            for _ in range(WORDS)]


def rank(draw: Draw) -> int:
    """A word's place in the vocabulary, small ones far more often."""
    place = draw.below(WORDS)
    place = place * draw.below(WORDS) // WORDS
    return place * draw.below(WORDS) // WORDS


@lru_cache(maxsize=1)
def prose(size: int) -> bytes:
    """Lines of 6 to 14 words, one line in three ending with a full stop."""
    draw = Draw(12345)
    words = vocabulary(draw)
    lines: list[str] = []
    length = 0
    while length < size:
        line = " ".join(words[rank(draw)] for _ in range(6 + draw.below(9)))
        line += ".\n" if draw.below(3) == 0 else "\n"
        lines.append(line)
        length += len(line)
    return "".join(lines)[:size].encode()


def text(size: str) -> bytes:
    """The head of the prose, or the three-fold one that has no short match."""
    if size != "24m":
        return prose(SIZES[size])
    once = prose(SIZES["8m"])
    half = len(once) // 2
    return once + once[half:] + once[:half] + once[::-1]


# -- Programs for interpreters ------------------------------------------------

def sql(rows: str) -> bytes:
    """Bulk insert, index, grouping, self-join, update, delete."""
    return f"""\
create table item(id integer primary key, kind int, name text, price real);
create index by_kind on item(kind);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n
                        where i < {int(rows)})
insert into item select i, i * 7919 % 10007, 'w' || (i * 31 % 9973), i * 0.5
from n;
commit;
select count(*), sum(kind), avg(price) from item
  where kind between 100 and 5000;
select name, count(*) many from item group by name
  order by many desc, name limit 5;
select count(*) from item a join item b on a.kind = b.kind and a.id < b.id
  where a.id % 37 = 0;
update item set price = price * 1.5, name = name || 'x' where kind % 3 = 0;
delete from item where id % 11 = 0;
select length(group_concat(name, ',')) from item where kind < 300;
select sum(price) from item;
""".encode()


LUA = """\
-- mix.lua N: every order of N things turned over until its first is 1, then
-- a table with string keys.
local size = tonumber(arg[1])
local order, stack = {}, {}
local most, sum, sign = 0, 0, 1

local function turn_over()
  for i = 1, size do stack[i] = order[i] end
  local turns, first = 0, stack[1]
  while first ~= 1 do
    local low, high = 1, first
    while low < high do
      stack[low], stack[high] = stack[high], stack[low]
      low, high = low + 1, high - 1
    end
    turns, first = turns + 1, stack[1]
  end
  if turns > most then most = turns end
  sum, sign = sum + sign * turns, -sign
end

-- Heap's way through all orders: each differs from the last by one exchange.
local function each_order(n)
  if n == 1 then return turn_over() end
  for i = 1, n do
    each_order(n - 1)
    local j = n % 2 == 0 and i or 1
    if i < n then order[j], order[n] = order[n], order[j] end
  end
end

for i = 1, size do order[i] = i end
each_order(size)
print(most, sum)

local count = {}
for i = 1, size * 60000 do
  local key = 'k' .. i % 5000
  count[key] = (count[key] or 0) + i
end
local total = 0
for _, v in pairs(count) do total = total + v end
print(total)
"""

PYTHON = '''\
"""mix.py N: a sieve up to N, objects with methods, a dictionary of texts."""
import sys


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def distance2(self, other):
        return (self.x - other.x) ** 2 + (self.y - other.y) ** 2


def primes_to(n):
    prime = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if prime[i]:
            for multiple in range(i * i, n + 1, i):
                prime[multiple] = 0
    return sum(prime) - 2


size = int(sys.argv[1])
print(primes_to(size))
points = [Point(i * 7 % 101, i * 13 % 103) for i in range(size // 2000)]
print(sum(a.distance2(b) for a in points for b in points))
sums = {}
for i in range(size // 4):
    key = str(i % 7001)
    sums[key] = sums.get(key, 0) + i
print(len(sums), sum(sums.values()))
'''

PERL = r"""# mix.pl FILE: a pattern, a transliteration, a count of words.
use strict;
use warnings;
my ($path) = @ARGV;
my (%count, $matches);
open(my $file, '<', $path) or die "$path: $!\n";
while (<$file>) {
    $matches++ while /\b(?:ka|to)\w*ri\b/g;
    tr/a-m/A-M/;
    $count{$_}++ for split;
}
my $sum = 0;
for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count) {
    $sum = ($sum * 31 + $count{$_}) % 1000003;
}
print "$matches $sum\n";
"""


# -- C for the compiler -------------------------------------------------------

def function(i: int) -> str:
    """A function with a loop, a switch and an inner loop, unlike others."""
    return f"""
static unsigned mix{i}(const unsigned *v, int n, unsigned key)
{{
  unsigned sum = key ^ {i * 2654435761 & 0xFFFFFFFF}u;

  for (int i = 0; i < n; i++) {{
    switch (v[i] % {5 + i % 7}) {{
    case 0: sum += v[i] * {i + 3}u; break;
    case 1: sum ^= v[i] << {1 + i % 13}; break;
    case 2: sum -= v[i] >> {1 + i % 11}; break;
    case 3: sum = sum & {1 << i % 20}u ? sum * {2 * i + 1}u : sum + key; break;
    default: sum = sum << 5 | sum >> 27;
    }}
    if (v[i] & 1)
      for (int j = 0; j < {2 + i % 5}; j++)
        sum += v[(i + j) % n] * j;
    else
      sum ^= key + {i}u;
  }}
  return sum;
}}
"""


def c_source(count: str) -> bytes:
    """`count` static functions and one that calls them all."""
    n = int(count)
    calls = "".join(f"  sum += mix{i}(v, n, sum);\n" for i in range(n))
    return ("".join(function(i) for i in range(n)) +
            "\nunsigned all(const unsigned *v, int n, unsigned sum)\n{\n" +
            calls + "  return sum;\n}\n").encode()


# -- Moving pictures ----------------------------------------------------------

def y4m(frames: str) -> bytes:
    """A soft pattern that drifts to the left under changing noise."""
    width, height = 320, 240
    area = width * height
    draw = Draw(54321)
    rows = [bytes((x * 3 + y * 2 + (x * y >> 5)) & 255 for x in range(width))
            for y in range(height)]
    noise = bytes(draw.below(24) for _ in range(2 * area))
    out = [f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\n".encode()]
    for k in range(int(frames)):
        left = k * 5 % width
        still = b"".join(row[left:] + row[:left] for row in rows)
        at = k * 7919 % area
        out += [b"FRAME\n",
                bytes(p + q & 255 for p, q in zip(still, noise[at:at + area])),
                bytes([(128 + k) & 255]) * (area // 4),
                bytes([(64 + 2 * k) & 255]) * (area // 4)]
    return b"".join(out)


# -- Making them --------------------------------------------------------------

KINDS: list[tuple[str, Callable[[str], bytes]]] = [
    (r"text-(200k|800k|2m|8m|24m)", text),
    (r"rows-(\d+)\.sql", sql),
    (r"mix\.(lua)", lambda _: LUA.encode()),
    (r"mix\.(py)", lambda _: PYTHON.encode()),
    (r"mix\.(pl)", lambda _: PERL.encode()),
    (r"functions-(\d+)\.c", c_source),
    (r"frames-(\d+)\.y4m", y4m),
]

ALL = ["text-200k", "text-800k", "text-2m", "text-8m", "text-24m",
       "rows-16000.sql", "rows-160000.sql", "rows-400000.sql",
       "mix.lua", "mix.py", "mix.pl",
       "functions-6.c", "functions-60.c", "functions-110.c",
       "frames-6.y4m", "frames-60.y4m", "frames-180.y4m"]


def is_input(name: str) -> bool:
    """Is this the name of something that this file can make?"""
    return any(re.fullmatch(pattern, name) for pattern, _ in KINDS)


def content(name: str) -> bytes:
    """The bytes of one input."""
    for pattern, make in KINDS:
        if found := re.fullmatch(pattern, name):
            return make(found.group(1))
    raise ValueError(f"{name}: no such input")


def forget_older(folder: pathlib.Path) -> None:
    """Drop the inputs that another version of this file has made."""
    mark = folder / ".made"
    digest = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == digest:
        return
    for path in folder.iterdir():
        if is_input(path.name):
            path.unlink()
    mark.write_text(digest)


def make_inputs(folder: pathlib.Path, names: list[str]) -> None:
    """Make those of the named inputs that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    forget_older(folder)
    for name in names:
        if not (folder / name).exists():
            part = folder / f".part-{os.getpid()}-{name}"
            part.write_bytes(content(name))
            part.rename(folder / name)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} DIR [NAME...]")
    for wanted in sys.argv[2:]:
        if not is_input(wanted):
            sys.exit(f"{sys.argv[0]}: {wanted}: no such input")
    make_inputs(pathlib.Path(sys.argv[1]), sys.argv[2:] or ALL)
