# The decoder's tables and the programs that judge them.  Zydis is needed here
# and for disassembly only: src/x86/tables.h is checked in.
#
#   make x86-tables         regenerate src/x86/tables.h
#   make x86-tables-check   fail if that would change it

X86O := $(BUILD)/x86

$(X86O)/%.o: tools/x86/%.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Itools/x86 -c $< -o $@

X86_CORE := $(X86O)/src/decode.o $(X86O)/src/access.o
$(X86O)/src/%.o: src/x86/%.c Makefile tools/x86/x86.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c $< -o $@

$(X86O)/gen: $(addprefix $(X86O)/,gen.o oracle.o cell.o)
	$(CC) $^ -lZydis -o $@

$(X86O)/compare: $(addprefix $(X86O)/,compare.o oracle.o cell.o) $(X86_CORE)
	$(CC) $^ -lZydis -o $@

$(X86O)/cpu_enter.o: tools/x86/cpu_enter.S tools/x86/cpu.h
	@mkdir -p $(@D)
	$(CC) -Itools/x86 -c $< -o $@

$(X86O)/sift: $(addprefix $(X86O)/,sift.o cpu.o cpu_enter.o oracle.o cell.o) $(X86_CORE)
	$(CC) $^ -lZydis -o $@

$(X86O)/semantic: $(addprefix $(X86O)/,semantic.o trial.o cpu.o cpu_enter.o oracle.o cell.o) $(X86_CORE)
	$(CC) $^ -lZydis -o $@

$(X86O)/tables.h: $(X86O)/gen
	$(X86O)/gen > $@.new && mv $@.new $@

x86-tables: $(X86O)/tables.h
	cmp -s $< src/x86/tables.h || cp $< src/x86/tables.h
x86-tables-check: $(X86O)/tables.h
	cmp $< src/x86/tables.h

.PHONY: x86-tables x86-tables-check
-include $(wildcard $(X86O)/*.d $(X86O)/src/*.d)
