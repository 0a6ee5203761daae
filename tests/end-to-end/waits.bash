# tests/end-to-end/waits.bash - programs that wait.  Sourced behind
# profile.bash.

# build_waits [FLAG...]: profile_waits.c as ./waits
build_waits() {
	gcc -g -pthread -D_GNU_SOURCE "$SRC/profile_waits.c" -o waits "$@" ||
		exit 1
}

# as_told NAME LOW HIGH SKIPPED: each wait that the program told of is in the
# profile, LOW to HIGH times as long; but those of SKIPPED.
as_told() {
	local name ns questions=() wrong

	while read -r name ns; do
		[[ $name == in_* && " $4 " != *" $name "* ]] || continue
		questions+=(lasts "$name" "$ns" "$2" "$3")
	done <said
	wrong=$(look "${questions[@]}" | tr ' ' '\n' | grep -vcx yes)
	if [ "${#questions[@]}" -ge 40 ] && [ "$wrong" = 0 ]; then
		pass "$1"
	else
		fail "$1" "status $status
$(cat said errors)
${questions[*]}
$(look "${questions[@]}")"
	fi
}

# well NAME: it ran as it does without hark.
well() {
	if [ "$status" = 0 ] && [ "$(tail -n 1 said)" = ok ]; then
		pass "$1"
	else
		fail "$1" "status $status
$(tail -n 3 said)
$(tail -n 3 errors)"
	fi
}

# undisturbed NAME HZ: a program with a thread in every kind of call.
undisturbed() {
	EXTRA+=(-F "$2")
	profile "$GUESTS/blocked" 2
	EXTRA=("${EXTRA[@]:0:${#EXTRA[@]}-2}")
	like "$1: no call is disturbed" "$status $(tail -n 1 said)" \
		'^0 checksum [0-9a-f]+ complaints 0$'
}

# serve: the program in the background, its threads wait for good.
serve() {
	rm -f orders guest.out
	mkfifo orders
	./waits server <orders >guest.out 2>&1 &
	pid=$!
	exec 7>orders
	wait_for ready guest.out || note "it does not begin"
}
end_server() {
	exec 7>&-
	wait "$pid"
	is "$1: the program goes on, and ends well" \
		"$? $(tail -n 1 guest.out)" "0 ok"
}
sampling() { grep -qs hark-probe "/proc/$pid/maps"; }
# Waits that go on come to the file a second later or so.
all_seen() { [ "$(FILE=a.hark look threads 2>/dev/null)" = 4 ]; }
# visit OPTION...: hark comes, looks around, and goes; a.hark.
visit() {
	rm -f a.hark
	"$HARK" profile -o a.hark --force "$@" -p "$pid" >said 2>errors \
		</dev/null &
	hark=$!
	await sampling || note "hark does not come: $(cat errors)"
	await all_seen || note "not all are seen: $(cat errors)"
	kill -INT $hark
	wait $hark
	status=$?
}
