#!/usr/bin/env bash
# timeout: 300
# Programs that block the signals of faults, and that lock their memory, behave
# under hark run, record, probe and profile as they do natively: as root, and as
# an ordinary user whose memory is limited.
. "$(dirname "$0")/lib.sh"

cp "$HARK" hark && chmod 755 hark "$T"
cp "$GUESTS"/{sig_mask_fault,sig_fd_sent,proc_mlockall,proc_mlock_limit} .
chmod 755 ./*
mkdir own
# limited LIMIT COMMAND...: with so many KiB that may be locked (empty: as it is);
# output and status.
limited() {
	local limit=$1

	shift
	(
		[ -z "$limit" ] || ulimit -l "$limit" || exit 9
		timeout -s KILL 60 "$@" 2>&1 </dev/null
		echo "status $?"
	)
}
how() {
	case $1 in
	run) echo run ;;
	record) echo record -o own/rec ;;
	probe) echo probe -o own/shown -s all.d ;;
	reading) echo probe -o own/shown -s reading.d ;;
	profile) echo profile -o own/profile ;;
	esac
}
# shellcheck disable=SC2016  # D's variables
echo 'pid$target:a.out::entry { @ = count(); }' >all.d
# shellcheck disable=SC2016
echo 'pid$target:a.out:main:entry { @[copyinstr(*(uintptr_t *)copyin(arg1, 8))] = count(); }' >reading.d
chmod 644 ./*.d

# same USER LIMIT GUEST WAY...: as natively, under each of them.
same() {
	local who=$1 limit=$2 guest=$3 way native

	shift 3
	# shellcheck disable=SC2086
	native=$(limited "$limit" $who ./$guest)
	for way; do
		rm -rf own/rec own/shown own/profile
		# shellcheck disable=SC2046,SC2086
		is "$guest: $way${who:+ as nobody}${limit:+, limit $limit}" \
			"$(limited "$limit" $who ./hark $(how "$way") -q -- \
				./$guest)" "$native"
		[ "$way" != record ] ||
			ok "... and the recording verifies" ./hark verify own/rec
	done
}

if [ "$(id -u)" = 0 ]; then
	user="setpriv --reuid=65534 --regid=65534 --clear-groups"
	export HARK_CACHE=$T/own/cache HARK_DIR=$T/own/recordings HOME=$T/own
else
	user="env"
fi

plan 23
same "" "" sig_mask_fault probe reading profile
same "" "" "sig_fd_sent fd" probe reading profile
same "" "" proc_mlockall probe profile
rm -rf own/*
[ "$user" = env ] || chown 65534:65534 own
# Enough for the program; enough for a part of it; none at all.
for limit in 7000 64 0; do
	same "$user" $limit proc_mlock_limit run record probe profile
done
