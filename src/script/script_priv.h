/* script/script_priv.h - a script on its way from text to byte code.
 *
 *	text --lex--> tokens --parse--> nodes --check--> typed nodes
 *	     --generate--> tables --pack--> program
 *
 * All that a script consists of lives in one arena. When memory ends, or
 * after too many mistakes, is_over is set and everything winds down. */
#ifndef SCRIPT_SCRIPT_PRIV_H
#define SCRIPT_SCRIPT_PRIV_H

#include "base/arena.h"
#include "base/vec.h"
#include "script/script.h"

enum {
	MISTAKES_MAX = 20,
	NEST_MAX = 100,
	HEIGHT_MAX = 300,
	NAME_LEN_MAX = 255
};

struct place {
	unsigned line, column;
	unsigned source;
};

/* -- Tokens -- */

/* Operators are their characters: '+', OP2('+', '='), OP3('<', '<', '='). */
#define OP2(a, b)    ((a) << 8 | (b))
#define OP3(a, b, c) ((a) << 16 | (b) << 8 | (c))

enum token_kind {
	TOKEN_END,
	TOKEN_BAD, /* told already */
	TOKEN_NUMBER,
	TOKEN_TEXT,
	TOKEN_NAME,
	TOKEN_AGGREGATION,
	TOKEN_PREDICATE_END,
	TOKEN_OP,
};

struct token {
	enum token_kind kind;
	unsigned op;
	struct place place;
	const char *name; /* name or text */
	uint64_t value;
	bool is_unsigned; /* by a suffix or its size */
	bool is_int;	  /* fits an int and has no suffix l */
};

struct lexer {
	struct script *s;
	const char *at, *end;
	struct place place;
	bool in_predicate; /* a '/' before '{' ends it */
};

void lex_next(struct lexer *l, struct token *out);
/* A probe description, up to ',' '/' '{' ';': with macros replaced. NULL if
 * there is none or it is wrong (told). */
const char *lex_description(struct lexer *l, struct place *place);
bool lex_is_end(struct lexer *l); /* of the text, after space */

/* -- Nodes -- */

enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,
	NODE_NAME,
	NODE_SELF, /* self->name */
	NODE_THIS,
	NODE_AGGREGATION, /* list: keys */
	NODE_INDEX,	  /* kid[0][list] */
	NODE_CALL,	  /* name(list) */
	NODE_UNARY,
	NODE_POSTFIX, /* ++ -- */
	NODE_BINARY,
	NODE_ASSIGN, /* op: '=' or the operator before it */
	NODE_CHOICE, /* kid[0] ? kid[1] : kid[2] */
	NODE_MEMBER, /* kid[0].name; op '.' or OP2('-', '>') */
	NODE_CAST,   /* (type)kid[0] */
	NODE_IF,     /* kid[0]; list: then; other: else */
	NODE_DO,     /* an expression or action, for its effect */
};

struct node {
	enum node_kind kind;
	unsigned op;
	struct place place;
	const char *name;
	uint64_t value;
	unsigned height; /* of the tree below: HEIGHT_MAX at most */
	struct node *kid[3];
	struct node *list, *other; /* linked by next */
	struct node *next;
	struct script_type type; /* check's answer; a cast's is the parser's */
	const char *type_name;	 /* of a cast to a type by name */
	/* check's answers for generate */
	enum {
		IS_PLAIN,
		IS_ARG,	    /* number */
		IS_BUILTIN, /* number */
		IS_UREGS,
		IS_CONST,    /* value */
		IS_VARIABLE, /* number: in variables */
		IS_MEMBER,   /* member */
		IS_FUNCTION, /* number: enum probe_function */
		IS_ACTION,   /* number: index into action_words */
		IS_NAMED,    /* usym() and its like: kid[0] */
		IS_STACK,    /* number: frames */
	} is;
	unsigned number;
	struct script_member member;
};

struct description {
	struct place place;
	const char *part[4]; /* provider, module, function, name */
	enum probe_when when;
	uint64_t period_ns;
	struct description *next;
};

struct clause {
	struct place place;
	struct description *descriptions;
	struct node *predicate; /* or NULL */
	struct node *body;
	struct clause *next;
};

/* -- Things with names -- */

struct variable {
	const char *name;
	enum probe_scope scope;
	struct script_type type;
	unsigned n_keys;
	struct script_type key[PROBE_KEYS_MAX];
	bool is_declared; /* by a declaration, not by use */
};

struct aggregation {
	const char *name;
	enum probe_how how;
	bool has_how;
	int64_t how_arg[4];
	unsigned n_keys;
	bool has_keys;
	struct probe_part key[PROBE_KEYS_MAX];
};

struct script {
	struct heap heap;
	struct arena arena;
	struct script_settings settings;
	const struct script_source *sources; /* borrowed */
	struct script_source only;	     /* the one of script_compile() */
	bool is_over, no_memory;
	bool is_quiet;	  /* mistakes are found again later */
	bool zeros_count; /* x = 0 makes x a number */
	struct clause *clauses;
	struct {
		VEC(struct script_mistake);
	} mistakes;
	struct {
		VEC(struct script_option);
	} options;
	struct {
		VEC(struct variable);
	} variables;
	struct {
		VEC(struct aggregation);
	} aggregations;
	struct probe_program *program; /* owned, of size */
	uint32_t program_size;
};

void mistake(struct script *s, enum script_tag tag, struct place at,
	     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* From the arena, zeroed; NULL and is_over when there is no memory. */
void *script_take(struct script *s, size_t len);
const char *script_text(struct script *s, const char *text, size_t len);

/* Mistakes are in the script. */
void script_parse(struct script *s, size_t n_sources);
void script_check(struct script *s);
void script_generate(struct script *s);

/* -- Words of the language -- */

enum word_kind {
	WORD_ACTION,	  /* number: enum action_word */
	WORD_AGGREGATING, /* number: enum probe_how */
	WORD_NAMED,	  /* number: enum probe_kind */
	WORD_FUNCTION,
	WORD_BUILTIN,
	WORD_UREG, /* R_RAX: a constant */
	WORD_UNSUPPORTED,
	WORD_NONE,
};

enum action_word {
	ACTION_PRINTF,
	ACTION_TRACE,
	ACTION_PRINT,
	ACTION_PRINTA,
	ACTION_TRACEMEM,
	ACTION_USTACK,
	ACTION_EXIT,
	ACTION_CLEAR,
	ACTION_TRUNC,
	ACTION_NORMALIZE,
	ACTION_DENORMALIZE,
	ACTION_SYSTEM,
	ACTION_FREOPEN,
	ACTION_SPECULATE,
	ACTION_COMMIT,
	ACTION_DISCARD,
	ACTION_STOP,
	ACTION_RAISE,
	ACTION_MAX
};

enum word_kind word_find(const char *name, unsigned *number);
/* For a function or action that does not exist: one that looks like it. */
const char *word_near(const char *name);

/* -- printf -- */

struct conversion {
	const char *at; /* at its %; end is behind it */
	size_t len;
	bool is_left, is_plus, is_space, is_zero, is_other, is_grouped;
	int width, precision; /* -1: none; -2: '*' */
	bool is_aggregation;  /* %@d */
	char letter;	      /* '%' for "%%"; 0 if there is none */
};

/* The next conversion at or after at; false if there is none. */
bool conversion_next(const char *at, struct conversion *out);
/* Can letter show it? */
bool conversion_fits(char letter, enum probe_kind kind);

#endif
