#!/usr/bin/env bash
# timeout: 240
# hark profile and what ends: threads and processes whose numbers come again,
# and programs that do nothing any more.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 15

build_prog

# names: those of the threads that have samples, all but the first
names() {
	"$HARK" show --json --min 0 p.hark | /usr/bin/python3 -c '
import json, sys
page = json.load(sys.stdin)
print(*sorted(t["name"] for t in page["threads"]
              if t["weight"] > 0 and t["tid"] != t["pid"]))'
}

# allowed NAME...: may this user choose numbers? Else these tests are skipped.
allowed() {
	[ "$out" = "not allowed" ] || return 0
	for name in "$@"; do
		skip "$name" "the kernel lets nobody choose a number here"
	done
	return 1
}

# -- Numbers that come again --

profile ./prog reuse
if allowed "a thread with the number of another" "is another" \
	"and counted as one"; then
	unharmed "a thread with the number of another"
	is "is another" "$(names)" "one two"
	like "and counted as one" "$(head -n 1 errors)" \
		'samples of [23] threads'
fi

# Both have their code at the same place.
cat >other.c <<'EOC'
__asm__(".text\n.globl stranger\n.type stranger, @function\nstranger:\n"
	"mov $300000000, %eax\n1: dec %eax\njne 1b\nret\n"
	".skip 2097152, 0x90\n.size stranger, . - stranger\n");
void stranger(void);
int main(void)
{
	stranger();
	return 0;
}
EOC
gcc -O2 -static other.c -o other || exit 1
build_prog -static
EXTRA=(-f)
profile ./prog reusefork ./other
if allowed "a process with the number of another" "has its own code"; then
	unharmed "a process with the number of another"
	is "has its own code" \
		"$(look processes between stranger 0.01 0.9 between as_child 0.1 0.99)" \
		"2 yes yes"
fi
EXTRA=()

profile ./prog exec
is "one that executes a program is the same thread" \
	"$status $(look threads)" "0 1"

# -- A program that waits --

mkfifo orders
rm -f said
"$HARK" profile -o p.hark --force -- ./prog idle <orders >said 2>errors &
hark=$!
exec 7>orders
wait_for ready said || note "it does not begin: $(cat errors)"
sampled() { "$HARK" show --json p.hark 2>&1 | grep -q '"name":"at_last"'; }
ok "what it did is in the file while it waits" await sampled
is "and that is not all" "$(look complete)" False
exec 7>&-
wait $hark
is "it ends well" "$? $(tail -n 1 said)" "0 ok"

# -- CPU time is that of all processes that are sampled --

gcc -O2 "$SRC/profile_family.c" -o family || exit 1
# near: is what hark says of user mode, and of the kernel, near to what
# the program says? Its clock ticks a hundred times a second.
near() {
	python3 - <<'END'
import json, subprocess, sys, os
said = [int(n) for n in open("family.out").read().split()[1:]]
info = json.loads(subprocess.run(
    [os.environ["HARK"], "info", "--json", "family.hark"],
    capture_output=True, text=True).stdout)
for name, want in zip(("user", "system"), said):
    is_ = info[f"cpu_{name}_ns"] / 1000
    print("right" if abs(is_ - want) < 60000 + want / 5
          else f"{name}: {is_}, not {want}")
END
}
for how in waits lives; do
	"$HARK" profile -f -o family.hark --force -- ./family $how \
		>family.out 2>errors
	is "a parent whose child $how" "$?" 0
	is "the CPU time of both, $how" "$(near | xargs)" "right right"
	said=$(sed -nE 's/.*profile: ([0-9]+) % of the CPU time was.*/\1/p' errors)
	read -r child user system <family.out
	want=$((100 * system / (user + system)))
	ok "the kernel's share is of both, $how: ${said:-not said}" \
		test "${said:-$want}" -le $((want + 20))
	[ $how = waits ] || kill "$child"
done
