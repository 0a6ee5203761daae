/* image/demangle.c - libiberty's demangler, with a fence around it.
 *
 * M1  Text leaves the demangler through a callback, never through a buffer
 *     of its own that it would double until memory ends. A full buffer is
 *     left by longjmp: neither demangler holds memory while it prints.
 * M2  A C++ name becomes a graph first, in which substitutions are shared
 *     parts. Printed as a tree it may have 2^n nodes, and some walks over it
 *     print nothing. So the tree is measured before anything walks it.
 * M3  The printer takes room on the stack for every pair of a template and a
 *     reference to a parameter: both are counted first.
 * M4  Depth of recursion is bounded by the length of the name, and that by
 *     DEMANGLE_NAME_MAX. */
#include "image/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
	TREE_MAX = 32768,  /* nodes of a name, printed as a tree */
	PAIRS_MAX = 16384, /* M3: 1 MiB of stack */
	VERSION_MAX = 128, /* bytes of a symbol's version */
};

struct text {
	char *out; /* borrowed */
	size_t size, len;
	jmp_buf full;
};

static void append(const char *s, size_t n, void *ctx)
{
	struct text *t = ctx;

	if (n == 0)
		return;
	if (n >= t->size - t->len)
		longjmp(t->full, 1); /* M1 */
	memcpy(t->out + t->len, s, n);
	t->len += n;
}

/* -- C++: how big is the tree? -- */

struct measure {
	size_t templates, references;
};

/* The parts of a node; NULL where there is none. */
static void parts_of(struct demangle_component *n,
		     struct demangle_component **left,
		     struct demangle_component **right)
{
	*left = NULL;
	*right = NULL;
	switch (n->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		break;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		*left = n->u.s_extended_operator.name;
		break;
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		*left = n->u.s_fixed.length;
		break;
	case DEMANGLE_COMPONENT_CTOR:
		*left = n->u.s_ctor.name;
		break;
	case DEMANGLE_COMPONENT_DTOR:
		*left = n->u.s_dtor.name;
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		*left = n->u.s_unary_num.sub;
		break;
	default:
		*left = n->u.s_binary.left;
		*right = n->u.s_binary.right;
	}
}

static void count(struct measure *m, const struct demangle_component *n,
		  const struct demangle_component *left)
{
	m->templates += n->type == DEMANGLE_COMPONENT_TEMPLATE;
	m->references += (n->type == DEMANGLE_COMPONENT_REFERENCE ||
			  n->type == DEMANGLE_COMPONENT_RVALUE_REFERENCE) &&
			 left != NULL &&
			 left->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
}

/* Nodes below n as a tree, up to TREE_MAX. Each node keeps its answer in the
 * field that the printer will use, so that shared ones are asked once. */
// NOLINTNEXTLINE(misc-no-recursion): M4
static int measure(struct measure *m, struct demangle_component *n)
{
	struct demangle_component *left, *right;
	int sum;

	if (n == NULL)
		return 0;
	if (n->d_counting != 0)
		return n->d_counting;
	n->d_counting = TREE_MAX; /* a circle is too much */
	parts_of(n, &left, &right);
	count(m, n, left);
	sum = 1 + measure(m, left);
	sum += measure(m, right);
	n->d_counting = sum < TREE_MAX ? sum : TREE_MAX;
	return n->d_counting;
}

/* As the printer wants it. */
// NOLINTNEXTLINE(misc-no-recursion): M4
static void unmark(struct demangle_component *n)
{
	struct demangle_component *left, *right;

	if (n == NULL || n->d_counting == 0)
		return;
	n->d_counting = 0;
	parts_of(n, &left, &right);
	unmark(left);
	unmark(right);
}

static bool is_sane(struct demangle_component *tree)
{
	struct measure m = {0, 0};
	int nodes = measure(&m, tree);

	unmark(tree);
	return nodes < TREE_MAX && m.templates * m.references <= PAIRS_MAX;
}

static bool print_cplus(const char *name, int options, struct text *t)
{
	void *memory = NULL;
	struct demangle_component *tree = cplus_demangle_v3_components(
	    name, options | DMGL_NO_RECURSE_LIMIT, &memory);
	volatile bool ok = false;

	if (tree != NULL && is_sane(tree) && setjmp(t->full) == 0)
		ok = cplus_demangle_print_callback(options, tree, append, t) !=
		     0;
	free(memory);
	return ok;
}

/* -- Both languages -- */

static bool print_rust(const char *name, int options, struct text *t)
{
	volatile bool ok = false;

	if (setjmp(t->full) == 0)
		ok = rust_demangle_callback(name, options, append, t) != 0;
	return ok;
}

static bool print(const char *name, int options, struct text *t)
{
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
	    strncmp(name, "_GLOBAL_", 8) != 0)
		return false;
	if (print_rust(name, options, t))
		return true;
	t->len = 0;
	return name[1] != 'R' && print_cplus(name, options, t);
}

size_t demangle(const char *name, enum demangle_how how, char *out, size_t size)
{
	int options = DMGL_ANSI | (how == DEMANGLE_FULL ? DMGL_PARAMS : 0);
	size_t len = strnlen(name, DEMANGLE_NAME_MAX + 1);
	const char *version = memchr(name, '@', len);
	size_t base = version != NULL ? (size_t)(version - name) : len;
	char copy[DEMANGLE_NAME_MAX + 1];
	struct text t = {.out = out, .size = size};

	if (len > DEMANGLE_NAME_MAX || size < 2)
		return 0;
	memcpy(copy, name, base);
	copy[base] = '\0';
	if (!print(copy, options, &t) || t.len == 0)
		return 0;
	if (version != NULL) {
		if (len - base > VERSION_MAX || len - base >= size - t.len)
			return 0;
		memcpy(out + t.len, version, len - base);
		t.len += len - base;
	}
	out[t.len] = '\0';
	return t.len;
}
