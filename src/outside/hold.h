/* outside/hold.h - a program that has all its libraries, and has not begun.
 *
 * It is started, its loader maps and relocates what it is linked with, and it
 * is held there: neither its own code nor that of its libraries has run, but
 * for what relocating needs (the resolvers of ifuncs). Or, if the plan says so,
 * it is held at main, when initialisers have run. Hosted. */
#ifndef OUTSIDE_HOLD_H
#define OUTSIDE_HOLD_H

#include "outside/launch.h"

/* The program, held at a PTRACE_EVENT_STOP. */
int hold_start(const struct launch *plan, pid_t *out, struct hark_err *err);
/* The same for one that hark has seized and that is at its PTRACE_EVENT_EXEC.
 * If that fails it is at some stop, with nothing of hark's in it. */
int hold_executed(pid_t pid, struct hark_err *err);
/* It ends, without having run. */
void hold_end(pid_t pid);

#endif
