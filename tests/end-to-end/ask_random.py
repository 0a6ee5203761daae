#!/usr/bin/env python3
"""ask_random.py SEED - a C program (C++, too) that keeps its own account.

Threads read and write variables of many kinds: their own, thread-local ones,
some under a lock, atomic ones, and some that they race for.  Each thread notes
what it loaded and stored, in its order; at the end the program prints that, and
where the variables are.  ask_random.c holds a recording's answers against it.

An account line is `THREAD r|w|m VARIABLE VALUE`: a load, a store, or a call of
mark() while the variable is VALUE.  Variables are 1 to 8 bytes.  Of those in
`loose` only marks are noted: the compiler chooses how it reads and writes them.
"""
import random
import sys

THREADS = 4
INTEGER = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}

HEAD = r"""
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
enum { THREADS = %(threads)d, VARIABLES = %(variables)d, NOTES = %(notes)d };
struct note { char kind; int variable; uint64_t value; };
static struct note notes[THREADS][NOTES];
static int n_notes[THREADS];
static volatile void *where[THREADS][VARIABLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin;
typedef uint32_t vec __attribute__((vector_size(16)));
struct bits { uint64_t a : 3, b : 11, c : 20, d : 30; };

static inline void note(int t, char kind, int variable, uint64_t value)
{
	struct note *n = &notes[t][n_notes[t]++];
	n->kind = kind;
	n->variable = variable;
	n->value = value;
}

__attribute__((noinline)) void mark(uint64_t variable, uint64_t value)
{
	__asm__ volatile("" ::"r"(variable), "r"(value) : "memory");
}

static void marked(int t, int variable, uint64_t value)
{
	note(t, 'm', variable, value);
	mark((uint64_t)variable, value);
}
"""

TAIL = r"""
static void *run(void *arg)
{
	int t = (int)(long)arg;
	pthread_barrier_wait(&begin);
	switch (t) {
%(cases)s
	}
	return NULL;
}

int main(void)
{
	pthread_t all[THREADS];
	pthread_barrier_init(&begin, NULL, THREADS);
	for (long t = 1; t < THREADS; t++)
		pthread_create(&all[t], NULL, run, (void *)t);
	run((void *)0);
	for (long t = 1; t < THREADS; t++)
		pthread_join(all[t], NULL);
	printf("mark %%lx\n", (unsigned long)mark);
%(print)s
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < n_notes[t]; i++)
			printf("%%d %%c %%d %%lx\n", t + 1, notes[t][i].kind, notes[t][i].variable, (unsigned long)notes[t][i].value);
	return 0;
}
"""


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.declared, self.kinds = [], []
        self.bodies = [[] for _ in range(THREADS)]

    def add(self, declaration, kind, size, owner=None, of=None):
        """A variable; `of`: how it is written, if not v<number>."""
        number = len(self.kinds)
        if declaration:
            self.declared.append(declaration.replace("@", f"v{number}"))
        self.kinds.append((kind, size, owner, of or f"v{number}"))
        return number

    def declare(self):
        r = self.random
        for _ in range(r.randint(2, 4)):
            size = r.choice([1, 2, 4, 8])
            first = r.choice(["", " = 7"])
            self.add(f"static volatile {INTEGER[size]} @{first};", "own", size,
                     r.randrange(THREADS))
        for _ in range(r.randint(1, 3)):
            size = r.choice([1, 2, 4, 8])
            first = r.choice(["", " = 9"])
            self.add(f"static __thread volatile {INTEGER[size]} @{first};",
                     "tls", size)
        for kind in ["locked", "racy", "atomic"]:
            for _ in range(r.randint(1, 2)):
                size = r.choice([4, 8])
                self.add(f"volatile {INTEGER[size]} @;", kind, size)
        at = self.add("static volatile vec @;", "low", 8, r.randrange(THREADS))
        self.add(None, "high", 8, self.kinds[at][2], f"v{at}")
        self.add("static volatile struct bits @;", "bits", 8, r.randrange(THREADS))
        at = self.add("static uint64_t @[3];", "array", 8, r.randrange(THREADS))
        self.kinds[at] = (*self.kinds[at][:3], f"v{at}[0]")
        for i in [1, 2]:
            self.add(None, "array", 8, self.kinds[at][2], f"v{at}[{i}]")

    # -- What a thread does with a variable --

    def load(self, t, v, size, name, to="x"):
        return f"{to} = {name}; note({t}, 'r', {v}, {to});"

    def plain(self, t, v, size, name):
        """A load, a store of something else, a load."""
        r = self.random
        change = r.choice(["x + %d", "x ^ %d", "x * %d", "%d"]) % r.randint(1, 1 << 30)
        lines = [f"{INTEGER[size]} x, y;", self.load(t, v, size, name)]
        if r.random() < 0.3:
            suffix = {1: "b", 2: "w", 4: "l", 8: "q"}[size]
            op = r.choice(["inc", "neg", "not"])
            made = {"inc": "x + 1", "neg": "-x", "not": "~x"}[op]
            lines += [f"y = ({INTEGER[size]})({made});",
                      f'__asm__ volatile("{op}{suffix} %0" : "+m"({name})::"cc");',
                      f"note({t}, 'r', {v}, x); note({t}, 'w', {v}, y);"]
        else:
            lines += [f"y = ({INTEGER[size]})({change});", f"{name} = y;",
                      f"note({t}, 'w', {v}, y);"]
        if r.random() < 0.7:
            lines += [self.load(t, v, size, name), f"marked({t}, {v}, x);"]
        return lines

    def racy(self, t, v, size, name):
        r = self.random
        return [f"{INTEGER[size]} x;", self.load(t, v, size, name),
                f"x = ({INTEGER[size]})(x + {r.randint(1, 1000)});",
                f"{name} = x; note({t}, 'w', {v}, x);",
                r.choice(["", "sched_yield();"])]

    def atomic(self, t, v, size, name):
        n = self.random.randint(1, 1 << 20)
        return [f"{INTEGER[size]} x = __atomic_fetch_add(&{name}, {n}, __ATOMIC_SEQ_CST);",
                f"note({t}, 'r', {v}, x); note({t}, 'w', {v}, ({INTEGER[size]})(x + {n}));"]

    def vector(self, t, v, name):
        n = [self.random.getrandbits(32) for _ in range(4)]
        low, high = n[0] | n[1] << 32, n[2] | n[3] << 32
        return [f"{name} = (vec){{{n[0]}u, {n[1]}u, {n[2]}u, {n[3]}u}};",
                f"note({t}, 'w', {v}, {low}u); note({t}, 'w', {v + 1}, {high}u);",
                f"marked({t}, {v}, {low}u); marked({t}, {v + 1}, {high}u);"]

    def loose(self, t, v, kind, name):
        r = self.random
        if kind == "bits":
            field, bits = r.choice([("a", 3), ("b", 11), ("c", 20), ("d", 30)])
            change = f"{name}.{field} = {r.getrandbits(bits)};"
            if r.random() < 0.5:
                change = f"{name}.{field}++;"
            return [change, f"uint64_t x; memcpy(&x, (const void *)&{name}, 8);",
                    f"marked({t}, {v}, x);"]
        base = name.split("[")[0]
        n = r.randint(1, 24)
        change = r.choice([f"memset((char *){base} + {24 - n}, {r.randrange(256)}, {n});",
                           f"memcpy({base}, {base} + 1, 16);",
                           f"{base}[{r.randrange(3)}] += {r.randint(1, 99)};"])
        return [change, f'__asm__ volatile("" : "+m"({base}));',
                f"marked({t}, {v}, {name});"]

    def act(self, t):
        mine = [v for v, (_, _, owner, _) in enumerate(self.kinds)
                if owner in (None, t)]
        v = self.random.choice(mine)
        kind, size, _, name = self.kinds[v]
        if kind == "high":
            v, kind = v - 1, "low"
        if kind in ("own", "tls"):
            lines = self.plain(t, v, size, name)
        elif kind == "locked":
            lines = ["pthread_mutex_lock(&lock);", *self.plain(t, v, size, name),
                     "pthread_mutex_unlock(&lock);"]
        elif kind == "racy":
            lines = self.racy(t, v, size, name)
        elif kind == "atomic":
            lines = self.atomic(t, v, size, name)
        elif kind == "low":
            lines = self.vector(t, v, name)
        else:
            lines = self.loose(t, v, kind, name)
        return "{ " + " ".join(lines) + " }"

    def body(self, t):
        r = self.random
        lines = [f"where[{t}][{v}] = &{name};"
                 for v, (kind, _, _, name) in enumerate(self.kinds) if kind == "tls"]
        for _ in range(r.randint(3, 8)):
            acts = [self.act(t) for _ in range(r.randint(1, 6))]
            lines.append(f"for (int i = 0; i < {r.randint(1, 12)}; i++) {{")
            lines += acts + ["}"]
        return "\n".join(lines)

    def text(self):
        self.declare()
        bodies = [self.body(t) for t in range(THREADS)]
        cases, prints = [], []
        for t, body in enumerate(bodies):
            cases.append(f"case {t}: {{ {body} break; }}")
        for v, (kind, size, _, name) in enumerate(self.kinds):
            if kind == "tls":
                for t in range(THREADS):
                    prints.append(f'printf("variable {v} {kind} {size} {t + 1} %lx\\n",'
                                  f' (unsigned long)where[{t}][{v}]);')
            else:
                more = " + 8" if kind == "high" else ""
                prints.append(f'printf("variable {v} {kind} {size} 0 %lx\\n",'
                              f' (unsigned long)&{name}{more});')
        return (HEAD % {"threads": THREADS, "variables": len(self.kinds),
                        "notes": 4096}
                + "\n".join(self.declared)
                + TAIL % {"cases": "\n".join(cases), "print": "\n".join(prints)})


print(Program(int(sys.argv[1])).text())
