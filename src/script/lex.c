/* script/lex.c - the words of a script.
 *
 * Two things in D's text depend on where they stand: a probe description is
 * one word with rules of its own, and '/' begins and ends a predicate or
 * divides. It ends a predicate when '{', ';' or the end of the text is next.
 *
 * $1, $$1, $target are replaced here: nobody later knows of them. */
#include "script/script_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int peek(const struct lexer *l, size_t ahead)
{
	return (size_t)(l->end - l->at) > ahead ? (unsigned char)l->at[ahead]
						: -1;
}

static void step(struct lexer *l, size_t n)
{
	while (n-- > 0 && l->at < l->end) {
		if (*l->at++ == '\n') {
			l->place.line++;
			l->place.column = 1;
		} else {
			l->place.column++;
		}
	}
}

static bool is_name_char(int c)
{
	return c > 0 && c < 128 && (isalnum(c) || c == '_');
}

/* -- Space, comments, pragmas -- */

static void skip_comment(struct lexer *l)
{
	struct place at = l->place;

	step(l, 2);
	while (l->at < l->end && !(peek(l, 0) == '*' && peek(l, 1) == '/'))
		step(l, 1);
	if (l->at == l->end)
		mistake(l->s, SCRIPT_COMMENT, at, "the comment has no end");
	step(l, 2);
}

static void add_option(struct lexer *l, struct place at, char *text)
{
	struct script_option *o;
	char *equals = strchr(text, '=');

	if (equals != NULL)
		*equals = '\0';
	o = vec_push(&l->s->options, &l->s->heap);
	if (o == NULL) {
		l->s->no_memory = l->s->is_over = true;
		return;
	}
	*o = (struct script_option){.source = at.source, .line = at.line};
	o->name = script_text(l->s, text, strlen(text));
	if (equals != NULL)
		o->value = script_text(l->s, equals + 1, strlen(equals + 1));
}

static void read_line(struct lexer *l)
{
	struct place at = l->place;
	char line[256], name[200], rest[2];
	size_t n = 0;

	for (; l->at < l->end && *l->at != '\n'; step(l, 1))
		if (n < sizeof line - 1)
			line[n++] = *l->at;
	line[n] = '\0';
	if (at.line == 1 && strncmp(line, "#!", 2) == 0)
		return;
	if (sscanf(line, "# pragma D option %199s %1s", name, rest) == 1 ||
	    sscanf(line, "#pragma D option %199s %1s", name, rest) == 1)
		add_option(l, at, name);
	else
		mistake(l->s, SCRIPT_PRAGMA, at,
			"only '#pragma D option NAME[=VALUE]' may begin "
			"with '#'");
}

static void skip_space(struct lexer *l)
{
	for (;;) {
		int c = peek(l, 0);

		if (c == '/' && peek(l, 1) == '*')
			skip_comment(l);
		else if (c == '#' && l->place.column == 1)
			read_line(l);
		else if (c >= 0 && isspace(c))
			step(l, 1);
		else
			return;
	}
}

bool lex_is_end(struct lexer *l)
{
	skip_space(l);
	return l->at == l->end;
}

/* -- Macro arguments -- */

static bool is_numbered(const char *name)
{
	return isdigit((unsigned char)name[0]) &&
	       name[strspn(name, "0123456789")] == '\0';
}

/* What stands for $name, without the dollars; NULL if it was not given. */
static const char *macro_value(const struct script *s, const char *name,
			       bool is_text)
{
	const struct script_settings *g = &s->settings;
	unsigned long n;

	if (strcmp(name, "target") == 0)
		return g->target;
	for (size_t i = 0; i < g->n_macros; i++)
		if (strcmp(name, g->macros[i].name) == 0)
			return g->macros[i].value;
	if (!is_numbered(name))
		return NULL;
	n = strtoul(name, NULL, 10);
	if (n > 0 && n <= g->n_args)
		return g->args[n - 1];
	if (!g->has_default_args)
		return NULL;
	return is_text ? "" : "0";
}

static const char *why_not(const char *name)
{
	if (strcmp(name, "target") == 0)
		return "there is no -c or -p";
	return is_numbered(name) ? "no such argument was given"
				 : "there is no macro of that name";
}

static const char *take_macro(struct lexer *l, bool *is_text)
{
	struct place at = l->place;
	char name[32];
	const char *value;
	size_t n = 0;

	step(l, 1);
	*is_text = peek(l, 0) == '$';
	if (*is_text)
		step(l, 1);
	for (; is_name_char(peek(l, 0)); step(l, 1))
		if (n < sizeof name - 1)
			name[n++] = *l->at;
	name[n] = '\0';
	value = macro_value(l->s, name, *is_text);
	if (value == NULL)
		mistake(l->s, SCRIPT_MACRO, at, "'$%s' has no value: %s", name,
			why_not(name));
	return value;
}

/* -- Numbers and texts -- */

static bool number_of(const char *text, struct token *out)
{
	char *end;
	int base = text[0] == '0' && (text[1] == 'b' || text[1] == 'B') ? 2 : 0;
	bool is_long = false;

	errno = 0;
	out->kind = TOKEN_NUMBER;
	out->value = strtoull(text + (base == 2 ? 2 : 0), &end, base);
	if (errno != 0 || end == text || (base == 2 && end == text + 2))
		return false;
	out->is_unsigned = out->value > INT64_MAX;
	for (; *end == 'u' || *end == 'U' || *end == 'l' || *end == 'L'; end++)
		if (*end == 'u' || *end == 'U')
			out->is_unsigned = true;
		else
			is_long = true;
	out->is_int = !is_long && out->value <= INT32_MAX;
	return *end == '\0';
}

static void lex_number(struct lexer *l, struct token *out)
{
	char text[80];
	size_t n = 0;

	for (; is_name_char(peek(l, 0)); step(l, 1))
		if (n < sizeof text - 1)
			text[n++] = *l->at;
	text[n] = '\0';
	if (!number_of(text, out)) {
		mistake(l->s, SCRIPT_NUMBER, out->place,
			"'%s' is not a number of at most 64 bits", text);
		out->kind = TOKEN_BAD;
	}
}

static int digit_of(int c, int base)
{
	int d = -1;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if (c >= 'a' && c <= 'f')
		d = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		d = c - 'A' + 10;
	return d < base ? d : -1;
}

static int lex_code(struct lexer *l, int base, int digits)
{
	int value = 0, d = 0;

	for (; digits > 0 && (d = digit_of(peek(l, 0), base)) >= 0; digits--) {
		value = value * base + d;
		step(l, 1);
	}
	return value;
}

/* Behind a backslash; -1 for what is none. */
static int lex_escape(struct lexer *l)
{
	static const char from[] = "abfnrtv\\'\"?",
			  to[] = "\a\b\f\n\r\t\v\\'\"?";
	int c = peek(l, 0);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	if (digit_of(c, 8) >= 0)
		return lex_code(l, 8, 3) & 0xff;
	step(l, 1);
	if (c == 'x' && digit_of(peek(l, 0), 16) >= 0)
		return lex_code(l, 16, 2);
	return at != NULL ? (unsigned char)to[at - from] : -1;
}

static void lex_text(struct lexer *l, struct token *out, int quote)
{
	char text[PROBE_STRING_MAX] = "";
	size_t n = 0;
	int c = 0;

	step(l, 1);
	while ((c = peek(l, 0)) >= 0 && c != quote && c != '\n') {
		step(l, 1);
		if (c == '\\')
			c = lex_escape(l);
		if (c < 0 || n == sizeof text - 1)
			break;
		text[n++] = (char)c;
	}
	if (c != quote || (quote == '\'' && (n == 0 || n > 8))) {
		mistake(l->s, SCRIPT_STRING, out->place, "%s",
			c < 0 && l->at < l->end
			    ? "this escape does not exist"
			    : "the text has no end, or is too long or empty");
		while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
			step(l, 1);
		out->kind = TOKEN_BAD;
		return;
	}
	step(l, 1);
	out->kind = quote == '"' ? TOKEN_TEXT : TOKEN_NUMBER;
	out->name = script_text(l->s, text, n);
	out->is_int = true;
	for (size_t i = 0; quote == '\'' && i < n; i++)
		out->value = out->value << 8 | (unsigned char)text[i];
}

static void lex_macro(struct lexer *l, struct token *out)
{
	bool is_text;
	const char *value = take_macro(l, &is_text);

	out->kind = TOKEN_BAD;
	if (value == NULL)
		return;
	out->name = script_text(l->s, value, strlen(value));
	if (is_text) {
		out->kind = TOKEN_TEXT;
	} else if (isdigit((unsigned char)value[0])) {
		if (!number_of(value, out)) {
			out->kind = TOKEN_BAD;
			mistake(l->s, SCRIPT_NUMBER, out->place,
				"'%.80s' is not a number", value);
		}
	} else {
		out->kind = TOKEN_NAME;
	}
}

/* -- Operators -- */

static const char *const operators[] = {
    "<<=", ">>=", "...", "++", "--", "->", "<<", ">>", "<=", ">=", "==", "!=",
    "&&",  "||",  "^^",	 "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+",
    "-",   "*",	  "/",	 "%",  "<",  ">",  "=",	 "!",  "&",  "|",  "^",	 "~",
    "?",   ":",	  ",",	 ".",  "(",  ")",  "[",	 "]",  "{",  "}",  ";",
};

static bool ends_predicate(const struct lexer *l)
{
	struct lexer ahead = *l;

	if (!l->in_predicate || peek(l, 0) != '/')
		return false;
	ahead.at++;
	while (ahead.at < ahead.end && isspace((unsigned char)*ahead.at))
		ahead.at++;
	return ahead.at == ahead.end || *ahead.at == '{' || *ahead.at == ';';
}

static void lex_operator(struct lexer *l, struct token *out)
{
	size_t left = (size_t)(l->end - l->at);

	if (ends_predicate(l)) {
		out->kind = TOKEN_PREDICATE_END;
		step(l, 1);
		return;
	}
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		size_t n = strlen(operators[i]);

		if (n > left || memcmp(operators[i], l->at, n) != 0)
			continue;
		out->kind = TOKEN_OP;
		for (size_t k = 0; k < n; k++)
			out->op = out->op << 8 | (unsigned char)l->at[k];
		step(l, n);
		return;
	}
	mistake(l->s, SCRIPT_CHARACTER, out->place,
		"nothing is written with the character 0x%02x here",
		(unsigned)peek(l, 0));
	out->kind = TOKEN_BAD;
	step(l, 1);
}

static void lex_name(struct lexer *l, struct token *out)
{
	const char *start = l->at;
	size_t n;

	while (is_name_char(peek(l, 0)))
		step(l, 1);
	n = (size_t)(l->at - start);
	out->name =
	    script_text(l->s, start, n < NAME_LEN_MAX ? n : NAME_LEN_MAX);
}

void lex_next(struct lexer *l, struct token *out)
{
	int c;

	skip_space(l);
	c = peek(l, 0);
	*out = (struct token){.kind = TOKEN_END, .place = l->place};
	if (c < 0 || l->s->is_over)
		return;
	if (c == '@') {
		out->kind = TOKEN_AGGREGATION;
		step(l, 1);
		lex_name(l, out);
	} else if (isdigit(c)) {
		lex_number(l, out);
	} else if (is_name_char(c)) {
		out->kind = TOKEN_NAME;
		lex_name(l, out);
	} else if (c == '"' || c == '\'') {
		lex_text(l, out, c);
	} else if (c == '$') {
		lex_macro(l, out);
	} else {
		lex_operator(l, out);
	}
	if (l->s->is_over)
		out->kind = TOKEN_END;
}

/* -- Probe descriptions -- */

static bool in_description(int c)
{
	return c > ' ' && c != ',' && c != '/' && c != '{' && c != '}' &&
	       c != ';' && c != '"' && c != '\'';
}

/* A '/' may begin a predicate, or be part of a path: then a ':' ends it, with
 * nothing in between that paths do not have. */
static bool is_path(const struct lexer *l)
{
	size_t i = 0;
	int c;

	while ((c = peek(l, i)) > 0 &&
	       (isalnum(c) || strchr("/_.+-*?[]@~$", c) != NULL))
		i++;
	return peek(l, 0) == '/' && c == ':';
}

const char *lex_description(struct lexer *l, struct place *place)
{
	char text[512];
	size_t n = 0;

	skip_space(l);
	*place = l->place;
	while ((in_description(peek(l, 0)) || is_path(l)) &&
	       n < sizeof text - 1) {
		const char *value;
		bool is_text;

		if (peek(l, 0) != '$') {
			text[n++] = *l->at;
			step(l, 1);
			continue;
		}
		value = take_macro(l, &is_text);
		if (value == NULL)
			value = "?";
		n += (size_t)snprintf(text + n, sizeof text - n, "%s", value);
		if (n >= sizeof text)
			n = sizeof text - 1;
	}
	return n > 0 ? script_text(l->s, text, n) : NULL;
}
