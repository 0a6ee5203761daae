#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then with probes on all
# its entries and returns; what it writes and how it ends must be the same.
# GUEST=PATTERN runs some of them.
. "$(dirname "$0")/../end-to-end/lib.sh"
guest_sources=() # guests fills it
guests insn_ sig_ thread_ proc_ code_

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

# compare NAME PROGRAM
compare() {
	local ends

	mapfile -t ends < <(both "$2" probe -q -o shown --force -n "$SCRIPT")
	if ! tail -n 1 out.native | grep -Eq '^(ok|ok \(not on this .*\))$'; then
		fail "$1" "natively, ${ends[0]}: $(head -n 5 out.native)"
	elif [ "${ends[0]}" = "${ends[1]}" ] && cmp -s out.native out.run &&
		cmp -s err.native err.run; then
		pass "$1"
	else
		fail "$1" "native ${ends[0]}, probed ${ends[1]}
$(diff out.native out.run | head -n 10)
$(diff err.native err.run | head -n 5)"
	fi
}

for f in "${guest_sources[@]}"; do
	name=${f%.c*}
	if differs "$name"; then
		skip "$name" "it looks at its own code, memory or tracer"
		continue
	fi
	case $f in
	*.cc)
		g++ -std=gnu++17 -O2 -pthread "$ROOT/tests/guests/$f" -o a.out
		compare "$name" "$T/a.out"
		;;
	*) compare "$name" "$GUESTS/$name" ;;
	esac
done
