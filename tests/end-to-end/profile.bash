# tests/end-to-end/profile.bash - programs that are sampled.  Sourced behind
# lib.sh.

SRC=$ROOT/tests/end-to-end
EXTRA=() # options of hark profile

# build_prog [FLAG...]: profile_prog.c as ./prog
build_prog() {
	gcc -O2 -g -pthread -D_GNU_SOURCE "$SRC/profile_prog.c" -o prog "$@" ||
		exit 1
}

# profile PROG...: sampled; sets $status, $out and $err; the file is p.hark.
profile() {
	rm -f p.hark
	{
		timeout -s KILL "${PATIENCE:-100}" "$HARK" profile -o p.hark "${EXTRA[@]}" -- "$@" \
			>said 2>errors </dev/null
	} 2>/dev/null # the shell's own words of a signal
	status=$?
	out=$(cat said)
	err=$(cat errors)
}

# look QUESTION...: see profile_look.py
look() {
	"$HARK" show --json --min 0 "${FILE:-p.hark}" |
		/usr/bin/python3 "$SRC/profile_look.py" "$@" 2>&1
}

# account: what the last line says, but for the numbers; or that it is wrong. To
# others than root one more may tell how much they cannot see.
account() {
	grep -v "of the CPU time was the kernel's, and is not sampled" "${1:-errors}" |
		sed -n '$!d; s/[0-9][0-9]*/N/g; p'
}

# unharmed NAME: it found nothing wrong.
unharmed() {
	if [ "$status" = 0 ] && [ "$out" = ok ]; then
		pass "$1"
	else
		fail "$1" "status $status
$(tail -n 3 said)
$(tail -n 3 errors)"
	fi
}
