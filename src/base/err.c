/* base/err.c - fill in a failure. */
#include "base/err.h"

#include "base/fmt.h"

int err_set(struct hark_err *err, enum hark_code code, int sys,
	    const char *format, ...)
{
	va_list args;

	if (err == NULL)
		return -1;
	err->code = code;
	err->sys = sys;
	va_start(args, format);
	fmt_vtext(err->text, sizeof err->text, format, args);
	va_end(args);
	return -1;
}
