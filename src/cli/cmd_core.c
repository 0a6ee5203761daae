/* cli/cmd_core.c - hark core: an ELF core file of one moment. */
#include "cli/commands.h"

#include "ask/core.h"
#include "cli/bound.h"
#include "cli/moment.h"
#include "present/json.h"
#include "present/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is there is not overwritten but replaced: nobody who has it open sees
 * two files mixed. */
static int create(const char *path, bool force, struct hark_err *err)
{
	int fd;

	if (force)
		unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s%s", path,
			       strerror(errno),
			       errno == EEXIST ? " (--force replaces it)" : "");
	return fd;
}

static void report(const struct cli_args *args, const char *path,
		   const struct hark_position *at, const struct core_stats *s)
{
	char position[64];
	struct json j;

	hark_position_text(at, position, sizeof position);
	if (!args_flag(args, "json")) {
		say("%s: %llu bytes, %u thread%s at %s, %llu bytes unknown",
		    path, (unsigned long long)s->len, s->threads,
		    s->threads == 1 ? "" : "s", position,
		    (unsigned long long)s->unknown);
		if (s->left_out > 0)
			say("left out: %llu bytes of mappings longer than 4 "
			    "GiB, and all else that may be written; the "
			    "recording does not tell their places apart (hark "
			    "ask value finds single ones)",
			    (unsigned long long)s->left_out);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "core", path);
	json_text(&j, "position", position);
	json_number(&j, "bytes", s->len);
	json_number(&j, "threads", s->threads);
	json_number(&j, "segments", s->segments);
	json_number(&j, "known", s->known);
	json_number(&j, "unknown", s->unknown);
	json_number(&j, "left_out", s->left_out);
	json_end(&j);
}

static const char *half_made; /* for the end of a replay that takes too much */

static void remove_half(void)
{
	if (half_made != NULL)
		unlink(half_made);
}

static int write_core(const struct cli_args *args, struct moment *m,
		      struct hark_err *err)
{
	const char *path = args_value(args, "output");
	struct hark_position at = hark_where(m->pair.timeline);
	struct core_stats stats;
	int fd, rc;

	fd = create(path, args_flag(args, "force"), err);
	if (fd < 0)
		return -1;
	half_made = path;
	rc = core_write(&m->pair, fd, &stats, err);
	moment_hush(m);
	if (close(fd) < 0 && rc == 0)
		rc = err_set(err, HARK_EIO, errno, "%s: %s", path,
			     strerror(errno));
	half_made = NULL;
	if (rc < 0)
		unlink(path);
	else
		report(args, path, &at, &stats);
	return rc;
}

int cmd_core(const struct cli_args *args)
{
	struct hark_err err = {0};
	struct moment m;
	int rc;

	if (args_value(args, "output") == NULL)
		return args_refuse(args, "-o CORE is missing");
	bound_replay(remove_half);
	if (moment_open(args, args_operands(args)[0], false, &m, &err) < 0)
		return cli_fail(&err);
	rc = write_core(args, &m, &err);
	moment_close(&m);
	return rc < 0 ? cli_fail(&err) : cli_finish(CLI_OK);
}
