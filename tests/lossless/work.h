/* tests/lossless/work.h - compiled code to be probed.
 *
 * Loops, recursion, a switch, calls through pointers, floating point, tail
 * calls, as the compiler makes them. All of it is in one section, to be probed
 * from its first instruction to its last. */
#ifndef TESTS_LOSSLESS_WORK_H
#define TESTS_LOSSLESS_WORK_H

#include <stdint.h>

/* What it does depends on n alone. calls[] counts entries of the functions, by
 * their own code. */
enum { WORK_FIBONACCI, WORK_SORT, WORK_STEP, WORK_HASH, WORK_FUNCTIONS };
uint64_t work(uint64_t n, uint64_t *calls);

const void *work_function(unsigned which);
/* From the first function on. (The compiler may have put tables before it.) */
const char *work_start(void);
const char *work_end(void);

#endif
