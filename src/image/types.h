/* image/types.h - what do the bytes of a variable mean?
 *
 * A type is an entry of a file's debug information, handed around by value;
 * the zeroed one is void. What is asked of it looks through typedefs and
 * qualifiers. A struct that is only declared where it is used is looked up
 * where it is complete, by its name or its signature.
 *
 * Hostile files give types that refer to each other in circles, or claim
 * sizes beyond memory: every question ends, and sizes are only numbers. */
#ifndef IMAGE_TYPES_H
#define IMAGE_TYPES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_unit;

struct type {
	struct dw_unit *unit; /* NULL: void, or one of enum type_basic */
	uint64_t die;
	uint32_t dim;	/* of an array of arrays: how many are gone */
	uint32_t stars; /* pointers to it, that the file need not speak of */
};

/* C's arithmetic types, as this ABI has them, and C++'s bool. They need no
 * file: the results of operators have types that a program may not mention.
 * ORDER type_basic */
enum type_basic {
	TYPE_BASIC_NONE,
	TYPE_BASIC_BOOL,
	TYPE_BASIC_CHAR,
	TYPE_BASIC_SCHAR,
	TYPE_BASIC_UCHAR,
	TYPE_BASIC_SHORT,
	TYPE_BASIC_USHORT,
	TYPE_BASIC_INT,
	TYPE_BASIC_UINT,
	TYPE_BASIC_LONG,
	TYPE_BASIC_ULONG,
	TYPE_BASIC_INT128,
	TYPE_BASIC_UINT128,
	TYPE_BASIC_FLOAT,
	TYPE_BASIC_DOUBLE,
	TYPE_BASIC_LDOUBLE,
	TYPE_BASIC_MAX
};
struct type type_basic(enum type_basic which);
/* By C's words for it, in any order: "unsigned long int". */
bool type_basic_named(const char *words, struct type *out);

enum type_kind {
	TYPE_VOID,
	TYPE_SIGNED,
	TYPE_UNSIGNED,
	TYPE_CHAR,
	TYPE_BOOL,
	TYPE_FLOAT,
	TYPE_COMPLEX, /* two floats: the real part first */
	TYPE_POINTER,
	TYPE_REFERENCE, /* a pointer that is written as what it points to */
	TYPE_ARRAY,
	TYPE_STRUCT, /* or class */
	TYPE_UNION,
	TYPE_ENUM,
	TYPE_FUNCTION,
	TYPE_OTHER, /* what this reader knows nothing of but the size */
};

struct type_facts {
	enum type_kind kind;
	uint64_t size; /* in bytes; 0: not known, or none */
	bool is_signed;
	bool is_class;	    /* said "class" */
	bool is_incomplete; /* only declared in all that the file has */
	bool by_reference;  /* it is passed so, where a value is said */
	bool is_vector;	    /* an array that fits into a vector register */
	struct type target; /* of pointers and arrays; what a function returns,
			     * what an enum is made of */
	uint64_t count;	    /* of an array's elements; 0: not known */
	const char *name;   /* of what is behind typedefs; or NULL */
};

/* What one question may cost is bounded (it is nothing that a file made by a
 * compiler comes near to), and counted from here on. vars.h does it too. */
void type_begin(struct type t);

/* Never fails: what is damaged is TYPE_OTHER. */
void type_look(struct type t, struct type_facts *out);
/* As one would write it: "struct shop *", "char [16]". */
void type_text(struct type t, char *out, size_t size);

struct type_field {
	const char *name; /* NULL: it has none */
	struct type type;
	uint64_t offset;    /* in bytes */
	uint32_t bit_size;  /* 0: it is no bit-field */
	uint32_t bit_shift; /* from the lowest bit of the byte at offset */
	bool is_base;	    /* a base class */
};
/* In their order; not 0 from visit ends it and is returned. */
int type_each_field(struct type t,
		    int (*visit)(void *ctx, const struct type_field *f),
		    void *ctx);
/* By name, also in members without a name and in base classes; offset is
 * from the begin of t. */
bool type_field(struct type t, const char *name, struct type_field *out);

/* A typedef that is declared in a class or in its bases: "value_type". */
bool type_nested(struct type t, const char *name, struct type *out);
/* The first type among the arguments of a class that is made of a template. */
bool type_argument(struct type t, struct type *out);

/* A class of C++ that says itself how it is copied or destroyed. */
bool type_has_own_copy(struct type t);

/* The name of a value of an enum, or NULL. */
const char *type_enumerator(struct type t, int64_t value);
/* The other way; false if it has none of that name. */
bool type_enum_value(struct type t, const char *name, int64_t *out);

struct image_file;
/* The names of all enumerators. */
void type_each_enumerator_name(struct image_file *f,
			       void (*visit)(void *ctx, const char *name),
			       void *ctx);
/* The enums with an enumerator of this name; pc not 0: those that the source
 * file of the code there knows. Not 0 from visit ends it and is returned. */
int type_each_enumerator(struct image_file *f, const char *name, uint64_t pc,
			 int (*visit)(void *ctx, struct type t, int64_t value),
			 void *ctx, struct hark_err *err);

/* Types of a function's parameters, in their order. */
int type_each_parameter(struct type t,
			int (*visit)(void *ctx, struct type parameter),
			void *ctx);

/* By name: "shop", "struct shop", "unsigned int", as the file has them. Without
 * a keyword, typedefs and what is built in come before structs. */
int type_named(struct image_file *f, const char *name, struct type *out,
	       struct hark_err *err);
/* A struct, union or enum of C: "shop" alone would not mean it there. */
bool type_needs_keyword(struct type t);
/* Is the source file of the type C, not C++ or another language? */
bool type_is_of_c(struct type t);

#endif
