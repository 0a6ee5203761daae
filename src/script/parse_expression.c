/* script/parse_expression.c - tokens, types and expressions of a script.
 *
 *	assign	  = choice [assign-op assign]
 *	choice	  = binary ['?' assign ':' choice]
 *	unary	  = ('-' '+' '!' '~' '*' '&' '++' '--') unary
 *		  | '(' type ')' unary | postfix
 *
 * Nesting is bounded by NEST_MAX, and trees by HEIGHT_MAX: parsing ends, and so
 * does whoever walks the tree. */
#include "script/parse_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct node *parse_unary(struct parser *p);

/* -- Tokens -- */

void parse_next(struct parser *p)
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

struct node *parse_lost(struct parser *p, const char *wanted)
{
	char room[4];

	if (!p->is_lost)
		mistake(p->s, SCRIPT_SYNTAX, p->token.place,
			"%s expected, not '%s'", wanted,
			token_text(&p->token, room));
	p->is_lost = true;
	return NULL;
}

bool parse_is_op(const struct parser *p, unsigned op)
{
	return p->token.kind == TOKEN_OP && p->token.op == op;
}

bool parse_is_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_NAME && strcmp(p->token.name, word) == 0;
}

bool parse_take(struct parser *p, unsigned op)
{
	if (!parse_is_op(p, op))
		return false;
	parse_next(p);
	return true;
}

bool parse_need(struct parser *p, unsigned op, const char *wanted)
{
	if (parse_take(p, op))
		return true;
	parse_lost(p, wanted);
	return false;
}

struct node *parse_node_new(struct parser *p, enum node_kind kind,
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
	return height < HEIGHT_MAX ? n : parse_lost(p, "something less deep");
}

/* A node with up to two kids, none of which may be missing. */
struct node *parse_node_of(struct parser *p, enum node_kind kind, unsigned op,
			   struct place at, struct node *a, struct node *b)
{
	struct node *n = p->is_lost ? NULL : parse_node_new(p, kind, at);

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

/* Asking for a type may mean reading all debug information: only where what
 * follows the name could follow a type. */
static bool may_be_type(const struct parser *p)
{
	const char *at = p->lexer.at;

	while (at < p->lexer.end &&
	       (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at < p->lexer.end &&
	       (*at == '*' || *at == ')' || *at == '_' ||
		(*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'));
}

bool parse_begins_type(struct parser *p)
{
	struct script_type unused;
	unsigned number;

	if (p->token.kind != TOKEN_NAME)
		return false;
	if (is_tag_word(p->token.name) || parse_is_word(p, "const") ||
	    basic_find(p->token.name) != NULL)
		return true;
	return word_find(p->token.name, &number) == WORD_NONE &&
	       may_be_type(p) && known_type(p, p->token.name, &unused);
}

static void parse_tagged(struct parser *p, struct script_type *out)
{
	struct place at = p->token.place;
	char name[NAME_LEN_MAX + 20];
	size_t n = strlen(p->token.name);

	memcpy(name, p->token.name, n);
	name[n++] = ' ';
	parse_next(p);
	if (p->token.kind != TOKEN_NAME) {
		parse_lost(p, "the name of a type");
		return;
	}
	memcpy(name + n, p->token.name, strlen(p->token.name) + 1);
	if (!known_type(p, name, out)) {
		const struct script_types *types = p->s->settings.types;
		const char *lacks = types == NULL
					? "there is no debug information"
					: types->lacks;

		mistake(p->s, SCRIPT_TYPE_UNKNOWN, at, "'%s' is not known%s%s",
			name, lacks != NULL ? ": " : "",
			lacks != NULL ? lacks : "");
		out->kind = SCRIPT_UNKNOWN;
	}
	parse_next(p);
}

/* "unsigned long long int": words that make one type together. */
static void parse_basic(struct parser *p, struct script_type *out)
{
	const struct basic *b;
	bool has_size = false;

	while (p->token.kind == TOKEN_NAME &&
	       (b = basic_find(p->token.name)) != NULL) {
		bool is_sign =
		    parse_is_word(p, "unsigned") || parse_is_word(p, "signed");
		bool was_sized = has_size && parse_is_word(p, "int");

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
		parse_next(p);
	}
}

void parse_type(struct parser *p, struct script_type *out)
{
	*out = (struct script_type){0};
	while (parse_is_word(p, "const") || parse_is_word(p, "volatile"))
		parse_next(p);
	if (p->token.kind != TOKEN_NAME) {
		parse_lost(p, "a type");
		return;
	}
	if (is_tag_word(p->token.name)) {
		parse_tagged(p, out);
	} else if (basic_find(p->token.name) != NULL) {
		parse_basic(p, out);
	} else if (known_type(p, p->token.name, out)) {
		parse_next(p);
	} else {
		mistake(p->s, SCRIPT_TYPE_UNKNOWN, p->token.place,
			"the type '%s' is not known", p->token.name);
		parse_next(p);
	}
	while (parse_is_op(p, '*') || parse_is_word(p, "const")) {
		if (parse_is_op(p, '*') && out->stars < 8)
			out->stars++;
		parse_next(p);
	}
}

// NOLINTBEGIN(misc-no-recursion): NEST_MAX and HEIGHT_MAX bound it
/* -- Expressions -- */

/* Up to `close`, which is taken, too. */
static struct node *parse_list(struct parser *p, unsigned close,
			       const char *wanted)
{
	struct node *first = NULL, **tail = &first;

	if (parse_take(p, close))
		return NULL;
	do {
		*tail = parse_assign(p);
		if (*tail == NULL)
			return NULL;
		tail = &(*tail)->next;
	} while (parse_take(p, ','));
	parse_need(p, close, wanted);
	return first;
}

static struct node *parse_scoped(struct parser *p, enum node_kind kind)
{
	struct node *n = parse_node_new(p, kind, p->token.place);

	parse_next(p);
	if (!parse_need(p, OP2('-', '>'), "'->'") || n == NULL)
		return NULL;
	if (p->token.kind != TOKEN_NAME)
		return parse_lost(p, "the name of a variable");
	n->name = p->token.name;
	parse_next(p);
	return n;
}

static struct node *parse_name(struct parser *p)
{
	struct node *n;

	if (parse_is_word(p, "self"))
		return parse_scoped(p, NODE_SELF);
	if (parse_is_word(p, "this"))
		return parse_scoped(p, NODE_THIS);
	n = parse_node_new(p, NODE_NAME, p->token.place);
	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	parse_next(p);
	if (parse_take(p, '(')) {
		n->kind = NODE_CALL;
		n->list = parse_list(p, ')', "',' or ')'");
	}
	return grown(p, n);
}

static struct node *parse_sizeof(struct parser *p)
{
	struct node *n = parse_node_new(p, NODE_NUMBER, p->token.place);
	struct script_type t;

	parse_next(p);
	if (n == NULL || !parse_need(p, '(', "'('"))
		return NULL;
	parse_type(p, &t);
	parse_need(p, ')', "')'");
	n->value = t.stars > 0 ? 8 : t.size;
	n->type = (struct script_type){.kind = SCRIPT_INT, .size = 8};
	return n;
}

static struct node *parse_number(struct parser *p)
{
	struct node *n = parse_node_new(p, NODE_NUMBER, p->token.place);

	if (n == NULL)
		return NULL;
	n->value = p->token.value;
	n->type.kind = SCRIPT_INT;
	n->type.size = p->token.is_int ? 4 : 8;
	n->type.is_signed = !p->token.is_unsigned;
	parse_next(p);
	return n;
}

static struct node *parse_aggregation(struct parser *p)
{
	struct node *n = parse_node_new(p, NODE_AGGREGATION, p->token.place);

	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	parse_next(p);
	if (parse_take(p, '['))
		n->list = parse_list(p, ']', "',' or ']'");
	return grown(p, n);
}

/* Neighbouring texts are one. */
static struct node *parse_text(struct parser *p)
{
	struct node *n = parse_node_new(p, NODE_TEXT, p->token.place);

	if (n == NULL)
		return NULL;
	n->name = p->token.name;
	for (parse_next(p); p->token.kind == TOKEN_TEXT; parse_next(p)) {
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
		return parse_is_word(p, "sizeof") ? parse_sizeof(p)
						  : parse_name(p);
	default:
		break;
	}
	if (!parse_take(p, '('))
		return parse_lost(p, "an expression");
	n = parse_assign(p);
	return parse_need(p, ')', "')'") ? n : NULL;
}

static struct node *parse_member(struct parser *p, struct node *of)
{
	struct node *n = parse_node_of(p, NODE_MEMBER, p->token.op,
				       p->token.place, of, NULL);

	parse_next(p);
	if (n == NULL)
		return NULL;
	if (p->token.kind != TOKEN_NAME)
		return parse_lost(p, "the name of a member");
	n->name = p->token.name;
	parse_next(p);
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
			n = parse_node_of(p, NODE_INDEX, 0, at, n, NULL);
			parse_next(p);
			if (n != NULL) {
				n->list = parse_list(p, ']', "',' or ']'");
				n = grown(p, n);
			}
		} else if (op == OP2('+', '+') || op == OP2('-', '-')) {
			n = parse_node_of(p, NODE_POSTFIX, op, at, n, NULL);
			parse_next(p);
		} else {
			break;
		}
		if (++links > NEST_MAX)
			return parse_lost(p, "something less deep");
	}
	return p->is_lost ? NULL : n;
}

static struct node *parse_parenthesis(struct parser *p)
{
	struct lexer lexer = p->lexer;
	struct token token = p->token;
	struct node *n;

	parse_next(p);
	if (!parse_begins_type(p)) {
		p->lexer = lexer;
		p->token = token;
		return parse_postfix(p);
	}
	n = parse_node_new(p, NODE_CAST, token.place);
	if (n == NULL)
		return NULL;
	parse_type(p, &n->type);
	if (!parse_need(p, ')', "')'"))
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
		return parse_lost(p, "something less deep");
	p->depth++;
	if (op == '(') {
		n = parse_parenthesis(p);
	} else if (op == '-' || op == '+' || op == '!' || op == '~' ||
		   op == '*' || op == '&' || op == OP2('+', '+') ||
		   op == OP2('-', '-')) {
		parse_next(p);
		n = parse_unary(p);
		n = n != NULL ? parse_node_of(p, NODE_UNARY, op, at, n, NULL)
			      : NULL;
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

		parse_next(p);
		right = parse_binary(p, rank + 1);
		if (right == NULL)
			return NULL;
		left =
		    parse_node_of(p, NODE_BINARY, op.op, op.place, left, right);
		if (++links > NEST_MAX)
			return parse_lost(p, "a shorter expression");
	}
	return left;
}

static struct node *parse_choice(struct parser *p)
{
	struct node *n = parse_binary(p, 1);
	struct place at = p->token.place;

	if (n == NULL || !parse_take(p, '?'))
		return n;
	if (p->depth > NEST_MAX)
		return parse_lost(p, "something less deep");
	p->depth++;
	n = parse_node_of(p, NODE_CHOICE, '?', at, n, parse_assign(p));
	if (n != NULL && parse_need(p, ':', "':'"))
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

struct node *parse_assign(struct parser *p)
{
	struct node *n = NULL, *value;
	struct place at;
	unsigned op;

	if (p->depth > NEST_MAX)
		return parse_lost(p, "something less deep");
	p->depth++;
	n = parse_choice(p);
	op = assigning(&p->token);
	if (n != NULL && op != 0) {
		at = p->token.place;
		parse_next(p);
		value = parse_assign(p);
		n = value == NULL
			? NULL
			: parse_node_of(p, NODE_ASSIGN, op, at, n, value);
	}
	p->depth--;
	return p->is_lost ? NULL : n;
}
// NOLINTEND(misc-no-recursion)
