#!/usr/bin/env bash
# timeout: 400
# same addresses
# hark core: what gdb says of a core file that hark made, against what the
# program said, and against what hark says itself.
. "$(dirname "$0")/lib.sh"

plan 41

cat >prog.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { int id; char name[8]; struct node *next; double weight; };
struct node *list;
int total;

__attribute__((noinline)) void mark(int n) { __asm__ volatile("" ::"r"(n)); }

__attribute__((noinline)) static void add(int id)
{
	struct node *n = malloc(sizeof *n);
	volatile double third = id / 4.0;

	n->id = id;
	snprintf(n->name, sizeof n->name, "n%d", id);
	n->weight = third;
	n->next = list;
	list = n;
	total += id;
	printf("%d\n", total);
	mark(id);
}

__attribute__((noinline)) static void crash(int *where) { *where = total; }

int main(int argc, char **argv)
{
	for (int i = 1; i <= 4; i++)
		add(i);
	fflush(stdout);
	crash(argc > 5 ? &total : (int *)8);
	return 0;
}
EOF

# debug PROGRAM CORE COMMAND...: what gdb prints.
debug() {
	local args=() program=$1 core=$2
	shift 2
	for c in "$@"; do args+=(-ex "$c"); done
	timeout 150 gdb -nx -batch "${args[@]}" "$program" "$core" 2>&1
}

for kind in dynamic static; do
	flags=
	[ $kind = static ] && flags=-static
	gcc -g -O0 $flags -o prog-$kind prog.c
	rm -f p.hark core
	try hark record -q -o p.hark -- ./prog-$kind
	try hark core -o core p.hark
	like "$kind: it says what it did" "$status|$err" \
		'^0\|hark: core: [0-9]+ bytes, 1 thread at 1:[0-9+]+, [0-9]+ bytes unknown$'
	is "$kind: nobody else may read it" "$(stat -c %a core)" 600
	like "$kind: it is a core file" "$(readelf -h core)" 'CORE \(Core file\)'
	g=$(debug prog-$kind core bt 'print total' 'print *list' \
		'print list->next->name' 'print $_siginfo.si_signo' \
		'info threads' 'frame 1' 'info auxv')
	like "$kind: why it died" "$g" 'SIGSEGV'
	like "$kind: where" "$g" '#0 +0x[0-9a-f]+ in crash \(where=0x8\) at prog\.c:26'
	like "$kind: called by" "$g" '#1 +0x[0-9a-f]+ in main \(argc=1, argv=0x'
	like "$kind: a global" "$g" '\$1 = 10'
	like "$kind: memory of the heap" "$g" \
		'\{id = 4, name = "n4[^"]*", next = 0x[0-9a-f]+, weight = 1\}'
	like "$kind: and further" "$g" '\$3 = "n3'
	like "$kind: siginfo" "$g" '\$4 = 11'
	like "$kind: its entry point" "$g" 'AT_ENTRY'
done

# -- Another moment --

pos=$("$HARK" ask p.hark calls mark --json | sed -n 2p |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["position"])')
ok "a moment in the middle" "$HARK" core -q p.hark --at "$pos" -o middle
g=$(debug prog-static middle 'print total' 'print list->id' 'up' \
	'print third' 'print $pc == mark')
like "memory is that of the moment" "$g" '\$1 = 3'
like "so is the heap" "$g" '\$2 = 2'
like "and locals" "$g" '\$3 = 0.5'
is "registers" "$(debug prog-static middle 'print/x $rsp' | sed -n 's/^\$1 = //p')" \
	"$("$HARK" ask p.hark value '$rsp' --at "$pos" | sed 's/.* = //')"

# -- lldb --

l=$(timeout 150 lldb -b -o bt -o 'p total' -c middle prog-static 2>&1)
like "lldb: the stack" "$l" 'mark\(.*add\(id=2\)'
like "lldb: memory" "$l" '\(int\) \$0 = 3'

# -- Threads --

cat >threads.c <<'EOF'
#include <pthread.h>
#include <stdatomic.h>
static _Atomic int ready;
__attribute__((noinline)) static void spin(long n)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 100 + n)
		;
}
static void *run(void *p) { spin((long)p); return p; }
int main(void)
{
	pthread_t t[3], gone;

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], 0, run, (void *)i);
	pthread_create(&gone, 0, run, (void *)-1000L);
	pthread_join(gone, 0);
	while (atomic_load(&ready) < 4)
		;
	__builtin_trap();
}
EOF
gcc -g -O1 -pthread -o threads threads.c
rm -f t.hark
try hark record -q -o t.hark -- ./threads
is "a program of several threads dies" "$status" 132
ok "its core" "$HARK" core -q t.hark -o threads.core
g=$(debug threads threads.core 'info threads')
is "has those that died with it, not the one that ended" \
	"$(grep -cE '^[* ] [0-9]+ .*LWP [0-9]+\)? ' <<<"$g")" 4
like "the one that died is first" "$g" '\* 1 +.*main \(\) at threads\.c:21'

# -- The file --

try hark core p.hark -o middle
like "an existing file is kept" "$status|$err" \
	'^125\|hark: middle: File exists \(--force replaces it\)$'
ok "--force" "$HARK" core -q p.hark -o middle --force

# -- Memory that shares its places in the shadow is not searched for page by
# page: that would take minutes --
gcc -g -O1 -o alias "$ROOT/tests/end-to-end/core_alias.c"
"$HARK" record -q -o alias.hark -- ./alias >/dev/null 2>&1
timeout 30 "$HARK" core alias.hark -o alias.core 2>err
is "a core of memory at two addresses" "$?:$(head -c 4 alias.core | tail -c 3)" \
	0:ELF

# -- Reserved address space was never touched, so it hides nothing --

gcc -g -O1 -w -o reserved "$ROOT/tests/end-to-end/core_reserved.c"
try hark record -q -o reserved.hark -- ./reserved
read -r enough sealed <<<"$out"
is "the program has twins of its memory" "$enough" 1
try hark core reserved.hark -o reserved.core
unlike "nothing was left out" "$err" 'left out'
g=$(debug reserved reserved.core 'print global' 'print committed' \
	'print read_only' bt)
is "what was made accessible is in the core, and all that has a twin" \
	"$(sed -n 's/^\$[0-9]* = //p' <<<"$g" | sed 's/0x[0-9a-f]* //' | xargs)" \
	"4712 committed sealed"
like "the stack is unwound" "$g" '#[0-9]+ +0x[0-9a-f]+ in main \(\)'
is "it is as accessible as it was" "$(readelf -lW reserved.core |
	awk -v at="0x$(printf '%016x' "0x${sealed:-0}")" '$3 == at { print $7 }')" R
