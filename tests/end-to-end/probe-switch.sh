#!/usr/bin/env bash
# timeout: 600
# hark probe -p, on and off, while all threads run: in every phase each call of
# each thread is counted once, by its ordinal, in every form of probe.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

HITS=${HITS:-$(times 3000000)}
plan $((3 + 2 * 5))

build switch
same() { /usr/bin/python3 "$SRC/probe_same.py" "$1"; }
printf '\0' >turn

# -- Forms: that the tests below are about what they seem to be --

for pair in jump=J5 window=JW trap=T; do
	f=${pair%=*}
	is "$f takes ${pair#*=}" "$(form "a.out:$f:entry" ./switch 1 turn end)" \
		"${pair#*=}"
done

# -- Phases --

# What a phase probes, in turn; the entry is always among it, for that is where
# the guest looks. Before it: how many hits end it, in thousands by any two
# threads. A trap takes its time.
KINDS=("1200 jump:entry" "1200 window:entry" "20 trap:entry"
	"1200 jump:entry jump:5 jump:8 jump:return"
	"1200 window:entry window:3 window:7 window:return"
	"1200 jump:entry window:entry"
	"20 trap:entry trap:1 trap:return"
	"100 jump:entry jump:return window:entry window:return trap:entry")
PHASES=$(times ${#KINDS[@]}) # at least

# clauses HITS PROBE...: each counts by thread and by its own number, until a
# thread has that many hits.
clauses() {
	local i=0 hits=$1 probe

	shift
	for probe; do
		printf 'pid$target:a.out:%s {
	@n[tid, %d] = count();
	@lowest[tid, %d] = min(uregs[R_RDI]);
	@highest[tid, %d] = max(uregs[R_RDI]);
	@sum[tid, %d] = sum(uregs[R_RDI]);
	self->n++;
	if (self->n == %d)
		exit(0);
}\n' "$probe" $i $i $i $i "$hits"
		i=$((i + 1))
	done
	printf 'END {\n'
	for i in n lowest highest sum; do
		printf '\tprinta("%s %%d %%d %%@d\\n", @%s);\n' $i $i
	done
	printf '}\n'
}

# phase NUMBER HITS PROBE...: what it showed is in NUMBER.shown and NUMBER.errors,
# the probes are in NUMBER.probes. The number of hits is added to $hits.
phase() {
	local number=$1 enough=$2

	shift 2
	printf '%s\n' "$@" >"$number.probes"
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\x$(printf %x "$number")" |
		dd of=turn bs=1 count=1 conv=notrunc status=none
	OPTIONS=(-x quiet)
	attach "$(clauses "$enough" "$@")" "$pid"
	OPTIONS=()
	mv shown "$number.shown"
	mv errors "$number.errors"
	[ "$status" = 0 ] || odd="phase $number: status $status: $err"
	hits=$((hits + $(awk '$1 == "n" { n += $4 } END { print n + 0 }' \
		"$number.shown")))
}

# switch THREADS
switch() {
	local threads=$1 number=0 kind before after

	hits=0 odd=
	rm -f ./*.shown ./*.errors ./*.probes
	printf '\0' >turn
	begin ./switch "$threads" turn end
	before=$(same "$pid")
	while [ $number -lt $PHASES ] || [ $hits -lt "$HITS" ]; do
		kind=${KINDS[number % ${#KINDS[@]}]}
		number=$((number + 1))
		# shellcheck disable=SC2086 # several words
		phase $number $((${kind%% *} * 1000 / threads)) ${kind#* }
		{ [ -z "$odd" ] && [ $number -lt 255 ]; } || break
	done
	after=$(same "$pid")
	note "$threads threads: $number phases, $hits hits, $SECONDS s"
	is "$threads threads: every phase ends well" "${odd:-well}" well
	is "$threads threads: mappings, code and signals are as before" \
		"$(diff <(echo "$before") <(echo "$after") | head -n 10)" ""
	status=1
	finish && status=0
	cp guest.out said
	cp guest.err errors
	unharmed "$threads threads: each ordinal was executed once"
	is "$threads threads: each ordinal of each phase was counted once" \
		"$(/usr/bin/python3 "$SRC/probe_phases.py" said "$HITS" \
			$(seq $number) 2>&1)" right
	ok "$threads threads: there were $number phases" [ $number -ge $PHASES ]
}
switch 2
switch 8
