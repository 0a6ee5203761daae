/* cli/complete.c - completion for bash, zsh and fish.
 *
 * Each script is a fixed frame with lists from the table in it. Whatever the
 * shell, the order of a command line is the same: hark, a command, options of
 * that command (some with a value), then operands; and the operands of a
 * PROGRAM are completed as that program's own command line. */
#include "cli/complete.h"

#include "cli/table.h"

#include <string.h>

/* Between two single quotes of any of the shells. In fish a backslash is no
 * letter there, in the others it is; the table has none. */
static void put_quoted(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			putc(*text, out);
	}
}

static const struct cli_row *next_shown(const struct cli_row *row)
{
	do
		row = table_next(row, CLI_OPTION);
	while (row != NULL && row->hidden);
	return row;
}

static enum cli_value operand_of(const struct cli_row *command)
{
	const struct cli_row *o = table_next(command, CLI_OPERANDS);

	return o == NULL || o->max == 0 ? CLI_IS_FLAG : o->value;
}

static void put_choices(FILE *out, const char *choices)
{
	for (; *choices != '\0'; choices++)
		putc(*choices == '|' ? ' ' : *choices, out);
}

static void put_command_names(FILE *out)
{
	const struct cli_row *c = NULL;

	while ((c = table_next_command(c)) != NULL)
		fprintf(out, "%s%s", c->name,
			table_next_command(c) != NULL ? " " : "");
}

/* -- bash -- */

/* bash splits --color=al into three words at the equals sign, and has no
 * notion of options: the frame finds out in which of the four places the
 * cursor is. `kind` says what is to be completed there. */
static const char bash_head[] =
    "# bash completion for hark; made by hark help --complete bash\n"
    "_hark()\n"
    "{\n"
    "	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
    "	local i kind='' words='' operand=0\n"
    "\n"
    "	COMPREPLY=()\n"
    "	if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
    "		_hark_place\n"
    "	else\n"
    "		kind=words words=\"$(_hark_commands) --help --version\"\n"
    "	fi\n"
    "	case $kind in\n"
    "	words) _hark_reply -W \"$words\" ;;\n"
    "	file) _hark_reply -f ;;\n"
    "	program) _hark_reply -c -f ;;\n"
    "	pid) _hark_reply -W \"$(cd /proc && echo [1-9]*)\" ;;\n"
    "	rest)\n"
    "		if declare -F _command_offset >/dev/null; then\n"
    "			_command_offset \"$operand\"\n"
    "		else\n"
    "			_hark_reply -f\n"
    "		fi\n"
    "		;;\n"
    "	esac\n"
    "}\n"
    "\n"
    "_hark_reply() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"); }\n"
    "\n"
    "# Walks over the options before the cursor; sets kind, words, operand.\n"
    "_hark_place()\n"
    "{\n"
    "	for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "		case ${COMP_WORDS[i]} in\n"
    "		--) operand=$((i + 1)) && break ;;\n"
    "		-*) ;;\n"
    "		*) operand=$i && break ;;\n"
    "		esac\n"
    "		_hark_kind \"$command\" \"${COMP_WORDS[i]}\"\n"
    "		[ -n \"$kind\" ] || continue\n"
    "		[ \"${COMP_WORDS[i + 1]}\" != = ] || ((i++))\n"
    "		if ((i == COMP_CWORD)); then\n"
    "			cur='' && return\n"
    "		elif ((i + 1 == COMP_CWORD)); then\n"
    "			return\n"
    "		fi\n"
    "		kind='' && ((i++))\n"
    "	done\n"
    "	if ((operand == 0)) && [[ $cur == -* ]]; then\n"
    "		kind=words words=$(_hark_options \"$command\")\n"
    "		return\n"
    "	fi\n"
    "	((operand > 0)) || operand=$COMP_CWORD\n"
    "	_hark_operand \"$command\"\n"
    "	[ \"$kind$operand\" = \"program$COMP_CWORD\" ] ||\n"
    "		[ \"$kind\" != program ] || kind=rest\n"
    "}\n"
    "\n";

static void bash_commands(FILE *out)
{
	fputs("_hark_commands() { echo '", out);
	put_command_names(out);
	fputs("'; }\n\n", out);
}

static void bash_options(FILE *out)
{
	const struct cli_row *c = NULL, *o;

	fputs("_hark_options()\n{\n\tcase $1 in\n", out);
	while ((c = table_next_command(c)) != NULL) {
		fprintf(out, "\t%s) echo '", c->name);
		for (o = next_shown(c); o != NULL; o = next_shown(o)) {
			if (o->letter != 0)
				fprintf(out, "-%c ", o->letter);
			fprintf(out, "--%s ", o->name);
		}
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n}\n\n", out);
}

static void bash_kind(FILE *out, enum cli_value value, const char *choices)
{
	switch (value) {
	case CLI_IS_FILE:
	case CLI_IS_MIXED:
		fputs("kind='file'", out);
		break;
	case CLI_IS_PID:
		fputs("kind=pid", out);
		break;
	case CLI_IS_PROGRAM:
		fputs("kind=program", out);
		break;
	case CLI_IS_COMMAND:
		fputs("kind=words words=$(_hark_commands)", out);
		break;
	case CLI_IS_CHOICE:
		fputs("kind=words words='", out);
		put_choices(out, choices);
		fputs("'", out);
		break;
	case CLI_IS_FLAG:
	case CLI_IS_WORD:
		fputs("kind=none", out);
		break;
	}
}

static void bash_values(FILE *out)
{
	const struct cli_row *c = NULL, *o;

	fputs("# What the option's value is; nothing if it has none.\n"
	      "_hark_kind()\n{\n\tcase \"$1 $2\" in\n",
	      out);
	while ((c = table_next_command(c)) != NULL) {
		for (o = next_shown(c); o != NULL; o = next_shown(o)) {
			if (o->value == CLI_IS_FLAG)
				continue;
			if (o->letter != 0)
				fprintf(out, "\t'%s -%c' | ", c->name,
					o->letter);
			else
				fputs("\t", out);
			fprintf(out, "'%s --%s') ", c->name, o->name);
			bash_kind(out, o->value, o->arg);
			fputs(" ;;\n", out);
		}
	}
	fputs("\t*) kind='' ;;\n\tesac\n}\n\n", out);
}

static void bash_operands(FILE *out)
{
	const struct cli_row *c = NULL;

	fputs("_hark_operand()\n{\n\tcase $1 in\n", out);
	while ((c = table_next_command(c)) != NULL) {
		fprintf(out, "\t%s) ", c->name);
		bash_kind(out, operand_of(c), "");
		fputs(" ;;\n", out);
	}
	fputs("\tesac\n}\n\ncomplete -o filenames -F _hark hark\n", out);
}

static void print_bash(FILE *out)
{
	fputs(bash_head, out);
	bash_commands(out);
	bash_options(out);
	bash_values(out);
	bash_operands(out);
}

/* -- zsh -- */

/* Between quotes and square brackets, where colons and brackets count. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text) != NULL)
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void zsh_action(FILE *out, enum cli_value value, const char *choices)
{
	switch (value) {
	case CLI_IS_FILE:
	case CLI_IS_MIXED:
		fputs("_files", out);
		break;
	case CLI_IS_PID:
		fputs("_pids", out);
		break;
	case CLI_IS_PROGRAM:
		fputs("_normal", out);
		break;
	case CLI_IS_COMMAND:
		fputs("_hark_commands", out);
		break;
	case CLI_IS_CHOICE:
		fputs("(", out);
		put_choices(out, choices);
		fputs(")", out);
		break;
	case CLI_IS_FLAG:
	case CLI_IS_WORD:
		break;
	}
}

/* '(-o --output)'{-o+,--output=}'[help]:FILE:_files' */
static void zsh_option(FILE *out, const struct cli_row *o)
{
	bool has_value = o->value != CLI_IS_FLAG;

	fputs(" \\\n\t\t\t", out);
	if (o->letter != 0)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name,
			o->letter, has_value ? "+" : "", o->name,
			has_value ? "=" : "");
	else
		fprintf(out, "'--%s%s[", o->name, has_value ? "=" : "");
	zsh_text(out, o->text);
	putc(']', out);
	if (has_value) {
		putc(':', out);
		zsh_text(out, o->value == CLI_IS_CHOICE ? o->name : o->arg);
		putc(':', out);
		zsh_action(out, o->value, o->arg);
	}
	putc('\'', out);
}

static void zsh_command(FILE *out, const struct cli_row *c)
{
	const struct cli_row *o;
	enum cli_value operand = operand_of(c);

	fprintf(out, "\t\t%s)\n\t\t\t_arguments -s -S -A '-*'", c->name);
	for (o = next_shown(c); o != NULL; o = next_shown(o))
		zsh_option(out, o);
	if (operand != CLI_IS_FLAG) {
		fprintf(out, " \\\n\t\t\t'%s:%s:",
			operand == CLI_IS_PROGRAM ? "*:" : "",
			table_next(c, CLI_OPERANDS)->name);
		zsh_action(out, operand, "");
		putc('\'', out);
	}
	fputs("\n\t\t\t;;\n", out);
}

static void print_zsh(FILE *out)
{
	const struct cli_row *c = NULL;

	fputs("#compdef hark\n# made by hark help --complete zsh\n\n"
	      "_hark_commands()\n{\n\tlocal -a commands=(",
	      out);
	while ((c = table_next_command(c)) != NULL) {
		fprintf(out, "\n\t\t'%s:", c->name);
		zsh_text(out, c->text);
		putc('\'', out);
	}
	fputs("\n\t)\n\t_describe -t commands command commands\n}\n\n"
	      "_hark()\n{\n"
	      "\tlocal curcontext=$curcontext state line\n"
	      "\ttypeset -A opt_args\n\n"
	      "\t_arguments -C '(- *)'{-h,--help}'[print help]' \\\n"
	      "\t\t'(- *)'{-V,--version}'[print the version]' \\\n"
	      "\t\t'1:command:_hark_commands' '*::argument:->argument'\n"
	      "\tcase $state in\n\targument)\n"
	      "\t\tcurcontext=${curcontext%:*:*}:hark-$words[1]:\n"
	      "\t\tcase $words[1] in\n",
	      out);
	while ((c = table_next_command(c)) != NULL)
		zsh_command(out, c);
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n\n_hark \"$@\"\n", out);
}

/* -- fish -- */

static const char fish_head[] =
    "# fish completion for hark; made by hark help --complete fish\n"
    "function __hark_bare\n"
    "	test (count (commandline -opc)) -eq 1\n"
    "end\n"
    "\n"
    "# Is the cursor among the options of this command?\n"
    "function __hark_in\n"
    "	set -l words (commandline -opc)\n"
    "	test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
    "end\n"
    "\n"
    "complete -c hark -f\n"
    "complete -c hark -n __hark_bare -s h -l help -d 'print help'\n"
    "complete -c hark -n __hark_bare -s V -l version -d 'print the version'\n";

static void fish_action(FILE *out, enum cli_value value, const char *choices)
{
	switch (value) {
	case CLI_IS_FILE:
	case CLI_IS_MIXED:
		fputs(" -F", out);
		break;
	case CLI_IS_PID:
		fputs(" -a '(__fish_complete_pids)'", out);
		break;
	case CLI_IS_PROGRAM:
		fputs(" -F -a '(__fish_complete_subcommand"
		      " --fcs-skip=2)'",
		      out);
		break;
	case CLI_IS_COMMAND:
		fputs(" -a '", out);
		put_command_names(out);
		fputs("'", out);
		break;
	case CLI_IS_CHOICE:
		fputs(" -a '", out);
		put_choices(out, choices);
		fputs("'", out);
		break;
	case CLI_IS_FLAG:
	case CLI_IS_WORD:
		break;
	}
}

static void fish_option(FILE *out, const struct cli_row *c,
			const struct cli_row *o)
{
	fprintf(out, "complete -c hark -n '__hark_in %s'", c->name);
	if (o->letter != 0)
		fprintf(out, " -s %c", o->letter);
	fprintf(out, " -l %s", o->name);
	if (o->value != CLI_IS_FLAG)
		fputs(o->value == CLI_IS_FILE ? " -r" : " -x", out);
	fish_action(out, o->value, o->arg);
	fputs(" -d '", out);
	put_quoted(out, o->text);
	fputs("'\n", out);
}

static void print_fish(FILE *out)
{
	const struct cli_row *c = NULL, *o;

	fputs(fish_head, out);
	while ((c = table_next_command(c)) != NULL) {
		fprintf(out, "complete -c hark -n __hark_bare -a %s -d '",
			c->name);
		put_quoted(out, c->text);
		fputs("'\n", out);
		for (o = next_shown(c); o != NULL; o = next_shown(o))
			fish_option(out, c, o);
		if (operand_of(c) == CLI_IS_FLAG)
			continue;
		fprintf(out, "complete -c hark -n '__hark_in %s'", c->name);
		fish_action(out, operand_of(c), "");
		putc('\n', out);
	}
}

void complete_print(const char *shell, FILE *out)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out);
	else
		print_fish(out);
}
