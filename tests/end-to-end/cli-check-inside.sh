#!/usr/bin/env bash
# tools/check-inside refuses each kind of image that could not live in a
# stranger, and passes a clean one.  Every bad image is built here.
. "$(dirname "$0")/lib.sh"
plan 27

cat >allow <<'END'
state_save	xsave64 xsaveopt64 # the program's own state
read_selector	%fs
END

general=-mgeneral-regs-only
flags='-O2 -ffreestanding -fPIC -fvisibility=hidden -fno-stack-protector
	-fcf-protection=none -fno-jump-tables -fno-asynchronous-unwind-tables'

# Parts of a link script that, unlike the project's, refuses nothing itself.
cat >image.ld <<'END'
ENTRY(entry)
SECTIONS {
	. = 0;
	.text : { *(.text.entry) *(.text .text.*) *(.rodata .rodata.*) }
	/DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) }
}
END

# build [CC-FLAG...] [-- LD-FLAG...] <SOURCE: makes image.elf
build() {
	local cc=() ld=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		cc+=("$1")
		shift
	done
	[ $# = 0 ] || shift
	ld=("$@")
	[ ${#ld[@]} -gt 0 ] || ld=(-pie --no-dynamic-linker)
	rm -f image.elf
	# shellcheck disable=SC2086
	gcc $flags $general "${cc[@]}" -x c -c - -o image.o &&
		ld -T image.ld -z norelro -z noexecstack --hash-style=sysv \
			--no-warn-rwx-segments "${ld[@]}" image.o -o image.elf
}

# catches NAME PATTERN: the image is refused, and for this reason.
catches() {
	try "$ROOT/tools/check-inside" image.elf allow
	if [ "$status" = 1 ]; then
		like "$1" "$out" "$2"
	else
		fail "$1" "status $status: $out$err"
	fi
}

passes() {
	try "$ROOT/tools/check-inside" image.elf allow
	is "$1" "$status$out$err" 0
}

entry='__attribute__((section(".text.entry"))) int entry(int x)'

build <<END
static const char words[] = "dff.X dd%fs fwait";
const char *find(int x);
const char *find(int x) { return words + x; }
__attribute__((noinline)) static int deep(int x) { return x * 3; }
$entry { return deep(x) + *find(x); }
END
passes "a clean image, with text in it that would read as instructions"

build -- -shared <<END
int elsewhere(int x);
$entry { return elsewhere(x) + 1; }
END
catches "an undefined symbol" 'undefined symbol elsewhere'

build <<END
void *malloc(unsigned long n) { return (void *)n; }
$entry { return x + 1 + (int)(long)malloc(7); }
END
catches "a function of the C library's" 'malloc belongs to the C library'

build <<END
static int counter;
$entry { return counter += x; }
END
catches "a variable" 'writable section \.bss'

build <<END
static int table[4] = {1, 2, 3, 4};
$entry { return table[x]++; }
END
catches "initialized data" 'writable section \.data'

build <<END
static const char *const names[] = {"a", "b"};
$entry { return names[x & 1][0]; }
END
catches "a table of pointers (relocation)" 'relocation R_X86_64_RELATIVE'
catches "a table of pointers (section)" 'section \.data\.rel\.ro'

cat >separate.ld <<'END'
ENTRY(entry)
SECTIONS {
	. = 0;
	.text : { *(.text.entry) *(.text .text.*) }
	.rodata : { *(.rodata .rodata.*) }
	/DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) }
}
END
mv image.ld together.ld && cp separate.ld image.ld
build <<END
static const int table[64] = {5, 3, 1};
$entry { return table[x]; }
END
catches "constants apart from .text" 'section \.rodata would not be carried'
mv together.ld image.ld

build -ftls-model=local-exec <<END
static __thread int mine = 3;
$entry { return mine += x; }
END
catches "thread-local data (section)" 'thread-local section \.tdata'
catches "thread-local data (segment)" 'thread-local segment'
catches "thread-local data (symbol)" 'thread-local symbol mine'
catches "thread-local data (instruction)" 'entry uses %fs: '

build <<END
$entry { int v; __asm__ volatile("movl %%fs:0x10, %0" : "=r"(v)); return v; }
END
catches "a read through %fs" 'entry uses %fs: mov +%fs:0x10'

general='' build <<END
double scale(double a, double b);
double scale(double a, double b) { return a * b; }
$entry { return x; }
END
catches "a vector register" 'scale uses mulsd: mulsd +%xmm1,%xmm0'

build <<END
$entry { __asm__ volatile("vzeroupper"); return x; }
END
catches "a vector instruction without a register" 'entry uses vzeroupper'

build <<END
$entry { __asm__ volatile("vpxorq %zmm1, %zmm2, %zmm3"); return x; }
END
catches "a 512-bit register" 'entry uses vpxorq'

build <<END
$entry { __asm__ volatile("kmovw %%eax, %%k1" ::"a"(x)); return x; }
END
catches "a mask register" 'entry uses kmovw'

build <<END
$entry { __asm__ volatile("movd %%eax, %%mm3" ::"a"(x)); return x; }
END
catches "an MMX register" 'entry uses movd'

build <<END
$entry { __asm__ volatile("fld1; fstp %st(0)"); return x; }
END
catches "an x87 instruction" 'entry uses fld1'

build <<END
$entry { __asm__ volatile("xsave64 (%rdi)"); return x; }
END
catches "saving state where it is not expected" 'entry uses xsave64'

build <<END
__attribute__((noinline)) void state_save(void *to);
void state_save(void *to) {
	__asm__ volatile("xsave64 (%0)" ::"r"(to), "a"(-1), "d"(-1) : "memory");
}
__attribute__((noinline)) int read_selector(void);
int read_selector(void) { int v; __asm__("movl %%fs, %0" : "=r"(v)); return v; }
$entry { state_save(&x); return read_selector(); }
END
passes "the listed functions may do what is listed"

build <<END
__attribute__((noinline)) void state_save(void *to);
void state_save(void *to) { __asm__ volatile("fxsave64 (%0)" ::"r"(to)); }
$entry { state_save(&x); return x; }
END
catches "a listed function may do nothing else" 'state_save uses fxsave64'

build <<'END'
__asm__(".section .text.entry, \"ax\"\n.globl entry\nentry: jmp label\n"
	".text\nlabel: movaps %xmm0, %xmm1\nret\n");
END
catches "assembly behind an untyped label" 'label uses movaps'

build <<'END'
__asm__(".section .text.entry, \"ax\"\n.globl entry\n"
	".type entry, @function\nentry: ret\n");
END
catches "a function whose end is unknown" 'entry has no size'

printf 'int needed(void) { return 1; }\n' |
	gcc -x c -shared -fPIC -nostdlib - -o libneeded.so
build -- -pie --no-dynamic-linker --no-as-needed ./libneeded.so <<END
$entry { return x; }
END
catches "a library it would need" 'asks for \(NEEDED\).*libneeded'

try "$ROOT/tools/check-inside" /dev/null allow
is "a file that is no image is not passed" "$status" 2
like "and is named" "$err" '^check-inside: /dev/null: '
