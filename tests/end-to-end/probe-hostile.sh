#!/usr/bin/env bash
# timeout: 300
# A target that attacks: hark enters no process that is not of the session, can
# be ended at any time, and neither it nor another process of the session is
# harmed by what one of them writes into shared memory.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

build hostile -std=gnu17 -I"$ROOT/src"
chmod 777 . && cp "$HARK" hark && chmod 755 hark hostile
mkdir root nobody itself && chmod 755 root nobody itself
PATTERN='pid$target:a.out:hot_count:entry, pid$target:lib*later*.so:*:entry { @ = count(); }'

is_root() { [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; }
# In the background only: $! is the command's own number.
as_nobody() {
	export HARK_CACHE=$T/nobody
	exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
if is_root; then
	chown 65534 nobody
	plan 31
else
	plan 13
fi

# session WHO COMMAND MODE...: hark COMMAND of the hostile program, in the
# background: its number is $hark, what it says in `errors`.
#	root	hark is root, the target is nobody's, and runs already
#	nobody	hark and target are nobody's; hark starts it
#	itself	the same with the user of this test
session() {
	local who=$1 how=$2
	local options=(-f)

	shift 2
	rm -f end go victim errors
	[ "$how" = profile ] && options+=(-o "$who/out") ||
		options+=(-o "$who/shown" -n "$PATTERN")
	case $who in
	root)
		begin as_nobody ./hostile "$@"
		"$HARK" "$how" "${options[@]}" -p "$pid" >hark.out 2>errors \
			</dev/null &
		;;
	nobody)
		: >guest.out
		chmod 666 guest.out
		as_nobody ./hark "$how" "${options[@]}" -- ./hostile "$@" \
			>guest.out 2>errors </dev/null &
		;;
	*)
		: >guest.out
		"$HARK" "$how" "${options[@]}" -- ./hostile "$@" \
			>guest.out 2>errors </dev/null &
		;;
	esac
	hark=$!
}

# suffer WHO: the victim, $victim, is root's if hark is, else nobody's.
suffer() {
	if [ "$1" = nobody ]; then
		as_nobody ./hostile victim >victim.out &
	else
		./hostile victim >victim.out &
	fi
	victim=$!
	wait_for ready victim.out
	echo $victim >victim
}

# over WHO: the target may end; sets $status, of hark.
over() {
	: >end
	[ "$1" != root ] || wait "$pid"
	wait "$hark"
	status=$?
	rm -f "$1"/*
}

# has_ended PID: within so many seconds, which a step of hark's may take.
has_ended() {
	local end=$((SECONDS + 15))

	until ended "$1"; do
		((SECONDS < end)) || return 1
		sleep 0.02
	done
}

# -- Requests about others --

# A victim that hark enters is found to be so when it has executed itself.
for who in $(is_root && echo root nobody || echo itself); do
	for how in probe profile; do
		session $who $how exec
		suffer $who
		wait_for answered guest.out || note "$(cat guest.out errors)"
		: >go
		wait $victim
		is "$who, $how: a forged execve leads to no other process" \
			"$(tail -n 1 victim.out)" untouched
		over $who
		is "$who, $how: ... and hark ends well" "$status" 0
	done
	session $who probe load
	suffer $who
	wait_for answered guest.out || note "$(cat guest.out errors)"
	unlike "$who: nor does a forged library" "$(cat errors)" "process $victim"
	: >go
	wait $victim
	over $who
	is "$who: ... and hark ends well" "$status" 0

	# -- hark can be ended --

	for mode in never fill crowd; do
		session $who probe $mode
		wait_for asked guest.out || note "$(cat guest.out errors)"
		sleep 0.3
		kill -INT "$hark"
		has_ended "$hark" && ends=yes || ends=no
		is "$who: SIGINT ends hark ($mode)" "$ends" yes
		if [ $ends = no ]; then
			[ $who = root ] || pid=$(pgrep -P "$hark")
			kill -KILL "$hark" "$pid"
		fi
		over $who 2>/dev/null
	done
done

# -- Shared memory --

SCRIPT='
pid$target:a.out:hot_count:entry { @a = count(); }
pid$target:a.out:hot_key:entry { @b[arg0] = count(); }
pid$target:a.out:hot_quantize:entry { @c = quantize(arg0); }
pid$target:a.out:hot_print:entry { printf("%d\n", arg0); }
pid$target:a.out:hot_text:entry { @d[copyinstr(arg0)] = sum(arg1); @e = max(arg1); }
pid$target:a.out:hot_array:entry { x[arg0 % 9] = arg0; g = arg0; s[tid] = "text"; self->k[arg0 % 5] = g; }
pid$target:a.out:hot_lean:entry { self->n = arg0; @f = sum(self->n); @g = count(); }
pid$target:a.out:hot_maybe:entry { self->s = speculation(); speculate(self->s); trace(arg0); }
pid$target:a.out:hot_maybe:return { commit(self->s); }
profile-97 { @h[ustack()] = count(); }
tick-50ms { @i = count(); h = g; y[h % 7] = h; }
'
for policy in switch ring fill; do
	OPTIONS=(-f -q -x "bufpolicy=$policy" -x bufsize=128k -x aggsize=128k)
	probe "$SCRIPT" ./hostile scribble
	unharmed "$policy: a child that writes over the board harms neither"
done
timeout -s KILL 100 "$HARK" profile -f -o itself/out -- ./hostile scribble \
	>said 2>errors </dev/null
status=$?
unharmed "profile: the same"

# Only root can open what it has mapped.
if is_root; then
	session itself probe cut
	wait_for finished guest.out || note "$(cat guest.out errors)"
	is "the board keeps its length, the plan is read only" \
		"$(grep -v ready guest.out | sort -u)" \
		"finished
r--s: another mapping is refused
r--s: length kept
r--s: this mapping stays as it is
r-xs: length kept
rw-s: length kept"
	over itself
	is "... and hark ends well" "$status" 0
	"$HARK" record -o itself/cut.hark -- ./hostile cut >guest.out 2>errors </dev/null &
	hark=$!
	rm -f end
	wait_for finished guest.out || note "$(cat guest.out errors)"
	unlike "record: the channel keeps its length" "$(cat guest.out)" changed
	over itself
	is "record: ... and hark ends well" "$status" 0
fi

# -- Credentials --

if is_root && ! findmnt -no OPTIONS -T . | grep -q nosuid; then
	cp hostile suid && chmod 4755 suid
	session root probe spawn ./suid
	over root
	is "a set-uid program is not entered, though hark is root" \
		"$(grep -c untouched guest.out)" 1
	like "... as a line says" "$(cat errors)" 'has no probes: .*privileges|set-uid'
	session itself probe drop ./hostile
	over itself
	is "nor is one that has changed its user" \
		"$(grep -c untouched guest.out)" 1
	like "... as a line says" "$(cat errors)" 'other credentials'
	session itself probe spawn ./hostile
	over itself
	is "one that has not is" "$(grep -c entered guest.out)" 1
fi
