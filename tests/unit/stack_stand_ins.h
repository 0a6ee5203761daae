/* tests/unit/stack_stand_ins.h - STAND-IN, to be deleted when probe/native has
 * come: memory for stack_walk(). */
#ifndef STACK_STAND_INS_H
#define STACK_STAND_INS_H

#include <sys/types.h>

/* Whose memory is read, by the kernel, which may say no. */
extern pid_t stack_memory_of;

#endif
