#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then sampled ten times
# as often as usual; what it writes and how it ends must be the same.
# GUEST=PATTERN runs some of them.
. "$(dirname "$0")/../end-to-end/lib.sh"
. "$ROOT/tests/end-to-end/guests.bash"

# As in probe-guests.sh: they look for what hark is, or limit memory. And those
# that docs/profile.md names: data far below the stack, system calls that raise
# SIGSYS, io_uring.
differs() {
	case $1 in
	code_self_read | code_patch_* | code_hot_patch | code_copy | code_moved | \
		code_mem_file | code_maps | code_remap* | code_unmap_all | \
		code_toggle | code_two_writers | code_written_by_parent | \
		proc_maps | proc_ptrace* | proc_rlimit | proc_tight_limits | \
		proc_seccomp_strict | proc_seccomp_few | proc_big_memory | \
		proc_gaps | proc_low | \
		insn_red_zone | proc_user_dispatch | proc_io_uring | \
		proc_exec_odd) true ;;
	*) false ;;
	esac
}

# sampled NAME PROGRAM
sampled() {
	if differs "$1"; then
		skip "$1" "it looks at its own code, memory or tracer, or is named in docs/profile.md"
	else
		alike "$@" profile -q -F 9973 -o p.hark --force && pass "$1"
	fi
}

each_guest sampled
