/* present/say.c - one line to standard error. */
#include "present/say.h"

#include "present/text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is_quiet;

void say_quiet(bool quiet)
{
	is_quiet = quiet;
}

/* A reader that has gone would kill hark by SIGPIPE, a file that may not grow
 * by SIGXFSZ. Whoever started hark may rely on these signals for standard
 * output, so their actions stay; here they are held back, and taken away if
 * this very write has raised one. */
static void write_unharmed(int fd, const char *line, size_t len)
{
	static const struct timespec at_once;
	sigset_t raised, old, pending;

	sigemptyset(&raised);
	sigaddset(&raised, SIGPIPE);
	sigaddset(&raised, SIGXFSZ);
	sigpending(&pending);
	if (pthread_sigmask(SIG_BLOCK, &raised, &old) != 0)
		return;
	while (len > 0) {
		ssize_t n = write(fd, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		line += n;
		len -= (size_t)n;
	}
	if (sigismember(&pending, SIGPIPE))
		sigdelset(&raised, SIGPIPE);
	if (sigismember(&pending, SIGXFSZ))
		sigdelset(&raised, SIGXFSZ);
	while (sigtimedwait(&raised, NULL, &at_once) < 0 && errno == EINTR)
		continue;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

__attribute__((format(printf, 1, 0))) static void say_line(const char *format,
							   va_list args)
{
	static const char prefix[] = "hark: ";
	char text[2048], line[4096];
	size_t at = sizeof prefix - 1;
	int saved = errno, n;

	n = vsnprintf(text, sizeof text, format, args);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof text)
		n = (int)sizeof text - 1;
	memcpy(line, prefix, at);
	text_escape(text, (size_t)n, line + at, sizeof line - at - 1);
	at += strlen(line + at);
	line[at++] = '\n';
	write_unharmed(STDERR_FILENO, line, at);
	errno = saved;
}

void say(const char *format, ...)
{
	va_list args;

	if (is_quiet)
		return;
	va_start(args, format);
	say_line(format, args);
	va_end(args);
}

void say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line(format, args);
	va_end(args);
}
