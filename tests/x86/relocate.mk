# Instructions executed at home and elsewhere, and with dead registers changed.
#
#   make x86-relocate-long   hundreds of thousands of cases
#   make x86-live-long       likewise
#   make x86-trampoline-long likewise, probed
#
# The long ones take a new seed each time (SEED=N repeats one).

X86RUN := $(BUILD)/x86-run
X86RUN_SHARED := $(patsubst %.c,$(X86RUN)/%.o,tests/x86/machine.c \
	tests/x86/cases.c src/x86/decode.c src/x86/emit.c)
X86RUN_ALL := $(X86RUN)/relocate-run $(X86RUN)/live-run \
	$(X86RUN)/trampoline-run

$(X86RUN)/%.o: %.c Makefile tests/x86/relocate.mk
	@mkdir -p $(@D); $(call say,CC,$<)
	$(Q)gcc $(CFLAGS_ALL) -Itests/x86 -c $< -o $@

$(X86RUN)/relocate-run: $(X86RUN)/tests/x86/relocate_run.o \
		$(X86RUN)/src/x86/relocate.o $(X86RUN_SHARED)
	$(Q)gcc $^ -o $@
$(X86RUN)/live-run: $(X86RUN)/tests/x86/live_run.o \
		$(X86RUN)/src/x86/live.o $(X86RUN_SHARED)
	$(Q)gcc $^ -o $@

$(X86RUN)/trampoline-run: $(X86RUN)/tests/x86/trampoline_run.o \
		$(X86RUN)/src/native/trampoline.o $(X86RUN)/src/x86/relocate.o \
		$(X86RUN_SHARED)
	$(Q)gcc $^ -o $@

# The end-to-end scripts run them; so they are built with the guests.
guests: $(X86RUN_ALL)

x86-relocate-long: $(X86RUN)/relocate-run
	$< -n 20000 -s $${SEED:-$$(date +%s)}
x86-live-long: $(X86RUN)/live-run
	$< -n 50000 -s $${SEED:-$$(date +%s)}
x86-trampoline-long: $(X86RUN)/trampoline-run
	$< -n 20000 -s $${SEED:-$$(date +%s)}

.PHONY: x86-relocate-long x86-live-long x86-trampoline-long
-include $(shell find $(X86RUN) -name '*.d' 2>/dev/null)
