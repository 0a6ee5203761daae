/* cli/cmd_info.c - hark info: what is in a file that hark wrote?
 *
 * A recording is opened by its index, whatever its size; of other files every
 * chunk is read. What only one kind has is printed behind what all have. */
#include "cli/commands.h"

#include "base/fmt.h"
#include "outside/file.h"
#include "outside/shelf.h"
#include "present/json.h"
#include "present/say.h"
#include "present/text.h"
#include "profile/reader.h"
#include "record/count.h"
#include "record/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHOWN_MAX = 50, /* processes, and notes */
	LACKS_LEN = 1024,
};

struct facts {
	char kind[32], command[2048];
	long exit, signal; /* -1: not known */
	uint64_t processes, threads, lost;
	uint64_t bytes, chunks, key_frames;
	uint64_t thread_bytes, code_bytes, instructions;
	int is_counted; /* instructions are known */
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
	if (strcmp(key, "kind") == 0)
		fmt_text(f->kind, sizeof f->kind, "%s", value);
	if (strcmp(key, "arg") == 0)
		add_argument(f, value);
	if (strcmp(key, "exit") == 0)
		f->exit = strtol(value, NULL, 10);
	if (strcmp(key, "signal") == 0)
		f->signal = strtol(value, NULL, 10);
	if (strcmp(key, "processes") == 0)
		f->processes = strtoull(value, NULL, 10);
	if (strcmp(key, "threads") == 0)
		f->threads = strtoull(value, NULL, 10);
	if (strcmp(key, "lost") == 0)
		f->lost = strtoull(value, NULL, 10);
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
	if (f->processes < c->process)
		f->processes = c->process;
	if (f->threads < c->thread)
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

static void gather_recording(const struct recording *r, const char *path,
			     struct facts *f)
{
	struct recording_facts facts;
	const char *word;

	recording_facts(r, &facts);
	*f = (struct facts){
	    .kind = "recording",
	    .exit = facts.exit,
	    .signal = facts.signal,
	    .processes = facts.processes,
	    .threads = facts.threads,
	    .lost = facts.lost,
	    .bytes = facts.bytes,
	    .chunks = facts.chunks,
	    .key_frames = facts.key_frames,
	    .thread_bytes = facts.thread_bytes,
	    .code_bytes = facts.code_bytes,
	    .end = recording_damage(r) != NULL ? FILE_DAMAGED
		   : recording_is_complete(r)  ? FILE_END
					       : FILE_CUT,
	};
	for (unsigned i = 0; (word = recording_meta_nth(r, "arg", i)) != NULL;
	     i++)
		add_argument(f, word);
	f->is_counted = count_load(path, &f->instructions);
	if (recording_damage(r) != NULL)
		say_error("%s; what stands before it is shown",
			  recording_damage(r));
}

static void gather_profile(const struct profile *p, struct facts *f)
{
	const struct profile_facts *facts = &p->facts;

	*f = (struct facts){
	    .kind = "profile",
	    .exit = facts->exit,
	    .signal = facts->signal,
	    .processes = facts->processes,
	    .threads = facts->threads,
	    .lost = facts->lost,
	    .bytes = facts->bytes,
	    .chunks = facts->chunks,
	    .end = facts->damage != NULL ? FILE_DAMAGED
		   : facts->is_complete	 ? FILE_END
					 : FILE_CUT,
	};
	add_argument(f, facts->command);
	if (facts->damage != NULL)
		say_error("%s; what stands before it is shown", facts->damage);
}

/* -- Printing -- */

static void number_or_null(struct json *j, const char *key, long value)
{
	if (value < 0)
		json_null(j, key);
	else
		json_signed(j, key, value);
}

/* What threads say; code and modules do not grow with time. */
static double bits_per_instruction(const struct facts *f)
{
	return f->instructions == 0
		   ? 0
		   : 8 * (double)f->thread_bytes / (double)f->instructions;
}

static void print_counts(struct json *j, const struct facts *f)
{
	if (f->is_counted)
		json_number(j, "instructions", f->instructions);
	else
		json_null(j, "instructions");
	json_number(j, "bytes", f->bytes);
	if (f->is_counted && f->instructions > 0)
		json_real(j, "bits_per_instruction", bits_per_instruction(f));
	else
		json_null(j, "bits_per_instruction");
	json_number(j, "key_frames", f->key_frames);
}

/* Only a replay tells whether the program has used what is missing. */
static void print_cpu_json(struct json *j, const struct recording *r)
{
	char lacks[LACKS_LEN];
	int missing = recording_cpu_missing(r, lacks, sizeof lacks);

	if (missing)
		json_text(j, "cpu_missing", lacks);
	else
		json_null(j, "cpu_missing");
	if (recording_cpu_refuses(r, lacks, sizeof lacks))
		json_bool(j, "replayable", false);
	else if (missing)
		json_null(j, "replayable");
	else
		json_bool(j, "replayable", true);
}

static void print_cpu(const struct recording *r)
{
	char lacks[LACKS_LEN];

	if (recording_cpu_refuses(r, lacks, sizeof lacks))
		printf("%-12s no: this processor lacks %s\n", "replayable",
		       lacks);
	else if (recording_cpu_missing(r, lacks, sizeof lacks))
		printf("%-12s unless the program has used what this processor "
		       "lacks: %s\n",
		       "replayable", lacks);
}

static void list_json(struct json *j, const struct recording *r)
{
	print_cpu_json(j, r);
	json_array(j, "process_list");
	for (unsigned i = 0; i < recording_n_processes(r); i++) {
		const struct recording_process *p = recording_process(r, i);

		json_object(j, NULL);
		json_number(j, "number", p->number);
		json_number(j, "pid", p->pid);
		json_number(j, "parent", p->parent);
		json_number(j, "previous", p->previous);
		json_number(j, "threads", p->n_threads);
		json_text(j, "exe", p->exe);
		json_text(j, "command", p->command);
		json_end(j);
	}
	json_end(j);
}

/* Source files are counted apart. */
static unsigned count_sources(const struct recording *r, uint64_t *bytes)
{
	unsigned n = 0;

	*bytes = 0;
	for (unsigned i = 0; i < recording_n_modules(r); i++) {
		const struct recording_module *m = recording_module(r, i);

		if (strcmp(m->kind, "source") != 0)
			continue;
		n++;
		*bytes += m->size;
	}
	return n;
}

static void modules_json(struct json *j, const struct recording *r)
{
	uint64_t bytes;
	unsigned sources = count_sources(r, &bytes);

	json_number(j, "modules", recording_n_modules(r) - sources);
	json_number(j, "sources", sources);
	json_number(j, "source_bytes", bytes);
}

static const char *clock_name(const struct profile_facts *f)
{
	static const char *const names[] = {[PROFILE_CPU] = "cpu",
					    [PROFILE_WALL] = "wall",
					    [PROFILE_OFF_CPU] = "off-cpu"};

	return names[f->clock];
}

static void profile_json(struct json *j, const struct profile_facts *f)
{
	json_number(j, "samples", f->samples);
	json_text(j, "clock", clock_name(f));
	json_real(j, "rate", profile_rate(f));
	json_number(j, "duration_ns", f->duration_ns);
	json_number(j, "cpu_user_ns", f->cpu_user_ns);
	json_number(j, "cpu_system_ns", f->cpu_system_ns);
	json_number(j, "checked", f->checked);
	json_number(j, "differ", f->differing);
	json_object(j, "lost_by");
	for (size_t i = 0; i < f->n_lost_by; i++)
		json_number(j, f->lost_by[i].reason, f->lost_by[i].n);
	json_end(j);
}

/* r, p: NULL if it is no recording, no profile. */
static void print_json(const struct facts *f, const struct recording *r,
		       const struct profile *p)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "kind", f->kind);
	json_text(&j, "command", f->command);
	number_or_null(&j, "exit_status", f->exit);
	number_or_null(&j, "signal", f->signal);
	json_number(&j, "processes", f->processes);
	json_number(&j, "threads", f->threads);
	print_counts(&j, f);
	json_bool(&j, "complete", f->end == FILE_END);
	json_number(&j, "lost", f->lost);
	if (r != NULL) {
		json_number(&j, "thread_bytes", f->thread_bytes);
		json_number(&j, "code_bytes", f->code_bytes);
		modules_json(&j, r);
		list_json(&j, r);
	}
	if (p != NULL)
		profile_json(&j, &p->facts);
	json_end(&j);
}

static void print_escaped(const char *label, const char *text)
{
	char safe[4 * sizeof((struct facts *)0)->command];

	text_escape(text, strlen(text), safe, sizeof safe);
	printf("%-12s %s\n", label, safe);
}

static void print_number(const char *label, uint64_t n)
{
	printf("%-12s %lu\n", label, (unsigned long)n);
}

static void print_modules(const struct recording *r)
{
	uint64_t bytes;
	unsigned sources = count_sources(r, &bytes);

	print_number("modules", recording_n_modules(r) - sources);
	if (sources > 0)
		printf("%-12s %u, %lu bytes\n", "sources", sources,
		       (unsigned long)bytes);
}

static void print_recording(const struct facts *f, const struct recording *r)
{
	const char *text;

	print_number("key frames", f->key_frames);
	print_modules(r);
	print_cpu(r);
	if (f->is_counted) {
		print_number("instructions", f->instructions);
		printf("%-12s %.4f\n", "bits each", bits_per_instruction(f));
	}
	for (unsigned i = 0; i < recording_n_processes(r); i++) {
		const struct recording_process *p = recording_process(r, i);
		char label[32];

		if (i == SHOWN_MAX) {
			printf("... and %u more processes\n",
			       recording_n_processes(r) - i);
			break;
		}
		fmt_text(label, sizeof label, "%u (%u)", p->number, p->pid);
		print_escaped(label,
			      p->command[0] == '\0' ? "(forked)" : p->command);
	}
	for (unsigned i = 0;
	     i < SHOWN_MAX && (text = recording_note(r, i)) != NULL; i++)
		print_escaped("note", text);
}

static void print_profile(const struct profile *p)
{
	const struct profile_facts *f = &p->facts;
	char label[64];

	print_number("samples", f->samples);
	printf("%-12s %.4g a second, by the %s clock\n", "rate",
	       profile_rate(f), clock_name(f));
	printf("%-12s %.3f s\n", "duration", (double)f->duration_ns / 1e9);
	if (f->cpu_user_ns != 0 || f->cpu_system_ns != 0)
		printf("%-12s %.3f s of the program, %.3f s of the system\n",
		       "CPU time", (double)f->cpu_user_ns / 1e9,
		       (double)f->cpu_system_ns / 1e9);
	for (size_t i = 0; i < f->n_lost_by; i++) {
		fmt_text(label, sizeof label, "%lu lost",
			 (unsigned long)f->lost_by[i].n);
		print_escaped(label, f->lost_by[i].reason);
	}
	if (f->checked > 0)
		printf("%-12s %lu samples, %lu differ from a plain walk\n",
		       "checked", (unsigned long)f->checked,
		       (unsigned long)f->differing);
	for (size_t i = 0; i < p->n_notes; i++)
		print_escaped("note", p->notes[i]);
}

static void print_text(const struct facts *f, const struct recording *r,
		       const struct profile *p)
{
	print_escaped("kind", f->kind);
	if (f->command[0] != '\0')
		print_escaped("command", f->command);
	if (f->exit >= 0)
		printf("%-12s exit status %ld\n", "ended", f->exit);
	else if (f->signal >= 0)
		printf("%-12s killed by signal %ld (%s)\n", "ended", f->signal,
		       strsignal((int)f->signal));
	print_number("processes", f->processes);
	print_number("threads", f->threads);
	printf("%-12s %lu in %lu chunks\n", "bytes", (unsigned long)f->bytes,
	       (unsigned long)f->chunks);
	printf("%-12s %s\n", "complete",
	       f->end == FILE_END   ? "yes"
	       : f->end == FILE_CUT ? "no: it was cut off"
				    : "no: it is damaged");
	print_number("lost", f->lost);
	if (r != NULL)
		print_recording(f, r);
	if (p != NULL)
		print_profile(p);
}

/* -- Which file -- */

/* Both stay NULL if it is of another kind. */
static int open_file(const char *path, struct recording **r, struct profile **p,
		     struct hark_err *err)
{
	char kind[32];

	if (strcmp(path, "-") == 0)
		return recording_open_damaged(path, r, err);
	if (profile_kind(path, kind, err) < 0)
		return -1;
	if (strcmp(kind, "recording") == 0)
		return recording_open_damaged(path, r, err);
	if (strcmp(kind, "profile") == 0)
		return profile_open_facts(path, p, err);
	return 0;
}

int cmd_info(const struct cli_args *args)
{
	char path[SHELF_PATH_MAX];
	struct recording *r = NULL;
	struct profile *p = NULL;
	struct hark_err err = {0};
	struct facts f;

	if (shelf_find(args_operands(args)[0], path, &err) < 0 ||
	    open_file(path, &r, &p, &err) < 0)
		return cli_fail(&err);
	if (r != NULL)
		gather_recording(r, path, &f);
	else if (p != NULL)
		gather_profile(p, &f);
	else if (gather(path, &f, &err) < 0)
		return cli_fail(&err);
	if (args_flag(args, "json"))
		print_json(&f, r, p);
	else
		print_text(&f, r, p);
	recording_close(r);
	profile_free(p);
	return cli_finish(CLI_OK);
}
