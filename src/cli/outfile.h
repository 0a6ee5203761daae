/* cli/outfile.h - the file that a command writes by -o, --force and the shelf.
 */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "cli/cli.h"
#include "outside/shelf.h"

/* Without -o it goes to the shelf, named after prog. With "-" it goes where
 * hark's standard output goes; the program, which shares that, gets standard
 * error instead. path is what was chosen. */
int outfile_create(const struct cli_args *args, const char *prog,
		   struct file_writer **out, char path[SHELF_PATH_MAX],
		   struct hark_err *err);

#endif
