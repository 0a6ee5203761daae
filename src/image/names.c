/* image/names.c - does a person mean this function by that name? */
#include "image/names.h"

#include "image/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 64 };

struct span {
	const char *at;
	size_t len;
};

/* "a::b<c::d>::e" is three parts. */
struct parts {
	struct span part[PARTS];
	size_t n;
	struct span parameters; /* "(int)", as far as it is written */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Of "operator<<", "operator()", "operator new": up to the parameters. */
static size_t operator_len(const char *at)
{
	static const char word[] = "operator";
	size_t n = sizeof word - 1;

	if (strncmp(at, word, n) != 0 || is_word(at[n]))
		return 0;
	if (strncmp(at + n, "()", 2) == 0)
		return n + 2;
	return n + strcspn(at + n, "(");
}

/* From a bracket on, up to the one that closes it. */
static size_t bracket_len(const char *at)
{
	size_t depth = 0, n = 0;

	for (; at[n] != '\0'; n++) {
		if (strchr("<([{", at[n]) != NULL)
			depth++;
		else if (strchr(">)]}", at[n]) != NULL && --depth == 0)
			return n + 1;
	}
	return n;
}

static size_t part_len(const char *at)
{
	size_t n = operator_len(at);

	if (n > 0)
		return n;
	if (at[0] == '(') /* (anonymous namespace) */
		n = bracket_len(at);
	while (at[n] != '\0' && at[n] != '(' && strncmp(at + n, "::", 2) != 0)
		n += strchr("<[{", at[n]) != NULL ? bracket_len(at + n) : 1;
	return n;
}

static void split(const char *text, struct parts *out)
{
	out->n = 0;
	if (strncmp(text, "::", 2) == 0)
		text += 2;
	for (;;) {
		size_t len = part_len(text);

		if (out->n < PARTS)
			out->part[out->n++] = (struct span){text, len};
		text += len;
		if (strncmp(text, "::", 2) != 0)
			break;
		text += 2;
	}
	out->parameters = (struct span){text, strlen(text)};
}

/* Without the blanks. */
static bool is_same(struct span a, struct span b)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (i < a.len && a.at[i] == ' ')
			i++;
		while (k < b.len && b.at[k] == ' ')
			k++;
		if (i == a.len || k == b.len)
			return i == a.len && k == b.len;
		if (a.at[i++] != b.at[k++])
			return false;
	}
}

/* Without template arguments and tags ("name[abi:cxx11]"). */
static struct span plain(struct span s)
{
	size_t n = operator_len(s.at);

	while (n < s.len && (n == 0 || strchr("<[", s.at[n]) == NULL))
		n++;
	return (struct span){s.at, n < s.len ? n : s.len};
}

static bool is_part(struct span has, struct span wish)
{
	return is_same(has, wish) || is_same(plain(has), wish);
}

/* Does `has` end in the parts of `wish`? */
static bool ends_in(const struct parts *has, const struct parts *wish,
		    bool is_whole)
{
	if (wish->n > has->n || (is_whole && wish->n != has->n))
		return false;
	for (size_t i = 0; i < wish->n; i++)
		if (!is_part(has->part[has->n - wish->n + i], wish->part[i]))
			return false;
	return true;
}

/* The parameters that are written, "const" behind them or not. */
static bool has_parameters(const char *linked, size_t name_len,
			   struct span wish)
{
	char text[DEMANGLE_TEXT_MAX], copy[DEMANGLE_NAME_MAX + 1];
	struct span has;
	size_t len;

	if (name_len >= sizeof copy)
		return false;
	memcpy(copy, linked, name_len);
	copy[name_len] = '\0';
	len = demangle(copy, DEMANGLE_FULL, text, sizeof text);
	for (size_t cut = 0; cut <= 6 && cut < len; cut += 6) {
		if (cut > 0 && strcmp(text + len - 6, " const") != 0)
			break;
		/* From behind, since parameters may have brackets. */
		for (has.at = text + len - cut; has.at > text;) {
			has.at--;
			has.len = (size_t)(text + len - cut - has.at);
			if (*has.at == '(' && is_same(has, wish))
				return true;
		}
	}
	return false;
}

/* Where the suffix of a clone, or a version, begins; 0: it is only a part of a
 * function. */
static size_t without_clone(const char *linked)
{
	static const char *const clones[] = {".constprop.", ".isra.",
					     ".lto_priv.",  ".localalias",
					     ".llvm.",	    "@"};
	size_t n = strlen(linked);

	if (strstr(linked, ".cold") != NULL || strstr(linked, ".part.") != NULL)
		return 0;
	for (size_t i = 0; i < sizeof clones / sizeof clones[0]; i++) {
		const char *at = strstr(linked, clones[i]);

		if (at != NULL && (size_t)(at - linked) < n)
			n = (size_t)(at - linked);
	}
	return n;
}

bool names_mean(const char *linked, const char *wish, bool is_whole)
{
	char text[DEMANGLE_TEXT_MAX], copy[DEMANGLE_NAME_MAX + 1];
	struct parts has, wants;
	size_t n = without_clone(linked);

	if (strcmp(linked, wish) == 0)
		return true;
	if (n == 0 || n >= sizeof copy || wish[0] == '\0')
		return false;
	memcpy(copy, linked, n);
	copy[n] = '\0';
	split(wish, &wants);
	if (demangle(copy, DEMANGLE_SHORT, text, sizeof text) == 0)
		return strcmp(copy, wish) == 0;
	split(text, &has);
	return ends_in(&has, &wants, is_whole) &&
	       (wants.parameters.len == 0 ||
		has_parameters(linked, n, wants.parameters));
}

const char *names_last(const char *wish, size_t *len)
{
	struct parts p;
	struct span last;

	split(wish, &p);
	last = plain(p.part[p.n - 1]);
	*len = last.len;
	return last.at;
}

void names_plain(const char *name, size_t parts, char *out, size_t size)
{
	struct parts p;
	size_t len = 0, i;

	split(name, &p);
	if (size > 0)
		out[0] = '\0';
	for (i = p.n > parts ? p.n - parts : 0; i < p.n && len < size; i++) {
		struct span s = plain(p.part[i]);

		len += (size_t)snprintf(out + len, size - len, "%s%.*s",
					len > 0 ? "::" : "", (int)s.len, s.at);
	}
}

size_t names_parts(const char *name)
{
	struct parts p;

	split(name, &p);
	return p.n;
}
