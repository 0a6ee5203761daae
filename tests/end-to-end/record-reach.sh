#!/usr/bin/env bash
# timeout: 300
# hark record --bundle-debug takes those files that a program names which the
# program itself could open, and no others: not with the rights of root, not from
# outside the program's root directory, and never a pipe.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
SRC=$ROOT/tests/end-to-end

plan 16

# shellcheck disable=SC2086  # a list of words
gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o forge \
	"$SRC/record_forge.c" "$ROOT/build/rel/libhosted.a" \
	$IMAGE_LIBS || exit 1
gcc -O1 -Wall -Wextra -o no_openat2 "$SRC/record_no_openat2.c" || exit 1

# The program names these; it runs as a user who cannot read all of them.
chmod 755 "$T"
mkdir -m 755 open root root/tmp
mkdir -m 700 closed
echo 'a source that all may read' >open/plain.c
echo 'a source that root may read' >open/secret.c
chmod 600 open/secret.c
ln -s secret.c open/link.c
echo 'a source in a directory of root' >closed/hidden.c
mkfifo -m 666 open/pipe.c
named=("$T"/open/{plain,secret,link,pipe}.c "$T/closed/hidden.c"
	/inside.c /out.c /etc/passwd)
{
	echo 'int pause(void);'
	for i in "${!named[@]}"; do
		printf '#line 1 "%s"\nint f%d(int a) { return a + %d; }\n' \
			"${named[i]}" "$i" "$i"
	done
	printf '#line 1 "%s/main.c"\n' "$T"
	echo 'int main(void) { for (;;) pause(); }'
} >names.c
gcc -g -O0 -w -static -o names names.c || exit 1

if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
else
	as=()
fi

# bundle HARK... -- COMMAND...: what is in a recording of the command, which
# hark enters while it runs.
bundle() {
	local tool=() pid hark

	while [ "$1" != -- ]; do tool+=("$1") && shift; done
	shift
	rm -f new.hark
	"$@" &
	pid=$!
	runs() { grep -qs names "/proc/$pid/comm"; }
	await runs
	"${tool[@]}" record -q --bundle-debug -o new.hark -p $pid 2>hark.err &
	hark=$!
	begun() { [ -s new.hark ] || ended $hark; }
	await begun
	kill -INT $hark 2>/dev/null
	wait $hark
	kill $pid
	wait $pid 2>/dev/null
	out=$(./forge new.hark)
	note "$(cat hark.err)"
}
has() { grep -qxF "$1" <<<"$out"; }
has_not() { ! has "$1"; }

# -- Another user's program --

(echo x >open/pipe.c) 2>/dev/null &
writer=$!
bundle "$HARK" -- "${as[@]}" ./names
ok "a source that the program may read is in the recording" \
	has 'a source that all may read'
ok "a pipe that the program names is not opened" kill -0 $writer
kill $writer
wait $writer 2>/dev/null
if [ "$(id -u)" = 0 ]; then
	ok "a file of root's that the program names is not" \
		has_not 'a source that root may read'
	ok "nor if a link leads to it" has_not "path=$T/open/link.c"
	ok "nor if it lies in a directory of root's" \
		has_not 'a source in a directory of root'
	bundle "$HARK" -- ./names
	ok "of a program of root's own they are" \
		has 'a source that root may read'
	for code in 38 1; do # ENOSYS, EPERM
		bundle ./no_openat2 $code "$HARK" -- "${as[@]}" ./names
		ok "without openat2 ($code) a readable source is" \
			has 'a source that all may read'
		ok "and one of root's is not" \
			has_not 'a source that root may read'
	done
else
	for i in {1..8}; do skip "rights of others ($i)" "not root"; done
fi

# -- A debug file --

mkdir -m 755 names-apart
objcopy --only-keep-debug names names-apart/names.debug
objcopy --strip-all --add-gnu-debuglink=names-apart/names.debug names \
	names-apart/names
bundle "$HARK" -- "${as[@]}" names-apart/names
ok "a debug file that the program may read is used" \
	has 'a source that all may read'
if [ "$(id -u)" = 0 ]; then
	chmod 600 names-apart/names.debug
	bundle "$HARK" -- "${as[@]}" names-apart/names
	is "and one of root's is not" "$out" ''
else
	skip "a debug file of root's" "not root"
fi

# -- Another root directory --

echo 'a source inside of the root' >root/inside.c
ln -s /etc/passwd root/out.c
cp names root/
if [ "$(id -u)" = 0 ]; then
	bundle "$HARK" -- chroot root ./names
	ok "a source is taken from the program's own root" \
		has 'a source inside of the root'
	ok "and none from outside of it" has_not path=/etc/passwd
	ok "not through a link either" has_not path=/out.c
	bundle ./no_openat2 38 "$HARK" -- chroot root ./names
	is "without openat2 none is taken" "$out" ''
else
	for i in {1..4}; do skip "another root ($i)" "not root"; done
fi
