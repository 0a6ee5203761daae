#!/usr/bin/env bash
# hark run --native: every kind of program starts as it does without hark.
. "$(dirname "$0")/lib.sh"

# twin NAME COMMAND...: natively and through hark; output, errors and status.
twin() {
	local name=$1 a b

	shift
	"$@" >native.out 2>native.err </dev/null
	a=$?
	"$HARK" run --native -q "${MODE[@]}" -- "$@" >hark.out 2>hark.err </dev/null
	b=$?
	if [ $a != $b ]; then
		fail "$name" "status $b, natively $a: $(tail -n 1 hark.err)"
	elif ! cmp -s native.out hark.out || ! cmp -s native.err hark.err; then
		fail "$name" "$(diff native.out hark.out; diff native.err hark.err)"
	else
		pass "$name"
	fi
}

cat >kind.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/auxv.h>
#include <dirent.h>
__thread int tls = 5;
int main(int argc, char **argv)
{
	char exe[400] = "";
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return 9;
	while (readdir(d)) n++;
	printf("%s %d fds %d tls %d pagesz %lu exe %s secure %lu\n",
	       argv[argc - 1], argc, n, tls++, getauxval(AT_PAGESZ),
	       strrchr(exe, '/'), getauxval(AT_SECURE));
	return 7;
}
C
build() { "$@" 2>build.err || { cat build.err >&2; return 1; }; }
build gcc -O1 kind.c -o pie && build gcc -O1 -no-pie kind.c -o nopie &&
	build gcc -O1 -static kind.c -o static &&
	build gcc -O1 -static-pie kind.c -o staticpie &&
	build musl-gcc -O1 kind.c -o musl &&
	build musl-gcc -O1 -static kind.c -o muslstatic || exit 1
printf '#!%s a\n' "$PWD/pie" >script
printf '#!/bin/sh\necho "$0" "$@"; exit 4\n' >shell
printf 'echo no interpreter "$1"; exit 6\n' >bare
chmod +x script shell bare

plan 36

MODE=()
for kind in pie nopie static staticpie musl muslstatic script shell; do
	twin "$kind runs as it does natively" "./$kind" x "y z"
done
twin "a script without an interpreter runs in sh" ./bare q
twin "a name is searched in PATH" true
twin "a pipe of its own works" sh -c 'echo a | tr a b; exit 3'
twin "python starts" python3 -c 'print(sum(range(10)))'
if command -v rustc >/dev/null 2>&1; then
	echo 'fn main(){println!("rust {}", std::env::args().count());std::process::exit(5)}' >r.rs
	rustc -O r.rs -o rust 2>/dev/null
	twin "a Rust program runs as it does natively" ./rust a b
else
	skip "a Rust program runs as it does natively" "no rustc"
fi
if command -v go >/dev/null 2>&1; then
	printf 'package main\nimport ("fmt";"os")\nfunc main(){fmt.Println("go",len(os.Args));c:=make(chan int);for i:=0;i<8;i++{go func(k int){c<-k}(i)};s:=0;for i:=0;i<8;i++{s+=<-c};fmt.Println(s);os.Exit(6)}\n' >g.go
	HOME=$T GOCACHE=$T/gocache GO111MODULE=off go build -o gobin g.go 2>/dev/null
	twin "a Go program runs as it does natively" ./gobin a b
else
	skip "a Go program runs as it does natively" "no go"
fi

# The first instruction: every register, the auxiliary vector, descriptors,
# limits, dispositions, maps, all as natively, to the byte.
state() { env -i A=b setarch -R "$@" "$GUESTS/first_state" x y; }
state >native.state 9</dev/null
state >again.state 9</dev/null
ok "first_state is a fair witness" cmp native.state again.state
state "$HARK" run --native -q -- >hark.state 9</dev/null
ok "the first instruction finds everything as natively" \
	diff native.state hark.state
state "$HARK" run --native -q -f -- >hark.state 9</dev/null
ok "... with -f" diff native.state hark.state
state "$HARK" run --native -q -D -- >hark.state 9</dev/null
ok "... with -D" diff native.state hark.state
masked() {
	python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD, signal.SIGTRAP])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTRAP, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
masked env -i setarch -R "$GUESTS/first_state" >native.state
masked env -i setarch -R "$HARK" run --native -q -- "$GUESTS/first_state" >hark.state
ok "blocked and ignored signals are handed down" diff native.state hark.state
for closed in 0 1 2; do
	eval "sh -c 'ls -l /proc/self/fd | wc -l >n.txt' $closed>&-"
	eval "\"\$HARK\" run --native -- sh -c 'ls -l /proc/self/fd | wc -l >h.txt' $closed>&-"
	is "descriptor $closed may be closed" "$(cat h.txt)" "$(cat n.txt)"
done

# How programs end.
twin "signals to the own process group come once" "$GUESTS/own_group"
twin "an exit status is passed on" sh -c 'exit 123'
{ "$HARK" run --native -q -- sh -c 'kill -SEGV $$'; code=$?; } 2>/dev/null
is "a program killed by a signal makes hark end by it" "$code" 139
# cores DIRECTORY COMMAND...: how many cores it leaves there.
cores() {
	(mkdir "$1" && cd "$1" && shift && ulimit -c unlimited && "$@") 2>/dev/null
	find "$1" -name 'core*' | wc -l
}
is "... and no core is hark's own" \
	"$(cores core.h "$HARK" run --native -q -- sh -c 'kill -ABRT $$')" \
	"$(cores core.n sh -c 'kill -ABRT $$')"
try hark run --native -- ./missing
is "a missing program is 127" "$status" 127
like "... in one line" "$err" '^hark: \./missing: No such file or directory$'
try env PATH=/usr/bin:/bin "$HARK" run --native -- nosuchcommand
is "a missing command is 127" "$status" 127
echo text >plain
try hark run --native -- ./plain
is "a file that is no program is 126" "$status" 126
chmod +x plain && printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >elf32 && chmod +x elf32
try hark run --native -- ./elf32
is "a 32-bit program is 126" "$status" 126
like "... and says why" "$err" 'not an x86-64 program'

# Signals to hark are meant for the program.
"$HARK" run --native -q -- sh -c 'trap "echo got; exit 9" TERM; echo up; while :; do sleep 0.02; done' >sig.out &
pid=$!
wait_for up sig.out
kill -TERM $pid
wait $pid
is "a signal to hark reaches the program" "$? $(tail -n 1 sig.out)" "9 got"

# Beside: the pid is the program's.
# shellcheck disable=SC2016
read -r shell program status <<<"$(sh -c 'echo $$
exec "$1" run --native -q -D -- sh -c "echo \$\$; exit 3"' sh "$HARK" | tr '\n' ' ';
	echo "${PIPESTATUS[0]}")"
is "-D keeps the pid that the shell gave" "$program $status" "$shell 3"
if [ "$(id -u)" = 0 ]; then
	cp "$HARK" hark-copy && chmod 755 . hark-copy
	for n in 1 2; do
		try timeout -s KILL 60 setpriv --reuid=65533 --regid=65533 --clear-groups \
			prlimit --nproc=$n ./hark-copy run --native -D -- echo ran
		is "-D with room for $n process says that it cannot fork" "$status:$out:$err" \
			"125::hark: cannot fork: Resource temporarily unavailable"
	done
else
	skip "-D with room for 1 process says that it cannot fork" "not root"
	skip "-D with room for 2 process says that it cannot fork" "not root"
fi
