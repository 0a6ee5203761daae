/* script/words.c - the names that D has of its own. */
#include "script/script_priv.h"

#include <string.h>

struct word {
	const char *name;
	enum word_kind kind;
	unsigned number;
};

/* clang-format off */
static const struct word words[] = {
	/* ORDER action_word */
	{"printf", WORD_ACTION, ACTION_PRINTF},
	{"trace", WORD_ACTION, ACTION_TRACE},
	{"print", WORD_ACTION, ACTION_PRINT},
	{"printa", WORD_ACTION, ACTION_PRINTA},
	{"tracemem", WORD_ACTION, ACTION_TRACEMEM},
	{"ustack", WORD_ACTION, ACTION_USTACK},
	{"exit", WORD_ACTION, ACTION_EXIT},
	{"clear", WORD_ACTION, ACTION_CLEAR},
	{"trunc", WORD_ACTION, ACTION_TRUNC},
	{"normalize", WORD_ACTION, ACTION_NORMALIZE},
	{"denormalize", WORD_ACTION, ACTION_DENORMALIZE},
	{"system", WORD_ACTION, ACTION_SYSTEM},
	{"freopen", WORD_ACTION, ACTION_FREOPEN},
	{"speculate", WORD_ACTION, ACTION_SPECULATE},
	{"commit", WORD_ACTION, ACTION_COMMIT},
	{"discard", WORD_ACTION, ACTION_DISCARD},
	{"stop", WORD_ACTION, ACTION_STOP},
	{"raise", WORD_ACTION, ACTION_RAISE},

	{"count", WORD_AGGREGATING, PROBE_COUNT},
	{"sum", WORD_AGGREGATING, PROBE_SUM},
	{"avg", WORD_AGGREGATING, PROBE_AVG},
	{"min", WORD_AGGREGATING, PROBE_MIN},
	{"max", WORD_AGGREGATING, PROBE_MAX},
	{"stddev", WORD_AGGREGATING, PROBE_STDDEV},
	{"quantize", WORD_AGGREGATING, PROBE_QUANTIZE},
	{"lquantize", WORD_AGGREGATING, PROBE_LQUANTIZE},
	{"llquantize", WORD_AGGREGATING, PROBE_LLQUANTIZE},

	{"uaddr", WORD_NAMED, PROBE_ADDRESS},
	{"usym", WORD_NAMED, PROBE_SYMBOL},
	{"ufunc", WORD_NAMED, PROBE_FUNCTION},
	{"umod", WORD_NAMED, PROBE_MODULE},

#define R(id, text, result, in, needed, otherwise) \
	{text, WORD_FUNCTION, PROBE_CALL_##id},
	PROBE_FUNCTIONS(R)
#undef R
#define R(id, text) {text, WORD_BUILTIN, PROBE_BUILTIN_##id},
	PROBE_BUILTINS(R)
#undef R

	/* The order of the kernel's user_regs, with trapno and err between
	 * left out: as the image's numbers of registers. */
	{"R_RAX", WORD_UREG, 0}, {"R_RDX", WORD_UREG, 1},
	{"R_RCX", WORD_UREG, 2}, {"R_RBX", WORD_UREG, 3},
	{"R_RSI", WORD_UREG, 4}, {"R_RDI", WORD_UREG, 5},
	{"R_RBP", WORD_UREG, 6}, {"R_RSP", WORD_UREG, 7},
	{"R_R8", WORD_UREG, 8}, {"R_R9", WORD_UREG, 9},
	{"R_R10", WORD_UREG, 10}, {"R_R11", WORD_UREG, 11},
	{"R_R12", WORD_UREG, 12}, {"R_R13", WORD_UREG, 13},
	{"R_R14", WORD_UREG, 14}, {"R_R15", WORD_UREG, 15},
	{"R_RIP", WORD_UREG, 16}, {"R_PC", WORD_UREG, 16},
	{"R_RFL", WORD_UREG, 17}, {"R_PS", WORD_UREG, 17},
	{"R_SP", WORD_UREG, 7}, {"R_FP", WORD_UREG, 6},
	{"R_EAX", WORD_UREG, 0}, {"R_R0", WORD_UREG, 0},
	{"R_R1", WORD_UREG, 1}, {"R_FSBASE", WORD_UREG, 18},

	{"chill", WORD_UNSUPPORTED, 0}, {"panic", WORD_UNSUPPORTED, 0},
	{"breakpoint", WORD_UNSUPPORTED, 0}, {"stack", WORD_UNSUPPORTED, 0},
	{"jstack", WORD_UNSUPPORTED, 0}, {"sym", WORD_UNSUPPORTED, 0},
	{"func", WORD_UNSUPPORTED, 0}, {"mod", WORD_UNSUPPORTED, 0},
	{"copyout", WORD_UNSUPPORTED, 0}, {"copyinto", WORD_UNSUPPORTED, 0},
	{"copyoutstr", WORD_UNSUPPORTED, 0}, {"bcopy", WORD_UNSUPPORTED, 0},
	{"alloca", WORD_UNSUPPORTED, 0}, {"strtok", WORD_UNSUPPORTED, 0},
	{"cleanpath", WORD_UNSUPPORTED, 0}, {"json", WORD_UNSUPPORTED, 0},
	{"progenyof", WORD_UNSUPPORTED, 0}, {"setopt", WORD_UNSUPPORTED, 0},
	{"ftruncate", WORD_UNSUPPORTED, 0}, {"inet_ntoa", WORD_UNSUPPORTED, 0},
	{"inet_ntoa6", WORD_UNSUPPORTED, 0}, {"inet_ntop", WORD_UNSUPPORTED, 0},
	{"mutex_owned", WORD_UNSUPPORTED, 0}, {"rw_iswriter", WORD_UNSUPPORTED, 0},
	{"curthread", WORD_UNSUPPORTED, 0}, {"curpsinfo", WORD_UNSUPPORTED, 0},
	{"curlwpsinfo", WORD_UNSUPPORTED, 0}, {"curcpu", WORD_UNSUPPORTED, 0},
	{"caller", WORD_UNSUPPORTED, 0}, {"stackdepth", WORD_UNSUPPORTED, 0},
	{"ipl", WORD_UNSUPPORTED, 0}, {"zonename", WORD_UNSUPPORTED, 0},
	{"root", WORD_UNSUPPORTED, 0}, {"cwd", WORD_UNSUPPORTED, 0},
};
/* clang-format on */

enum { N_WORDS = sizeof words / sizeof *words };

enum word_kind word_find(const char *name, unsigned *number)
{
	for (size_t i = 0; i < N_WORDS; i++) {
		if (strcmp(words[i].name, name) != 0)
			continue;
		*number = words[i].number;
		return words[i].kind;
	}
	return WORD_NONE;
}

/* Letters to change, add or leave out; more than 3 is far. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[40], n = (unsigned)strlen(b), diagonal, up, best;

	if (n >= 40 || strlen(a) >= 40)
		return 99;
	for (unsigned k = 0; k <= n; k++)
		row[k] = k;
	for (unsigned i = 1; a[i - 1] != '\0'; i++) {
		diagonal = row[0];
		row[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			up = row[k];
			best = diagonal + (a[i - 1] != b[k - 1]);
			best = best < up + 1 ? best : up + 1;
			row[k] = best < row[k - 1] + 1 ? best : row[k - 1] + 1;
			diagonal = up;
		}
	}
	return row[n];
}

const char *word_near(const char *name)
{
	const char *near = NULL;
	unsigned best = strlen(name) < 4 ? 2 : 3;

	for (size_t i = 0; i < N_WORDS; i++) {
		unsigned far = distance(name, words[i].name);

		if (far < best && words[i].kind != WORD_UNSUPPORTED) {
			best = far;
			near = words[i].name;
		}
	}
	return near;
}
