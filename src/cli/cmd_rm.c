/* cli/cmd_rm.c - hark rm: removes what hark wrote, and nothing else. */
#include "cli/commands.h"

#include "outside/file.h"
#include "outside/shelf.h"
#include "present/say.h"
#include "record/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file that hark wrote: by its first bytes, not by its name. */
static int check_file(const char *path, struct hark_err *err)
{
	struct file_reader *r;
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_set(err, HARK_ENOENT, errno, "%s: %s", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, HARK_EREFUSE, 0, "%s: not a regular file",
			       path);
	if (file_open(path, &r, err) < 0)
		return -1;
	file_reader_close(r);
	return 0;
}

static int remove_one(const char *name, struct hark_err *err)
{
	char path[SHELF_PATH_MAX];

	if (shelf_find(name, path, err) < 0 || check_file(path, err) < 0)
		return -1;
	if (unlink(path) < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", path,
			       strerror(errno));
	/* What was found out about it goes with it. */
	beside_remove(path, "count");
	beside_remove(path, "index");
	shelf_forget(path);
	return 0;
}

int cmd_rm(const struct cli_args *args)
{
	int status = CLI_OK;

	for (char **name = args_operands(args); *name != NULL; name++) {
		struct hark_err err = {0};

		if (remove_one(*name, &err) < 0)
			status = cli_fail(&err);
	}
	return status;
}
