/* base/err.h - why something could not be done.
 *
 * A function that can fail returns 0 or -1 and fills the caller's hark_err:
 * what kind of failure, the errno behind it (0 if none), and one line for a
 * person that names the file, process or address. Pure. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum hark_code {
	HARK_OK,
	HARK_EIO,     /* a file, pipe or socket */
	HARK_ENOMEM,  /* memory or address space */
	HARK_EINPUT,  /* a file or argument that is not what it should be */
	HARK_EREFUSE, /* hark will not do this, and says why */
	HARK_EDENIED, /* the kernel forbids it */
	HARK_EGONE,   /* the target ended meanwhile */
	HARK_ETIME,   /* something did not happen in time */
	HARK_ENOENT,  /* not found */
	HARK_ENOEXEC, /* found, but cannot be executed */
	HARK_EBUG,    /* a promise of hark's own is broken */
	HARK_ELACKS,  /* this processor has not what it takes */
};

struct hark_err {
	enum hark_code code;
	int sys; /* errno, or 0 */
	char text[512];
};

/* Always returns -1, so that `return err_set(...)` reads well. A NULL err is
 * allowed: the caller does not care why. sys is kept as given. */
int err_set(struct hark_err *err, enum hark_code code, int sys,
	    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
