#!/usr/bin/env bash
# hark doctor says what works, and stays well where something does not.
# also: asan
# shellcheck disable=SC2016  # the inner shells expand it
. "$(dirname "$0")/lib.sh"
plan 33

# state CHECK: of the JSON in $out; value and advice likewise
field() {
	python3 -c 'import json, sys
print(json.load(sys.stdin)["checks"][sys.argv[1]][sys.argv[2]])' "$@" <<<"$out"
}
state() { field "$1" state; }

try hark doctor
is "everything essential works here" "$status|$err" "0|"
like "it says so" "$out" $'\nhark works here\\.$'
ok "it is one screen" [ "$(wc -l <<<"$out")" -le 24 ]
ok "of 80 columns" [ "$(awk '{ print length }' <<<"$out" | sort -n | tail -n 1)" -le 80 ]
unlike "a pipe gets no colour" "$out" $'\e'
try hark doctor --color=always
like "unless it is asked for" "$out" $'\e\\[32mok\e\\[0m'
is "the colours are all there is to it" \
	"$(printf '%s\n' "$out" | sed 's/\x1b\[[0-9;]*m//g')" "$(hark doctor)"

try hark doctor --json
ok "JSON is one line" [ "$(wc -l <<<"$out")" = 1 ]
is "with a verdict" "$(python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["works"], d["version"], len(d["checks"]) >= 15,
      {c["state"] for c in d["checks"].values()} <= {"ok", "limited", "no"},
      all((c["advice"] is None) == (c["state"] == "ok")
	  for c in d["checks"].values()))' <<<"$out")" \
	"True $(cat "$ROOT/VERSION") True True True"
is "ptrace was tried" "$(state ptrace)" ok

# -- With less than usual --

# deny ACTION CALL COMMAND...: a filter that answers CALL with errno 1, or
# kills whoever makes it
cat >deny.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned action = strcmp(argv[1], "kill") == 0
			      ? SECCOMP_RET_KILL_PROCESS
			      : SECCOMP_RET_ERRNO | 1;
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(argv[2]), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, action),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};

	if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 99;
	execv(argv[3], argv + 3);
	return 98;
}
END
gcc -O1 -Wall deny.c -o deny || exit 1
export ASAN_OPTIONS=detect_leaks=0 # its own ptrace would wait for ever
ptrace=101 memfd_create=319 perf_event_open=298 pidfd_getfd=438

try ./deny errno $ptrace "$HARK" doctor --json
is "ptrace forbidden: it does not work" "$status|$(state ptrace)" "1|no"
like "and says why" "$(field ptrace value)" 'PTRACE_SEIZE: Operation not permitted'
like "and what to do" "$(field ptrace advice)" 'container.*SYS_PTRACE'
is "the filter itself is seen" "$(state seccomp)" limited
try ./deny errno $ptrace "$HARK" doctor
like "the verdict too" "$out" $'\nhark does not work here\\.$'

try ./deny kill $ptrace "$HARK" doctor --json
is "ptrace deadly: still a report" "$status|$(state ptrace)" "1|no"
like "with the cause" "$(field ptrace value)|$(field ptrace advice)" \
	'killed by a filter.*seccomp'
is "and the rest is intact" "$(state memfd)" ok

try ./deny errno $memfd_create "$HARK" doctor --json
is "no memory files: it does not work" "$status|$(state memfd)" "1|no"
try ./deny errno $pidfd_getfd "$HARK" doctor --json
is "no pidfd_getfd: it does not work" "$status|$(state pidfd_getfd)" "1|no"
try ./deny errno $perf_event_open "$HARK" doctor --json
is "no perf events: limited, but it works" "$status|$(state perf)" "0|limited"

case $HARK in
*/asan*) skip "2 GB of address space: limited" "sanitizers need more" ;;
*)
	try bash -c 'ulimit -v 2000000; exec "$HARK" doctor --json'
	is "2 GB of address space: limited" \
		"$status|$(state address_space)|$(state reservation)" \
		"0|limited|limited"
	;;
esac
try bash -c 'ulimit -n 40; exec "$HARK" doctor --json'
is "40 open files: limited" "$status|$(state open_files)" "0|limited"
try bash -c 'ulimit -n 4; exec "$HARK" doctor --json'
is "4 open files: no, and it says so" "$status|$(state ptrace)" "1|no"

mkdir bin
try env PATH="$T/bin" "$HARK" doctor --json
is "no gdb: limited" "$status|$(state gdb)" "0|limited"
printf '#!/bin/sh\necho "GNU gdb (Trial) 99.5"\n' >bin/gdb
chmod +x bin/gdb
try env PATH="$T/bin:$PATH" "$HARK" doctor --json
is "another gdb is asked" "$(field gdb value)" 99.5
printf '#!/bin/sh\nprintf "\\033[31mGNU\\n"\n' >bin/gdb
try env PATH="$T/bin:$PATH" "$HARK" doctor --json
is "a strange gdb is told" "$(state gdb)" limited

printf '#!/bin/sh\necho $$ >%s/pid; exec sleep 600\n' "$T" >bin/gdb
SECONDS=0
try env PATH="$T/bin:$PATH" "$HARK" doctor --json
is "a gdb that hangs costs little" "$(state gdb)" no
ok "namely seconds ($SECONDS)" [ "$SECONDS" -lt 60 ]
ok "and is not left behind" gone "$(cat pid)"

try env DEBUGINFOD_URLS="http://debug.example" "$HARK" doctor --json
like "debuginfod is named" "$(field debuginfod value)" 'debug\.example'

# As somebody else, if we are root; as ourselves, if not.
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cp "$HARK" "$T/hark" && chmod 755 "$T" "$T/hark"
else
	as=() && cp "$HARK" "$T/hark"
fi
try "${as[@]}" "$T/hark" doctor --json
is "without privilege it works as well" "$status|$(state ptrace)" "0|ok"
before=$(cd "$T" && find . -name '.out' -prune -o -name '.err' -prune -o -print | sort)
try hark doctor
is "nothing is written anywhere" \
	"$(cd "$T" && find . -name '.out' -prune -o -name '.err' -prune -o -print | sort)" \
	"$before"
