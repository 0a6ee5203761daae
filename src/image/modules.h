/* image/modules.h - which code is where in a process?
 *
 * A module is one program, library or vdso with its run-time addresses; or
 * executable memory that no file is behind. The list comes from a running
 * process, from one file, or from whoever recorded it. Link-time addresses,
 * which symbols.h and its like speak of, are run-time ones minus the bias.
 *
 * Which file a mapping has is not what its path leads to today: the file may
 * be deleted, replaced, or in another mount namespace. What is opened must be
 * the same inode; else the process's own memory is read, if that is allowed;
 * else the module has no contents, and says why. */
#ifndef IMAGE_MODULES_H
#define IMAGE_MODULES_H

#include "image/image.h"

struct modules;

enum module_kind {
	MODULE_EXEC, /* a program at a fixed address */
	MODULE_PIE,  /* a program at any address */
	MODULE_SO,
	MODULE_VDSO,
	MODULE_ANON, /* code that no ELF file is behind */
};

struct module_range {
	uint64_t start, end; /* of executable code, at run time */
};

struct module {
	const char *path; /* as the process sees it, or [vdso], [anon] */
	const char *name; /* its last component */
	uint64_t bias;
	const struct module_range *ranges; /* ascending */
	size_t n_ranges;
	enum module_kind kind;
	bool main;    /* the program itself */
	bool deleted; /* path does not lead to it any more */
	const uint8_t *id;
	size_t id_len;		 /* 0: no build-id known */
	struct image_file *file; /* NULL: contents out of reach */
	const char *why;	 /* they are; NULL if they are not */
};

/* Of a running process. Needs what reading /proc/PID/maps needs. */
int modules_of_pid(struct image *im, int pid, struct modules **out,
		   struct hark_err *err);
/* Of one file, as if it were loaded with that bias. */
int modules_of_file(struct image *im, const char *path, uint64_t bias,
		    struct modules **out, struct hark_err *err);

/* Of a recording. Everything is copied but bytes, which must stay as long as
 * the image. Without bytes the path is opened, if its build-id is this one;
 * without both the module has no contents. */
struct module_spec {
	const char *path;
	const uint8_t *id;
	size_t id_len;
	uint64_t bias;
	const struct module_range *ranges;
	size_t n_ranges;
	enum module_kind kind;
	bool main;
	const void *bytes; /* of the whole ELF file, or NULL */
	size_t len;
};
int modules_of_list(struct image *im, const struct module_spec *specs, size_t n,
		    struct modules **out, struct hark_err *err);
void modules_free(struct modules *m);

/* Looks at the process again. If *changed, pointers to modules that were had
 * before are no longer valid (files are). */
int modules_refresh(struct modules *m, bool *changed, struct hark_err *err);

size_t modules_count(const struct modules *m);
/* By ascending address. */
const struct module *modules_get(const struct modules *m, size_t i);
/* The one with pc in it, or NULL. */
const struct module *modules_find(struct modules *m, uint64_t pc);

/* Does a pattern of * ? [] name it? By its path, its name, its name without
 * what follows ".so", or as "a.out" for the program. */
bool module_matches(const struct module *m, const char *pattern);

#endif
