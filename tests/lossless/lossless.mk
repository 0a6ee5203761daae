# Probes in the program itself: one library and one test program for each
# machine that there is.
#
#   make lossless    build/lossless/{x86_64,sparc64}/liblossless.a
#
# sparc64 is left out where its compiler is not installed.

LOSSLESS := $(BUILD)/lossless
SPARC_CC ?= sparc64-linux-gnu-gcc
LOSSLESS_MACHINES := x86_64 \
	$(if $(shell command -v $(SPARC_CC) 2>/dev/null),sparc64)

LOSSLESS_CC_x86_64    := gcc -fcf-protection=none
LOSSLESS_CC_sparc64   := $(SPARC_CC) -mcpu=v9
LOSSLESS_AR_x86_64    := ar
LOSSLESS_AR_sparc64   := $(SPARC_CC:gcc=ar)
# What a hit executes: nothing of libc, no floating point.
LOSSLESS_HIT_FLAGS := -fno-stack-protector -fno-tree-loop-distribute-patterns
LOSSLESS_HIT_x86_64   := $(LOSSLESS_HIT_FLAGS) -mgeneral-regs-only \
	-mmemset-strategy=unrolled_loop:-1:noalign \
	-mmemcpy-strategy=unrolled_loop:-1:noalign
LOSSLESS_HIT_sparc64  := $(LOSSLESS_HIT_FLAGS) -mno-fpu
LOSSLESS_MORE_x86_64  := src/x86/decode.c src/x86/emit.c src/x86/relocate.c
LOSSLESS_LINK_sparc64 := -static

# $(1): the machine.
define lossless_rules
LOSSLESS_SRC_$(1) := src/lossless/lossless.c src/lossless/hit.c \
	src/lossless/machine_$(1).c src/base/err.c src/base/fmt.c \
	$$(LOSSLESS_MORE_$(1))

$(LOSSLESS)/$(1)/src/lossless/hit.o $(LOSSLESS)/$(1)/src/lossless/machine_$(1).o \
	$$(LOSSLESS_MORE_$(1):%.c=$(LOSSLESS)/$(1)/%.o): \
	LOSSLESS_FLAGS := $$(LOSSLESS_HIT_$(1))

$(LOSSLESS)/$(1)/%.o: %.c Makefile tests/lossless/lossless.mk
	@mkdir -p $$(@D); $$(call say,CC,$$@)
	$$(Q)$$(LOSSLESS_CC_$(1)) $$(CFLAGS_ALL) -Itests -pthread \
		-ftls-model=initial-exec $$(LOSSLESS_FLAGS) -c $$< -o $$@

$(LOSSLESS)/$(1)/liblossless.a: $$(LOSSLESS_SRC_$(1):%.c=$(LOSSLESS)/$(1)/%.o)
	$$(Q)rm -f $$@ && $$(LOSSLESS_AR_$(1)) rcs $$@ $$^

$(LOSSLESS)/$(1)/lossless-test: $$(patsubst %.c,$(LOSSLESS)/$(1)/%.o,\
		$$(filter-out tests/lossless/gen_%.c,\
		$$(wildcard tests/lossless/*.c)) tests/lossless/gen_$(1).c) \
		$(LOSSLESS)/$(1)/liblossless.a
	@$$(call say,LINK,$$@)
	$$(Q)$$(LOSSLESS_CC_$(1)) $$(LOSSLESS_LINK_$(1)) -pthread $$^ -lm -o $$@

lossless: $(LOSSLESS)/$(1)/liblossless.a $(LOSSLESS)/$(1)/lossless-test
-include $(shell find $(LOSSLESS)/$(1) -name '*.d' 2>/dev/null)
endef
$(foreach m,$(LOSSLESS_MACHINES),$(eval $(call lossless_rules,$(m))))

# Checked as what they are compiled for, where its headers are.
LOSSLESS_TIDY := $(foreach m,$(LOSSLESS_MACHINES),src/lossless/machine_$(m).c) \
	src/lossless/lossless.c src/lossless/hit.c
$(BUILD)/tidy/src/lossless/machine_sparc64.c.ok: TIDY_MACHINE := \
	--target=sparc64-linux-gnu -isystem /usr/sparc64-linux-gnu/include

# The end-to-end script runs the test programs; they are built with the guests.
guests: lossless

.PHONY: lossless
