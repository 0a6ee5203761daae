/* script/parse.c - declarations, clauses and statements of a script.
 *
 *	script	  = {declaration | clause}
 *	clause	  = probe {',' probe} ['/' choice '/'] ['{' {statement} '}']
 *	statement = ['if' '(' choice ')' statement ['else' statement]
 *		  | '{' {statement} '}' | assign] ';'
 *
 * A clause in which something is wrong is left at its closing brace, and the
 * next one is read. Expressions are parse_expression.c's. */
#include "script/parse_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* -- Statements -- */

// NOLINTBEGIN(misc-no-recursion): NEST_MAX bounds it

static struct node *parse_statements(struct parser *p);

static struct node *parse_body(struct parser *p)
{
	struct node *n;

	if (parse_take(p, '{')) {
		p->braces++;
		return parse_statements(p);
	}
	n = parse_node_of(p, NODE_DO, 0, p->token.place, parse_assign(p), NULL);
	parse_need(p, ';', "';'");
	return n != NULL && n->kid[0] != NULL ? n : NULL;
}

static struct node *parse_if(struct parser *p)
{
	struct node *n = parse_node_new(p, NODE_IF, p->token.place);

	if (p->depth > NEST_MAX)
		return parse_lost(p, "something less deep");
	parse_next(p);
	if (n == NULL || !parse_need(p, '(', "'('"))
		return NULL;
	n->kid[0] = parse_assign(p);
	if (!parse_need(p, ')', "')'") || n->kid[0] == NULL)
		return NULL;
	p->depth++;
	n->list = parse_is_word(p, "if") ? parse_if(p) : parse_body(p);
	if (!p->is_lost && parse_is_word(p, "else")) {
		parse_next(p);
		n->other = parse_is_word(p, "if") ? parse_if(p) : parse_body(p);
	}
	p->depth--;
	return p->is_lost ? NULL : n;
}

static bool is_loop(const struct parser *p)
{
	return parse_is_word(p, "while") || parse_is_word(p, "for") ||
	       parse_is_word(p, "do") || parse_is_word(p, "goto") ||
	       parse_is_word(p, "switch");
}

static struct node *parse_statement(struct parser *p)
{
	struct node *n;

	if (is_loop(p)) {
		mistake(p->s, SCRIPT_LOOP, p->token.place,
			"'%s': a clause always ends, so there are no loops "
			"and jumps",
			p->token.name);
		p->is_lost = true;
		return NULL;
	}
	if (p->depth > NEST_MAX)
		return parse_lost(p, "something less deep");
	if (parse_is_word(p, "if"))
		return parse_if(p);
	n = parse_node_of(p, NODE_DO, 0, p->token.place, parse_assign(p), NULL);
	if (!parse_is_op(p, '}'))
		parse_need(p, ';', "';' or '}'");
	return p->is_lost ? NULL : n;
}

/* Up to '}', which is taken, too. */
static struct node *parse_statements(struct parser *p)
{
	struct node *first = NULL, **tail = &first;

	while (!p->is_lost && !parse_is_op(p, '}')) {
		if (parse_take(p, ';'))
			continue;
		if (p->token.kind == TOKEN_END)
			return parse_lost(p, "'}'");
		*tail = parse_statement(p);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
	}
	if (!p->is_lost) {
		p->braces--;
		parse_next(p);
	}
	return first;
}

// NOLINTEND(misc-no-recursion)

/* -- Clauses -- */

static void skip_body(struct parser *p)
{
	unsigned braces = p->braces;

	for (; p->token.kind != TOKEN_END; lex_next(&p->lexer, &p->token)) {
		if (parse_is_op(p, '{'))
			braces++;
		if (parse_is_op(p, '}') && braces-- <= 1)
			return;
	}
}

bool script_period(const char *text, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
	    {"", 0},
	    {"hz", 0},
	    {"ns", 1},
	    {"us", 1000},
	    {"ms", 1000000},
	    {"s", 1000000000},
	    {"sec", 1000000000},
	    {"msec", 1000000},
	    {"usec", 1000},
	    {"nsec", 1},
	    {"m", 60000000000},
	    {"min", 60000000000},
	    {"h", 3600000000000},
	    {"d", 86400000000000},
	};
	char *end;
	uint64_t n;

	if (!isdigit((unsigned char)text[0]))
		return false;
	n = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (n == 0 || n > 1000000000 ||
		    (units[i].ns != 0 && n > INT64_MAX / units[i].ns))
			return false;
		*out = units[i].ns == 0 ? 1000000000 / n : n * units[i].ns;
		return true;
	}
	return false;
}

static void describe_when(struct parser *p, struct description *d)
{
	static const char *const names[] = {"", "BEGIN", "END", "ERROR"};
	const char *name = d->part[3], *dash = strchr(name, '-');
	bool is_tick = strncmp(name, "tick-", 5) == 0;
	bool is_free = d->part[1][0] == '\0' && d->part[2][0] == '\0';

	if (!is_free)
		return;
	for (unsigned i = PROBE_AT_BEGIN; i <= PROBE_AT_ERROR; i++)
		if (strcmp(name, names[i]) == 0)
			d->when = i;
	if (!is_tick && strncmp(name, "profile-", 8) != 0)
		return;
	if (d->part[0][0] != '\0' && strcmp(d->part[0], "profile") != 0)
		return;
	d->when = is_tick ? PROBE_AT_TICK : PROBE_AT_PROFILE;
	if (!script_period(dash + 1, &d->period_ns))
		mistake(p->s, SCRIPT_PERIOD, d->place,
			"'%s' is no rate: write %s-N with ns, us, ms, s, m, "
			"h, d or hz",
			name, is_tick ? "tick" : "profile");
	else if (!is_tick && d->period_ns < PROBE_PROFILE_NS)
		mistake(p->s, SCRIPT_PERIOD, d->place,
			"'%s' is too often: threads are interrupted 20000 "
			"times a second at most",
			name);
}

/* Parts are filled from the right: "malloc:entry" is ::malloc:entry. */
static struct description *describe(struct parser *p, const char *text,
				    struct place at)
{
	struct description *d = script_take(p->s, sizeof *d);
	const char *end = text + strlen(text), *start;

	if (d == NULL)
		return NULL;
	d->place = at;
	for (int i = 3; i >= 0; i--) {
		for (start = end; start > text && start[-1] != ':'; start--)
			;
		d->part[i] = script_text(p->s, start, (size_t)(end - start));
		if (d->part[i] == NULL)
			return NULL;
		end = start > text ? start - 1 : text;
		if (i == 0 && start > text)
			mistake(p->s, SCRIPT_PROBE, at,
				"'%s': a probe has four parts, "
				"provider:module:function:name",
				text);
	}
	describe_when(p, d);
	return d;
}

/* Leaves the first token behind the descriptions in p->token. */
static struct description *parse_descriptions(struct parser *p)
{
	struct description *first = NULL, **tail = &first;

	do {
		struct place at;
		const char *text = lex_description(&p->lexer, &at);

		if (text == NULL) {
			parse_next(p);
			parse_lost(p, "a probe description");
			return NULL;
		}
		*tail = describe(p, text, at);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
		parse_next(p);
	} while (parse_is_op(p, ','));
	return first;
}

static struct clause *parse_clause(struct parser *p)
{
	struct clause *c = script_take(p->s, sizeof *c);

	if (c == NULL)
		return NULL;
	p->is_lost = false;
	p->depth = p->braces = 0;
	c->descriptions = parse_descriptions(p);
	c->place =
	    c->descriptions != NULL ? c->descriptions->place : p->token.place;
	if (!p->is_lost && parse_is_op(p, '/')) {
		p->lexer.in_predicate = true;
		parse_next(p);
		c->predicate = parse_assign(p);
		if (p->token.kind != TOKEN_PREDICATE_END)
			parse_lost(p, "'/' and then '{'");
		p->lexer.in_predicate = false;
		parse_next(p);
	}
	p->lexer.in_predicate = false;
	if (p->is_lost || p->token.kind == TOKEN_END || parse_is_op(p, ';'))
		return c;
	if (!parse_is_op(p, '{')) {
		parse_lost(p, "'{', '/' or ','");
		return c;
	}
	/* The '}' that ends it must be the last token that is taken: what
	 * follows is no token. */
	p->braces = 1;
	parse_next(p);
	return c;
}

/* Statements up to the '}' of the clause, which is only looked at. */
static void parse_clause_body(struct parser *p, struct clause *c)
{
	struct node **tail = &c->body;

	while (!p->is_lost && !parse_is_op(p, '}')) {
		if (parse_take(p, ';'))
			continue;
		if (p->token.kind == TOKEN_END) {
			parse_lost(p, "'}'");
			return;
		}
		*tail = parse_statement(p);
		if (*tail == NULL)
			return;
		tail = &(*tail)->next;
	}
}

/* -- Declarations -- */

static void declare(struct parser *p, struct variable *v, struct place at)
{
	struct variable *new;

	for (size_t i = 0; i < p->s->variables.n; i++) {
		const struct variable *old = &p->s->variables.at[i];

		if (old->scope == v->scope && strcmp(old->name, v->name) == 0) {
			mistake(p->s, SCRIPT_DECL_DUP, at,
				"'%s' is declared already", v->name);
			return;
		}
	}
	new = vec_push(&p->s->variables, &p->s->heap);
	if (new == NULL)
		p->s->no_memory = p->s->is_over = true;
	else
		*new = *v;
}

static void parse_key_types(struct parser *p, struct variable *v)
{
	do {
		struct script_type t;

		parse_type(p, &t);
		if (v->n_keys == PROBE_KEYS_MAX) {
			parse_lost(p, "fewer keys");
			return;
		}
		v->key[v->n_keys++] = t;
	} while (!p->is_lost && parse_take(p, ','));
	parse_need(p, ']', "']'");
}

static void parse_declaration(struct parser *p)
{
	struct variable v = {.is_declared = true};
	struct place at;

	p->is_lost = false;
	if (parse_is_word(p, "self") || parse_is_word(p, "this")) {
		v.scope = parse_is_word(p, "self") ? PROBE_SELF : PROBE_THIS;
		parse_next(p);
	}
	parse_type(p, &v.type);
	if (p->token.kind != TOKEN_NAME) {
		parse_lost(p, "the name of a variable");
		return;
	}
	v.name = p->token.name;
	at = p->token.place;
	parse_next(p);
	if (parse_take(p, '['))
		parse_key_types(p, &v);
	if (!parse_is_op(p, ';'))
		parse_lost(p, "';'");
	if (!p->is_lost)
		declare(p, &v, at);
}

static bool begins_declaration(struct parser *p)
{
	struct lexer lexer = p->lexer;
	bool is_type;

	if (lexer.at < lexer.end && *lexer.at == '$')
		return false;
	p->s->is_quiet = true;
	parse_next(p);
	is_type = parse_is_word(p, "self") || parse_is_word(p, "this") ||
		  parse_begins_type(p);
	p->s->is_quiet = false;
	if (is_type && p->lexer.at < p->lexer.end && *p->lexer.at == ':')
		is_type = false;
	if (!is_type)
		p->lexer = lexer;
	return is_type;
}

static bool is_foreign(struct parser *p)
{
	static const char *const words[] = {"inline",	"typedef", "translator",
					    "provider", "extern",  "static",
					    "xlate",	"import"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(p->lexer.end - p->lexer.at) <= n ||
		    memcmp(p->lexer.at, words[i], n) != 0 ||
		    !isspace((unsigned char)p->lexer.at[n]))
			continue;
		mistake(p->s, SCRIPT_UNSUPPORTED, p->lexer.place,
			"'%s' is not supported", words[i]);
		return true;
	}
	return false;
}

static void skip_statement(struct parser *p)
{
	do
		lex_next(&p->lexer, &p->token);
	while (p->token.kind != TOKEN_END && !parse_is_op(p, ';'));
}

/* One text; its clauses go to *tail. */
static struct clause **parse_source(struct parser *p, struct clause **tail)
{
	struct script *s = p->s;

	while (!s->is_over && !lex_is_end(&p->lexer)) {
		if (is_foreign(p)) {
			skip_statement(p);
			continue;
		}
		if (begins_declaration(p)) {
			parse_declaration(p);
			if (p->is_lost)
				skip_statement(p);
			continue;
		}
		if (*p->lexer.at == ';') {
			lex_next(&p->lexer, &p->token);
			continue;
		}
		*tail = parse_clause(p);
		if (*tail == NULL)
			return tail;
		if (!p->is_lost && p->token.kind != TOKEN_END &&
		    !parse_is_op(p, ';'))
			parse_clause_body(p, *tail);
		if (p->is_lost)
			skip_body(p);
		tail = &(*tail)->next;
	}
	return tail;
}

void script_parse(struct script *s, size_t n_sources)
{
	struct parser p = {.s = s};
	struct clause **tail = &s->clauses;

	for (size_t i = 0; i < n_sources && !s->is_over; i++) {
		const struct script_source *from = &s->sources[i];

		p = (struct parser){.s = s};
		p.lexer = (struct lexer){
		    .s = s, .at = from->text, .end = from->text + from->len};
		p.lexer.place = (struct place){1, 1, (unsigned)i};
		tail = parse_source(&p, tail);
	}
	if (s->clauses == NULL && s->mistakes.n == 0)
		mistake(s, SCRIPT_EMPTY, p.lexer.place,
			"the script has no clause");
}
