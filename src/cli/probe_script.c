/* cli/probe_script.c - -n and -s in their order, -x, -q, -F, -w. */
#include "cli/probe_script.h"

#include "present/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAX = 1 << 20 };

static void say_mistake(void *ctx, const char *text)
{
	(void)ctx;
	say_error("%s", text);
}

/* -- Files -- */

static int read_all(FILE *f, const char *name, char **out, size_t *len,
		    struct hark_err *err)
{
	char *text = malloc(SCRIPT_MAX + 1);

	if (text == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	*len = fread(text, 1, SCRIPT_MAX + 1, f);
	if (ferror(f)) {
		free(text);
		return err_set(err, HARK_EIO, errno, "%s: %s", name,
			       strerror(errno));
	}
	if (*len > SCRIPT_MAX) {
		free(text);
		return err_set(err, HARK_EINPUT, 0,
			       "%s: a script has at most %d bytes", name,
			       SCRIPT_MAX);
	}
	*out = text;
	return 0;
}

static int read_file(struct probe_script *s, const char *name,
		     struct script_source *out, struct hark_err *err)
{
	bool is_input = strcmp(name, "-") == 0;
	FILE *f = is_input ? stdin : fopen(name, "re");
	char *text = NULL;
	int rc;

	if (f == NULL)
		return err_set(err, HARK_EIO, errno, "%s: %s", name,
			       strerror(errno));
	out->file = is_input ? "standard input" : name;
	rc = read_all(f, out->file, &text, &out->len, err);
	if (!is_input)
		fclose(f);
	if (rc < 0)
		return -1;
	out->text = text;
	s->texts[s->n_texts++] = text;
	return 0;
}

/* -- The command line -- */

static int take_option(struct probe_script *s, const char *name,
		       const char *value, struct hark_err *err)
{
	struct compile *c = &s->compile;
	struct script_source *source = &s->sources[c->n_sources];

	if (strcmp(name, "name") == 0) {
		*source = (struct script_source){NULL, value, strlen(value)};
		c->n_sources++;
	} else if (strcmp(name, "script") == 0) {
		if (read_file(s, value, source, err) < 0)
			return -1;
		c->n_sources++;
	} else if (strcmp(name, "option") == 0) {
		s->settings[c->n_settings++] = value;
	} else if (strcmp(name, "quiet") == 0 || strcmp(name, "flow") == 0 ||
		   strcmp(name, "destructive") == 0) {
		s->settings[c->n_settings++] =
		    strcmp(name, "flow") == 0 ? "flowindent" : name;
	}
	return 0;
}

static size_t count_options(const struct cli_args *args)
{
	const char *value;
	size_t n = 0;

	while (args_next(args, n, &value) != NULL)
		n++;
	return n;
}

int probe_script_init(struct probe_script *s, const struct cli_args *args,
		      struct hark_err *err)
{
	size_t n = count_options(args) + 1;
	const char *name, *value;
	int rc = 0;

	*s = (struct probe_script){.compile = {.say = say_mistake}};
	s->sources = calloc(n, sizeof *s->sources);
	s->texts = calloc(n, sizeof *s->texts);
	s->settings = calloc(n, sizeof *s->settings);
	if (s->sources == NULL || s->texts == NULL || s->settings == NULL) {
		probe_script_fini(s);
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	}
	for (size_t i = 0;
	     rc == 0 && (name = args_next(args, i, &value)) != NULL; i++)
		rc = take_option(s, name, value, err);
	s->compile.sources = s->sources;
	s->compile.settings = s->settings;
	if (args_value(args, "command") != NULL || args_pid(args, "pid") != 0) {
		s->compile.args = (const char *const *)args_operands(args);
		s->compile.n_args = args_count(args);
	}
	if (rc == 0)
		rc = compile_early(&s->compile, &s->options, err);
	if (rc < 0)
		probe_script_fini(s);
	return rc;
}

void probe_script_fini(struct probe_script *s)
{
	for (size_t i = 0; s->texts != NULL && i < s->n_texts; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->sources);
	free(s->settings);
	*s = (struct probe_script){0};
}

char **probe_script_words(const char *command)
{
	static const char blanks[] = " \t\n";
	size_t len = strlen(command), most = len / 2 + 2, n = 0;
	char **words = malloc(most * sizeof *words + len + 1), *text, *rest;

	if (words == NULL)
		return NULL;
	text = memcpy(words + most, command, len + 1);
	for (char *w = strtok_r(text, blanks, &rest); w != NULL;
	     w = strtok_r(NULL, blanks, &rest))
		words[n++] = w;
	words[n] = NULL;
	return words;
}
