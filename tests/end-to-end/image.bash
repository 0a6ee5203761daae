# tests/end-to-end/image.bash - for the image-*.sh scripts: the programs that
# ask src/image, built into the script's directory.
# shellcheck shell=bash
IMAGE_LIBS="-Wl,-Bstatic -lz -llzma -lzstd -lxxhash -liberty -Wl,-Bdynamic -pthread -ldl"

# build_image OUT FLAVOUR SOURCE...: with the library of build/FLAVOUR, made
# if it is not there.
build_image() {
	local out=$1 flavour=$2 san=()

	shift 2
	[ "$flavour" != asan ] ||
		san=(-fsanitize=address,undefined -fno-sanitize-recover=all)
	[ -f "$ROOT/build/$flavour/libhosted.a" ] ||
		make -s -C "$ROOT" M="$flavour" "build/$flavour/libhosted.a" >&2
	# shellcheck disable=SC2086
	gcc -std=gnu17 -O2 -g -D_GNU_SOURCE -I"$ROOT/src" -I"$ROOT/include" "${san[@]}" "$@" \
		"$ROOT/build/$flavour/libhosted.a" $IMAGE_LIBS -o "$out"
}

build_ask() {
	build_image ask rel "$ROOT/tests/end-to-end/image_ask.c"
}

# text_addresses FILE STEP: every STEP-th address of .text, in hex.
text_addresses() {
	readelf -SW "$1" | sed 's/\[ *//' | awk '$2 == ".text" {print $4, $6}' |
		python3 -c 'import sys
a, n = (int(x, 16) for x in sys.stdin.read().split())
print("\n".join("0x%x" % x for x in range(a, a + n, int(sys.argv[1]))))' "$2"
}
