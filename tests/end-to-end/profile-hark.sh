#!/usr/bin/env bash
# timeout: 300
# hark profile of hark itself, whose sandboxed children replay code with the fs
# bases of another program; and of a sandbox that hark must not enter.
. "$(dirname "$0")/lib.sh"

plan 11

cat >work.c <<'EOF'
static volatile unsigned long sum;
volatile unsigned long out;

int main(void)
{
	for (unsigned long i = 0; i < 60000000; i++) {
		sum += i;
		if (i % 1000 == 0)
			out = i;
	}
	return 0;
}
EOF
gcc -O1 -g work.c -o work
"$HARK" record -q --key-every 1000000 -o work.hark -- ./work

# sampled NAME WORD...: hark profile of hark ends well, and no stack is wrong.
sampled() {
	local name=$1

	shift
	try hark profile -f --check --force -o p.hark -- "$HARK" "$@"
	is "$name: it ends well" "$status" 0
	like "$name: stacks are right" "$err" \
		'[0-9]+ samples of [0-9]+ threads.*; [0-9]+ samples checked, 0 differ; p.hark'
}
sampled "hark ask" ask work.hark writes out --limit 30000
is "hark ask: its answer is whole" "$(wc -l <<<"$out")" 30000
sampled "hark verify" verify work.hark
like "hark verify: its answer is right" "$out" ' 0 mismatches$'

# -- A process that a filter ends at any call but a few --

cat >box.c <<'EOF'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit_group),
	    ALLOW(SYS_restart_syscall), ALLOW(SYS_rt_sigreturn),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	char c;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return 77;
	write(1, "in\n", 3);
	while (read(0, &c, 1) == 1)
		write(1, "yes\n", 4);
	syscall(SYS_exit_group, 5);
}
EOF
gcc -O1 box.c -o box
mkfifo orders
./box <orders >said &
box=$!
exec 7>orders
wait_for in said || note "it does not begin"
for how in "profile -o p.hark --force" "profile --wall -o p.hark --force"; do
	# shellcheck disable=SC2086
	try hark $how -p $box
	like "hark $how of it says why not" "$status $err" \
		"^125 hark: process $box has a seccomp sandbox"
done
try hark probe -n 'pid$target::read:entry { @ = count(); }' -p $box
like "hark probe of it does" "$status $err" \
	"^125 hark: process $box has a seccomp sandbox"
echo >&7
ok "it goes on as before" wait_for yes said
exec 7>&-
wait $box
is "to its end" "$?" 5
