#!/usr/bin/env bash
# same addresses
# Thread-local variables, of the program and of libraries, touched by way of fs
# and by their addresses: at every moment hark ask, gdb and a core file say what
# the program knew itself.
. "$(dirname "$0")/lib.sh"

cat >lib.c <<'EOC'
#include <errno.h>
__thread int in_lib = 7;
static __thread struct { int a; char s[8]; } pair = {3, "abc"};
int lib_add(int n, int *a)
{
	int *p = &in_lib;

	__asm__ volatile("" : "+r"(p));
	in_lib += n;
	*p += 1; /* by its address */
	*a = pair.a += n;
	errno = n;
	return in_lib;
}
EOC
cat >plug.c <<'EOC'
__thread int in_plug = 11;
int plug_add(int n) { return in_plug += n; }
EOC
cat >main.c <<'EOC'
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
extern int lib_add(int, int *);
static __thread int own = 40;
static __thread char text[16] = "abcdefgh";
static __thread unsigned long zero;
static int (*plug)(int);
__attribute__((noinline)) void mark(int a, int b, int c, int d,
				    unsigned long e, int f)
{
	__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f)
			 : "memory");
}
static void *go(void *p)
{
	long n = (long)p;

	for (int i = 0; i < 4; i++) {
		int *by_address = &own, a, lib = lib_add((int)n, &a);
		char *t = text;

		__asm__ volatile("" : "+r"(by_address), "+r"(t));
		own += (int)n;
		*by_address += 2;
		own++;
		memset(t, 'a' + i, 8);
		text[i] = (char)('P' + i);
		mark(own, lib, a, plug ? plug(i) : 0, zero, text[i]);
		zero += (unsigned long)n;
	}
	return NULL;
}
int main(void)
{
	pthread_t t;
	void *h;

	go((void *)1L);
	if (WITH_PLUG && (h = dlopen("./libplug.so", RTLD_NOW)) != NULL)
		plug = (int (*)(int))dlsym(h, "plug_add");
	pthread_create(&t, NULL, go, (void *)100L);
	pthread_join(t, NULL);
	go((void *)10L);
	return own != 108;
}
EOC

# The arguments of mark() are what the program knew. At each mark every second of
# these variables is asked for, at the next mark the others; with HARK_EFFORT all.
cat >check.py <<'EOP'
import json, os, subprocess, sys
hark, recording = sys.argv[1:]
effort = int(os.environ.get("HARK_EFFORT") or 1)
def ask(*words):
    return subprocess.run([hark, "ask", recording, *words], timeout=300,
                          capture_output=True, text=True).stdout.rstrip("\n")
marks = [json.loads(l) for l in ask("calls", "mark", "--json").splitlines()]
known = asked = 0
for n, m in enumerate(marks):
    if n % 4 in (1, 2):
        continue
    own, lib, a, in_plug, zero, letter = (int(x["value"].split()[0])
                                          for x in m["arguments"])
    want = {"own": own, "in_lib": lib, "pair.a": a, "zero": zero,
            f"(int)text[{n % 4}]": letter}
    if in_plug != 0:
        want["in_plug"] = in_plug
    for i, (what, value) in enumerate(want.items()):
        known += 1
        if (n + n // 4 + i) % 2 >= effort:
            continue
        got = ask("value", what, "--at", m["position"])
        got = got.split(" = ")[-1].split(" '")[0]
        asked += 1
        if got != str(value):
            print(f"at {m['position']}: {what} is {value}: {got}")
if len(marks) != 12 or known < 30 or asked < known // 2 - 3:
    print(f"{len(marks)} marks, {known} values, {asked} questions")
EOP

# Every write of own, by the thread of the moment, in order and with the value
# before: each turn adds N, 2, 1.
cat >writes.py <<'EOP'
import json, subprocess, sys
hark, recording, at, start, step = sys.argv[1:]
out = subprocess.run([hark, "ask", recording, "writes", "own", "--at", at,
                      "--json"], capture_output=True, text=True).stdout
have = [(w["before"], w["after"]) for w in map(json.loads, out.splitlines())
        if w.get("function") == "go"]
want, value = [], int(start)
for _ in range(4):
    for add in int(step), 2, 1:
        want.append((str(value), str(value + add)))
        value += add
if have[-len(want):] != want:
    print(have)
EOP

same() { # NAME RECORD-OPTION...
	local name=$1
	shift
	rm -f t.hark
	hark record -q "$@" -o t.hark -- ./main || note "status $?"
	is "$name: at every moment" "$(python3 check.py "$HARK" t.hark)" ""
	is "$name: every write of a thread" \
		"$(python3 writes.py "$HARK" t.hark "$(
			"$HARK" ask t.hark calls mark | awk '/^2:/ { p = $1 }
			END { print p }')" 40 100)" ""
}

MAIN="-g -w -pthread -DWITH_PLUG=1" LIB="-g -w -fPIC -shared"
make_all() { # OPTION... -- OPTION-OF-LIBRARIES...
	local opts=()
	while [ "$1" != -- ]; do
		opts+=("$1")
		shift
	done
	shift
	# shellcheck disable=SC2086
	gcc $LIB "$@" -o liblib.so lib.c && gcc $LIB "$@" -o libplug.so plug.c &&
		gcc $MAIN "${opts[@]}" -o main main.c ./liblib.so || exit 1
}

plan 23

make_all -O0 -- -O0
same "-O0"
make_all -O2 -- -O2
same "-O2"
same "a key frame every 30 branches" --key-every=30

# -- gdb, and a core file --

gdb_says() { sed -n 's/^\$[0-9]* = //p' | xargs; }
at=$("$HARK" ask t.hark calls mark | awk '/^2:/ { print $1 }' | tail -n 1)
want=$("$HARK" ask t.hark calls mark --json | python3 -c '
import json, sys
m = [json.loads(l) for l in sys.stdin]
m = [x for x in m if x["thread"] == 2][-1]["arguments"]
print(m[0]["value"], m[1]["value"], m[3]["value"])')
is "gdb: variables of the program, a library and a plug-in" \
	"$(timeout 100 "$HARK" back t.hark -- -batch -ex "seek $at" -ex 'p own' \
		-ex 'p in_lib' -ex 'p in_plug' 2>&1 | gdb_says)" "$want"
hark core --at "$at" -o t.core t.hark
gdb -nx -batch ./main t.core -ex 'p own' -ex 'p in_lib' -ex 'p in_plug' \
	-ex bt >shown 2>&1
is "the same in a core file of that moment" "$(gdb_says <shown)" "$want"
[ "$(gdb_says <shown)" = "$want" ] || note "$(cat shown)"
like "with the thread's stack" "$(cat shown)" '#1 .* in go \('

# -- Other ways to find a block --

make_all -O1 -- -O1 -mtls-dialect=gnu2
same "descriptors"
make_all -O1 -- -O1 -ftls-model=initial-exec
same "offsets"
make_all -O1 -fPIE -pie -- -O1
same "position-independent"
gcc -g -w -O1 -pthread -static -DWITH_PLUG=0 -o main main.c lib.c || exit 1
same "static"
is "gdb: static" "$(timeout 100 "$HARK" back t.hark -- -batch -ex 'p own' 2>&1 |
	gdb_says)" 108
musl-gcc -g -w -O1 -fPIC -shared -o liblib.so lib.c &&
	musl-gcc -g -w -O1 -fPIC -shared -o libplug.so plug.c &&
	musl-gcc -g -w -O1 -DWITH_PLUG=1 -o main main.c ./liblib.so || exit 1
same "musl"
is "gdb: musl" "$(timeout 100 "$HARK" back t.hark -- -batch -ex 'p own' \
	-ex 'p in_lib' 2>&1 | gdb_says)" "$("$HARK" ask t.hark value own |
	sed 's/.* //') $("$HARK" ask t.hark value in_lib | sed 's/.* //')"

# -- Large thread-local variables beside the main stack --

# ask_large_tls.c says what it needs: addresses that are not random.
# Half of the bytes are asked for in one recording, the others in the next one; with
# HARK_EFFORT all of them in both.
bytes_differ() { # RECORDING ACCOUNT NUMBER: what hark says otherwise
	local at address value got n=$3

	at=$("$HARK" ask "$1" calls mark | awk '{ print $1 }')
	while read -r address value; do
		n=$((n + 1))
		((n % 2 < $(times 1))) || continue
		got=$("$HARK" ask "$1" value "*(unsigned char *)$address" \
			--at "$at")
		got=${got##* = }
		[ "${got%% *}" = "$value" ] || echo "$address is $value: $got"
	done <"$2"
}
gcc -g -O1 -pthread -o large "$ROOT/tests/end-to-end/ask_large_tls.c"
number=0
for every in 1000000 30; do
	number=$((number + 1))
	try hark record -q --force --key-every=$every -o large.hark -- ./large
	if [ "$status" = 77 ]; then
		skip "a key frame every $every: the stack and fs are told apart" \
			"the addresses are random"
		continue
	fi
	echo "$out" >account
	is "a key frame every $every: the stack and fs are told apart" \
		"$status $(wc -l <account) $(bytes_differ large.hark account $number)" "0 48 "
done
