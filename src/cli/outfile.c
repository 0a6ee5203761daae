/* cli/outfile.c - where a recording or a profile goes. */
#include "cli/outfile.h"

#include "base/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int take_output(struct file_writer **out, struct hark_err *err)
{
	int fd;

	if (isatty(STDOUT_FILENO))
		return err_set(err, HARK_EREFUSE, 0,
			       "a recording is not written to a terminal");
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		err_set(err, HARK_EIO, errno, "standard output: %s",
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return file_create_fd(fd, "standard output", out, err);
}

int outfile_create(const struct cli_args *args, const char *prog,
		   struct file_writer **out, char path[SHELF_PATH_MAX],
		   struct hark_err *err)
{
	const char *name = args_value(args, "output");

	if (name == NULL)
		return shelf_create(prog, out, path, err);
	if (fmt_text(path, SHELF_PATH_MAX, "%s", name) >= SHELF_PATH_MAX)
		return err_set(err, HARK_EINPUT, 0, "the path is too long");
	if (strcmp(name, "-") == 0)
		return take_output(out, err);
	return file_create(name, args_flag(args, "force"), out, err);
}
