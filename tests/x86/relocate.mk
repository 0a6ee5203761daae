# Instructions executed at home and elsewhere.
#
#   make x86-relocate-long   hundreds of thousands of cases
#
# It takes a new seed each time.

X86RUN := $(BUILD)/x86-run
X86RUN_SHARED := $(patsubst %.c,$(X86RUN)/%.o,tests/x86/machine.c \
	tests/x86/cases.c src/x86/decode.c src/x86/emit.c)
X86RUN_ALL := $(X86RUN)/relocate-run

$(X86RUN)/%.o: %.c Makefile tests/x86/relocate.mk
	@mkdir -p $(@D); $(call say,CC,$<)
	$(Q)gcc $(CFLAGS_ALL) -Itests/x86 -c $< -o $@

$(X86RUN)/relocate-run: $(X86RUN)/tests/x86/relocate_run.o \
		$(X86RUN)/src/x86/relocate.o $(X86RUN_SHARED)
	$(Q)gcc $^ -o $@

# The end-to-end scripts run them; so they are built with the guests.
guests: $(X86RUN_ALL)

x86-relocate-long: $(X86RUN)/relocate-run
	$< -n 20000 -s $${SEED:-$$(date +%s)}

.PHONY: x86-relocate-long
-include $(shell find $(X86RUN) -name '*.d' 2>/dev/null)
