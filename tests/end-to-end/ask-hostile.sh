#!/usr/bin/env bash
# timeout: 300
# Recordings that were made to harm hark ask and hark core: names that act on a
# terminal, and small files that ask for much memory or time.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
SRC=$ROOT/tests/end-to-end

plan 11

# shellcheck disable=SC2086  # a list of words
gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o forge \
	"$SRC/record_forge.c" "$ROOT/build/rel/libhosted.a" \
	$IMAGE_LIBS || exit 1

# controls TEXT: how many characters of it act on a terminal.
controls() { tr -dc '\001-\010\013-\037\177' <<<"$1" | wc -c; }

# -- Names --

name=$'esc\e]0;owned\a'
cat >"$name.c" <<'END'
static int twice(int *number)
{
	*number *= 2;
	return *number;
}
int main(int argc, char **argv)
{
	return argv[0] == 0 || twice(&argc) == 3;
}
END
gcc -g -O0 -o "$name" "$name.c" || exit 1
hark record -q -o names.hark -- "./$name" $'\e[31mred' >/dev/null
all=
for question in 'calls twice' 'stack --at 1:0' 'regs' 'races' 'calls main'; do
	# shellcheck disable=SC2086  # words
	try hark ask names.hark $question
	all+=$out$err
done
like "a source file of such a name is shown" "$all" \
	'esc\\x1b\]0;owned\\x07\.c:[0-9]'
is "and no such character reaches the terminal" "$(controls "$all")" 0

# -- Modules that unpack to gigabytes --

# peak COMMAND...: its standard error, and the most memory that it had, in MB.
peak() {
	python3 - "$@" <<'END'
import resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE,
                   stdout=subprocess.DEVNULL, text=True)
print(p.stderr, end="")
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
END
}
cp "$name" prog
hark record -q -o plain.hark -- ./prog >/dev/null
./forge plain.hark bomb.hark bomb "$PWD/prog" 32 || exit 1
ok "a recording of a few hundred KB" \
	test "$(stat -c %s bomb.hark)" -lt 4000000
peak "$HARK" ask bomb.hark stack >said
is "whose program unpacks to 2 GiB is refused in one line" \
	"$(grep -cE '^hark: bomb.hark: its modules unpack to 21[0-9]{8} bytes, .*HARK_MAX_UNPACK=BYTES' said)" 1
ok "without taking them" test "$(tail -n 1 said)" -lt 1000
try env HARK_MAX_UNPACK=4G "$HARK" info bomb.hark
is "HARK_MAX_UNPACK allows more" "$status" 0

# -- Mappings of terabytes --

cat >huge.c <<'END'
#include <stdlib.h>
#include <sys/mman.h>
char *big;
int main(int argc, char **argv)
{
	size_t len = strtoull(argv[argc - 1], 0, 0);

	big = mmap((void *)0x10020000000, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (big == MAP_FAILED)
		return 1;
	big[0x1234] = 77;
	big[len - 0x1234] = 88;
	return 0;
}
END
# Of this program nothing but its stack may have the low half of its address in
# common with the mapping.
gcc -g -O0 -static -no-pie -o huge huge.c || exit 1
hark record -q -o huge.hark -- ./huge 0x400000000000
try timeout 100 "$HARK" core -o huge.core huge.hark
is "a core file of a process with 64 TiB mapped is written" "$status" 0
like "and what is not in it is said" "$err" 'left out: 70368744177664 bytes'
hark ask huge.hark value 'big[0x1234]' >said
hark ask huge.hark value 'big[0x100001234]' >>said
hark ask huge.hark value 'big[0x400000000000 - 0x1234]' >>said
is "a place that was never touched is not taken for one 4 GiB away" \
	"$(cut -d= -f2 said | tr -d '\n')" " 77 'M' ?? 88 'X'"
hark record -q -o gaps.hark -- ./huge 0x20000000
try timeout 100 "$HARK" core -o gaps.core gaps.hark
is "of 512 MiB of which two pages were used" "$status" 0
out=$(gdb -nx -batch -ex 'print (int)big[0x1234]' \
	-ex 'print (int)big[0x20000000 - 0x1234]' huge gaps.core 2>&1)
like "these are in the core file" "$out" '\$1 = 77.*\$2 = 88'
