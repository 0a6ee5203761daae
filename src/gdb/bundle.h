/* gdb/bundle.h - source files of a recording, where gdb can open them.
 *
 * gdb reads sources from this machine's files alone. So those that a recording
 * has are written below a private directory, with their whole paths, and gdb is
 * told to look there. Hosted. */
#ifndef GDB_BUNDLE_H
#define GDB_BUNDLE_H

#include "base/err.h"

#include <hark/recording.h>

/* dir must not exist yet. 1: it is there, with dir/files, and dir/rules, which
 * has a line for each directory that is to be looked for there. 0: there are no
 * sources, and no dir. */
int bundle_unpack(struct hark_recording *r, const char *dir,
		  struct hark_err *err);
/* All of it. */
void bundle_remove(const char *dir);

#endif
