/* image/demangle.h - what did the programmer call it?
 *
 * C++ (Itanium ABI) and Rust (legacy and v0), by libiberty's demangler. It
 * was written for names that compilers made; a crafted one can make it print
 * for ever, or recurse until the stack is gone. So: a name longer than
 * DEMANGLE_NAME_MAX, one whose parts would expand beyond any sense, and one
 * that fills the buffer are all "not mangled", and stay as they are. */
#ifndef IMAGE_DEMANGLE_H
#define IMAGE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	DEMANGLE_NAME_MAX = 4096, /* bytes of a mangled name */
	DEMANGLE_TEXT_MAX = 8192, /* room that is enough for any answer */
};

enum demangle_how {
	DEMANGLE_FULL,	/* with parameters */
	DEMANGLE_SHORT, /* without */
};

/* The length of the text now in out, always with a NUL; 0 if name is not a
 * mangled one. A version (@GLIBCXX_3.4) or a compiler's suffix (.cold) is
 * kept. */
size_t demangle(const char *name, enum demangle_how how, char *out,
		size_t size);

#endif
