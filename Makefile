# hark - one tool, built twice: for itself (hosted) and for the target (inside).
#
#   make            build/hark                    make demo     a first look
#   make check      every test, one last line     make bench    the figures
#   make install    PREFIX=/usr/local             make help     all targets
#   make bench-probe  what a probe costs, against every peer that is here
#   make bench-profile  what it costs to know one's callers, and to be sampled
#   make lossless     probes as a library, x86-64 and sparc64
#
#   make M=asan     the hosted half under ASan and UBSan, in build/asan
#   make M=tsan     under TSan, in build/tsan     make CC=clang
#
# New source files are found by wildcard; src/LAYERS says who may see whom.

M       ?= rel
PREFIX  ?= /usr/local
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
BUILD   := build
FLAVOUR := $(if $(filter gcc,$(notdir $(CC))),,-$(notdir $(CC)))
O       := $(BUILD)/$(M)$(FLAVOUR)
# What goes into the target knows no sanitizer: one for each compiler.
OI      := $(BUILD)/rel$(FLAVOUR)
HARK    := $(if $(filter rel,$(M)$(FLAVOUR)),$(BUILD)/hark,$(O)/hark)

VERSION := $(shell cat VERSION)

# make V=1 shows every command in full.
Q := $(if $(V),,@)
say = $(if $(V),:,printf '  %-7s %s\n' $(1) $(2))

# -- How C is compiled --------------------------------------------------------

WARN_ALL := -Wall -Wextra -Werror -Wshadow -Wundef -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wwrite-strings -Wformat=2 -Wconversion \
	-Wno-sign-conversion
WARN_CLANG := $(WARN_ALL) -Wno-gnu-folding-constant
WARN := $(if $(findstring clang,$(CC)),$(WARN_CLANG),$(WARN_ALL) \
	-Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond)
CFLAGS_ALL := -std=gnu17 -O2 -g -MMD -MP $(WARN) -Isrc -Iinclude \
	-D_GNU_SOURCE -DHARK_VERSION='"$(VERSION)"'
# Half the time to compile, and the tests are no slower.
SAN_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer \
	$(if $(findstring clang,$(CC)),-fsanitize=fuzzer-no-link)
SAN_tsan := -fsanitize=thread
SAN_cov  := --coverage -O0
# Fit for a shared library, and no slower: nothing of it can be replaced.
HOSTED   := $(CFLAGS_ALL) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-fstack-protector-strong $(SAN_$(M)) $(CFLAGS)
# What lives in the target: no libc, no TLS, no vector register, no relocation.
INSIDE   := $(CFLAGS_ALL) -ffreestanding -fPIC -fvisibility=hidden \
	-mgeneral-regs-only -mfsgsbase -fno-stack-protector \
	-fcf-protection=none -fno-asynchronous-unwind-tables \
	-fno-jump-tables $(if $(findstring clang,$(CC)),,\
	-fno-tree-loop-distribute-patterns \
	-mmemset-strategy=unrolled_loop:-1:noalign)

# Debian's static archives where they exist: hark starts faster and carries
# what it needs. libdw and Zydis are oracles of the tests, not parts of hark.
LIBS := -Wl,-Bstatic -lz -llzma -lzstd -lxxhash -liberty -Wl,-Bdynamic \
	-pthread -ldl
TEST_LIBS := -lcheck_pic -lsubunit -lZydis -lrt -lm \
	-Wl,-Bstatic -ldw -lelf -lbz2 -Wl,-Bdynamic
# src/outside/faults.h: HARK_FAIL=k makes the k-th of these calls fail.
WRAPPED := malloc calloc realloc reallocarray strdup strndup open openat mmap \
	memfd_create fopen fdopen
WRAP := $(WRAPPED:%=-Wl,--wrap=%)

# -- What is compiled ---------------------------------------------------------

PURE_DIRS   := base x86 wire
INSIDE_DIRS := $(PURE_DIRS) inside engine
HOSTED_DIRS := $(PURE_DIRS) engine image unwind outside record travel flight script \
	site native probe profile context present gdb ask cli
in_dirs      = $(foreach d,$(1),$(wildcard src/$(d)/*.c))
# Of the engine all but replay goes into the target; of recording, what collects;
# of probes, what happens at a hit (src/native).
INSIDE_SRC  := $(filter-out src/engine/replay%,$(call in_dirs,$(INSIDE_DIRS))) \
	$(wildcard src/record/collect*.c src/script/machine*.c) \
	src/script/verify.c src/script/aggregate.c \
	$(wildcard src/native/*.c) src/image/frame_rows.c \
	$(wildcard src/unwind/*.c)
INSIDE_ASM  := $(filter-out src/engine/replay_enter.S,\
	$(wildcard src/inside/*.S src/engine/*.S src/native/*.S))
ENGINE_ASM  := $(wildcard src/engine/*.S)
GDB_ASM     := $(wildcard src/gdb/*.S)
NATIVE_ASM  := $(wildcard src/native/*.S)
PRESENT_ASM := $(wildcard src/present/*.S)
HOSTED_SRC  := $(filter-out src/cli/main.c,$(call in_dirs,$(HOSTED_DIRS))) \
	src/inside/lockall.c
UNIT_SRC    := $(wildcard tests/unit/*.c)
GUEST_SRC   := $(wildcard tests/guests/*.c)
FUZZ_SRC    := $(wildcard tests/fuzz/*.c)

INSIDE_OBJ  := $(INSIDE_SRC:%.c=$(OI)/inside/%.o) $(INSIDE_ASM:%.S=$(OI)/inside/%.o)
HOSTED_OBJ  := $(HOSTED_SRC:%.c=$(O)/hosted/%.o) \
	$(patsubst %.S,$(O)/hosted/%.o,$(ENGINE_ASM) $(GDB_ASM) $(NATIVE_ASM) \
	$(PRESENT_ASM))
UNIT_OBJ    := $(UNIT_SRC:%.c=$(O)/hosted/%.o)

# The library is a release's: sanitizers belong to programs.
LIBHARK := $(if $(filter rel,$(M)),$(dir $(HARK))libhark)

all: $(HARK) $(if $(filter rel,$(M)$(FLAVOUR)),docs) $(LIBHARK:%=%.a) $(LIBHARK:%=%.so)

$(O)/hosted/%.o: %.c Makefile VERSION
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)$(CC) $(HOSTED) -c $< -o $@

# Runs with a replayed program's extended registers in the CPU.
$(O)/hosted/src/engine/replay_loop.o: HOSTED += -mgeneral-regs-only \
	-fno-sanitize=all -fno-stack-protector

# Signals may come in the middle of it, and find it in no library.
SIGNAL_SRC := $(filter-out src/native/collect% src/native/stack.c \
	src/native/trampoline.c,$(wildcard src/native/*.c))
$(SIGNAL_SRC:%.c=$(O)/hosted/%.o) $(O)/hosted/tests/unit/native_stand_ins.o: \
	HOSTED += -mgeneral-regs-only \
	-fno-sanitize=all -fno-stack-protector

# Reads stacks: what lies between variables, too.
$(O)/hosted/src/unwind/%.o: HOSTED += -mgeneral-regs-only
$(O)/hosted/src/unwind/%.o $(O)/hosted/tests/unit/unwind_test.o: \
	HOSTED += -fno-sanitize=all -fno-stack-protector
$(O)/hosted/tests/unit/unwind_test.o: HOSTED += -O2 $(if $(SAN_$(M)),-DSANITIZED=1)

$(O)/hosted/%.o: %.S Makefile
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)$(CC) $(HOSTED) -c $< -o $@

# What hark carries for gdb, and for browsers.
$(O)/hosted/src/gdb/init.o: src/gdb/init.py
$(O)/hosted/src/present/page.o: src/present/page.html src/present/page.css \
	src/present/page.js

$(OI)/inside/%.o: %.c Makefile VERSION
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)$(CC) $(INSIDE) -c $< -o $@

$(OI)/inside/%.o: %.S Makefile
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)$(CC) $(INSIDE) -c $< -o $@

# -- The image that goes into the target, carried inside hark -----------------

$(OI)/image.elf: $(INSIDE_OBJ) src/inside/image.ld
	@$(call say,LD,$@)
	$(Q)ld -T src/inside/image.ld -pie --no-dynamic-linker -z norelro \
		-z noexecstack --hash-style=sysv --gc-sections \
		-Map $(OI)/image.map $(INSIDE_OBJ) -o $@
	$(Q)tools/check-inside $@

# All that is compiled for the target, used yet or not, keeps the same rules.
whole: $(OI)/whole.elf
$(OI)/whole.elf: $(INSIDE_OBJ) src/inside/image.ld
	@$(call say,LD,$@)
	$(Q)ld -T src/inside/image.ld -pie --no-dynamic-linker -z norelro \
		-z noexecstack --hash-style=sysv $(INSIDE_OBJ) -o $@
	$(Q)tools/check-inside $@

$(OI)/image.bin: $(OI)/image.elf
	$(Q)objcopy -O binary -j .text $< $@

$(O)/hosted/blob.o: src/outside/blob.S $(OI)/image.bin
	@mkdir -p $(@D)
	$(Q)$(CC) -DIMAGE_BIN='"$(OI)/image.bin"' $$(nm $(OI)/image.elf | \
		sed -n 's/^\([0-9a-f]*\) [Tt] \(native_[a-z]*\)$$/-D\2=0x\1/p') \
		-c $< -o $@

# -- The tool -----------------------------------------------------------------

$(O)/libhosted.a: $(HOSTED_OBJ) $(O)/hosted/blob.o
	$(Q)rm -f $@ && ar rcs $@ $^

$(HARK): $(O)/hosted/src/cli/main.o $(O)/libhosted.a
	@$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_$(M)) $(WRAP) -Wl,-z,relro,-z,now $^ $(LIBS) -o $@

# -- The library: include/hark/recording.h ------------------------------------

SONAME := libhark.so.$(firstword $(subst ., ,$(VERSION)))

# What the header declares; everything else is nobody's business.
$(O)/libhark.api: include/hark/recording.h Makefile
	@mkdir -p $(@D)
	$(Q)grep -v '^typedef' $< | grep -o '\bhark_[a-z_]*(' | tr -d '(' | \
		sort -u > $@

$(O)/libhark.o: $(O)/libhark.api $(O)/libhosted.a
	@$(call say,LD,$@)
	$(Q)ld -r $$(sed 's/^/-u /' $<) $(O)/libhosted.a -o $@
	$(Q)objcopy --keep-global-symbols=$< $@

ifneq ($(LIBHARK),)
$(LIBHARK).a: $(O)/libhark.o
	$(Q)rm -f $@ && ar rcs $@ $<

$(LIBHARK).so: $(O)/libhark.o
	@$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--exclude-libs,ALL \
		-Wl,-z,defs,-z,relro,-z,now $< $(LIBS) -o $@
	$(Q)ln -sf $(@F) $(@D)/$(SONAME)
endif

# Help, man pages and completion come from one table, through the tool itself.
docs: $(BUILD)/docs/.made
$(BUILD)/docs/.made: $(HARK) include/hark/recording.h tools/man-header
	@mkdir -p $(@D)
	$(Q)tools/make-docs $(HARK) $(@D)
	@touch $@

# -- Tests --------------------------------------------------------------------

# One list of suites, made from the file names: x_test.c defines x_suite().
$(O)/unit_suites.h: $(UNIT_SRC) Makefile
	@mkdir -p $(@D)
	@printf '%s\n' $(patsubst %_test,'SUITE(%)',$(filter %_test,$(notdir \
		$(basename $(UNIT_SRC))))) > $@

$(O)/hosted/tests/unit/main.o: HOSTED += -I$(O)
$(O)/hosted/tests/unit/main.o: $(O)/unit_suites.h
# Tests are compiled at length but run for a moment.
$(O)/hosted/tests/unit/%.o: HOSTED += -O1 -Itests/unit -Itools/x86 \
	-Wno-missing-prototypes

# tests/unit/native_stand_ins.c
UNIT_WRAP := -Wl,--wrap=collect_hit -Wl,--wrap=collect_area \
	-Wl,--wrap=collect_thread_ends

$(O)/unit: $(UNIT_OBJ) $(O)/libhosted.a
	@$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_$(M)) $(WRAP) $(UNIT_WRAP) $^ $(TEST_LIBS) $(LIBS) -o $@

unit: $(O)/unit

# Guests are ordinary programs: nothing of hark is in them.  A guest that
# needs its own flags says so in its first line: // build: -static ...
guests: $(GUEST_SRC:tests/guests/%.c=$(BUILD)/guests/%)
$(BUILD)/guests/%: tests/guests/%.c $(wildcard tests/guests/*.h)
	@mkdir -p $(@D); $(call say,GUEST,$@)
	$(Q)gcc -std=gnu17 -O2 -g -Wall -pthread $< -o $@ \
		$$(sed -n '1s,^// build:,,p' $<)

# Fuzzers run a fixed set of inputs (driver.c) with the code of gcc's sanitized
# build. Guided ones search: clang's library must tell them what was reached.
FUZZ_CC = $(CC) -std=gnu17 -g -O1 -D_GNU_SOURCE -Isrc -Iinclude $(SAN_asan)
ifeq ($(O),$(BUILD)/asan)
fuzzers: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
$(BUILD)/fuzz/%: tests/fuzz/%.c tests/fuzz/driver/driver.c $(O)/libhosted.a
	@mkdir -p $(@D); $(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) $(WRAP) $< tests/fuzz/driver/driver.c $(O)/libhosted.a \
		$(LIBS) -o $@
else
fuzzers:
	$(Q)$(MAKE) --no-print-directory M=asan $@
endif
ifeq ($(O),$(BUILD)/asan-clang)
fuzzers-guided: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz-guided/%)
$(BUILD)/fuzz-guided/%: tests/fuzz/%.c $(O)/libhosted.a
	@mkdir -p $(@D); $(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $(WRAP) $< $(O)/libhosted.a $(LIBS) -o $@
else
fuzzers-guided:
	$(Q)$(MAKE) --no-print-directory M=asan CC=clang $@
endif

include tools/x86/x86.mk
include tests/x86/relocate.mk
include tests/lossless/lossless.mk

# What a person types does all of its set-up itself, and uses all CPUs.
BUILD_ALL := $(MAKE) --no-print-directory -j$(shell nproc)
check: setup
	@tools/check-all --build

# To compile is a seventh of a whole check, so each build is there for a purpose:
# gcc's is the tool that people have, gcc's with sanitizers finds what it does
# wrong. What clang compiles belongs to check-clang and check-long.
built:
	$(BUILD_ALL) all unit guests whole
	$(BUILD_ALL) built-asan

# Together, so that no CPU waits for another one's last file.
built-asan:
	$(Q)$(MAKE) --no-print-directory M=asan all unit fuzzers

# All of the checks with ten times the rounds, more of them with the sanitized
# tool, fuzzers that search, and clang-tidy's whole analysis: some hours.
check-long: setup check-clang
	$(BUILD_ALL) fuzzers-guided
	HARK_EFFORT=10 tools/check-all --build

# What clang compiles, and the unit tests with it: four minutes.
check-clang: setup
	$(BUILD_ALL) CC=clang all unit whole
	tools/bare $(BUILD)/rel-clang/unit

# Guests with probes in them, many kills, many cycles: half an hour.
probe-long: $(HARK) guests
	bash tests/long/probe-guests.sh
	KILLS=100 bash tests/end-to-end/probe-left.sh
	CYCLES=5000 bash tests/end-to-end/probe-cycles.sh

# Programs that handle signals, 100 times each by probe and profile, on a machine
# without debug files: ten minutes.
bare-long: $(HARK)
	RUNS=100 bash tests/end-to-end/bare.sh

# A million samples of stacks that move, each walked twice, some by libunwind, too;
# and a million of other programs: a quarter of an hour.
profile-long: $(HARK)
	UNWIND_SAMPLES=1000000 bash tests/end-to-end/unwind.sh
	bash tests/long/profile-exact.sh
	bash tests/long/profile-libunwind.sh

# A million damaged recordings, in slices that can be run one by one:
# make record-fuzz-long FROM=250000 TO=500000.
FROM ?= 0
TO   ?= 250000
record-fuzz-long: setup
	$(BUILD_ALL) all guests
	$(BUILD_ALL) M=asan all
	HARK_DAMAGE="$(FROM) $(TO)" bash tests/end-to-end/record-damage.sh

# Each fuzzer searches for so long, with a seed of its own.
SECONDS ?= 600
fuzz-long: setup
	$(BUILD_ALL) fuzzers-guided
	HARK_FUZZ_SECONDS=$(SECONDS) tools/check-all fuzz

# SIGKILL of a thousand recorded programs, and of two hundred harks: half an hour.
# make record-kills-long KILLS=100 WRITER_KILLS=20 is a short one.
KILLS        ?= 1000
WRITER_KILLS ?= 200
record-kills-long: $(HARK) guests
	KILLS=$(KILLS) WRITER_KILLS=$(WRITER_KILLS) \
		bash tests/long/record-kills.sh

demo: setup
	$(BUILD_ALL) all $(BUILD)/guests/hello
	tools/demo

bench: setup
	$(BUILD_ALL) all guests
	bench/run
	bench/door
	bench/travel
	bench/growth
	bench/lists
bench-probe: setup
	$(BUILD_ALL) all
	bench/probe
bench-profile: setup
	$(BUILD_ALL) all
	bench/profile
	bench/sampling

setup:
	tools/setup $(or $(filter check bench,$(patsubst check-%,check,\
		$(MAKECMDGOALS:bench-pro%=check))),build)

# -- Static checks ------------------------------------------------------------

C_FILES := $(wildcard src/*/*.c src/*/*.h tests/*/*.c tests/*/*.h tests/*/*/*.c \
	tools/*/*.c tools/*/*.h bench/*.c docs/examples/*.c)
FORMATTED := $(filter-out src/x86/tables.h,$(C_FILES))
format:
	clang-format -i $(FORMATTED)
format-check:
	clang-format --dry-run -Werror $(FORMATTED)
# clang-tidy and cppcheck cost seconds a file; stamps keep them incremental. How
# far the analyzer looks is most of it: in make check-long as far as it can.
TIDY_NODES := $(if $(HARK_EFFORT),225000,20000)
TIDY_SRC := $(sort $(HOSTED_SRC) $(wildcard src/inside/*.c)) src/cli/main.c \
	$(LOSSLESS_TIDY)
tidy: $(TIDY_SRC:%=$(BUILD)/tidy/%.ok)
$(BUILD)/tidy/%.ok: % .clang-tidy
	@mkdir -p $(@D); $(call say,TIDY,$<)
	$(Q)clang-tidy --quiet $< -- -std=gnu17 $(WARN_CLANG) -Isrc -Iinclude \
		-D_GNU_SOURCE $(or $(TIDY_MACHINE),-mfsgsbase) -DHARK_VERSION='"$(VERSION)"' -Xclang \
		-analyzer-config -Xclang max-nodes=$(TIDY_NODES) 2>$@.log || \
		{ cat $@.log; exit 1; }
	@touch $@
cppcheck:
	cppcheck --quiet --std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppressions-list=tools/cppcheck.suppressions \
		--error-exitcode=1 -j2 -Isrc -Iinclude $(TIDY_SRC)

# -- Installing ---------------------------------------------------------------

LIBDIR := $(PREFIX)/lib
install: all
	install -Dm755 $(BUILD)/hark $(DESTDIR)$(PREFIX)/bin/hark
	install -Dm644 $(BUILD)/libhark.a $(DESTDIR)$(LIBDIR)/libhark.a
	install -Dm755 $(BUILD)/libhark.so $(DESTDIR)$(LIBDIR)/libhark.so.$(VERSION)
	ln -sf libhark.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libhark.so
	mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' \
		src/travel/hark.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/hark.pc
	for h in include/hark/*.h; do [ ! -e $$h ] || install -Dm644 $$h \
		$(DESTDIR)$(PREFIX)/$$h; done
	for m in $(BUILD)/docs/*.1; do install -Dm644 $$m \
		$(DESTDIR)$(PREFIX)/share/man/man1/$$(basename $$m); done
	install -Dm644 $(BUILD)/docs/hark-recording.3 \
		$(DESTDIR)$(PREFIX)/share/man/man3/hark-recording.3
	install -Dm644 $(BUILD)/docs/hark.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hark
	install -Dm644 $(BUILD)/docs/_hark \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hark
	install -Dm644 $(BUILD)/docs/hark.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hark.fish

clean:
	rm -rf $(BUILD)

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

FORCE:
.PHONY: all docs unit whole guests fuzzers fuzzers-guided check built built-asan \
	check-clang check-long demo bench bench-probe bench-profile \
	setup format fuzz-long record-fuzz-long record-kills-long probe-long profile-long \
	bare-long format-check tidy cppcheck install clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(sort $(shell find $(O) $(OI)/inside -name '*.d' 2>/dev/null))
