#!/usr/bin/env bash
# timeout: 240
# Debug information that is not in the program: found where it should be, and
# refused where it does not belong. Stripped programs; mini debug info; dwz;
# split files; Rust.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
unset HARK_DEBUG_PATH

names=$ROOT/tests/guests/image_names.c
plan 38
build_ask || exit 1

# All answers about a program's code, to compare with those of another.
answers() {
	text_addresses whole 3 | ./ask lines "$1"
}

gcc -O2 -g -o whole "$names"
answers whole >want
objcopy --only-keep-debug whole apart.debug
strip -o stripped whole
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')

# -- Nothing at all

try ./ask debug stripped
is "a stripped program has no debug information" "$out" \
	"- symtab=0 debug=0 mini=0 dynsym=1"
try ./ask functions stripped 'sub_*'
subs=$(wc -l <<<"$out")
fdes=$(readelf --debug-dump=frames stripped | grep -c 'FDE cie=.*pc=0*[1-9a-f]')
like "its functions are called by their addresses" "$out" \
	'^[0-9a-f]+ [0-9]+ 4 2 sub_[0-9a-f]+'
ok "nearly every piece of code with rules is one ($subs of $fdes)" \
	test "$subs" -ge $((fdes / 2)) -a "$subs" -le "$fdes"
addr=$(./ask named whole <<<real_name)
is "an address in it has that name" \
	"$(./ask lines stripped <<<"0x$addr" | head -n 1)" "sub_$addr"

# -- By build-id

mkdir -p "ids/.build-id/${id:0:2}"
cp apart.debug "ids/.build-id/${id:0:2}/${id:2}.debug"
try env HARK_DEBUG_PATH=/nonexistent:ids ./ask debug stripped
is "the build-id leads to it" "$out" \
	"ids/.build-id/${id:0:2}/${id:2}.debug symtab=0 debug=1 mini=0 dynsym=1"
HARK_DEBUG_PATH=ids answers stripped >got
ok "and all answers are those of the whole program" cmp want got
gcc -O1 -g -o another "$names"
objcopy --only-keep-debug another "ids/.build-id/${id:0:2}/${id:2}.debug"
try env HARK_DEBUG_PATH=ids ./ask debug stripped
like "a file of another build-id is refused" "$out" '^- '
echo "not ELF" >"ids/.build-id/${id:0:2}/${id:2}.debug"
try env HARK_DEBUG_PATH=ids ./ask debug stripped
like "as is one that is none" "$out" '^- '
rm "ids/.build-id/${id:0:2}/${id:2}.debug"
mkfifo "ids/.build-id/${id:0:2}/${id:2}.debug"
try timeout 5 env HARK_DEBUG_PATH=ids ./ask debug stripped
like "and a pipe does not make it wait" "$out" '^- '
rm -r ids

# -- By debug link

cp stripped linked
objcopy --add-gnu-debuglink=apart.debug linked
try ./ask debug linked
like "the debug link leads beside the program" "$out" '^./apart.debug .*debug=1'
answers linked >got
ok "and all answers are those of the whole program" cmp want got
mkdir .debug && mv apart.debug .debug/
try ./ask debug linked
like "or into .debug" "$out" '^./.debug/apart.debug '
mkdir -p "store$T" && mv .debug/apart.debug "store$T/"
try env HARK_DEBUG_PATH="$T/store" ./ask debug "$T/linked"
like "or under a directory with the program's path" "$out" \
	"^$T/store$T/apart.debug "
mv "store$T/apart.debug" store/
try env HARK_DEBUG_PATH=store ./ask debug linked
like "or into that directory itself" "$out" '^store/apart.debug '

# Without a build-id its check sum decides.
gcc -O2 -g -Wl,--build-id=none -o noid "$names"
objcopy --only-keep-debug noid noid.debug
strip noid
objcopy --add-gnu-debuglink=noid.debug noid
try ./ask debug noid
like "without a build-id the check sum decides" "$out" '^./noid.debug '
printf x >>noid.debug
try ./ask debug noid
like "and a wrong one is refused" "$out" '^- '

# A link that leads to itself, and one that leads elsewhere.
cp stripped self
objcopy --add-gnu-debuglink=self self
try ./ask debug self
like "a link to itself is none" "$out" '^- '
cp store/apart.debug passwd
python3 - <<'EOF'
import struct, zlib
name = b"../../../../../../etc/passwd\0"
name += bytes(-len(name) % 4)
open("evil", "wb").write(name + struct.pack("<I", 1))
EOF
cp stripped away
objcopy --add-section .gnu_debuglink=evil away
try strace -f -e trace=open,openat -o trace ./ask debug away
unlike "a link cannot lead out of its directories" \
	"$(grep -v -e ENOENT trace)" 'etc/passwd'
like "only its last part counts" "$out" '^./passwd '
rm passwd

# -- Mini debug info

nm -D stripped --format=posix --defined-only | awk '{print $1}' | sort >dyn
nm whole --format=posix --defined-only |
	awk '$2 ~ /^[Tt]$/ {print $1}' | sort >all
comm -13 dyn all >keep
objcopy --only-keep-debug whole mini
objcopy -S --remove-section .comment --keep-symbols=keep mini
xz -k mini
cp stripped small
objcopy --add-section .gnu_debugdata=mini.xz small
try ./ask debug small
is "mini debug info is read" "$out" "- symtab=0 debug=0 mini=1 dynsym=1"
try ./ask functions small maybe
like "and has local functions" "$out" ' maybe$'
head -c 100 mini.xz >cut.xz
cp stripped smaller
objcopy --add-section .gnu_debugdata=cut.xz smaller
try ./ask debug smaller
is "damaged mini debug info is none" "$out" \
	"- symtab=0 debug=0 mini=0 dynsym=1"

# -- debuginfod, from a directory

mkdir -p "server/buildid/$id" cache
cp store/apart.debug "server/buildid/$id/debuginfo"
if ldconfig -p | grep -q 'libdebuginfod\.so\.1 '; then
	export DEBUGINFOD_CACHE_PATH=$T/cache
	try ./ask debug stripped
	like "debuginfod is not asked unless the user says so" "$out" '^- '
	try env DEBUGINFOD_URLS="file://$T/server" ./ask debug stripped
	like "and is asked if he does" "$out" "$id/debuginfo .*debug=1"
	DEBUGINFOD_URLS="file://$T/server" answers stripped >got
	ok "with the same answers" cmp want got
	try env DEBUGINFOD_URLS="file://$T/nowhere" \
		DEBUGINFOD_CACHE_PATH="$T/cache2" ./ask debug stripped
	like "a server that does not have it is no harm" "$out" '^- '
else
	for i in 1 2 3 4; do
		skip "debuginfod $i" "libdebuginfod.so.1 is not installed"
	done
fi

# -- Packed in the newer way

objcopy --compress-debug-sections=zstd whole zstd
answers zstd >got
ok "sections packed with zstd are read" cmp want got

# -- dwz: what several files share

cp whole one && gcc -O1 -g -o two "$names"
text_addresses two 3 >two.addrs
./ask lines two <two.addrs >two.want
if dwz -m common.debug -M "$T/common.debug" one two 2>dwz.log; then
	like "dwz made a common file" "$(readelf -SW one)" 'gnu_debugaltlink'
	answers one >got
	ok "names in a common file are found" cmp want got
	./ask lines two <two.addrs >got
	ok "from the other file, too" cmp two.want got
	rm common.debug
	answers one | sed -n 'n;p' >got.lines
	sed -n 'n;p' want >want.lines
	ok "without it, lines still are" cmp want.lines got.lines
else
	for i in 1 2 3 4; do
		fail "dwz $i" "$(cat dwz.log)"
	done
fi

# -- Split files

for version in 5 4; do
	gcc -O2 -g -gsplit-dwarf -gdwarf-$version -o split$version "$names"
	./ask lines split$version <two.addrs >split.want
	like "DWARF $version: a split file is read" "$(cat split.want)" \
		'(maybe|aligned|real_name)'
	rm split$version-*.dwo
	text_addresses split$version 3 | ./ask lines split$version >got
	like "DWARF $version: without it, lines still are" "$(cat got)" \
		'image_names.c:[1-9]'
done

# -- Rust

cat >rusty.rs <<'EOF'
use std::collections::HashMap;
pub trait Sound { fn speak(&self, n: usize) -> String; }
pub struct Dog<T> { pub name: T }
impl<T: std::fmt::Display> Sound for Dog<T> {
    #[inline(never)]
    fn speak(&self, n: usize) -> String { format!("{} {}", self.name, n) }
}
#[inline(never)]
pub fn count<K: std::hash::Hash + Eq, F: Fn(&K) -> usize>(ks: Vec<K>, f: F) -> usize {
    let mut m = HashMap::new();
    for k in ks { let n = f(&k); *m.entry(k).or_insert(0) += n; }
    m.values().sum()
}
fn main() {
    let d = Dog { name: "rex" };
    println!("{} {}", d.speak(3), count(vec!["a", "b"], |s| s.len()));
}
EOF
if command -v rustc >/dev/null && rustc --version >/dev/null 2>&1; then
	rustc -g -O -C symbol-mangling-version=v0 -o v0 rusty.rs 2>/dev/null
	try ./ask functions v0 '<rusty::Dog<&str> as rusty::Sound>::speak*'
	like "Rust's names are understood (v0)" "$out" ' _R[^ ]+speak'
	rustc -g -O -C symbol-mangling-version=legacy -o legacy rusty.rs \
		2>/dev/null || rustc -g -O -o legacy rusty.rs 2>/dev/null
	try ./ask functions legacy '*rusty::Sound*speak*'
	like "and as they were" "$out" 'speak'
	text_addresses v0 31 >v0.addrs
	./ask lines v0 <v0.addrs >v0.ours
	llvm-symbolizer -e v0 --no-demangle <v0.addrs >v0.theirs
	ok "lines of Rust are llvm-symbolizer's" python3 \
		"$ROOT/tests/end-to-end/image_compare.py" v0 v0.addrs v0.ours \
		v0.theirs
else
	for i in 1 2 3; do
		skip "Rust $i" "there is no rustc"
	done
fi
