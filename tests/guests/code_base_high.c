// build: -static -nostdlib -fPIC -Wl,-Ttext-segment=0x7f0000000000
/* tests/guests/code_base_high.c - a bare program linked to
 * where libraries usually lie, near the stack: system calls, tables, a signal.
 */
#define BASE 0x7f0000000000
#include "code_base.h"
