# The decoder's tables, and the programs that judge them.  Zydis is needed here
# and for disassembly only: src/x86/tables.h is checked in.
#
#   make x86-tables         regenerate src/x86/tables.h
#   make x86-tables-check   fail if that would change it
#   make x86-long           all judges, at length (some ten minutes)
#   make x86-bench          nanoseconds an instruction, against Zydis

X86O := $(BUILD)/x86
X86_CORE := $(X86O)/src/decode.o $(X86O)/src/access.o
X86_CPU := $(addprefix $(X86O)/,cpu.o cpu_enter.o oracle.o cell.o) $(X86_CORE)
X86_PROGRAMS := $(addprefix $(X86O)/,gen compare sift semantic)

$(X86O)/%.o: tools/x86/%.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)gcc $(CFLAGS_ALL) -Itools/x86 -c $< -o $@
$(X86O)/%.o: tools/x86/%.S tools/x86/cpu.h
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)gcc -Itools/x86 -c $< -o $@
$(X86O)/src/%.o: src/x86/%.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)gcc $(CFLAGS_ALL) -c $< -o $@

$(X86O)/gen: $(addprefix $(X86O)/,gen.o oracle.o cell.o)
$(X86O)/compare: $(addprefix $(X86O)/,compare.o oracle.o cell.o) $(X86_CORE)
$(X86O)/sift: $(X86O)/sift.o $(X86_CPU)
$(X86O)/semantic: $(addprefix $(X86O)/,semantic.o judge.o trial.o) $(X86_CPU)
$(X86_PROGRAMS):
	@$(call say,LINK,$@)
	$(Q)gcc $^ -lZydis -o $@

# The end-to-end scripts run them, so they are built with the guests.
guests: $(X86_PROGRAMS)

$(X86O)/tables.h: $(X86O)/gen
	$(Q)$(X86O)/gen > $@.new && mv $@.new $@
x86-tables: $(X86O)/tables.h
	$(Q)cmp -s $< src/x86/tables.h || cp $< src/x86/tables.h
x86-tables-check: $(X86O)/tables.h
	$(Q)cmp $< src/x86/tables.h

# Where they are not installed, a file of this list is left out and named.
X86_FILES := $(addprefix /usr/lib/x86_64-linux-gnu/,libc.so.6 libm.so.6 \
	libstdc++.so.6 libcrypto.so.3 libx264.so.164 libsqlite3.so.0) \
	/usr/bin/x264 $(shell gcc -print-prog-name=cc1)
x86-long: $(X86_PROGRAMS) x86-tables-check
	@echo "not here: $(filter-out $(wildcard $(X86_FILES)),$(X86_FILES))"
	$(X86O)/compare -s $(wildcard $(X86_FILES)) -r 20000000 -g 20000000 \
		-S $${SEED:-$$(date +%s)} -s
	$(X86O)/sift
	$(X86O)/semantic -n 60 -S $${SEED:-$$(date +%s)}
	$(X86O)/semantic -m -n 20

# The core as it is compiled for the target, under other names.
X86_RENAMED := $(foreach f,decode imm target tables_id,-Dx86_$(f)=inside_x86_$(f))
$(X86O)/inside/decode.o: src/x86/decode.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)gcc $(INSIDE) $(X86_RENAMED) -c $< -o $@
$(X86O)/bench.o: bench/decode.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D); $(call say,CC,$@)
	$(Q)gcc $(CFLAGS_ALL) -c $< -o $@
$(X86O)/bench: $(X86O)/bench.o $(X86O)/src/decode.o $(X86O)/inside/decode.o
	$(Q)gcc $^ -lZydis -o $@
x86-bench: $(X86O)/bench
	$< $(wildcard $(X86_FILES))

.PHONY: x86-tables x86-tables-check x86-long x86-bench
-include $(wildcard $(X86O)/*.d $(X86O)/*/*.d)
