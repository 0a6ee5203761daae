/* image/types_basic.c - the arithmetic types of C, without a file. */
#include "image/types_priv.h"

/* ORDER type_basic */
static const struct {
	const char *name;
	enum type_kind kind;
	uint8_t size;
	bool is_signed;
} basics[TYPE_BASIC_MAX] = {
    [TYPE_BASIC_BOOL] = {"bool", TYPE_BOOL, 1, false},
    [TYPE_BASIC_CHAR] = {"char", TYPE_CHAR, 1, true},
    [TYPE_BASIC_SCHAR] = {"signed char", TYPE_CHAR, 1, true},
    [TYPE_BASIC_UCHAR] = {"unsigned char", TYPE_CHAR, 1, false},
    [TYPE_BASIC_SHORT] = {"short", TYPE_SIGNED, 2, true},
    [TYPE_BASIC_USHORT] = {"unsigned short", TYPE_UNSIGNED, 2, false},
    [TYPE_BASIC_INT] = {"int", TYPE_SIGNED, 4, true},
    [TYPE_BASIC_UINT] = {"unsigned int", TYPE_UNSIGNED, 4, false},
    [TYPE_BASIC_LONG] = {"long", TYPE_SIGNED, 8, true},
    [TYPE_BASIC_ULONG] = {"unsigned long", TYPE_UNSIGNED, 8, false},
    [TYPE_BASIC_INT128] = {"__int128", TYPE_SIGNED, 16, true},
    [TYPE_BASIC_UINT128] = {"unsigned __int128", TYPE_UNSIGNED, 16, false},
    [TYPE_BASIC_FLOAT] = {"float", TYPE_FLOAT, 4, false},
    [TYPE_BASIC_DOUBLE] = {"double", TYPE_FLOAT, 8, false},
    [TYPE_BASIC_LDOUBLE] = {"long double", TYPE_FLOAT, 16, false},
};

struct type type_basic(enum type_basic which)
{
	return (struct type){.die = which};
}

static enum type_basic basic_of(struct type t)
{
	return t.unit == NULL && t.die < TYPE_BASIC_MAX ? (enum type_basic)t.die
							: TYPE_BASIC_NONE;
}

const char *type_basic_name(struct type t)
{
	enum type_basic b = basic_of(t);

	return b != TYPE_BASIC_NONE ? basics[b].name : "void";
}

/* How often each word of a basic type's name occurs. */
enum word { W_SIGNED, W_UNSIGNED, W_SHORT, W_LONG, W_INT, W_OTHER, W_MAX };

static const struct {
	const char *text;
	enum word word;
	enum type_basic basic; /* of W_OTHER */
} basic_words[] = {
    {"signed", W_SIGNED, 0},
    {"unsigned", W_UNSIGNED, 0},
    {"short", W_SHORT, 0},
    {"long", W_LONG, 0},
    {"int", W_INT, 0},
    {"char", W_OTHER, TYPE_BASIC_CHAR},
    {"bool", W_OTHER, TYPE_BASIC_BOOL},
    {"_Bool", W_OTHER, TYPE_BASIC_BOOL},
    {"float", W_OTHER, TYPE_BASIC_FLOAT},
    {"double", W_OTHER, TYPE_BASIC_DOUBLE},
    {"__int128", W_OTHER, TYPE_BASIC_INT128},
};

/* Counts the words; false if there is another one. */
static bool count_words(const char *at, unsigned n[W_MAX],
			enum type_basic *basic)
{
	while (*at != '\0') {
		size_t len = strcspn(at, " "), i = 0;

		while (i < sizeof basic_words / sizeof basic_words[0] &&
		       (strlen(basic_words[i].text) != len ||
			strncmp(basic_words[i].text, at, len) != 0))
			i++;
		if (i == sizeof basic_words / sizeof basic_words[0])
			return false;
		n[basic_words[i].word]++;
		if (basic_words[i].word == W_OTHER)
			*basic = basic_words[i].basic;
		at += len;
		at += strspn(at, " ");
	}
	return true;
}

/* What "char", "double" or "__int128" is with the other words. */
static enum type_basic with_words(enum type_basic basic,
				  const unsigned n[W_MAX])
{
	bool has_sign = n[W_SIGNED] + n[W_UNSIGNED] > 0;

	if (n[W_OTHER] > 1 || n[W_SHORT] > 0 || n[W_INT] > 0)
		return TYPE_BASIC_NONE;
	if (n[W_LONG] > 0)
		return basic == TYPE_BASIC_DOUBLE && n[W_LONG] == 1 && !has_sign
			   ? TYPE_BASIC_LDOUBLE
			   : TYPE_BASIC_NONE;
	if (!has_sign)
		return basic;
	if (basic == TYPE_BASIC_CHAR)
		return n[W_UNSIGNED] > 0 ? TYPE_BASIC_UCHAR : TYPE_BASIC_SCHAR;
	if (basic == TYPE_BASIC_INT128)
		return n[W_UNSIGNED] > 0 ? TYPE_BASIC_UINT128 : basic;
	return TYPE_BASIC_NONE;
}

bool type_basic_named(const char *words, struct type *out)
{
	enum type_basic basic = TYPE_BASIC_NONE;
	unsigned n[W_MAX] = {0};

	if (words[0] == '\0' || !count_words(words, n, &basic) ||
	    n[W_SIGNED] + n[W_UNSIGNED] > 1 || n[W_INT] > 1 || n[W_SHORT] > 1 ||
	    n[W_LONG] > 2 || (n[W_SHORT] > 0 && n[W_LONG] > 0))
		return false;
	if (n[W_OTHER] > 0)
		basic = with_words(basic, n);
	else if (n[W_SHORT] > 0)
		basic = TYPE_BASIC_SHORT + (n[W_UNSIGNED] > 0);
	else if (n[W_LONG] > 0)
		basic = TYPE_BASIC_LONG + (n[W_UNSIGNED] > 0);
	else
		basic = TYPE_BASIC_INT + (n[W_UNSIGNED] > 0);
	if (basic == TYPE_BASIC_NONE)
		return false;
	*out = type_basic(basic);
	return true;
}

bool type_look_basic(struct type t, struct type_facts *out)
{
	enum type_basic b = basic_of(t);

	if (b == TYPE_BASIC_NONE)
		return false;
	*out = (struct type_facts){.kind = basics[b].kind,
				   .size = basics[b].size,
				   .is_signed = basics[b].is_signed,
				   .name = basics[b].name};
	return true;
}
