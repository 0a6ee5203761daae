/* base/fmt.h - printf's useful half, for a world without libc.
 *
 * Knows %d %i %u %x %c %s %p %%, the lengths h, l, ll, z, a width, a zero
 * flag, a minus flag and a precision for strings (both also as `*`).
 * Anything else is copied as it stands, so a mistake is seen, not fatal.
 *
 * Pure: the same code formats inside the target and in hark itself. */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

/* Both write at most size bytes including the final NUL (none if size is 0)
 * and return the length that the whole text would have had. */
size_t fmt_text(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t fmt_vtext(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
