/* image/elf_priv.h - one ELF file, as far as hark needs it.
 *
 * Headers are checked when the file is opened; section headers are read at
 * the first question about a section, contents at the first question about
 * that content, unpacked if need be. A file without section headers (one
 * read from memory, or stripped of them) gets the sections that its dynamic
 * segment and its unwind header describe.
 *
 * Only what runs here is accepted: 64-bit little-endian x86-64. */
#ifndef IMAGE_ELF_PRIV_H
#define IMAGE_ELF_PRIV_H

#include "image/heap_priv.h"
#include "image/input_priv.h"

enum {
	ELF_SECTIONS_MAX = 1 << 20,
	ELF_SEGMENTS_MAX = 128,
	ELF_ID_MAX = 64, /* bytes of a build-id */
};

struct elf_section {
	Elf64_Shdr h;
	const char *name; /* borrowed from the string section, or "" */
	struct bytes bytes;
	enum { ELF_UNREAD, ELF_READY } state;
};

struct elf {
	struct budget budget; /* all memory of this file comes from it */
	struct input in;
	const struct reach *opens; /* borrowed: what the file names, with it */
	Elf64_Ehdr eh;
	Elf64_Phdr *ph; /* owned */
	size_t n_ph;
	struct elf_section *sec; /* owned */
	size_t n_sec;
	struct bytes names; /* of sections */
	bool sections_read;
	bool made_sections; /* by elf_make_sections: their ends are guesses */
	uint8_t id[ELF_ID_MAX];
	size_t id_len; /* 0: none */
};

/* What elf_open is given. Exactly one of path, bytes, mem >= 0 matters. */
struct elf_origin {
	const char *path;	   /* borrowed */
	int fd;			   /* of path if it is open already, or -1 */
	const void *bytes;	   /* borrowed for the life of the file */
	size_t len;		   /* of bytes */
	int mem;		   /* of /proc/PID/mem, or -1 */
	uint64_t base;		   /* of the ELF header in mem */
	struct input_pool *pool;   /* borrowed */
	struct budget *all;	   /* borrowed: of the image; NULL: none */
	const struct reach *reach; /* borrowed: path is opened with it */
	const struct reach *opens; /* borrowed: so is what the file names */
	bool relocatable;	   /* ET_REL will do (a .dwo file) */
};

/* Descriptors in the origin are taken over, also on failure. */
int elf_open(const struct elf_origin *o, struct elf **out,
	     struct hark_err *err);
void elf_close(struct elf *e);

/* NULL if there is none of that name (err untouched by that alone), or if
 * the section headers cannot be read. ".debug_x" also finds ".zdebug_x". */
struct elf_section *elf_section(struct elf *e, const char *name);
/* The contents, not NULL-size and not NOBITS, unpacked: NULL with err. */
struct bytes *elf_contents(struct elf *e, struct elf_section *s,
			   struct hark_err *err);
/* Both at once; NULL with HARK_ENOENT when there is no such section. */
struct bytes *elf_find(struct elf *e, const char *name, struct hark_err *err);
/* All of it; NULL: there is none, or it cannot be read. */
const uint8_t *elf_whole(struct elf *e, const char *name, uint64_t *len);

/* Reads the section headers, if it was not done; 0 or -1. */
int elf_sections(struct elf *e, struct hark_err *err);
int elf_take_sections(struct elf *e, size_t n, struct hark_err *err);
void elf_drop_sections(struct elf *e);
/* For a file without: those that its segments speak of. */
int elf_make_sections(struct elf *e, struct hark_err *err);

/* Its path, or what stands for one in messages. */
const char *elf_name(const struct elf *e);
int elf_read(struct elf *e, uint64_t offset, void *out, size_t len,
	     struct hark_err *err);
/* First segment after `after` (or all, if NULL) of that type, or NULL. */
const Elf64_Phdr *elf_segment(const struct elf *e, const Elf64_Phdr *after,
			      uint32_t type);
bool elf_is_code(const struct elf *e, uint64_t addr);
/* Lowest and highest address of executable segments; false if none. */
bool elf_code_span(const struct elf *e, uint64_t *low, uint64_t *high);

#endif
