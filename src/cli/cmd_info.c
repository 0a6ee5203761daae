/* cli/cmd_info.c - hark info: what is in a file that hark wrote? */
#include "cli/commands.h"

#include "base/fmt.h"
#include "outside/file.h"
#include "present/json.h"
#include "present/say.h"
#include "present/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts {
	char kind[32], command[2048];
	long exit, signal; /* -1: not known */
	long processes, threads, lost;
	uint64_t bytes, data_bytes, chunks;
	enum file_status end;
};

/* -- Gathering -- */

static void add_argument(struct facts *f, const char *value)
{
	size_t len = strlen(f->command);

	fmt_text(f->command + len, sizeof f->command - len, "%s%s",
		 len == 0 ? "" : " ", value);
}

static void take_line(struct facts *f, const char *key, const char *value)
{
	const struct {
		const char *key;
		long *where;
	} numbers[] = {
	    {"exit", &f->exit},		  {"signal", &f->signal},
	    {"processes", &f->processes}, {"threads", &f->threads},
	    {"lost", &f->lost},
	};

	if (strcmp(key, "kind") == 0)
		fmt_text(f->kind, sizeof f->kind, "%s", value);
	if (strcmp(key, "arg") == 0)
		add_argument(f, value);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(key, numbers[i].key) == 0)
			*numbers[i].where = strtol(value, NULL, 10);
}

static void take_text(struct facts *f, const struct file_chunk *c)
{
	char key[64], value[2048];
	size_t at = 0;

	while (file_text_next(c, &at, key, sizeof key, value, sizeof value))
		take_line(f, key, value);
}

/* What can be known without an END chunk. */
static void take_data(struct facts *f, const struct file_chunk *c)
{
	f->data_bytes += c->len;
	if (f->processes < (long)c->process)
		f->processes = c->process;
	if (f->threads < (long)c->thread)
		f->threads = c->thread;
}

static int gather(const char *path, struct facts *f, struct hark_err *err)
{
	struct file_reader *r;
	struct file_chunk c;
	enum file_status status;

	*f = (struct facts){.exit = -1, .signal = -1};
	if (file_open(path, &r, err) < 0)
		return -1;
	while ((status = file_next(r, &c, err)) == FILE_CHUNK) {
		f->chunks++;
		if (c.type == WIRE_CHUNK_DATA)
			take_data(f, &c);
		if (c.type == WIRE_CHUNK_META || c.type == WIRE_CHUNK_END)
			take_text(f, &c);
	}
	f->end = status;
	f->bytes = file_position(r);
	file_reader_close(r);
	if (status == FILE_DAMAGED)
		say_error("%s; what stands before it is shown", err->text);
	return 0;
}

/* -- Printing -- */

static void number_or_null(struct json *j, const char *key, long value)
{
	if (value < 0)
		json_null(j, key);
	else
		json_signed(j, key, value);
}

static void print_json(const struct facts *f)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "kind", f->kind);
	json_text(&j, "command", f->command);
	number_or_null(&j, "exit_status", f->exit);
	number_or_null(&j, "signal", f->signal);
	json_signed(&j, "processes", f->processes);
	json_signed(&j, "threads", f->threads);
	json_null(&j, "instructions");
	json_number(&j, "bytes", f->bytes);
	json_null(&j, "bits_per_instruction");
	json_number(&j, "key_frames", 0);
	json_bool(&j, "complete", f->end == FILE_END);
	json_signed(&j, "lost", f->lost);
	json_end(&j);
}

static void print_escaped(const char *label, const char *text)
{
	char safe[4 * sizeof((struct facts *)0)->command];

	text_escape(text, strlen(text), safe, sizeof safe);
	printf("%-10s %s\n", label, safe);
}

static void print_text(const struct facts *f)
{
	print_escaped("kind", f->kind);
	if (f->command[0] != '\0')
		print_escaped("command", f->command);
	if (f->exit >= 0)
		printf("%-10s exit status %ld\n", "ended", f->exit);
	else if (f->signal >= 0)
		printf("%-10s killed by signal %ld (%s)\n", "ended", f->signal,
		       strsignal((int)f->signal));
	printf("%-10s %ld\n", "processes", f->processes);
	printf("%-10s %ld\n", "threads", f->threads);
	printf("%-10s %lu in %lu chunks\n", "bytes", (unsigned long)f->bytes,
	       (unsigned long)f->chunks);
	printf("%-10s %s\n", "complete",
	       f->end == FILE_END   ? "yes"
	       : f->end == FILE_CUT ? "no: it was cut off"
				    : "no: it is damaged");
	printf("%-10s %ld\n", "lost", f->lost);
}

int cmd_info(const struct cli_args *args)
{
	struct hark_err err = {0};
	struct facts f;

	if (gather(args_operands(args)[0], &f, &err) < 0)
		return cli_fail(&err);
	if (args_flag(args, "json"))
		print_json(&f);
	else
		print_text(&f);
	return cli_finish(CLI_OK);
}
