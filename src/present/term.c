/* present/term.c - colour and width. */
#include "present/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_USUAL = 80, WIDTH_MIN = 20, WIDTH_MAX = 10000 };

/* ORDER term_style */
static const char *const on[TERM_STYLE_MAX] = {
    [TERM_PLAIN] = "",
    [TERM_STRONG] = "\033[1m",
    [TERM_FAINT] = "\033[2m",
    [TERM_GOOD] = "\033[32m",
    [TERM_DOUBTFUL] = "\033[33m",
    [TERM_BAD] = "\033[1;31m",
};

bool term_is_colored(int fd, enum term_color wish)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (wish != TERM_AUTO)
		return wish == TERM_ALWAYS;
	if (no != NULL && no[0] != '\0')
		return false;
	if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fd);
}

const char *term_on(enum term_style style, bool colored)
{
	return colored ? on[style] : "";
}

const char *term_off(enum term_style style, bool colored)
{
	return colored && style != TERM_PLAIN ? "\033[0m" : "";
}

size_t term_width(int fd)
{
	struct winsize size;
	const char *said = getenv("COLUMNS");
	unsigned long n = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		n = size.ws_col;
	else if (said != NULL)
		n = strtoul(said, NULL, 10);
	return n >= WIDTH_MIN && n <= WIDTH_MAX ? n : WIDTH_USUAL;
}
