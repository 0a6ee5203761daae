#!/usr/bin/env bash
# timeout: 600
# Programs that handle signals, on a machine without debug files: what hark must
# know of a C library is in its code and its call-frame rules, never in symbols
# that users do not have. RUNS: how often each.
. "$(dirname "$0")/lib.sh"

SRC=$ROOT/tests/end-to-end
RUNS=${RUNS:-3}

is_empty() { [ -z "$(ls -A /usr/lib/debug 2>/dev/null)" ]; }

# build CC NAME [FLAG...]: ./NAME, and ./NAME-stripped
build() {
	"$1" -O1 -pthread -w "$SRC/bare_signals.c" -o "$2" "${@:3}" || exit 1
	strip -o "$2-stripped" "$2" || exit 1
}
build gcc glibc
build gcc glibc-static -static
build musl-gcc musl
build musl-gcc musl-static -static
export GOCACHE=$T/cache-of-go GOPATH=$T/path
go build -o go "$SRC/bare_signals.go" || exit 1
go build -ldflags='-s -w' -o go-stripped "$SRC/bare_signals.go" || exit 1
kinds=(glibc glibc-static musl musl-static go)

# harmed NAME COMMAND...: which of some runs differ from what it does natively
harmed() {
	local wrong=() n

	for ((n = 1; n <= RUNS; n++)); do
		try timeout -s KILL 60 "$@"
		[ "$status $out" = "7 ok" ] || wrong+=("run $n: status $status, $out, $err")
	done
	printf '%s\n' "${wrong[@]}"
}

# probe FUNCTION PROG: both ways of it
probed() {
	# shellcheck disable=SC2016  # a variable of D's
	harmed "$HARK" probe -q -o shown --force \
		-n 'pid$target:a.out:'"$1"':entry, pid$target:a.out:'"$1"':return
			{ @ = count(); }' -- "$2"
}

plan 26
ok "there are no debug files" is_empty
for kind in "${kinds[@]}"; do
	for name in "$kind" "$kind-stripped"; do
		is "$name: natively" "$(harmed "./$name")" ""
		is "$name: profiled" "$(harmed "$HARK" profile --force -q \
			-F 4999 -o p.hark -- "./$name")" ""
	done
done
# What is stripped has no functions of that name.
for name in glibc glibc-static musl musl-static; do
	is "$name: probed" "$(probed work "./$name")" ""
done
is "go: probed" "$(probed runtime.mallocgc ./go)" ""
