# tests/end-to-end/back.bash - gdb sessions in recordings.  Sourced behind lib.sh.

SRC=$ROOT/tests/end-to-end

# Sockets that are made here, and no others.
mkdir -m 700 "$T/run"
export XDG_RUNTIME_DIR=$T/run

# back FILE COMMAND...: a session in batch mode; $out has all that was said.
# AT: options of hark back.
back() {
	local file=$1 words=() c

	shift
	for c; do words+=(-ex "$c"); done
	out=$(timeout 300 "$HARK" back "$file" "${AT[@]}" -- -nx -batch \
		"${words[@]}" 2>&1 </dev/null)
	status=$?
}
AT=()

# value N: of gdb's $N.
value() { sed -nE 's/^\$'"$1"' = (.*)/\1/p' <<<"$out"; }
# positions: what when said, in order.
positions() { grep -E '^[0-9]+:[0-9]+(\+[0-9]+)?$' <<<"$out"; }
