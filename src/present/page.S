/* present/page.S - the flame graph's page, as hark carries it. */
	.section .rodata
	.globl flame_page, flame_page_end
	.globl flame_style, flame_style_end, flame_script, flame_script_end
flame_page:
	.incbin "src/present/page.html"
flame_page_end:
flame_style:
	.incbin "src/present/page.css"
flame_style_end:
flame_script:
	.incbin "src/present/page.js"
flame_script_end:
	.section .note.GNU-stack, "", @progbits
