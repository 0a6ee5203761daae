// runs: 50000
/* tests/fuzz/cli_options.c - any command line is understood or refused.
 *
 * The first byte chooses a command; the rest is its words, with a NUL between
 * two of them. */
#include "cli/args.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, BYTES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct cli_row *choose(unsigned n)
{
	const struct cli_row *c = table_tool();

	while (n-- > 0) {
		c = table_next_command(c == table_tool() ? NULL : c);
		if (c == NULL)
			c = table_tool();
	}
	return c;
}

/* What a command may rely on. */
static void check(const struct cli_row *command, const struct cli_args *args,
		  size_t n_words)
{
	const struct cli_row *operands = table_next(command, CLI_OPERANDS);
	const struct cli_row *o = command;

	assert(args_count(args) <= n_words);
	assert(args_operands(args)[args_count(args)] == NULL);
	if (!args_flag(args, "help")) {
		assert(args_count(args) >= operands->min);
		assert(operands->max == CLI_MANY ||
		       args_count(args) <= operands->max);
	}
	while ((o = table_next(o, CLI_OPTION)) != NULL) {
		const char *value = args_value(args, o->name);

		assert(o->value != CLI_IS_FLAG || value == NULL);
		assert(value == NULL || args_flag(args, o->name));
		if (o->value == CLI_IS_CHOICE && value != NULL)
			assert(table_has_choice(o, value));
		if (o->value == CLI_IS_PID)
			assert((args_pid(args, o->name) > 0) ==
			       (value != NULL));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[BYTES_MAX + 1], *words[WORDS_MAX + 1];
	const struct cli_row *command;
	struct cli_args *args = NULL;
	struct hark_err err = {0};
	size_t n = 0, at = 0;

	if (size == 0 || size > BYTES_MAX)
		return 0;
	command = choose(data[0] % 16);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (; at < size && n < WORDS_MAX; at += strlen(text + at) + 1)
		words[n++] = text + at;
	words[n] = NULL;
	if (args_parse(command, words, &args, &err) == 0)
		check(command, args, n);
	else
		assert(args == NULL && err.text[0] != '\0');
	if (n > 0)
		table_meant_command(words[0]);
	args_free(args);
	return 0;
}
