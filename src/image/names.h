/* image/names.h - does a person mean this function by that name?
 *
 *	pop   Queue::pop   Queue<int>::pop   app::Queue<int>::pop()
 *
 * A written name means every function whose own name ends in it, part by part:
 * namespaces and classes may be left out at its begin, template arguments of
 * any part, and parameters at its end. What is written must be so; blanks do
 * not count. Pure: nothing of a file is read. */
#ifndef IMAGE_NAMES_H
#define IMAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* linked: as in a symbol table, mangled or not. Clones that compilers make with
 * other parameters (f.constprop.0, f.isra.1) are their function; parts of one
 * (f.cold, f.part.0) are not. is_whole: no namespace or class is left out. */
bool names_mean(const char *linked, const char *wish, bool is_whole);

/* The last part of a written name without template arguments and parameters:
 * what debug information calls it. */
const char *names_last(const char *wish, size_t *len);

/* A function's name without parameters and template arguments, and without
 * those parts at its begin that leave `parts` of them: "Queue::pop" of
 * "app::Queue<int>::pop". SIZE_MAX: all parts. out is cut to size. */
void names_plain(const char *name, size_t parts, char *out, size_t size);
/* How many parts a name has. */
size_t names_parts(const char *name);

#endif
