/* image/dw_priv.h - debug information, as far as lines and names need it.
 *
 * Why not libdw? Debian's kills its process when one of its allocations
 * fails (docs/image.md has the count), cannot be instrumented for fuzzing,
 * and answers questions about inlined calls by walking a unit's tree from
 * the start each time. It is the oracle of the tests instead.
 *
 * A dwarf is the debug sections of one file. They hold units, one or more
 * for each source file compiled. Opening a dwarf reads each unit's root and
 * nothing else; the tables of lines and of scopes are made for a unit when
 * an address in it is first asked for. DWARF 2 to 5, of 64 and 32 bits;
 * compressed by dwz; split into .dwo files.
 *
 * Everything is read through cursors and gates (cursor_priv.h, bytes_priv.h)
 * and bounded: see the numbered invariants in each file. */
#ifndef IMAGE_DW_PRIV_H
#define IMAGE_DW_PRIV_H

#include "base/arena.h"
#include "base/vec.h"
#include "image/cursor_priv.h"
#include "image/image_priv.h"

/* ORDER dw_section */
enum dw_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_LINE,
	DWARF_ARANGES,
	DWARF_LOC,
	DWARF_LOCLISTS,
	DWARF_TYPES,
	DWARF_SECTIONS
};

/* ORDER dw_at: the numbers are DWARF's. */
enum {
	AT_SIBLING = 0x01,
	AT_LOCATION = 0x02,
	AT_NAME = 0x03,
	AT_BYTE_SIZE = 0x0b,
	AT_BIT_OFFSET = 0x0c,
	AT_BIT_SIZE = 0x0d,
	AT_STMT_LIST = 0x10,
	AT_LOW_PC = 0x11,
	AT_HIGH_PC = 0x12,
	AT_LANGUAGE = 0x13,
	AT_COMP_DIR = 0x1b,
	AT_CONST_VALUE = 0x1c,
	AT_UPPER_BOUND = 0x2f,
	AT_PROTOTYPED = 0x27,
	AT_ABSTRACT_ORIGIN = 0x31,
	AT_ARTIFICIAL = 0x34,
	AT_CALLING_CONVENTION = 0x36,
	AT_COUNT = 0x37,
	AT_DATA_MEMBER_LOCATION = 0x38,
	AT_DECLARATION = 0x3c,
	AT_ENCODING = 0x3e,
	AT_EXTERNAL = 0x3f,
	AT_FRAME_BASE = 0x40,
	AT_SPECIFICATION = 0x47,
	AT_TYPE = 0x49,
	AT_ENTRY_PC = 0x52,
	AT_RANGES = 0x55,
	AT_CALL_COLUMN = 0x57,
	AT_CALL_FILE = 0x58,
	AT_CALL_LINE = 0x59,
	AT_SIGNATURE = 0x69,
	AT_DATA_BIT_OFFSET = 0x6b,
	AT_LINKAGE_NAME = 0x6e,
	AT_STR_OFFSETS_BASE = 0x72,
	AT_ADDR_BASE = 0x73,
	AT_RNGLISTS_BASE = 0x74,
	AT_DWO_NAME = 0x76,
	AT_CALL_RETURN_PC = 0x7d,
	AT_CALL_VALUE = 0x7e,
	AT_DELETED = 0x8a,
	AT_DEFAULTED = 0x8b,
	AT_LOCLISTS_BASE = 0x8c,
	AT_MIPS_LINKAGE_NAME = 0x2007,
	AT_GNU_VECTOR = 0x2107,
	AT_GNU_CALL_SITE_VALUE = 0x2111,
	AT_GNU_DWO_NAME = 0x2130,
	AT_GNU_DWO_ID = 0x2131,
	AT_GNU_RANGES_BASE = 0x2132,
	AT_GNU_ADDR_BASE = 0x2133,
};
enum {
	TAG_ARRAY_TYPE = 0x01,
	TAG_CLASS_TYPE = 0x02,
	TAG_ENUMERATION_TYPE = 0x04,
	TAG_FORMAL_PARAMETER = 0x05,
	TAG_LEXICAL_BLOCK = 0x0b,
	TAG_MEMBER = 0x0d,
	TAG_POINTER_TYPE = 0x0f,
	TAG_REFERENCE_TYPE = 0x10,
	TAG_COMPILE_UNIT = 0x11,
	TAG_STRUCTURE_TYPE = 0x13,
	TAG_SUBROUTINE_TYPE = 0x15,
	TAG_TYPEDEF = 0x16,
	TAG_UNION_TYPE = 0x17,
	TAG_UNSPECIFIED_PARAMETERS = 0x18,
	TAG_INHERITANCE = 0x1c,
	TAG_INLINED_SUBROUTINE = 0x1d,
	TAG_PTR_TO_MEMBER_TYPE = 0x1f,
	TAG_SUBRANGE_TYPE = 0x21,
	TAG_BASE_TYPE = 0x24,
	TAG_CONST_TYPE = 0x26,
	TAG_ENUMERATOR = 0x28,
	TAG_SUBPROGRAM = 0x2e,
	TAG_TEMPLATE_TYPE = 0x2f,
	TAG_VARIABLE = 0x34,
	TAG_VOLATILE_TYPE = 0x35,
	TAG_RESTRICT_TYPE = 0x37,
	TAG_NAMESPACE = 0x39,
	TAG_UNSPECIFIED_TYPE = 0x3b,
	TAG_PARTIAL_UNIT = 0x3c,
	TAG_RVALUE_REFERENCE_TYPE = 0x42,
	TAG_ATOMIC_TYPE = 0x47,
	TAG_CALL_SITE = 0x48,
	TAG_CALL_SITE_PARAMETER = 0x49,
	TAG_SKELETON_UNIT = 0x4a,
	TAG_GNU_CALL_SITE = 0x4109,
	TAG_GNU_CALL_SITE_PARAMETER = 0x410a,
};
enum { UT_COMPILE = 1, UT_TYPE, UT_PARTIAL, UT_SKELETON, UT_SPLIT };
enum { UT_SPLIT_TYPE = 6 };

struct dw;
struct dw_unit;

/* Lengths that the layout of entries depends on. */
struct dw_sizes {
	uint8_t address, offset, version;
};

/* -- Abbreviations (dw_abbrev.c) -- */

struct dw_attr {
	uint16_t name, form;
	int64_t implicit; /* of DW_FORM_implicit_const */
};

struct dw_decl {
	uint64_t code;
	uint32_t first, n; /* of its attributes */
	uint16_t tag;
	bool has_children;
	int32_t fixed; /* bytes of all attributes; -1: they vary */
};

struct dw_abbrevs {
	struct dw_abbrevs *next; /* a chain, owned by the dwarf */
	uint64_t offset;
	struct dw_sizes sizes;
	struct {
		VEC(struct dw_decl);
	} decls;
	struct {
		VEC(struct dw_attr);
	} attrs;
	bool dense; /* code i is number i - 1 */
};

/* The table at an offset, made once; NULL with err. */
struct dw_abbrevs *dw_abbrevs_at(struct dw *d, uint64_t offset,
				 struct dw_sizes sizes, struct hark_err *err);
void dw_abbrevs_free(struct dw *d);
/* Makes those of a unit; false with err. */
bool dw_has_abbrevs(struct dw_unit *u, struct hark_err *err);
const struct dw_decl *dw_decl_of(const struct dw_abbrevs *a, uint64_t code);

/* -- Values of attributes (dw_form.c) -- */

enum dw_class {
	DWARF_NONE,
	DWARF_CONSTANT, /* also offsets into other sections, and flags */
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,
	DWARF_TEXT,	   /* text */
	DWARF_TEXT_OFFSET, /* into the section */
	DWARF_TEXT_INDEX,
	DWARF_TEXT_ALT, /* offset into the shared file's strings */
	DWARF_REF,	/* offset into info */
	DWARF_REF_ALT,	/* the same in the shared file */
	DWARF_LIST_INDEX,
	DWARF_BLOCK,	 /* len bytes at text */
	DWARF_SIGNATURE, /* of a type unit */
	DWARF_LOC_INDEX, /* of a list of locations */
	DWARF_OTHER,	 /* read over */
};

struct dw_value {
	enum dw_class class;
	enum dw_section section; /* of DWARF_TEXT_OFFSET */
	uint64_t u;
	const char *text;
	size_t len; /* of DWARF_BLOCK */
};

/* Reads one value; a form not known makes the cursor bad. */
struct dw_value dw_read(struct cursor *c, uint64_t form, int64_t implicit,
			struct dw_sizes sizes, uint64_t unit_offset);
/* The bytes that a form always has, or -1. */
int dw_form_len(uint64_t form, struct dw_sizes sizes);

/* What values mean in their unit; each NULL or false if it means nothing. */
const char *dw_text(struct dw_unit *u, const struct dw_value *v);
bool dw_address(struct dw_unit *u, const struct dw_value *v, uint64_t *out);
/* An entry elsewhere: its unit and offset. */
bool dw_target(struct dw_unit *u, const struct dw_value *v,
	       struct dw_unit **unit, uint64_t *offset);

/* -- Ranges (dw_ranges.c) -- */

struct dw_range {
	uint64_t low, high; /* link-time addresses of code */
	uint32_t owner;	    /* a unit or a scope */
};

struct dw_range_list {
	VEC(struct dw_range);
};

/* The three attributes that say where an entry's code is. */
struct dw_extent {
	struct dw_value low, high, ranges;
};

/* Appends the ranges of an entry that lie in code, for an owner. An entry
 * that is damaged has none. -1: no memory, or more than the list may hold. */
int dw_ranges(struct dw_unit *u, const struct dw_extent *e, uint32_t owner,
	      size_t max, struct dw_range_list *out);

/* The same for units that do not say (DWARF 2 could not, if their code is in
 * several places): from the table that compilers wrote beside. */
int dw_aranges(struct dw *d, size_t max, struct dw_range_list *out);

/* Ranges that may nest, made into steps: from addr on, the innermost one is
 * owner (DWARF_NOBODY: none). */
#define DWARF_NOBODY UINT32_MAX
struct dw_step {
	uint64_t addr;
	uint32_t owner;
};
struct dw_steps {
	VEC(struct dw_step);
};
/* Sorts ranges. Of two that begin together the longer is outside; of two
 * that are the same, the higher owner is inside. */
int dw_flatten(const struct heap *heap, struct dw_range_list *ranges,
	       struct dw_steps *out);
uint32_t dw_owner_at(const struct dw_steps *s, uint64_t addr);

/* -- Lines (dw_lines.c) -- */

struct dw_row {
	uint64_t addr;
	uint32_t line : 30, is_stmt : 1, is_end : 1;
	uint16_t file, column;
};

struct dw_file {
	const char *name; /* borrowed from a section */
	const char *path; /* joined with its directory, when first asked */
	uint32_t dir;
};

struct dw_lines {
	struct {
		VEC(struct dw_row);
	} rows; /* by address */
	struct {
		VEC(struct dw_file);
	} files;
	struct {
		VEC(const char *);
	} dirs;
	uint8_t version;
};

/* The rows (if with_rows) and files of a line program; NULL with err. The
 * result is the caller's. */
struct dw_lines *dw_lines_read(struct dw_unit *u, uint64_t offset,
			       bool with_rows, struct hark_err *err);
void dw_lines_free(struct dw *d, struct dw_lines *l);
/* The table of a unit, made once; NULL with err. */
struct dw_lines *dw_lines_of(struct dw_unit *u, struct hark_err *err);
/* Only its files, for units whose rows are not needed; NULL if there are
 * none. They may be the skeleton's: *u is then that. */
struct dw_lines *dw_files_of(struct dw_unit **u);
/* The last row at or before addr, or NULL. */
const struct dw_row *dw_row_at(const struct dw_lines *l, uint64_t addr);
/* The path of a file by its number; NULL if there is none. */
const char *dw_path(struct dw_unit *u, struct dw_lines *l, uint64_t number);

/* -- Scopes (dw_scopes.c) -- */

/* A function, or a function inlined into another. */
struct dw_scope {
	uint64_t die;	 /* offset of its entry */
	uint64_t entry;	 /* the address at which it begins */
	uint32_t outer;	 /* the scope around it, or DWARF_NOBODY */
	uint32_t line;	 /* of the call, if it is inlined */
	uint32_t file;	 /* the same */
	uint16_t column; /* the same */
	bool inlined, named;
	const char *name;   /* once named; NULL: it has none */
	const char *pretty; /* the same, demangled */
};

struct dw_scopes {
	struct {
		VEC(struct dw_scope);
	} all;
	struct dw_steps steps;
};

struct dw_scopes *dw_scopes_of(struct dw_unit *u, struct hark_err *err);
void dw_scopes_free(struct dw *d, struct dw_scopes *s);
/* Finds its name: the linked one, or the plain one. */
void dw_scope_name(struct dw_unit *u, struct dw_scope *s);
/* Its plain name, or NULL: cheaper, since nothing is demangled. */
const char *dw_scope_plain(struct dw_unit *u, const struct dw_scope *s);

/* -- Units (dwarf.c) -- */

struct dw_unit {
	struct dw *d;		   /* borrowed: whose sections */
	uint64_t offset, die, end; /* header, root, end: in info */
	uint64_t abbrev;
	struct dw_sizes sizes;
	uint8_t type;
	bool has_lines, has_low;
	bool placed; /* its root says where all its code is */
	struct dw_value name_value, dir_value, dwo_value;
	uint64_t lines_at, low;
	uint64_t str_offsets, addr_base, rnglists, ranges_base;
	uint64_t dwo_id;
	uint64_t signature, type_die; /* of a type unit */
	uint64_t loclists;
	const uint8_t *whole; /* borrowed: its bytes, once needed */

	struct dw_abbrevs *abbrevs; /* borrowed from d */
	struct dw_lines *lines;	    /* owned */
	struct dw_lines *files;	    /* owned: if lines are not needed */
	struct dw_scopes *scopes;   /* owned */
	bool lines_bad, files_bad, scopes_bad, split_sought;
	struct dw *split;	  /* owned: the .dwo file */
	struct dw_unit *full;	  /* borrowed from split: its unit */
	struct dw_unit *skeleton; /* borrowed: of a full unit */
};

struct dw {
	struct image_file *file; /* borrowed */
	struct elf *elf;	 /* borrowed, or owned if own */
	bool own;
	const struct heap *heap;	       /* borrowed: elf's */
	struct arena arena;		       /* paths */
	struct bytes *section[DWARF_SECTIONS]; /* borrowed; NULL: none */
	bool split;			       /* a .dwo file */
	struct {
		VEC(struct dw_unit);
	} units;		    /* by offset; fixed once read */
	struct dw_steps steps;	    /* code, to index of unit */
	struct dw_abbrevs *abbrevs; /* owned */

	struct dw *shared; /* owned: dwz's common file */
	struct dw *types;  /* owned: .debug_types of the same file */
	bool shared_sought, types_sought;
	bool of_types;		/* this is one: its info is .debug_types */
	struct dw_names *names; /* owned; NULL until asked for */
	bool names_bad;
	struct dw_names *unit_names; /* owned; of names_unit alone */
	const struct dw_unit *names_unit;
};

/* A question begins: it may cause so much work and no more. */
void dw_begin(struct image_file *f);
/* Does n steps of it; false if there are none left. */
bool dw_spend(struct dw *d, uint64_t n);

/* The debug information of a file, opened once; NULL with err. */
struct dw *dw_of(struct image_file *f, struct hark_err *err);
void dw_free(struct dw *d);

struct dw_unit *dw_unit_at(struct dw *d, uint64_t addr);
/* The unit that has this offset of info in it, or NULL. */
struct dw_unit *dw_unit_with(struct dw *d, uint64_t offset);
/* For a skeleton the unit in its .dwo file, if that is found; else itself. */
struct dw_unit *dw_full(struct dw_unit *u);
struct dw *dw_shared(struct dw *d);
/* The type units that DWARF 4 has in a section of their own; NULL: none. */
struct dw *dw_types(struct dw *d);
/* The unit of a type by its signature, or NULL. */
struct dw_unit *dw_unit_signed(struct dw *d, uint64_t signature);
/* The directory in which it was compiled; NULL if it does not say. */
const char *dw_dir(struct dw_unit *u);
int dw_no_memory(const struct dw *d, struct hark_err *err);

/* -- Entries (dw_entry.c) -- */

struct dw_entry {
	struct dw_unit *u;
	uint64_t die;		    /* its offset */
	const struct dw_decl *decl; /* borrowed */
	struct cursor attrs;	    /* from its first attribute on */
};

/* False if there is none, or the work may not be done. */
bool dw_entry_at(struct dw_unit *u, uint64_t die, struct dw_entry *out);
/* Attribute of the entry itself; DWARF_NONE if it has it not. */
struct dw_value dw_entry_get(const struct dw_entry *e, uint16_t name);
/* The same, and if it has not, of the entries it refers to: its declaration,
 * the abstract one. *from is whose the value is. */
struct dw_value dw_entry_seek(const struct dw_entry *e, uint16_t name,
			      struct dw_unit **from);
/* Its name as written, or NULL. */
const char *dw_entry_name(const struct dw_entry *e);
/* The entry that an attribute refers to, also by signature. */
bool dw_entry_follow(const struct dw_entry *e, uint16_t name,
		     struct dw_entry *out);
/* First child, and the entry behind e with all its children. */
bool dw_entry_child(const struct dw_entry *e, struct dw_entry *out);
bool dw_entry_next(const struct dw_entry *e, struct dw_entry *out);
/* The one behind it in the section, whosever child it is. */
bool dw_entry_after(const struct dw_entry *e, struct dw_entry *out);

/* -- Names of things that are no code (dw_names.c) -- */

struct dw_name {
	const char *name;   /* plain */
	const char *linked; /* or NULL */
	struct dw_unit *u;
	uint64_t die;
	uint16_t tag;
};
struct dw_names {
	struct {
		VEC(struct dw_name);
	} all; /* by name */
};

/* Variables that have one place, named types that are complete, and
 * enumerators (whose entry here is that of their enum); NULL with err. */
struct dw_names *dw_names_of(struct dw *d, struct hark_err *err);
/* Those of one unit, without reading the others; good until the next call. */
struct dw_names *dw_names_of_unit(struct dw *d, struct dw_unit *u,
				  struct hark_err *err);
void dw_names_free(struct dw *d);
/* The first of that name; all of them follow it. n: those left. */
const struct dw_name *dw_names_find(const struct dw_names *all,
				    const char *name, size_t *n);

/* The bytes of a section from offset on, len of them or what there is. */
struct cursor dw_window(struct dw *d, enum dw_section s, uint64_t offset,
			uint64_t len);

#endif
