/* engine/string.h - string instructions of a program that is recorded or
 * replayed. */
#ifndef ENGINE_STRING_H
#define ENGINE_STRING_H

#include "engine/vcpu.h"

/* The one at .pc, whose code this is: done, or a part of it, with .pc still
 * there. -1: the CPU shall do it (step_native): it will fault, or the shadow
 * has no room for both sides. */
int string_do(struct vcpu *v, const uint8_t *code, unsigned have);

#endif
