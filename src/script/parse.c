/* script/parse.c - clauses, statements and expressions of a script.
 *
 *	script	  = {declaration | clause}
 *	clause	  = probe {',' probe} ['/' choice '/'] ['{' {statement} '}']
 *	statement = ['if' '(' choice ')' statement ['else' statement]
 *		  | '{' {statement} '}' | assign] ';'
 *	assign	  = choice [assign-op assign]
 *	choice	  = binary ['?' assign ':' choice]
 *	unary	  = ('-' '+' '!' '~' '*' '&' '++' '--') unary
 *		  | '(' type ')' unary | postfix
 *
 * A clause in which something is wrong is left at its closing brace, and the
 * next one is read. Nesting is bounded by NEST_MAX, and trees by HEIGHT_MAX:
 * parsing ends, and so does whoever walks the tree. */
#include "script/script_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	struct script *s;
	struct lexer lexer;
	struct token token; /* the one that is looked at */
	unsigned depth;
	unsigned braces; /* open in this clause */
	bool is_lost;	 /* this clause is given up */
};

static struct node *parse_assign(struct parser *p);
static struct node *parse_unary(struct parser *p);

/* -- Tokens -- */

static void next(struct parser *p)
{
	lex_next(&p->lexer, &p->token);
	if (p->token.kind == TOKEN_BAD)
		p->is_lost = true;
}

static const char *token_text(const struct token *t, char room[4])
{
	unsigned n = 0;

	switch (t->kind) {
	case TOKEN_END:
		return "the end of the script";
	case TOKEN_NUMBER:
		return "a number";
	case TOKEN_TEXT:
		return "a text";
	case TOKEN_NAME:
		return t->name;
	case TOKEN_AGGREGATION:
		return "an aggregation";
	case TOKEN_PREDICATE_END:
		return "the end of the predicate";
	default:
		for (int shift = 16; shift >= 0; shift -= 8)
			if ((t->op >> shift & 0xff) != 0)
				room[n++] = (char)(t->op >> shift);
		room[n] = '\0';
		return room;
	}
}

static struct node *lost(struct parser *p, const char *wanted)
{
	char room[4];

	if (!p->is_lost)
		mistake(p->s, SCRIPT_SYNTAX, p->token.place,
			"%s expected, not '%s'", wanted,
			token_text(&p->token, room));
	p->is_lost = true;
	return NULL;
}

static bool is_op(const struct parser *p, unsigned op)
{
	return p->token.kind == TOKEN_OP && p->token.op == op;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_NAME && strcmp(p->token.name, word) == 0;
}

static bool take(struct parser *p, unsigned op)
{
	if (!is_op(p, op))
		return false;
	next(p);
	return true;
}

static bool need(struct parser *p, unsigned op, const char *wanted)
{
	if (take(p, op))
		return true;
	lost(p, wanted);
	return false;
}

static struct node *node_new(struct parser *p, enum node_kind kind,
			     struct place place)
{
	struct node *n = script_take(p->s, sizeof *n);

	if (n == NULL) {
		p->is_lost = true;
		return NULL;
	}
	n->kind = kind;
	n->place = place;
	return n;
}

/* Trees that grow too high are given up. */
static struct node *grown(struct parser *p, struct node *n)
{
	unsigned height = 0;

	for (unsigned i = 0; i < 3; i++)
		if (n->kid[i] != NULL && n->kid[i]->height > height)
			height = n->kid[i]->height;
	for (const struct node *k = n->list; k != NULL; k = k->next)
		height = k->height > height ? k->height : height;
	n->height = height + 1;
	return height < HEIGHT_MAX ? n : lost(p, "something less deep");
}

/* A node with up to two kids, none of which may be missing. */
static struct node *node_of(struct parser *p, enum node_kind kind, unsigned op,
			    struct place at, struct node *a, struct node *b)
{
	struct node *n = p->is_lost ? NULL : node_new(p, kind, at);

	if (n == NULL)
		return NULL;
	n->op = op;
	n->kid[0] = a;
	n->kid[1] = b;
	return grown(p, n);
}

/* -- Types -- */

struct basic {
	const char *name;
	enum script_kind kind;
	uint32_t size;
	bool is_signed;
};

static const struct basic basics[] = {
    {"void", SCRIPT_VOID, 1, false},	 {"string", SCRIPT_TEXT, 0, false},
    {"char", SCRIPT_INT, 1, true},	 {"short", SCRIPT_INT, 2, true},
    {"int", SCRIPT_INT, 4, true},	 {"long", SCRIPT_INT, 8, true},
    {"int8_t", SCRIPT_INT, 1, true},	 {"int16_t", SCRIPT_INT, 2, true},
    {"int32_t", SCRIPT_INT, 4, true},	 {"int64_t", SCRIPT_INT, 8, true},
    {"uint8_t", SCRIPT_INT, 1, false},	 {"uint16_t", SCRIPT_INT, 2, false},
    {"uint32_t", SCRIPT_INT, 4, false},	 {"uint64_t", SCRIPT_INT, 8, false},
    {"intptr_t", SCRIPT_INT, 8, true},	 {"uintptr_t", SCRIPT_INT, 8, false},
    {"size_t", SCRIPT_INT, 8, false},	 {"ssize_t", SCRIPT_INT, 8, true},
    {"off_t", SCRIPT_INT, 8, true},	 {"pid_t", SCRIPT_INT, 4, true},
    {"uid_t", SCRIPT_INT, 4, false},	 {"gid_t", SCRIPT_INT, 4, false},
    {"bool", SCRIPT_INT, 1, false},	 {"_Bool", SCRIPT_INT, 1, false},
    {"unsigned", SCRIPT_INT, 4, false},	 {"signed", SCRIPT_INT, 4, true},
    {"longlong_t", SCRIPT_INT, 8, true}, {"u_longlong_t", SCRIPT_INT, 8, false},
    {"uchar_t", SCRIPT_INT, 1, false},	 {"ushort_t", SCRIPT_INT, 2, false},
    {"uint_t", SCRIPT_INT, 4, false},	 {"ulong_t", SCRIPT_INT, 8, false},
};

static const struct basic *basic_find(const char *name)
{
	for (size_t i = 0; i < sizeof basics / sizeof *basics; i++)
		if (strcmp(basics[i].name, name) == 0)
			return &basics[i];
	return NULL;
}

static bool is_tag_word(const char *w)
{
	return strcmp(w, "struct") == 0 || strcmp(w, "union") == 0 ||
	       strcmp(w, "enum") == 0;
}

static bool known_type(struct parser *p, const char *name,
		       struct script_type *out)
{
	const struct script_types *types = p->s->settings.types;

	return types != NULL && types->named(types->ctx, name, out) == 0;
}

static bool begins_type(struct parser *p)
{
	struct script_type unused;
	unsigned number;

	if (p->token.kind != TOKEN_NAME)
		return false;
	if (is_tag_word(p->token.name) || is_word(p, "const") ||
	    basic_find(p->token.name) != NULL)
		return true;
	return word_find(p->token.name, &number) == WORD_NONE &&
	       known_type(p, p->token.name, &unused);
}

static void parse_tagged(struct parser *p, struct script_type *out)
{
	struct place at = p->token.place;
	char name[NAME_LEN_MAX + 20];
	size_t n = strlen(p->token.name);

	memcpy(name, p->token.name, n);
	name[n++] = ' ';
	next(p);
	if (p->token.kind != TOKEN_NAME) {
		lost(p, "the name of a type");
		return;
	}
	memcpy(name + n, p->token.name, strlen(p->token.name) + 1);
	if (!known_type(p, name, out)) {
		mistake(p->s, SCRIPT_TYPE_UNKNOWN, at, "'%s' is not known%s",
			name,
			p->s->settings.types == NULL
			    ? ": there is no debug information"
			    : "");
		out->kind = SCRIPT_UNKNOWN;
	}
	next(p);
}

/* "unsigned long long int": words that make one type together. */
static void parse_basic(struct parser *p, struct script_type *out)
{
	const struct basic *b;
	bool has_size = false;

	while (p->token.kind == TOKEN_NAME &&
	       (b = basic_find(p->token.name)) != NULL) {
		bool is_sign = is_word(p, "unsigned") || is_word(p, "signed");
		bool was_sized = has_size && is_word(p, "int");

		if (out->kind == SCRIPT_UNKNOWN) {
			out->kind = b->kind;
			out->size = b->size;
			out->is_signed = b->is_signed;
		} else if (is_sign) {
			out->is_signed = b->is_signed;
		} else if (!was_sized) {
			out->size = b->size;
		}
		has_size = has_size || !is_sign;
		next(p);
	}
}

static void parse_type(struct parser *p, struct script_type *out)
{
	*out = (struct script_type){0};
	while (is_word(p, "const") || is_word(p, "volatile"))
		next(p);
	if (p->token.kind != TOKEN_NAME) {
		lost(p, "a type");
		return;
	}
	if (is_tag_word(p->token.name)) {
		parse_tagged(p, out);
	} else if (basic_find(p->token.name) != NULL) {
		parse_basic(p, out);
	} else if (known_type(p, p->token.name, out)) {
		next(p);
	} else {
		mistake(p->s, SCRIPT_TYPE_UNKNOWN, p->token.place,
			"the type '%s' is not known", p->token.name);
		next(p);
	}
	while (is_op(p, '*') || is_word(p, "const")) {
		if (is_op(p, '*') && out->stars < 8)
			out->stars++;
		next(p);
	}
}

// NOLINTBEGIN(misc-no-recursion): NEST_MAX and HEIGHT_MAX bound it
/* -- Expressions -- */

/* Up to `close`, which is taken, too. */
static struct node *parse_list(struct parser *p, unsigned close,
			       const char *wanted)
{
	struct node *first = NULL, **tail = &first;

	if (take(p, close))
		return NULL;
	do {
		*tail = parse_assign(p);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
	} while (take(p, ','));
	need(p, close, wanted);
	return first;
}

static struct node *parse_scoped(struct parser *p, enum node_kind kind)
{
	struct node *n = node_new(p, kind, p->token.place);

	next(p);
	if (!need(p, OP2('-', '>'), "'->'") || n == NULL)
		return NULL;
	if (p->token.kind != TOKEN_NAME)
		return lost(p, "the name of a variable");
	n->name = p->token.name;
	next(p);
	return n;
}

static struct node *parse_name(struct parser *p)
{
	struct node *n;

	if (is_word(p, "self"))
		return parse_scoped(p, NODE_SELF);
	if (is_word(p, "this"))
		return parse_scoped(p, NODE_THIS);
	n = node_new(p, NODE_NAME, p->token.place);
	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	next(p);
	if (take(p, '(')) {
		n->kind = NODE_CALL;
		n->list = parse_list(p, ')', "',' or ')'");
	}
	return grown(p, n);
}

static struct node *parse_sizeof(struct parser *p)
{
	struct node *n = node_new(p, NODE_NUMBER, p->token.place);
	struct script_type t;

	next(p);
	if (n == NULL || !need(p, '(', "'('"))
		return NULL;
	parse_type(p, &t);
	need(p, ')', "')'");
	n->value = t.stars > 0 ? 8 : t.size;
	n->type = (struct script_type){.kind = SCRIPT_INT, .size = 8};
	return n;
}

static struct node *parse_number(struct parser *p)
{
	struct node *n = node_new(p, NODE_NUMBER, p->token.place);

	if (n == NULL)
		return NULL;
	n->value = p->token.value;
	n->type.kind = SCRIPT_INT;
	n->type.size = p->token.is_int ? 4 : 8;
	n->type.is_signed = !p->token.is_unsigned;
	next(p);
	return n;
}

static struct node *parse_aggregation(struct parser *p)
{
	struct node *n = node_new(p, NODE_AGGREGATION, p->token.place);

	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	next(p);
	if (take(p, '['))
		n->list = parse_list(p, ']', "',' or ']'");
	return grown(p, n);
}

/* Neighbouring texts are one. */
static struct node *parse_text(struct parser *p)
{
	struct node *n = node_new(p, NODE_TEXT, p->token.place);

	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	for (next(p); p->token.kind == TOKEN_TEXT; next(p)) {
		size_t a = strlen(n->name), b = strlen(p->token.name);
		char *both = script_take(p->s, a + b + 1);

		if (both == NULL)
			return NULL;
		memcpy(both, n->name, a);
		memcpy(both + a, p->token.name, b);
		n->name = both;
	}
	return n;
}

static struct node *parse_primary(struct parser *p)
{
	struct node *n;

	switch (p->token.kind) {
	case TOKEN_NUMBER:
		return parse_number(p);
	case TOKEN_TEXT:
		return parse_text(p);
	case TOKEN_AGGREGATION:
		return parse_aggregation(p);
	case TOKEN_NAME:
		return is_word(p, "sizeof") ? parse_sizeof(p) : parse_name(p);
	default:
		break;
	}
	if (!take(p, '('))
		return lost(p, "an expression");
	n = parse_assign(p);
	return need(p, ')', "')'") ? n : NULL;
}

static struct node *parse_member(struct parser *p, struct node *of)
{
	struct node *n =
	    node_of(p, NODE_MEMBER, p->token.op, p->token.place, of, NULL);

	next(p);
	if (n == NULL)
		return NULL;
	if (p->token.kind != TOKEN_NAME)
		return lost(p, "the name of a member");
	n->name = p->token.name;
	next(p);
	return n;
}

static struct node *parse_postfix(struct parser *p)
{
	struct node *n = parse_primary(p);
	unsigned links = 0;

	while (n != NULL && !p->is_lost && p->token.kind == TOKEN_OP) {
		unsigned op = p->token.op;
		struct place at = p->token.place;

		if (op == '.' || op == OP2('-', '>')) {
			n = parse_member(p, n);
		} else if (op == '[') {
			n = node_of(p, NODE_INDEX, 0, at, n, NULL);
			next(p);
			if (n != NULL) {
				n->list = parse_list(p, ']', "',' or ']'");
				n = grown(p, n);
			}
		} else if (op == OP2('+', '+') || op == OP2('-', '-')) {
			n = node_of(p, NODE_POSTFIX, op, at, n, NULL);
			next(p);
		} else {
			break;
		}
		if (++links > NEST_MAX)
			return lost(p, "something less deep");
	}
	return p->is_lost ? NULL : n;
}

static struct node *parse_parenthesis(struct parser *p)
{
	struct lexer lexer = p->lexer;
	struct token token = p->token;
	struct node *n;

	next(p);
	if (!begins_type(p)) {
		p->lexer = lexer;
		p->token = token;
		return parse_postfix(p);
	}
	n = node_new(p, NODE_CAST, token.place);
	if (n == NULL)
		return NULL;
	parse_type(p, &n->type);
	if (!need(p, ')', "')'"))
		return NULL;
	n->kid[0] = parse_unary(p);
	return n->kid[0] != NULL ? grown(p, n) : NULL;
}

static struct node *parse_unary(struct parser *p)
{
	struct place at = p->token.place;
	struct node *n;
	unsigned op = p->token.kind == TOKEN_OP ? p->token.op : 0;

	if (p->depth > NEST_MAX)
		return lost(p, "something less deep");
	p->depth++;
	if (op == '(') {
		n = parse_parenthesis(p);
	} else if (op == '-' || op == '+' || op == '!' || op == '~' ||
		   op == '*' || op == '&' || op == OP2('+', '+') ||
		   op == OP2('-', '-')) {
		next(p);
		n = parse_unary(p);
		n = n != NULL ? node_of(p, NODE_UNARY, op, at, n, NULL) : NULL;
	} else {
		n = parse_postfix(p);
	}
	p->depth--;
	return n;
}

static unsigned precedence(const struct token *t)
{
	if (t->kind != TOKEN_OP)
		return 0;
	switch (t->op) {
	case '*':
	case '/':
	case '%':
		return 11;
	case '+':
	case '-':
		return 10;
	case OP2('<', '<'):
	case OP2('>', '>'):
		return 9;
	case '<':
	case '>':
	case OP2('<', '='):
	case OP2('>', '='):
		return 8;
	case OP2('=', '='):
	case OP2('!', '='):
		return 7;
	case '&':
		return 6;
	case '^':
		return 5;
	case '|':
		return 4;
	case OP2('&', '&'):
		return 3;
	case OP2('^', '^'):
		return 2;
	case OP2('|', '|'):
		return 1;
	default:
		return 0;
	}
}

static struct node *parse_binary(struct parser *p, unsigned least)
{
	struct node *left = parse_unary(p);
	unsigned rank, links = 0;

	while (left != NULL && (rank = precedence(&p->token)) >= least) {
		struct token op = p->token;
		struct node *right;

		next(p);
		right = parse_binary(p, rank + 1);
		if (right == NULL)
			return NULL;
		left = node_of(p, NODE_BINARY, op.op, op.place, left, right);
		if (++links > NEST_MAX)
			return lost(p, "a shorter expression");
	}
	return left;
}

static struct node *parse_choice(struct parser *p)
{
	struct node *n = parse_binary(p, 1);
	struct place at = p->token.place;

	if (n == NULL || !take(p, '?'))
		return n;
	if (p->depth > NEST_MAX)
		return lost(p, "something less deep");
	p->depth++;
	n = node_of(p, NODE_CHOICE, '?', at, n, parse_assign(p));
	if (n != NULL && need(p, ':', "':'"))
		n->kid[2] = parse_choice(p);
	p->depth--;
	return n != NULL && n->kid[1] != NULL && n->kid[2] != NULL ? grown(p, n)
								   : NULL;
}

/* The operator before '=', '=' itself, or 0. */
static unsigned assigning(const struct token *t)
{
	if (t->kind != TOKEN_OP)
		return 0;
	if (t->op == '=')
		return '=';
	if ((t->op & 0xff) != '=' || precedence(t) != 0)
		return 0;
	return t->op >> 8;
}

static struct node *parse_assign(struct parser *p)
{
	struct node *n = NULL, *value;
	struct place at;
	unsigned op;

	if (p->depth > NEST_MAX)
		return lost(p, "something less deep");
	p->depth++;
	n = parse_choice(p);
	op = assigning(&p->token);
	if (n != NULL && op != 0) {
		at = p->token.place;
		next(p);
		value = parse_assign(p);
		n = value == NULL ? NULL
				  : node_of(p, NODE_ASSIGN, op, at, n, value);
	}
	p->depth--;
	return p->is_lost ? NULL : n;
}

/* -- Statements -- */

static struct node *parse_statements(struct parser *p);

static struct node *parse_body(struct parser *p)
{
	struct node *n;

	if (take(p, '{')) {
		p->braces++;
		return parse_statements(p);
	}
	n = node_of(p, NODE_DO, 0, p->token.place, parse_assign(p), NULL);
	need(p, ';', "';'");
	return n != NULL && n->kid[0] != NULL ? n : NULL;
}

static struct node *parse_if(struct parser *p)
{
	struct node *n = node_new(p, NODE_IF, p->token.place);

	if (p->depth > NEST_MAX)
		return lost(p, "something less deep");
	next(p);
	if (n == NULL || !need(p, '(', "'('"))
		return NULL;
	n->kid[0] = parse_assign(p);
	if (!need(p, ')', "')'") || n->kid[0] == NULL)
		return NULL;
	p->depth++;
	n->list = is_word(p, "if") ? parse_if(p) : parse_body(p);
	if (!p->is_lost && is_word(p, "else")) {
		next(p);
		n->other = is_word(p, "if") ? parse_if(p) : parse_body(p);
	}
	p->depth--;
	return p->is_lost ? NULL : n;
}

static bool is_loop(const struct parser *p)
{
	return is_word(p, "while") || is_word(p, "for") || is_word(p, "do") ||
	       is_word(p, "goto") || is_word(p, "switch");
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
		return lost(p, "something less deep");
	if (is_word(p, "if"))
		return parse_if(p);
	n = node_of(p, NODE_DO, 0, p->token.place, parse_assign(p), NULL);
	if (!is_op(p, '}'))
		need(p, ';', "';' or '}'");
	return p->is_lost ? NULL : n;
}

/* Up to '}', which is taken, too. */
static struct node *parse_statements(struct parser *p)
{
	struct node *first = NULL, **tail = &first;

	while (!p->is_lost && !is_op(p, '}')) {
		if (take(p, ';'))
			continue;
		if (p->token.kind == TOKEN_END)
			return lost(p, "'}'");
		*tail = parse_statement(p);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
	}
	if (!p->is_lost) {
		p->braces--;
		next(p);
	}
	return first;
}

// NOLINTEND(misc-no-recursion)

/* -- Clauses -- */

static void skip_body(struct parser *p)
{
	unsigned braces = p->braces;

	for (; p->token.kind != TOKEN_END; lex_next(&p->lexer, &p->token)) {
		if (is_op(p, '{'))
			braces++;
		if (is_op(p, '}') && braces-- <= 1)
			return;
	}
}

static bool period_of(const char *text, uint64_t *out)
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
		if (n == 0 || n > 1000000000)
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
	if (!period_of(dash + 1, &d->period_ns))
		mistake(p->s, SCRIPT_PERIOD, d->place,
			"'%s' is no rate: write tick-N with ns, us, ms, s, m, "
			"h, d or hz",
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
			next(p);
			lost(p, "a probe description");
			return NULL;
		}
		*tail = describe(p, text, at);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
		next(p);
	} while (is_op(p, ','));
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
	if (!p->is_lost && is_op(p, '/')) {
		p->lexer.in_predicate = true;
		next(p);
		c->predicate = parse_assign(p);
		if (p->token.kind != TOKEN_PREDICATE_END)
			lost(p, "'/' and then '{'");
		p->lexer.in_predicate = false;
		next(p);
	}
	p->lexer.in_predicate = false;
	if (p->is_lost || p->token.kind == TOKEN_END || is_op(p, ';'))
		return c;
	if (!is_op(p, '{')) {
		lost(p, "'{', '/' or ','");
		return c;
	}
	/* The '}' that ends it must be the last token that is taken: what
	 * follows is no token. */
	p->braces = 1;
	next(p);
	return c;
}

/* Statements up to the '}' of the clause, which is only looked at. */
static void parse_clause_body(struct parser *p, struct clause *c)
{
	struct node **tail = &c->body;

	while (!p->is_lost && !is_op(p, '}')) {
		if (take(p, ';'))
			continue;
		if (p->token.kind == TOKEN_END) {
			lost(p, "'}'");
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
			lost(p, "fewer keys");
			return;
		}
		v->key[v->n_keys++] = t;
	} while (!p->is_lost && take(p, ','));
	need(p, ']', "']'");
}

static void parse_declaration(struct parser *p)
{
	struct variable v = {.is_declared = true};
	struct place at;

	p->is_lost = false;
	if (is_word(p, "self") || is_word(p, "this")) {
		v.scope = is_word(p, "self") ? PROBE_SELF : PROBE_THIS;
		next(p);
	}
	parse_type(p, &v.type);
	if (p->token.kind != TOKEN_NAME) {
		lost(p, "the name of a variable");
		return;
	}
	v.name = p->token.name;
	at = p->token.place;
	next(p);
	if (take(p, '['))
		parse_key_types(p, &v);
	if (!is_op(p, ';'))
		lost(p, "';'");
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
	next(p);
	is_type = is_word(p, "self") || is_word(p, "this") || begins_type(p);
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
	while (p->token.kind != TOKEN_END && !is_op(p, ';'));
}

void script_parse(struct script *s, const char *text, size_t len)
{
	struct parser p = {.s = s};
	struct clause **tail = &s->clauses;

	p.lexer = (struct lexer){.s = s, .at = text, .end = text + len};
	p.lexer.place = (struct place){1, 1};
	while (!s->is_over && !lex_is_end(&p.lexer)) {
		if (is_foreign(&p)) {
			skip_statement(&p);
			continue;
		}
		if (begins_declaration(&p)) {
			parse_declaration(&p);
			if (p.is_lost)
				skip_statement(&p);
			continue;
		}
		if (*p.lexer.at == ';') {
			lex_next(&p.lexer, &p.token);
			continue;
		}
		*tail = parse_clause(&p);
		if (*tail == NULL)
			return;
		if (!p.is_lost && p.token.kind != TOKEN_END && !is_op(&p, ';'))
			parse_clause_body(&p, *tail);
		if (p.is_lost)
			skip_body(&p);
		tail = &(*tail)->next;
	}
	if (s->clauses == NULL && s->mistakes.n == 0)
		mistake(s, SCRIPT_EMPTY, p.lexer.place,
			"the script has no clause");
}
