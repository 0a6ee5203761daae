/* cli/manpage.c - writes man(7) macros.
 *
 * Two characters mean something to roff at the beginning of a line, the dot and
 * the quote; the backslash does everywhere, the double quote in what follows a
 * macro; and a bare hyphen, ` ^ and ~ may come out as something that cannot be
 * pasted. All are escaped wherever they stand, so lines may be broken
 * anywhere. */
#include "cli/manpage.h"

#include <ctype.h>
#include <string.h>

/* When the text of the table was last looked through. */
#define MANUAL_DATE "2026-11-16"

enum { LINE_WIDTH = 68 };

static void put_some(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '\\':
			fputs("\\e", out);
			break;
		case '-':
			fputs("\\-", out);
			break;
		case '\'':
			fputs("\\(aq", out);
			break;
		case '.':
			fputs("\\&.", out);
			break;
		case '"':
			fputs("\\(dq", out);
			break;
		case '`':
			fputs("\\(ga", out);
			break;
		case '^':
			fputs("\\(ha", out);
			break;
		case '~':
			fputs("\\(ti", out);
			break;
		default:
			putc(text[i], out);
		}
	}
}

static void put(FILE *out, const char *text)
{
	put_some(out, text, strlen(text));
}

/* A paragraph, in lines of a decent length. */
static void put_lines(FILE *out, const char *text)
{
	size_t at = 0, len;

	for (; *text != '\0'; text += strspn(text, " ")) {
		len = strcspn(text, " ");
		if (at > 0)
			putc(at + 1 + len > LINE_WIDTH ? '\n' : ' ', out);
		at = at > 0 && at + 1 + len <= LINE_WIDTH ? at + 1 + len : len;
		put_some(out, text, len);
		text += len;
	}
	putc('\n', out);
}

static void put_upper(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		putc(toupper((unsigned char)*text), out);
}

static void print_head(FILE *out, const struct cli_row *command)
{
	bool is_tool = command == table_tool();

	fputs(".TH HARK", out);
	if (!is_tool) {
		fputs("\\-", out);
		put_upper(out, command->name);
	}
	fputs(" 1 " MANUAL_DATE " \"hark " HARK_VERSION "\" \"hark\"\n"
	      ".SH NAME\nhark",
	      out);
	if (!is_tool) {
		fputs("\\-", out);
		put(out, command->name);
	}
	fputs(" \\- ", out);
	put(out, command->text);
	putc('\n', out);
}

static void print_synopsis(FILE *out, const struct cli_row *command)
{
	const struct cli_row *row = command;
	const char *between = "";

	fputs(".SH SYNOPSIS\n", out);
	while ((row = table_next(row, CLI_SYNOPSIS)) != NULL) {
		fprintf(out, "%s.B hark", between);
		if (command != table_tool()) {
			putc(' ', out);
			put(out, command->name);
		}
		putc('\n', out);
		put(out, row->text);
		putc('\n', out);
		between = ".br\n";
	}
}

static void print_description(FILE *out, const struct cli_row *command)
{
	const struct cli_row *row = command;
	const char *between = ".SH DESCRIPTION\n";

	while ((row = table_next(row, CLI_TEXT)) != NULL) {
		fputs(between, out);
		put_lines(out, row->text);
		between = ".PP\n";
	}
}

/* Sections of its own, one row after the other. */
static void print_sections(FILE *out, const struct cli_row *command)
{
	for (const struct cli_row *row = command + 1;
	     row->kind != CLI_COMMAND && row->kind != CLI_END; row++) {
		if (row->kind == CLI_SECTION) {
			fprintf(out, ".SH %s\n", row->text);
		} else if (row->kind == CLI_PARAGRAPH) {
			if (row[-1].kind != CLI_SECTION)
				fputs(".PP\n", out);
			put_lines(out, row->text);
		} else if (row->kind == CLI_CODE) {
			fputs(".PP\n.RS 4\n.nf\n", out);
			put(out, row->text);
			fputs("\n.fi\n.RE\n", out);
		} else if (row->kind == CLI_TERM) {
			fputs(".TP\n.B ", out);
			put(out, row->name);
			putc('\n', out);
			put_lines(out, row->text);
		}
	}
}

static void print_commands(FILE *out)
{
	const struct cli_row *c = NULL;

	fputs(".SH COMMANDS\n", out);
	while ((c = table_next_command(c)) != NULL) {
		fputs(".TP\n.BR hark\\-", out);
		put(out, c->name);
		fputs(" (1)\n", out);
		put_lines(out, c->text);
	}
}

static void print_option(FILE *out, const struct cli_row *o)
{
	fputs(".TP\n", out);
	if (o->letter != 0)
		fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", out);
	put(out, o->name);
	fputs("\\fR", out);
	if (o->arg != NULL) {
		fputs("=\\fI", out);
		put(out, o->arg);
		fputs("\\fR", out);
	}
	putc('\n', out);
	put_lines(out, o->text);
}

static void print_options(FILE *out, const struct cli_row *command)
{
	const struct cli_row *row;

	fputs(".SH OPTIONS\n", out);
	for (row = command + 1; row->kind != CLI_COMMAND; row++) {
		if (row->kind == CLI_END)
			break;
		if (row->kind == CLI_GROUP && strcmp(row->text, "Options") != 0)
			fprintf(out, ".SS %s\n", row->text);
		if (row->kind == CLI_OPTION && !row->hidden)
			print_option(out, row);
	}
}

static void print_list(FILE *out, const struct cli_row *command,
		       enum cli_kind kind, const char *title)
{
	const struct cli_row *row = table_next(command, kind);

	if (row != NULL)
		fprintf(out, ".SH %s\n", title);
	for (; row != NULL; row = table_next(row, kind)) {
		fputs(".TP\n.B ", out);
		put(out, row->name);
		putc('\n', out);
		put_lines(out, row->text);
	}
}

/* gdb(1) in bold and roman, as is the custom. */
static void put_page(FILE *out, const char *page)
{
	size_t len = strcspn(page, "(");

	fputs(".BR ", out);
	put_some(out, page, len);
	fprintf(out, " %s", page + len);
}

static void print_see(FILE *out, const struct cli_row *command)
{
	const struct cli_row *row = command, *c = NULL;
	char page[64];

	fputs(".SH SEE ALSO\n", out);
	if (command == table_tool()) {
		while ((c = table_next_command(c)) != NULL) {
			snprintf(page, sizeof page, "hark-%s(1)", c->name);
			put_page(out, page);
			fputs(table_next_command(c) != NULL ? ",\n" : "\n",
			      out);
		}
		return;
	}
	put_page(out, "hark(1)");
	while ((row = table_next(row, CLI_SEE)) != NULL) {
		fputs(",\n", out);
		put_page(out, row->name);
	}
	putc('\n', out);
}

void manpage_print(const struct cli_row *command, FILE *out)
{
	print_head(out, command);
	print_synopsis(out, command);
	print_description(out, command);
	if (command == table_tool())
		print_commands(out);
	print_options(out, command);
	print_sections(out, command);
	print_list(out, command, CLI_EXIT, "EXIT STATUS");
	print_list(out, command, CLI_VARIABLE, "ENVIRONMENT");
	print_list(out, command, CLI_EXAMPLE, "EXAMPLES");
	print_see(out, command);
}
