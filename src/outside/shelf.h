/* outside/shelf.h - the directory where recordings are kept.
 *
 * $HARK_DIR, else $XDG_DATA_HOME/hark, else ~/.local/share/hark; mode 0700.
 * Recordings of PROG are PROG-1.hark, PROG-2.hark and so on; `latest` is a
 * symbolic link to the newest. Hosted. */
#ifndef OUTSIDE_SHELF_H
#define OUTSIDE_SHELF_H

#include "base/err.h"
#include "outside/file.h"

#include <stddef.h>

enum { SHELF_PATH_MAX = 4096 };

/* Where it is; it need not exist. */
int shelf_dir(char out[SHELF_PATH_MAX], struct hark_err *err);

/* A new recording of prog, by whatever name is free; and its path. The
 * directory is made if need be. */
int shelf_create(const char *prog, struct file_writer **out,
		 char path[SHELF_PATH_MAX], struct hark_err *err);

/* What a person means by name: a file, or else one of the shelf; NULL: the
 * latest of the shelf. */
int shelf_find(const char *name, char out[SHELF_PATH_MAX],
	       struct hark_err *err);

/* Every recording of the shelf by its file's name, the oldest first. The number
 * of them, or -1; none if there is no shelf. */
int shelf_list(char ***out, struct hark_err *err);
void shelf_list_free(char **names, int n);

/* The recording at path is gone: if it was the latest, another one is. */
void shelf_forget(const char *path);

#endif
