#!/usr/bin/env bash
# timeout: 240
# hark profile: tables of call-frame rules are kept on disk, and nobody depends
# on that.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 33

build_prog
PROG_PERCENT=$(times 40)
export PROG_PERCENT

LIBC=$(ldd ./prog | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
ID=$(readelf -n "$LIBC" | sed -n 's/.*Build ID: //p')
KEPT=$HARK_CACHE/$ID.frames1

# right NAME: the stacks of all samples are whole.
right() {
	unharmed "$1"
	is "$1: whole stacks" \
		"$(look between heavy 0.6 0.9 between main 0.98 1)" "yes yes"
}

# silent NAME: hark says of it what it always says, and nothing else.
silent() {
	is "$1" "$(grep -vc '^hark: profile: ' errors)" 0
}

# -- Made, used --

profile ./prog shares
right "the first time"
ok "the table of libc is there" test -f "$KEPT"
is "for this user only" "$(stat -c %a "$HARK_CACHE" "$KEPT" | xargs)" "700 600"
is "of small modules there is none" "$(find "$HARK_CACHE" -name "$(readelf -n prog |
	sed -n 's/.*Build ID: //p').*" | wc -l)" 0
ok "so are its system calls" test -f "$HARK_CACHE/$ID.hooks2"
before=$(stat -c '%i %y' "$KEPT")
sum=$(cksum <"$KEPT")
profile ./prog shares
right "the second time"
is "it is not written again" "$(stat -c '%i %y' "$KEPT")" "$before"
touch -d '2 days ago' "$KEPT"
profile ./prog shares
right "after two days"
is "it is the same file" "$(stat -c %i "$KEPT") $(cksum <"$KEPT")" \
	"${before%% *} $sum"
ok "which was used, and is new again" \
	[ "$(stat -c %Y "$KEPT")" -gt "$(($(date +%s) - 80000))" ]

# -- Damaged --

printf '\377' | dd of="$KEPT" bs=1 seek=60000 conv=notrunc 2>/dev/null
profile ./prog shares
right "a damaged table"
silent "nobody need know"
is "is mended" "$(cksum <"$KEPT")" "$sum"
truncate -s 5000 "$KEPT" "$HARK_CACHE/$ID.hooks2"
profile ./prog shares
right "half a table"
is "is mended, too" "$(cksum <"$KEPT")" "$sum"
rm "$KEPT"
ln -s /dev/zero "$KEPT"
profile ./prog shares
right "a link"

# -- Changed --

# The same build-id, other code: system calls have moved.
build_calls() { # WORDS of code before
	cat >calls.c <<-END
		#include <signal.h>
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		__asm__(".text; .globl mask; .type mask, @function; mask:"
			".skip $1, 0x90; mov \$14, %eax; mov \$8, %r10d; syscall; ret;"
			".size mask, . - mask");
		long mask(long how, const void *new, void *old);
		int main(void)
		{
			unsigned long all = ~0ul, none = 0;

			for (int i = 0; i < 20000; i++)
				if (mask(SIG_SETMASK, &all, 0) != 0 ||
				    mask(SIG_SETMASK, &none, 0) != 0)
					return 1;
			puts("ok");
			return 0;
		}
	END
	gcc -O2 -g -Wl,--build-id=0x0123456789abcdef0123456789abcdef calls.c -o calls &&
		touch -d '2 hours ago' calls
}
build_calls 1
until [ "$(($(date +%s) - $(stat -c %Z calls)))" -ge 4 ]; do
	sleep 0.5 # what was changed a moment ago is not kept
done
profile ./calls
unharmed "system calls of a program"
ok "are kept" test -f "$HARK_CACHE/0123456789abcdef0123456789abcdef.hooks2"
build_calls 77
profile ./calls
unharmed "and looked for again when it has changed"

# -- Not there --

rm -rf "$HARK_CACHE"
HARK_CACHE=off profile ./prog shares
right "none is wanted"
ok "and none is made" test ! -e "$HARK_CACHE"
place=$HARK_CACHE home=${HOME:-/}
unset HARK_CACHE HOME XDG_CACHE_HOME
profile ./prog shares
export HARK_CACHE=$place HOME=$home
right "no home"
silent "no home: nobody need know"

# -- Two at once --

for i in 1 2 3; do
	"$HARK" profile -q -o "at-once-$i.hark" -- ./prog shares >"at-once-$i" 2>&1 &
done
wait
is "three at once" "$(cat at-once-1 at-once-2 at-once-3 | xargs)" "ok ok ok"
is "make one table" "$(cksum <"$KEPT") $(find "$HARK_CACHE" -name '.new-*' | wc -l)" "$sum 0"
