// build: -static -nostdlib -fPIC -Wl,-Ttext-segment=0x600000000000
/* tests/guests/code_base_middle.c - a bare program linked to
 * the middle of the address space: system calls, tables, a signal. */
#define BASE 0x600000000000
#include "code_base.h"
