/* cli/table.h - the one table behind parsing, help, man pages, completion.
 *
 * A command is the row that begins it; the rows up to the next command belong
 * to it. All strings and rows live as long as the program. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum cli_kind {
	CLI_COMMAND,
	CLI_SYNOPSIS,
	CLI_TEXT,
	CLI_OPERANDS,
	CLI_GROUP,
	CLI_OPTION,
	CLI_EXAMPLE,
	CLI_EXIT,
	CLI_VARIABLE,
	CLI_SEE,
	/* Of man pages alone. */
	CLI_SECTION,
	CLI_PARAGRAPH,
	CLI_CODE,
	CLI_TERM,
	CLI_END
};

/* What an option or an operand takes: how it is checked, how completed. */
enum cli_value {
	CLI_IS_FLAG, /* takes nothing */
	CLI_IS_WORD,
	CLI_IS_FILE,
	CLI_IS_PID,
	CLI_IS_CHOICE, /* one of arg's words, with bars between them */
	CLI_IS_COMMAND,
	CLI_IS_PROGRAM, /* a command line of its own follows */
	CLI_IS_MIXED,	/* a file and words; options may stand among them */
};

enum { CLI_MANY = 255 };

struct cli_row {
	enum cli_kind kind;
	enum cli_value value;
	char letter; /* 0: none */
	bool hidden;
	unsigned char min, max;
	const char *name, *arg, *text;
};

/* hark itself, as if it were a command: what stands before one. */
const struct cli_row *table_tool(void);

/* The command of that name, or NULL. Never the tool. */
const struct cli_row *table_command(const char *name);

/* The first command of all (after NULL), the next one, NULL after the last. */
const struct cli_row *table_next_command(const struct cli_row *command);

/* The next row of that kind in the same command: after the command's own row,
 * the first; NULL after the last. */
const struct cli_row *table_next(const struct cli_row *row, enum cli_kind kind);

/* An option of the command, or NULL. The name need not end in NUL. */
const struct cli_row *table_option(const struct cli_row *command,
				   const char *name, size_t len);
const struct cli_row *table_letter(const struct cli_row *command, char letter);

/* What a person probably meant, or NULL. */
const char *table_meant_command(const char *name);
const char *table_meant_option(const struct cli_row *command, const char *name,
			       size_t len);

/* Is this one of the words that a choice lists? */
bool table_has_choice(const struct cli_row *option, const char *word);

#endif
