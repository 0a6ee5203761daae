/* cli/cmd_show.c - hark show: presents a profile. */
#include "cli/commands.h"

#include "cli/show_formats.h"
#include "outside/shelf.h"
#include "present/say.h"
#include "present/term.h"
#include "profile/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- What was asked for -- */

/* N samples, or so much time: 500, 2.5s, 300ms. */
static int parse_last(const struct cli_args *args, struct profile_choice *out)
{
	const char *text = args_value(args, "last");
	double value;
	char *end;

	if (text == NULL)
		return 0;
	value = strtod(text, &end);
	if (end != text && value > 0 && value < 1e15) {
		if (*end == '\0' && value >= 1 && strchr(text, '.') == NULL)
			out->last = (uint64_t)value;
		else if (strcmp(end, "s") == 0 && value < 1e9)
			out->last_ns = (uint64_t)(value * 1e9);
		else if (strcmp(end, "ms") == 0 && value < 1e12)
			out->last_ns = (uint64_t)(value * 1e6);
	}
	if (out->last != 0 || out->last_ns != 0)
		return 0;
	return args_refuse(args,
			   "'%s' is no number of samples, nor a time "
			   "(like 2s or 300ms)",
			   text);
}

static int parse_share(const struct cli_args *args, double *out)
{
	const char *text = args_value(args, "min");
	char *end;

	*out = 0.01;
	if (text == NULL)
		return 0;
	*out = strtod(text, &end) / 100;
	if (end != text && (*end == '\0' || strcmp(end, "%") == 0) &&
	    *out >= 0 && *out <= 1)
		return 0;
	return args_refuse(args, "'%s' is no percentage", text);
}

/* --json and --flame are formats, too. NULL: they do not agree. */
static const struct show_format *choose_format(const struct cli_args *args)
{
	static const struct {
		const char *flag, *format;
	} flags[] = {{"json", "json"}, {"flame", "html"}};
	const char *name = args_value(args, "format");

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (!args_flag(args, flags[i].flag))
			continue;
		if (name != NULL && strcmp(name, flags[i].format) != 0) {
			args_refuse(args, "--%s is %s, not %s", flags[i].flag,
				    flags[i].format, name);
			return NULL;
		}
		name = flags[i].format;
	}
	return show_format(name == NULL ? "text" : name);
}

/* -- Which file -- */

/* Other kinds have other commands. */
static int check_kind(const char *path, struct hark_err *err)
{
	static const struct {
		const char *kind, *text;
	} others[] = {
	    {"recording", "is a recording: see it with hark back, hark ask or "
			  "hark info"},
	    {"native", "is no profile: see it with hark info"},
	};
	char kind[32];

	if (strcmp(path, "-") == 0)
		return 0;
	if (profile_kind(path, kind, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (strcmp(kind, others[i].kind) == 0)
			return err_set(err, HARK_EINPUT, 0, "%s: %s", path,
				       others[i].text);
	return 0;
}

static int open_profile(const char *name, struct profile **out,
			struct hark_err *err)
{
	char path[SHELF_PATH_MAX];

	if (shelf_find(name, path, err) < 0 || check_kind(path, err) < 0 ||
	    profile_open(path, out, err) < 0)
		return -1;
	if ((*out)->facts.damage != NULL)
		say_error("%s; what stands before it is shown",
			  (*out)->facts.damage);
	return 0;
}

/* -- Where to -- */

/* It holds what a profile holds: for its owner alone. */
static FILE *create_file(const char *path, bool force, struct hark_err *err)
{
	struct stat st;
	FILE *out = NULL;
	int fd;

	if (force && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (out != NULL)
		return out;
	err_set(err, HARK_EIO, errno, "%s: %s%s", path, strerror(errno),
		fd < 0 && errno == EEXIST && !force ? " (--force replaces it)"
						    : "");
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return NULL;
}

static int write_to(const struct show_format *f, const struct report_plan *p,
		    FILE *out, struct hark_err *err)
{
	return f->report != NULL ? f->report(p, out, err)
				 : f->present(p->stacks, out, err);
}

/* A file that could not be written whole is removed. */
static int write_file(const char *path, bool force, const struct show_format *f,
		      const struct report_plan *p, struct hark_err *err)
{
	FILE *out = create_file(path, force, err);
	int rc;

	if (out == NULL)
		return -1;
	rc = write_to(f, p, out, err);
	if (rc == 0 && ferror(out))
		rc = err_set(err, HARK_EIO, EIO, "%s: cannot be written", path);
	if (fclose(out) != 0 && rc == 0)
		rc = err_set(err, HARK_EIO, errno, "%s: %s", path,
			     strerror(errno));
	if (rc < 0)
		unlink(path);
	return rc;
}

static int show(const struct cli_args *args, const struct show_format *f,
		struct report_plan *p, struct hark_err *err)
{
	const char *path = args_value(args, "output");

	if (path != NULL && strcmp(path, "-") != 0)
		return write_file(path, args_flag(args, "force"), f, p, err);
	if (f->is_binary && isatty(STDOUT_FILENO))
		return err_set(err, HARK_EREFUSE, 0,
			       "%s is not for a terminal: -o FILE", f->name);
	p->colored = args_colored(args, STDOUT_FILENO);
	if (isatty(STDOUT_FILENO) || getenv("COLUMNS") != NULL)
		p->width = term_width(STDOUT_FILENO);
	return write_to(f, p, stdout, err);
}

int cmd_show(const struct cli_args *args)
{
	const struct show_format *format = choose_format(args);
	struct profile_choice choice = {.thread = args_value(args, "thread")};
	struct report_plan plan = {
	    .view = args_flag(args, "callers") ? CALLS_UP : CALLS_DOWN};
	struct profile_stacks *stacks = NULL;
	struct profile *profile = NULL;
	struct hark_err err = {0};
	int rc;

	if (format == NULL || parse_last(args, &choice) != 0 ||
	    parse_share(args, &plan.share) != 0)
		return CLI_FAIL;
	rc = open_profile(args_operands(args)[0], &profile, &err);
	if (rc == 0)
		rc = profile_stacks(profile, &choice, &stacks, &err);
	if (rc == 0) {
		plan.profile = profile;
		plan.stacks = profile_stacks_get(stacks);
		rc = show(args, format, &plan, &err);
	}
	profile_stacks_free(stacks);
	profile_free(profile);
	return rc < 0 ? cli_fail(&err) : cli_finish(CLI_OK);
}
