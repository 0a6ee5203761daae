#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then with probes on all
# its entries and returns; what it writes and how it ends must be the same.
# GUEST=PATTERN runs some of them.
. "$(dirname "$0")/../end-to-end/lib.sh"
. "$ROOT/tests/end-to-end/guests.bash"

SCRIPT='pid$target:a.out::entry, pid$target:a.out::return { @ = count(); }'

# These look for what probes are: they read or write their own code, list their
# mappings, refuse memory or tracers, or are translated code's business alone.
# Not here: they show what cannot be hidden, and hark probe says so in its page.
differs() {
	case $1 in
	code_self_read | code_patch_* | code_hot_patch | code_copy | code_moved | \
		code_mem_file | code_maps | code_remap* | code_unmap_all | \
		code_toggle | code_two_writers | code_written_by_parent | \
		proc_maps | proc_ptrace* | proc_rlimit | proc_tight_limits | \
		proc_seccomp_strict | proc_big_memory | proc_gaps | proc_low) true ;;
	*) false ;;
	esac
}

# probed NAME PROGRAM
probed() {
	if differs "$1"; then
		skip "$1" "it looks at its own code, memory or tracer"
	else
		alike "$@" probe -q -o shown --force -n "$SCRIPT" && pass "$1"
	fi
}

each_guest probed
