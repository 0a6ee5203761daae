/* present/say.h - hark's own words, on standard error.
 *
 * One line each, beginning with `hark: `. Whatever stands in it is escaped.
 * Nothing happens if standard error is closed, full, or a pipe that nobody
 * reads: hark's work goes on, and no signal is left behind. Every line is one
 * write, so lines of several processes do not mix. */
#ifndef PRESENT_SAY_H
#define PRESENT_SAY_H

#include <stdbool.h>

/* After say_quiet(true) only say_error is heard. */
void say_quiet(bool quiet);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
