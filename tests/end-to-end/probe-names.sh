#!/usr/bin/env bash
# hark probe finds by name what only the loader, or the C library, knows: the
# functions that are chosen when a program starts, and a thread's errno.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 28

# -- Functions that the loader chooses --

source=$SRC/probe_chosen.c
gcc -O2 -fPIC -shared -DLIBRARY "$source" -o libchosen.so
gcc -O2 "$source" -o shared -L. -lchosen -Wl,-rpath,"$T"
gcc -O2 -DWHOLE "$source" -o whole
gcc -O2 -DWHOLE -static -no-pie -fno-pie "$source" -o fixed
gcc -O2 -DWHOLE -static-pie "$source" -o static_pie

# chosen MODULE PROG: entries and returns of all that it chooses.
chosen() {
	local what names=(by_name by_helper by_call)

	for what in entry return; do
		probe "$(printf "pid\$target:$1:%s:$what,\n" "${names[@]}" |
			sed '$s/,$//') { @[probefunc] = count(); }" "./$2" 1000
		counted "$2: each $what of what was chosen"
	done
	is "$2: both of each are probed" \
		"$(hark probe -l -n "pid\$target:$1:by_*:entry" -- "./$2" |
			sed -n 's/.* \([a-z_]*\)+0x[04]$/\1/p' | sort | xargs)" \
		"call_new call_old helper_new helper_old name_new name_old"
}
chosen 'libchosen.so' shared
chosen a.out whole
chosen a.out fixed
chosen a.out static_pie

try hark probe -l -n 'pid$target:libchosen.so:by_name:1' -- ./shared
like "an offset would be one in several functions" "$err" \
	'by_name:1: an offset needs one function, .* from name_new, name_old|from name_old, name_new'
try hark probe -l -n 'pid$target:libchosen.so:*:entry' -- ./shared
is "a pattern that means the functions themselves has them once" \
	"$(grep -c 'name_new' <<<"$out"):$(grep -c 'by_name' <<<"$out")" 1:0
try hark probe -l --json -n 'pid$target:libchosen.so:by_name:entry' -- ./shared
like "JSON has both names" "$out" \
	'"function":"by_name","linked":"by_name","chosen":"name_new"'

# -- What is not there --

try hark probe -l -n 'pid$target:libchosen.so:by_nam:entry' -- ./shared
like "what is chosen can be what was meant" "$err" "; there is by_name"
try hark probe -l -n 'plt$target:a.out:by_nmae:entry' -- ./shared
like "so can a call out of a module" "$err" "matches 'by_nmae'; there is by_name$"
try hark probe -l -n 'plt$target:libchosen.so:by_name:entry' -- ./shared
is "what was refused is not offered" "$err" \
	"hark: no call out of it matches 'by_name'"
try hark probe -l -n 'pid$target:a.out:nothing_of_the_kind:entry' -- ./shared
is "nothing is offered where nothing is like it" "$err" \
	"hark: no function matches 'nothing_of_the_kind'"

# -- errno --

source=$SRC/probe_errno.c
script='pid$target:a.out:seen:entry { @[probefunc] = count(); }
pid$target:a.out:seen:entry /errno != (int)arg0/ { @["wrong"] = count(); }'
ways=(shared "" static "-static -no-pie -fno-pie" static_pie -static-pie)
for ((i = 0; i < ${#ways[@]}; i += 2)); do
	# shellcheck disable=SC2086  # several flags
	gcc -O2 -pthread ${ways[i + 1]} "$source" -o "errno_${ways[i]}"
done
musl-gcc -O2 "$source" -o errno_musl
musl-gcc -O2 -static "$source" -o errno_musl_static
for way in shared static static_pie musl musl_static; do
	probe "$script" "./errno_$way" 1000
	is "errno of every thread, $way" \
		"$(check counts shown said hit), $(grep -c wrong shown) wrong" \
		"right, 0 wrong"
done

mkfifo go
./errno_shared 1000 wait <go >said &
pid=$!
exec 3>go
await grep -q '^0 0x0 ' "/proc/$pid/syscall" # until then it is being loaded
rm -f shown
printf '%s\n' "$script BEGIN { system(\"echo >go\"); }" >script.d
hark probe -q -w -o shown -s script.d -p $pid >/dev/null 2>errors
exec 3>&-
wait $pid
is "errno of a process that runs already" \
	"$(check counts shown said hit), $(grep -c wrong shown) wrong" \
	"right, 0 wrong"

printf 'void _start(void) { asm("nop; nop; ud2"); }\n' >none.c
gcc -O2 -static -nostdlib none.c -o none
try hark probe -n 'pid$target:a.out:_start:entry { trace(errno); }' -- ./none
is "without a C library there is none" "$status" 125
like "and that is said" "$err" 'errno is not known: .*__errno_location'
try hark probe -n 'pid$target:a.out:_start:entry { trace(1); }' -- ./none
is "who does not ask is not refused" "$status" 132
