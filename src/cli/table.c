/* cli/table.c - the table, and finding rows in it. */
#include "cli/table.h"

#include <string.h>

/* clang-format off */
#define TOOL(n, t)           {.kind = CLI_COMMAND, .name = (n), .text = (t)},
#define COMMAND(id, n, t)    {.kind = CLI_COMMAND, .name = (n), .text = (t)},
#define SYNOPSIS(t)          {.kind = CLI_SYNOPSIS, .text = (t)},
#define TEXT(t)              {.kind = CLI_TEXT, .text = (t)},
#define OPERANDS(v, n, a, b) {.kind = CLI_OPERANDS, .value = CLI_IS_##v, \
			      .name = (n), .min = (a), .max = (b)},
#define GROUP(t)             {.kind = CLI_GROUP, .text = (t)},
#define OPTION(l, n, v, a, t) {.kind = CLI_OPTION, .letter = (l), .name = (n), \
			      .value = CLI_IS_##v, .arg = (a), .text = (t)},
#define HIDDEN(l, n, v, a, t) {.kind = CLI_OPTION, .letter = (l), .name = (n), \
			      .value = CLI_IS_##v, .arg = (a), .text = (t), \
			      .hidden = true},
#define EXAMPLE(n, t)        {.kind = CLI_EXAMPLE, .name = (n), .text = (t)},
#define EXIT(n, t)           {.kind = CLI_EXIT, .name = (n), .text = (t)},
#define VARIABLE(n, t)       {.kind = CLI_VARIABLE, .name = (n), .text = (t)},
#define SEE(n)               {.kind = CLI_SEE, .name = (n)},
#define SECTION(t)           {.kind = CLI_SECTION, .text = (t)},
#define PARAGRAPH(t)         {.kind = CLI_PARAGRAPH, .text = (t)},
#define CODE(t)              {.kind = CLI_CODE, .text = (t)},
#define TERM(n, t)           {.kind = CLI_TERM, .name = (n), .text = (t)},
#define MANY                 CLI_MANY
static const struct cli_row rows[] = {
#include "cli/table.def"
	{.kind = CLI_END},
};
/* clang-format on */

const struct cli_row *table_tool(void)
{
	return &rows[0];
}

const struct cli_row *table_next_command(const struct cli_row *command)
{
	const struct cli_row *row = command != NULL ? command : table_tool();

	do
		row++;
	while (row->kind != CLI_COMMAND && row->kind != CLI_END);
	return row->kind == CLI_COMMAND ? row : NULL;
}

const struct cli_row *table_command(const char *name)
{
	const struct cli_row *c = NULL;

	while ((c = table_next_command(c)) != NULL)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const struct cli_row *table_next(const struct cli_row *row, enum cli_kind kind)
{
	for (row++; row->kind != CLI_COMMAND && row->kind != CLI_END; row++)
		if (row->kind == kind)
			return row;
	return NULL;
}

const struct cli_row *table_option(const struct cli_row *command,
				   const char *name, size_t len)
{
	const struct cli_row *o = command;

	while ((o = table_next(o, CLI_OPTION)) != NULL)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

const struct cli_row *table_letter(const struct cli_row *command, char letter)
{
	const struct cli_row *o = command;

	while ((o = table_next(o, CLI_OPTION)) != NULL)
		if (o->letter != 0 && o->letter == letter)
			return o;
	return NULL;
}

bool table_has_choice(const struct cli_row *option, const char *word)
{
	const char *at = option->arg;
	size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(at, "|");

		if (n == len && memcmp(at, word, len) == 0)
			return true;
		if (at[n] == '\0')
			return false;
		at += n + 1;
	}
}

/* -- What was meant -- */

enum { NAME_MAX_LEN = 31, FAR = 3 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters must be added, dropped, changed or swapped with their
 * neighbour to make b of a. Both are at most NAME_MAX_LEN long. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];

	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = least(d[i][j], d[i - 1][j - 1] +
						     (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

/* How far a name is from what was typed; FAR or more: not meant. The
 * beginning of a name counts as near, and two errors in a short name do not. */
static size_t strangeness(const char *typed, size_t len, const char *name)
{
	size_t n = strlen(name), far;

	if (len < 2 || len > NAME_MAX_LEN || n > NAME_MAX_LEN)
		return FAR;
	if (len < n && memcmp(typed, name, len) == 0)
		return 1;
	far = distance(typed, len, name, n);
	return far * 2 <= n ? far : FAR;
}

const char *table_meant_command(const char *name)
{
	const struct cli_row *c = NULL;
	const char *best = NULL;
	size_t nearest = FAR;

	while ((c = table_next_command(c)) != NULL) {
		size_t far = strangeness(name, strlen(name), c->name);

		if (far < nearest) {
			nearest = far;
			best = c->name;
		}
	}
	return best;
}

const char *table_meant_option(const struct cli_row *command, const char *name,
			       size_t len)
{
	const struct cli_row *o = command;
	const char *best = NULL;
	size_t nearest = FAR;

	while ((o = table_next(o, CLI_OPTION)) != NULL) {
		size_t far = strangeness(name, len, o->name);

		if (!o->hidden && far < nearest) {
			nearest = far;
			best = o->name;
		}
	}
	return best;
}
