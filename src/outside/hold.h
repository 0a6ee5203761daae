/* outside/hold.h - a program that has all its libraries, and has not begun.
 *
 * For a look at what a program will consist of: it is started, its loader maps
 * what it is linked with, and it is held where its own first instruction would
 * run. Initialisers of libraries have run by then. Hosted. */
#ifndef OUTSIDE_HOLD_H
#define OUTSIDE_HOLD_H

#include "outside/launch.h"

/* The program, held at its entry point. */
int hold_start(const struct launch *plan, pid_t *out, struct hark_err *err);
/* It ends, without having run. */
void hold_end(pid_t pid);

#endif
