/* cli/probe_script.h - the scripts and options of a command line of hark
 * probe. */
#ifndef CLI_PROBE_SCRIPT_H
#define CLI_PROBE_SCRIPT_H

#include "cli/cli.h"
#include "probe/compile.h"

/* Texts of the files are owned; all else is the command line's. */
struct probe_script {
	struct compile compile;
	struct options options;
	struct script_source *sources; /* owned */
	char **texts;		       /* owned; of files */
	size_t n_texts;
	const char **settings; /* owned */
};

/* Reads all of it, and finds what is wrong without a process. */
int probe_script_init(struct probe_script *s, const struct cli_args *args,
		      struct hark_err *err);
void probe_script_fini(struct probe_script *s);

/* The words of -c, split at blanks, as a list that ends in NULL: one block,
 * the caller's to free. NULL: no memory. */
char **probe_script_words(const char *command);

#endif
