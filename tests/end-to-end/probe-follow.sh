#!/usr/bin/env bash
# timeout: 300
# hark probe across execve: the program itself always, its children with -f.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 37

build next
cp next next-dynamic
build next -static
mv next next-static
mv next-dynamic next
COUNT='pid$target:a.out:hot:entry { @ = count(); }'

# follows NAME N PROG...: so many calls are counted, all are accounted for.
follows() {
	local name=$1 n=$2

	shift 2
	probe "$COUNT" "$@"
	unharmed "$name: unharmed"
	is "$name: counted" "$(check total shown "$n"), $(check accounts errors)" \
		"right, right"
}

# -- The program itself --

OPTIONS=()
follows "twice another" 111 ./next 1 ./next 10 ./next 100
follows "execve fails, and it goes on" 20 ./next 10 ./nothing
follows "a thread that is not the first" 100 ./next thread
probe "$COUNT" ./next forks
unharmed "children without -f: unharmed"
is "children without -f: not counted" "$(check accounts errors executed=0)" right

# Records before and after, each with its own probe.
OPTIONS=(-x quiet)
probe 'pid$target:a.out:hot:entry { printf("%s %d\n", probefunc, arg0); }' \
	./next 2 ./next 3
unharmed "records: unharmed"
is "records: in order" "$(xargs <shown)" "hot 0 hot 1 hot 0 hot 1 hot 2"
OPTIONS=()

# -- A shell, and scripts --

OPTIONS=(-f)
follows "sh -c exec" 30 sh -c 'exec ./next 30'
follows "sh -c, three of them" 60 sh -c './next 10; ./next 20; exec ./next 30'
printf '#!/bin/sh\n./next 5\nexec "$@"\n' >wrapper.sh
chmod +x wrapper.sh
follows "a wrapper" 12 ./wrapper.sh ./next 7

# -- Children --

follows "posix_spawn" 500 ./next spawn
follows "system()" 500 ./next system
follows "fork and execve" 500 ./next forks
follows "twenty at once" 2000 ./next crowd 20
follows "a second thread" 100 ./next thread
for i in 1 2 3 4 5; do cp next "next$i"; done
cat >Makefile <<'END'
all: a b c
a b c:
	@./next1 10
	@./next 10 ./next2 5
END
if command -v make >/dev/null; then
	follows "make" 75 make -s -j2 all
else
	skip "make: unharmed" "no make here"
	skip "make: counted" "no make here"
fi
follows "five different programs" 15 \
	sh -c './next1 1; ./next2 2; ./next3 3; ./next4 4; ./next5 5'

# However often a program comes, its probes are one.
follows "three hundred in a row" 300 \
	sh -c 'i=0; while [ $i -lt 300 ]; do ./next 1 >one || cat one; i=$((i+1)); done; cat one'
like "three hundred: one probe" "$(cat errors)" '^hark: 1 probe: 300 executed'

# -- Programs with privileges of their own --

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
	! findmnt -no OPTIONS -T . | grep -q nosuid; then
	chmod 755 . && cp "$HARK" ./hark && cp /usr/bin/id ./suid &&
		chmod 4755 suid && printf '%s\n' "$COUNT" >script.d &&
		chmod 777 .
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups ./hark \
		probe -f -o shown.suid -s script.d -- \
		sh -c './suid -u; ./next 5' >said 2>errors </dev/null
	is "set-uid: ends well" "$?" 0
	is "set-uid: it keeps its privileges" "$(head -n 1 said)" 0
	is "set-uid: what comes after it is followed" \
		"$(check total shown.suid 5)" right
else
	for i in 1 2 3; do skip "set-uid $i" "needs root and setpriv"; done
fi

# -- hark is killed --

# Right behind the first program the next one is about to be held.
OPTIONS=()
harmed=
for kind in "" "" "" "" "" "" -static -static -static; do
	cp "next$kind" held
	: >said
	"$HARK" probe -f -n "$COUNT" -- sh -c \
		'for i in 1 2 3 4 5 6; do ./held 5 || echo bad $?; done; echo end' \
		>said 2>errors </dev/null &
	hark=$!
	wait_for ok said || note "it does not begin"
	kill -KILL $hark
	wait $hark 2>/dev/null
	wait_for end said || note "it does not end"
	[ "$(grep -c '^ok$' said)" = 6 ] || harmed+=" $(grep bad said)"
done
is "killed: the others run on" "$harmed" ""
