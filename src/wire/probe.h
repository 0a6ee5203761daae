/* wire/probe.h - what a probe script is once it is compiled.
 *
 * hark compiles a script to one flat block that holds no address: a header,
 * then tables that the header finds by offset, each aligned to 8. The same
 * bytes are verified (probe/verify.c) and run (probe/machine.c) in the target
 * and read again by hark to show what was recorded.
 *
 * The machine has 16 registers of 64 bits, each of which is empty, a number
 * or a text. Instructions have 8 bytes. Jumps go forward only, so a clause
 * runs each of its instructions at most once.
 *
 *	key tuple    TUPLE, then KEY... in the order of the array's signature;
 *		     the next GETKEY, PUTKEY or AGGREGATE uses it up
 *	action	     EMIT, then one OUT... for each argument of the action
 *
 * In memory, keys and arguments are laid out alike, padded with zeros to 8:
 *
 *	number, symbol	8 bytes
 *	text		4 bytes of length, then the bytes and a NUL
 *	stack		8 bytes of count, then so many addresses
 *	bytes		as many as the argument says
 *
 * Pure. */
#ifndef WIRE_PROBE_H
#define WIRE_PROBE_H

#include <stdint.h>

#define PROBE_MAGIC 0x4350524bU /* "KRPC" */

enum {
	PROBE_VERSION = 1,
	PROBE_REGISTERS = 16,
	PROBE_PROGRAM_MAX = 1 << 24,
	PROBE_CODE_MAX = 4096,	  /* instructions of a clause */
	PROBE_OUTPUT_MAX = 65536, /* bytes a clause may put out */
	PROBE_KEYS_MAX = 12,
	PROBE_ARGS_MAX = 63,
	PROBE_FRAMES_MAX = 256,
	PROBE_STRING_MIN = 16,
	PROBE_STRING_MAX = 4096, /* of string_size: bytes with the NUL */
	PROBE_ARGUMENTS = 10,	 /* arg0..arg9 */
	PROBE_UREGS = 24,
	PROBE_PROFILE_NS = 50000, /* from one tick to the next, at least */
};

/* ORDER probe_op. The letters say what an instruction reads and writes:
 * d, a, b registers of a number; D, A, B of a text; x any register. */
/* clang-format off */
#define PROBE_OPS(R) \
	R(RET)		/* the clause is done */ \
	R(CONST)	/* d = constants[imm] */ \
	R(IMM)		/* d = imm */ \
	R(TEXT)		/* D = texts + imm */ \
	R(NULL)		/* D = no text */ \
	R(MOVE)		/* d = a, a number or a text */ \
	R(ADD) R(SUB) R(MUL) R(SDIV) R(UDIV) R(SREM) R(UREM) \
	R(AND) R(OR) R(XOR) R(SHL) R(SHR) R(SAR) \
	R(EQ) R(NE) R(SLT) R(SLE) R(ULT) R(ULE) /* d = a op b */ \
	R(NEG) R(NOT)	/* d = op a */ \
	R(COMPARE)	/* d = -1, 0, 1: A against B */ \
	R(IS_NULL)	/* d = A is no text */ \
	R(SEXT) R(ZEXT)	/* d = the low imm bits of a */ \
	R(JUMP)		/* over imm instructions */ \
	R(JZ) R(JNZ)	/* likewise, by a */ \
	R(LOAD)		/* d = memory at a + imm; b: enum probe_width */ \
	R(BUILTIN)	/* d = enum probe_builtin imm */ \
	R(BUILTIN_TEXT)	/* D = enum probe_builtin imm */ \
	R(ARG)		/* d = argument imm of the probe */ \
	R(UREG)		/* d = register number a of the program */ \
	R(CALL)		/* d or D = function imm of registers a and on */ \
	R(GET) R(PUT)	/* d or D = variables[imm]; the other way from a */ \
	R(TUPLE)	/* a new, empty key */ \
	R(KEY) R(KEY_TEXT) /* a or A is added to it */ \
	R(KEY_STACK)	/* imm frames of the program's stack are */ \
	R(GET_KEY) R(PUT_KEY) /* as GET and PUT, of an array's cell */ \
	R(AGGREGATE)	/* value a, weight b, into aggregations[imm] */ \
	R(RESERVE)	/* room for all that the clause may put out */ \
	R(EMIT)		/* an entry of actions[imm] begins */ \
	R(OUT) R(OUT_TEXT) /* a or A is its next argument */ \
	R(OUT_STACK)	/* imm frames are */ \
	R(OUT_BYTES)	/* imm bytes at a are */ \
	R(SPECULATE) R(COMMIT) R(DISCARD) /* speculation a */ \
	R(STOP)		/* the program stops when the clause is done */ \
	R(RAISE)	/* signal a, likewise */
/* clang-format on */

enum probe_op {
#define R(name) PROBE_##name,
	PROBE_OPS(R)
#undef R
	    PROBE_OP_MAX
};

struct probe_insn {
	uint8_t op; /* enum probe_op */
	uint8_t d, a, b;
	int32_t imm;
};

enum probe_width {
	PROBE_U8,
	PROBE_U16,
	PROBE_U32,
	PROBE_U64,
	PROBE_S8,
	PROBE_S16,
	PROBE_S32,
	PROBE_WIDTH_MAX
};

/* ORDER probe_builtin: numbers first, then texts. */
/* clang-format off */
#define PROBE_BUILTINS(R) \
	R(PID, "pid") R(PPID, "ppid") R(TID, "tid") R(UID, "uid") \
	R(GID, "gid") R(ID, "id") R(EPID, "epid") R(ERRNO, "errno") \
	R(TIMESTAMP, "timestamp") R(VTIMESTAMP, "vtimestamp") \
	R(WALLTIMESTAMP, "walltimestamp") R(UCALLER, "ucaller") \
	R(USTACKDEPTH, "ustackdepth") R(CPU, "cpu") R(RETVAL, "retval") \
	R(PROBEPROV, "probeprov") R(PROBEMOD, "probemod") \
	R(PROBEFUNC, "probefunc") R(PROBENAME, "probename") \
	R(EXECNAME, "execname") R(THREADNAME, "threadname")
/* clang-format on */

enum probe_builtin {
#define R(name, text) PROBE_BUILTIN_##name,
	PROBE_BUILTINS(R)
#undef R
	    PROBE_BUILTIN_MAX,
	PROBE_BUILTIN_FIRST_TEXT = PROBE_BUILTIN_PROBEPROV,
};

/* ORDER probe_function. What goes in and what comes out: i a number, s a
 * text; after '|' come arguments that may be left out in a script, whose
 * value is then the number in the last column. */
/* clang-format off */
#define PROBE_FUNCTIONS(R) \
	R(COPYIN, "copyin", 'i', "ii", 2, 0) \
	R(COPYINSTR, "copyinstr", 's', "ii", 1, PROBE_STRING_MAX) \
	R(STRLEN, "strlen", 'i', "s", 1, 0) \
	R(STRSTR, "strstr", 's', "ss", 2, 0) \
	R(STRCHR, "strchr", 's', "si", 2, 0) \
	R(STRRCHR, "strrchr", 's', "si", 2, 0) \
	R(INDEX, "index", 'i', "ssi", 2, 0) \
	R(RINDEX, "rindex", 'i', "ssi", 2, PROBE_STRING_MAX) \
	R(SUBSTR, "substr", 's', "sii", 2, PROBE_STRING_MAX) \
	R(STRJOIN, "strjoin", 's', "ss", 2, 0) \
	R(STRTOLL, "strtoll", 'i', "si", 1, 10) \
	R(LLTOSTR, "lltostr", 's', "ii", 1, 10) \
	R(TOLOWER, "tolower", 's', "s", 1, 0) \
	R(TOUPPER, "toupper", 's', "s", 1, 0) \
	R(BASENAME, "basename", 's', "s", 1, 0) \
	R(DIRNAME, "dirname", 's', "s", 1, 0) \
	R(RAND, "rand", 'i', "", 0, 0) \
	R(SPECULATION, "speculation", 'i', "", 0, 0) \
	R(HTONS, "htons", 'i', "i", 1, 0) \
	R(HTONL, "htonl", 'i', "i", 1, 0) \
	R(HTONLL, "htonll", 'i', "i", 1, 0) \
	R(NTOHS, "ntohs", 'i', "i", 1, 0) \
	R(NTOHL, "ntohl", 'i', "i", 1, 0) \
	R(NTOHLL, "ntohll", 'i', "i", 1, 0)
/* clang-format on */

enum probe_function {
#define R(name, text, result, in, needed, otherwise) PROBE_CALL_##name,
	PROBE_FUNCTIONS(R)
#undef R
	    PROBE_CALL_MAX
};

enum { PROBE_SIGNATURE_MAX = 4 };

/* Held by value: the target's image has no relocations. */
struct probe_signature {
	char name[12], result, in[PROBE_SIGNATURE_MAX];
	uint8_t needed;
	int32_t otherwise;
};

static inline struct probe_signature probe_signature_of(unsigned function)
{
	static const struct probe_signature all[PROBE_CALL_MAX] = {
#define R(name, text, result, in, needed, otherwise) \
	{text, result, in, needed, otherwise},
	    PROBE_FUNCTIONS(R)
#undef R
	};

	return all[function];
}

/* What a key or an argument of an action is. */
enum probe_kind {
	PROBE_NOTHING,
	PROBE_NUMBER,
	PROBE_STRING,
	PROBE_STACK,   /* shown as ustack() */
	PROBE_BYTES,   /* tracemem() */
	PROBE_ADDRESS, /* numbers that are shown by name: uaddr() */
	PROBE_SYMBOL,  /* usym() */
	PROBE_FUNCTION,
	PROBE_MODULE,
	PROBE_KIND_MAX
};

struct probe_part {
	uint8_t kind; /* enum probe_kind */
	uint8_t size; /* of a number, in bytes: 1, 2, 4, 8 */
	uint8_t is_signed;
	uint8_t zero;
	uint32_t len; /* frames of a stack, bytes of bytes */
};

enum probe_scope {
	PROBE_GLOBAL,
	PROBE_SELF, /* one for each thread */
	PROBE_THIS, /* one for each time a probe is hit */
	PROBE_SCOPE_MAX
};

struct probe_variable {
	uint32_t name; /* in texts */
	uint8_t scope; /* enum probe_scope */
	uint8_t kind;  /* PROBE_NUMBER or PROBE_STRING */
	uint8_t n_keys;
	uint8_t zero;
	/* A scalar's place among those of its scope and kind. */
	uint32_t slot;
	uint32_t first_key; /* in parts */
};

enum probe_how {
	PROBE_COUNT,
	PROBE_SUM,
	PROBE_AVG,
	PROBE_MIN,
	PROBE_MAX,
	PROBE_STDDEV,
	PROBE_QUANTIZE,
	PROBE_LQUANTIZE,
	PROBE_LLQUANTIZE,
	PROBE_HOW_MAX
};

struct probe_aggregation {
	uint32_t name; /* in texts; "" for @ */
	uint8_t how;   /* enum probe_how */
	uint8_t n_keys;
	uint16_t n_cells; /* as aggregate_cells() says */
	uint32_t first_key;
	uint32_t zero;
	/* lquantize: lowest, limit, step; llquantize: factor, low, high,
	 * steps. */
	int64_t how_arg[4];
};

/* What hark does when it meets an entry of a record. */
enum probe_action_kind {
	PROBE_PRINTF,
	PROBE_TRACE, /* one argument, shown as what it is */
	PROBE_PRINT, /* likewise, with its type */
	PROBE_PRINTA,
	PROBE_EXIT,
	PROBE_CLEAR,
	PROBE_TRUNC,
	PROBE_NORMALIZE,
	PROBE_DENORMALIZE,
	PROBE_SYSTEM,
	PROBE_FREOPEN,
	PROBE_DEFAULT, /* the clause had no statements */
	PROBE_BESIDE,  /* of the printa before: one more aggregation */
	PROBE_ACTION_MAX
};

enum {
	PROBE_NO_AGGREGATION = 0xffffffff,
	PROBE_COLUMNS_MAX = 16, /* aggregations of one printa */
};

struct probe_action {
	uint8_t kind; /* enum probe_action_kind */
	uint8_t n_args;
	uint16_t n_beside;    /* of printa: so many of them follow */
	uint32_t first_arg;   /* in parts */
	uint32_t format;      /* in texts; "" for none */
	uint32_t aggregation; /* or PROBE_NO_AGGREGATION */
};

enum probe_when {
	PROBE_AT_CODE, /* pid, usdt, plt: whoever finds it */
	PROBE_AT_BEGIN,
	PROBE_AT_END,
	PROBE_AT_ERROR,
	PROBE_AT_TICK,	  /* every period_ns, once */
	PROBE_AT_PROFILE, /* every period_ns, on every thread that runs */
	PROBE_WHEN_MAX
};

/* One of a clause's probe descriptions; all offsets are in texts. */
struct probe_description {
	uint32_t provider, module, function, name;
	uint32_t when; /* enum probe_when */
	uint32_t zero;
	uint64_t period_ns;
};

/* Clauses that a collector may run without the machine. */
enum probe_hot {
	PROBE_NOT_HOT,
	PROBE_HOT_COUNT,       /* @ = count() */
	PROBE_HOT_COUNT_KEYED, /* @[x] = count() */
	PROBE_HOT_QUANTIZE,    /* @ = quantize(x) */
	PROBE_HOT_MAX
};

/* What x is. */
enum probe_source {
	PROBE_FROM_NOTHING,
	PROBE_FROM_ARG,	    /* argument hot_number */
	PROBE_FROM_BUILTIN, /* built-in hot_number */
	PROBE_FROM_CONST,   /* constant hot_number */
	PROBE_FROM_TEXT,    /* the text at hot_number */
	PROBE_SOURCE_MAX
};

enum {
	PROBE_HAS_PREDICATE = 1,
	PROBE_IS_DESTRUCTIVE = 2, /* has stop() or raise() */
	PROBE_SPECULATES = 4,
	PROBE_FLAGS_ALL = 7,
};

struct probe_clause {
	uint32_t first_description, n_descriptions;
	uint32_t first_insn, n_insns;
	uint32_t output_max; /* bytes of entries, at most; exact bound */
	uint32_t line;	     /* where it stands in the script */
	uint8_t flags;
	uint8_t hot;	    /* enum probe_hot */
	uint8_t hot_source; /* enum probe_source */
	uint8_t zero;
	uint32_t hot_number;
	uint32_t hot_aggregation;
	uint32_t more_zero;
};

struct probe_table {
	uint32_t offset, n;
};

struct probe_program {
	uint32_t magic, version;
	uint32_t size; /* of all, in bytes */
	uint32_t string_size;
	struct probe_table clauses, descriptions, code, constants, variables,
	    aggregations, actions, parts;
	struct probe_table texts; /* bytes; the last one is 0 */
	/* How many scalars there are: [scope][is a text]. */
	uint32_t n_slots[PROBE_SCOPE_MAX][2];
};

/* Begins an entry of a record; arguments follow. */
struct probe_entry {
	uint32_t action;
	uint32_t size; /* with this head; a multiple of 8 */
};

_Static_assert(sizeof(struct probe_insn) == 8, "layout");
_Static_assert(sizeof(struct probe_part) == 8, "layout");
_Static_assert(sizeof(struct probe_variable) == 16, "layout");
_Static_assert(sizeof(struct probe_aggregation) == 48, "layout");
_Static_assert(sizeof(struct probe_action) == 16, "layout");
_Static_assert(sizeof(struct probe_description) == 32, "layout");
_Static_assert(sizeof(struct probe_clause) == 40, "layout");
_Static_assert(sizeof(struct probe_program) == 112, "layout");

#define PROBE_TABLE(p, table, type) \
	((const type *)(const void *)((const uint8_t *)(p) + (p)->table.offset))

static inline const struct probe_clause *
probe_clauses(const struct probe_program *p)
{
	return PROBE_TABLE(p, clauses, struct probe_clause);
}

static inline const struct probe_description *
probe_descriptions(const struct probe_program *p)
{
	return PROBE_TABLE(p, descriptions, struct probe_description);
}

static inline const struct probe_insn *probe_code(const struct probe_program *p)
{
	return PROBE_TABLE(p, code, struct probe_insn);
}

static inline const uint64_t *probe_constants(const struct probe_program *p)
{
	return PROBE_TABLE(p, constants, uint64_t);
}

static inline const struct probe_variable *
probe_variables(const struct probe_program *p)
{
	return PROBE_TABLE(p, variables, struct probe_variable);
}

static inline const struct probe_aggregation *
probe_aggregations(const struct probe_program *p)
{
	return PROBE_TABLE(p, aggregations, struct probe_aggregation);
}

static inline const struct probe_action *
probe_actions(const struct probe_program *p)
{
	return PROBE_TABLE(p, actions, struct probe_action);
}

static inline const struct probe_part *
probe_parts(const struct probe_program *p)
{
	return PROBE_TABLE(p, parts, struct probe_part);
}

static inline const char *probe_texts(const struct probe_program *p)
{
	return PROBE_TABLE(p, texts, char);
}

/* The most bytes that a key or an argument takes. */
static inline uint32_t probe_part_max(const struct probe_part *part,
				      uint32_t string_size)
{
	switch (part->kind) {
	case PROBE_STRING:
		return (4 + string_size + 7) & ~7U;
	case PROBE_STACK:
		return 8 + 8 * part->len;
	case PROBE_BYTES:
		return (part->len + 7) & ~7U;
	default:
		return 8;
	}
}

#endif
