#!/usr/bin/env bash
# timeout: 600
# Programs that hark probe or hark profile has killed or held up once: they end
# as they do natively, and write the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/guests.bash"

plan 50

# What a hit does takes more or less stack and time; each of these takes another
# way through the collector.
declare -A CLAUSES=(
	[counts]='{ @ = count(); }'
	[sorts]='{ @[arg0 & 7] = count(); @t = quantize(arg0); }'
	[stamps]='{ self->t = timestamp; @[cpu] = max(timestamp - self->t); }'
	[records]='{ trace(arg1); @[ustack(), rand() & 3] = count(); }'
)
ENTRIES='pid$target:a.out::entry'

# probed NAME GUEST [HARK-OPTION...]: with each of the clauses.
probed() {
	local how

	for how in counts sorts stamps records; do
		rm -f shown
		alike "$1, probed: $how" "$2" probe -q -o shown "${@:3}" \
			-n "$ENTRIES ${CLAUSES[$how]}" && pass "$1, probed: $how"
	done
}

# sampled NAME GUEST: by events of the kernel's and by timers.
sampled() {
	alike "$1, sampled" "$2" profile -q -F 9973 -o g.hark --force &&
		pass "$1, sampled"
	HARK_CLOCK=timer alike "$1, sampled by timers" "$2" profile -q \
		-F 997 -o g.hark --force && pass "$1, sampled by timers"
}

# -- A thread that ends without a stack --

cat >detached.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
static sem_t done;
void *detached(void *arg)
{
	for (volatile int i = 0; i < 1000; i++)
		;
	sem_post(&done);
	return arg;
}
int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	sem_init(&done, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 300; i++) {
		if (pthread_create(&t, &attr, detached, NULL) != 0)
			return 1;
		sem_wait(&done);
	}
	puts("ok");
	fflush(stdout);
	pthread_exit(NULL); /* ends with the last of them */
}
END
musl-gcc -O1 detached.c -o detached && musl-gcc -O1 -static detached.c -o static ||
	exit 1
for kind in detached static; do
	probed "musl, $kind" "$PWD/$kind"
	sampled "musl, $kind" "$PWD/$kind"
done
probed "stacks unmapped" "$GUESTS/thread_unmaps_stack"
sampled "stacks unmapped" "$GUESTS/thread_unmaps_stack"

# -- rdtsc is forbidden --

probed "no rdtsc" "$GUESTS/insn_tsc_refused"
sampled "no rdtsc" "$GUESTS/insn_tsc_refused"
is "no rdtsc, profile-N" "$(timeout -s KILL 60 "$HARK" probe -q -o shown \
	-n 'profile-9973 { @[cpu] = max(timestamp); }' \
	-- "$GUESTS/insn_tsc_refused" 2>/dev/null) $?" "ok 0"
# Threads and children that are made while it is; status 0 says that all is well.
for clause in "${CLAUSES[stamps]}" "${CLAUSES[records]}"; do
	is "no rdtsc, threads and children: $clause" "$(timeout -s KILL 60 "$HARK" \
		probe -f -q -o shown -n "$ENTRIES $clause" -- "$GUESTS/no_tsc" \
		2>&1)$?" 0
done

# -- Little room on the stack --

# All records have room, however seldom hark looks: what is dropped is said.
OPTIONS=(-x aggsize=16m -x bufsize=256m)
for guest in sig_overflow sig_overflow_exact; do
	probed "$guest" "$GUESTS/$guest" "${OPTIONS[@]}"
	sampled "$guest" "$GUESTS/$guest"
done
# Also by the instruction that overflows, and by others around it.
DEEP='pid$target:a.out:deep'
for how in sorts records; do
	alike "all of deep(): $how" "$GUESTS/sig_overflow_exact" probe -q -o shown \
		"${OPTIONS[@]}" -n "$DEEP:return,$DEEP:b,$DEEP:10,$DEEP:19
		${CLAUSES[$how]}" && pass "all of deep(): $how"
done
# By a trampoline that counts by itself, and by one that does not.
for clause in '{ @ = count(); }' '{ @[arg0 * 0] = count(); }'; do
	rm -f shown
	said=$(timeout -s KILL 100 "$HARK" probe -q -o shown -n "$DEEP:entry $clause" \
		-- "$GUESTS/sig_overflow_exact" 2>&1)
	is "deep() is counted: $clause" "$(awk 'NF { print $NF, "calls" }' shown)" \
		"$(grep ' calls$' <<<"$said")"
done

# -- Alternate stacks of 8 KB --

probed "alternate stacks of 8 KB" "$GUESTS/sig_altstack_8k"
sampled "alternate stacks of 8 KB" "$GUESTS/sig_altstack_8k"
# few_lost: nearly all ticks have become samples, as the last line tells.
few_lost() {
	"$HARK" profile -o g.hark --force -- "$GUESTS/sig_altstack_8k" 2>&1 |
		awk '/ samples of / {
			for (i = 2; i <= NF; i++) {
				if ($i == "samples")
					taken = $(i - 1)
				if ($i == "lost")
					lost = $(i - 1)
			}
		}
		END { exit !(taken > 100 && lost * 20 < taken) }'
}
ok "alternate stacks of 8 KB: samples are not lost" few_lost
