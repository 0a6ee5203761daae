#!/usr/bin/env bash
# timeout: 600
# A recording is travelled through hark/recording.h: what it says of the past is
# what the program itself said, and every way to a moment leads to the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 59
WALKS=$(times 3) FRAMES=$(times 10) DAMAGES=$(times 8)

build_image travel rel "$ROOT/tests/end-to-end/travel_ask.c" || exit 1

try hark record -q -o writes.hark -- "$GUESTS/back_writes"
is "it ends as it should" "$status:$err" "0:"
read -r address len <<<"$out"
tail -n +2 <<<"$out" >told
is "it has much to tell" "$(wc -l <told)" 4000
./travel writes writes.hark "$address" "$len" >seen
ok "all writes are found, with what they wrote" diff told seen
is "the last one is the last" \
	"$(./travel last writes.hark "$address" "$len" | cut -d' ' -f2)" \
	"$(tail -n 1 told)"

# With many key frames, some stops are where one segment ends and the next one
# begins.
for every in 1000000 20; do
	try hark record -q --force --key-every=$every -o shared.hark -- "$GUESTS/back_shared"
	is "threads that share end as they should, key frames every $every" "$status:$err" "0:"
	read -r address stop <<<"$out"
	tail -n +2 <<<"$out" >told
	./travel values shared.hark "$address" "$stop" >seen
	ok "... what they shared is what they saw, in their order" diff told seen
	timeout 60 ./travel runs shared.hark "$address" "$stop" >seen
	ok "... and from one stop to the next, and back" diff told seen
	is "... conditions are asked in the order of all, and once" \
		"$(./travel asked shared.hark "$stop" 0)" "asked 120 times"
	is "... what is sent with a visit is what is there" \
		"$(./travel sent shared.hark "$stop" 0)" "120 and 120 visits agree"
done

for guest in back_writes turns thread_atomics sig_storm insn_avx512; do
	hark record -q -o "$guest.hark" -- "$GUESTS/$guest" >/dev/null 2>&1
	try ./travel walk "$guest.hark" 1 "$WALKS"
	is "there and back again: $guest" "$status:$out" "0:$WALKS rounds"
	try ./travel frames "$guest.hark" 1 "$FRAMES"
	is "frames lead to the same: $guest" "$status:$out" "0:$FRAMES rounds"
done

# -- The main stack where low halves of addresses are distances from fs --
setarch -R "$HARK" record -q --force -o turns.hark -- "$GUESTS/turns" \
	>/dev/null 2>&1 || note "addresses stay random"
try timeout 60 ./travel walk turns.hark 1 25
is "there and back again: addresses that are not random" "$status:$out" \
	"0:25 rounds"

# -- Stores by a mask: what they leave alone is not known --
try hark record -q -o masked.hark -- "$GUESTS/back_masked"
if [ "$status" -eq 77 ]; then
	skip "nothing is claimed that is not so" "no AVX2"
	skip "what was stored is known" "no AVX2"
	skip "and not written to, what was not" "no AVX2"
else
	here=$(head -n 1 <<<"$out")
	tail -n +2 <<<"$out" >told
	while read -r address value; do
		echo "$(./travel values masked.hark "$address" "$here") $value"
	done <told >both
	is "nothing is claimed that is not so" \
		"$(awk '$1 != "??" && $1 != $2' both)" ""
	is "what was stored is known" "$(awk 'NR == 1 && $1 == $2' both | wc -l)" 1
	hark ask masked.hark writes "$(sed -n 2p told | cut -d' ' -f1):8" \
		>out 2>&1
	is "and not written to, what was not" "$(cut -d"'" -f1 out)" \
		"hark: nothing wrote "
fi

# -- Two addresses with one place in the shadow --
try hark record -q -o alias.hark -- "$GUESTS/back_alias"
read -r one two stop <<<"$out"
tail -n +2 <<<"$out" >told
./travel values alias.hark "$one" "$stop" >seen1
./travel values alias.hark "$two" "$stop" >seen2
ok "what shares its place in the shadow is told apart" \
	diff told <(paste -d' ' seen1 seen2)
is "so often" "$(wc -l <seen1)" 30

# -- A read that is given up calls nothing known that it has not found --
cat >left.c <<'EOF'
/* A deep stack that is left, then much work: to read it takes a search. */
static volatile unsigned long sum;

static char deep(int n)
{
	volatile char some[256];

	for (int i = 0; i < 256; i += 16)
		some[i] = (char)(n + i);
	return n > 0 ? deep(n - 1) + some[32] : 0;
}

int main(void)
{
	deep(50);
	for (unsigned long i = 0; i < 10000000; i++)
		sum += i;
	return 0;
}
EOF
gcc -O0 -o left left.c
hark record -q --key-every 20000 -o left.hark -- ./left
is "a read that is given up" "$(HARK_SECTION_COUNTS=none ./travel stopped left.hark 1 5)" "given up"

# -- Sections: beginning in the middle of a segment --
build_image sections rel "$ROOT/tests/end-to-end/travel_sections.c" || exit 1
for guest in back_writes:2000 back_far_unmap:700 back_far_twins:700 turns:3000 thread_atomics:300 back_shared:500 \
	insn_random_steps:9000; do
	hark record -q -o sections.hark --force -- "$GUESTS/${guest%:*}" \
		>/dev/null 2>&1
	try env HARK_SECTION_COUNTS=$((10 * ${guest#*:} / $(times 3))) \
		./sections sections.hark
	like "a section begins with what the replay before it left: $guest" \
		"$status $out" \
		'^0 [1-9][0-9]+ begins, [1-9][0-9]+ bytes touched, [1-9][0-9]+ known, 0 segments without$'
done

# -- An index of many segments --
build_image index rel "$ROOT/tests/end-to-end/travel_index.c" || exit 1
for guest in back_writes back_far_twins turns thread_atomics insn_random_steps rec_strings; do
	hark record -q --key-every 20000 -o "many-$guest.hark" -- \
		"$GUESTS/$guest" >"many-$guest.told" 2>&1
	try ./index "many-$guest.hark" 4000
	is "the index knows what is touched: $guest" "$status:${out##*, too}" \
		"0: many 0"
done
read -r address len <many-back_writes.told
tail -n +2 many-back_writes.told >told
file=many-back_writes.hark
./travel writes "$file" "$address" "$len" >seen
ok "all writes are found with an index" diff told seen
ok "it lies beside the recording" test -s "$file.index"
last=$(./travel last "$file" "$address" "$len")
./travel writes many-turns.hark "$address" 8 >/dev/null
for spoil in truncate zero other; do
	case $spoil in
	truncate) truncate -s 100 "$file.index" ;;
	zero) dd if=/dev/zero of="$file.index" bs=1 seek=200 count=40 \
		conv=notrunc status=none ;;
	other) cp many-turns.hark.index "$file.index" ;;
	esac
	./travel writes "$file" "$address" "$len" >seen
	ok "an index that is not its own is not believed: $spoil" diff told seen
done
./travel writes "$file" "$address" "$len" >seen
cp "$file.index" good.index
size=$(stat -c %s good.index)
wrong=0
# One half of them in its first 180 bytes, one half from there on.
for ((i = 1; i <= DAMAGES; i++)); do
	cp good.index "$file.index"
	printf '\xa5\x5a' | dd of="$file.index" bs=1 conv=notrunc status=none \
		seek=$((i * 2 < DAMAGES ? i * 360 / DAMAGES : size * i / DAMAGES - i))
	if ./travel writes "$file" "$address" "$len" >seen 2>said; then
		cmp -s told seen || wrong=$((wrong + 1))
	else
		grep -q 'the index beside the recording is damaged' said ||
			wrong=$((wrong + 1))
	fi
done
is "a damaged index is passed over, or an error" "$wrong" 0
cp good.index "$file.index"
is "the last one is the last, with an index" \
	"$(./travel last "$file" "$address" "$len")" "$last"
hark rm "./$file"
ok "hark rm takes it away" test ! -e "$file.index"

# -- An index of one long segment --
cat >long.c <<'EOF'
static volatile int early = 7, late;

int main(void)
{
	early = 42;
	for (int i = 0; i < 40000000; i++)
		late = i;
	return 0;
}
EOF
gcc -g -O0 -o long long.c
hark record -q -o long.hark -- ./long
try hark ask long.hark last-write early
like "what was written long ago is found in a long segment" "$out" \
	'early: 7 -> 42 .*long\.c:5'
ok "which has an index then" test -s long.hark.index

# -- An index of a program that touches much memory --
gcc -g -O2 -o tree "$ROOT/bench/tree.c"
hark record -q -o tree.hark -- ./tree 1100000 >/dev/null
try hark ask tree.hark last-write early
like "what was written before much memory was touched is found" "$out" \
	'early: 7 -> 42 .*tree\.c:'
ok "the index is not larger than docs/travel.md says" \
	test "$(stat -c %s tree.hark.index)" -le \
	$((8 * $(stat -c %s tree.hark) + (2 << 20) * $(hark info tree.hark | awk '/^key frames/ { print $3 + 1 }')))

# -- More threads than there are large tables for indirect branches --
cat >crowd.c <<'EOF'
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 150 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *add(void *number)
{
	pthread_mutex_lock(&lock);
	sum += (int)(long)number;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, add, (void *)i) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return sum != THREADS * (THREADS - 1) / 2;
}
EOF
gcc -g -O1 -pthread -o crowd crowd.c
try hark record -q -o crowd.hark -- ./crowd
is "150 threads end as they should" "$status:$err" "0:"
try hark ask crowd.hark value sum
is "what they left is known" "$out" "sum = 11175"
try hark ask crowd.hark writes sum
is "and so is what each of them did" "$(wc -l <<<"$out")" 150
