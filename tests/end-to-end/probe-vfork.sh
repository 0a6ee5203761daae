#!/usr/bin/env bash
# timeout: 200
# also: asan
# Children that have their parent's memory, and what hark keeps of it there, are
# processes of their own: vfork, posix_spawn, system, popen, clone(CLONE_VM).
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 16

build vfork
cp vfork vfork-dynamic
build vfork -static
mv vfork vfork-static
mv vfork-dynamic vfork-shared

SCRIPT='pid$target:a.out:mark:entry {
	printf("%s\n", pid == arg0 && tid == arg1 ? "right" : "wrong");
	@p[pid - arg0, tid - arg1] = count();
}'
for kind in shared static; do
	for when in early late; do
		want=$("./vfork-$kind" $when)
		for f in -f ""; do
			try hark probe $f -q -n "$SCRIPT" -- "./vfork-$kind" $when
			is "$kind, $when, ${f:-not followed}: it ends well" \
				"$status|$err" "0|"
			is "$kind, $when, ${f:-not followed}: each has its own numbers" \
				"$(grep -c '^right$' <<<"$out") $(grep -c '^wrong$' <<<"$out") $(
					grep -cE '^ *[0-9-]+ +[0-9-]+ +[0-9]+$' <<<"$out")" \
				"$want 0 1"
		done
	done
done
