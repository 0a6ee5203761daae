/* cli/help.c - help for people in a hurry. */
#include "cli/help.h"

#include "present/term.h"
#include "present/text.h"

#include <string.h>

enum { INDENT = 2, TEXT_COLUMN = 26, WIDTH_MAX = 100, CHOICES_MAX = 40 };

struct page {
	FILE *out; /* borrowed */
	bool colored;
	size_t width;
};

static void heading(const struct page *p, const char *title)
{
	fprintf(p->out, "\n%s%s:%s\n", term_on(TERM_STRONG, p->colored), title,
		term_off(TERM_STRONG, p->colored));
}

/* `  left                  text, as many lines as it takes` */
static void entry(const struct page *p, const char *left, const char *text)
{
	size_t at = INDENT + text_columns(left);

	fprintf(p->out, "%*s%s", INDENT, "", left);
	if (at + 2 > TEXT_COLUMN)
		fprintf(p->out, "\n%*s", TEXT_COLUMN, "");
	else
		fprintf(p->out, "%*s", (int)(TEXT_COLUMN - at), "");
	text_wrap(p->out, text, TEXT_COLUMN, TEXT_COLUMN, p->width);
	putc('\n', p->out);
}

static void print_usage(const struct page *p, const struct cli_row *command)
{
	const struct cli_row *row = command;
	const char *before = "usage: ";
	bool is_tool = command == table_tool();

	fprintf(p->out, "hark%s%s - %s\n\n", is_tool ? "" : " ",
		is_tool ? "" : command->name, command->text);
	while ((row = table_next(row, CLI_SYNOPSIS)) != NULL) {
		fprintf(p->out, "%shark %s%s%s\n", before,
			is_tool ? "" : command->name, is_tool ? "" : " ",
			row->text);
		before = "       ";
	}
}

static void print_texts(const struct page *p, const struct cli_row *command)
{
	const struct cli_row *row = command;

	while ((row = table_next(row, CLI_TEXT)) != NULL) {
		putc('\n', p->out);
		text_wrap(p->out, row->text, 0, 0, p->width);
		putc('\n', p->out);
	}
}

static void print_commands(const struct page *p)
{
	const struct cli_row *c = NULL;

	heading(p, "Commands");
	while ((c = table_next_command(c)) != NULL)
		entry(p, c->name, c->text);
}

/* `one of a, b, c: text`, since text_wrap() breaks lines at blanks. */
static void spell_choices(const struct cli_row *o, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "one of ");

	for (const char *at = o->arg; *at != '\0' && n + 3 < size; at++) {
		out[n++] = (char)(*at == '|' ? ',' : *at);
		if (*at == '|')
			out[n++] = ' ';
	}
	snprintf(out + n, size - n, ": %s", o->text);
}

/* A list of choices that would fill a line of its own goes to the text. */
static void print_option(const struct page *p, const struct cli_row *o)
{
	const char *arg = o->arg != NULL ? o->arg : "";
	bool is_long = strlen(arg) >= CHOICES_MAX;
	char left[64], text[512];

	snprintf(left, sizeof left, "%c%c%s --%s%s%s",
		 o->letter != 0 ? '-' : ' ', o->letter != 0 ? o->letter : ' ',
		 o->letter != 0 ? "," : " ", o->name, o->arg != NULL ? "=" : "",
		 is_long ? "CHOICE" : arg);
	if (is_long)
		spell_choices(o, text, sizeof text);
	entry(p, left, is_long ? text : o->text);
}

static void print_options(const struct page *p, const struct cli_row *command)
{
	const struct cli_row *row;

	for (row = command + 1; row->kind != CLI_COMMAND; row++) {
		if (row->kind == CLI_END)
			break;
		if (row->kind == CLI_GROUP)
			heading(p, row->text);
		if (row->kind == CLI_OPTION && !row->hidden)
			print_option(p, row);
	}
}

static void print_examples(const struct page *p, const struct cli_row *command)
{
	const struct cli_row *row = table_next(command, CLI_EXAMPLE);

	if (row != NULL)
		heading(p, "Examples");
	for (; row != NULL; row = table_next(row, CLI_EXAMPLE)) {
		fprintf(p->out, "%*s%s\n%*s", INDENT, "", row->name, 3 * INDENT,
			"");
		text_wrap(p->out, row->text, (size_t)3 * INDENT,
			  (size_t)3 * INDENT, p->width);
		putc('\n', p->out);
	}
}

static void print_list(const struct page *p, const struct cli_row *command,
		       enum cli_kind kind, const char *title)
{
	const struct cli_row *row = table_next(command, kind);

	if (row != NULL)
		heading(p, title);
	for (; row != NULL; row = table_next(row, kind))
		entry(p, row->name, row->text);
}

void help_print(const struct cli_row *command, FILE *out, bool colored,
		size_t width)
{
	struct page p = {out, colored, width < WIDTH_MAX ? width : WIDTH_MAX};

	print_usage(&p, command);
	print_texts(&p, command);
	if (command == table_tool())
		print_commands(&p);
	print_options(&p, command);
	print_examples(&p, command);
	print_list(&p, command, CLI_EXIT, "Exit status");
	if (command == table_tool())
		fprintf(out, "\n'hark help COMMAND' explains one command.\n");
}
