/* gdb/init.S - init.py, as hark carries it. */
	.section .rodata
	.globl gdb_init, gdb_init_end
gdb_init:
	.incbin "src/gdb/init.py"
gdb_init_end:
	.section .note.GNU-stack, "", @progbits
