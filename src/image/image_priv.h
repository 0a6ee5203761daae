/* image/image_priv.h - an image and its files, as this folder sees them. */
#ifndef IMAGE_IMAGE_PRIV_H
#define IMAGE_IMAGE_PRIV_H

#include "image/elf_priv.h"
#include "image/frames.h"
#include "image/image.h"

struct symbols;
struct dw;
struct keep;
struct network;

/* A process, and what it could open when that was last asked. */
enum { IMAGE_PROCESSES = 256 };
struct image_process {
	int pid; /* 0: none */
	uint64_t began;
	const struct reach *reach; /* borrowed */
};

struct image {
	struct input_pool pool;
	struct budget budget;	  /* of all files together */
	struct image_file *files; /* owned, a chain */
	char *debug_path;	  /* owned: directories with colons between */
	struct keep *keep;	  /* owned; NULL: nothing is kept on disk */
	struct image_reach *reaches; /* owned, a chain: each once */
	struct image_process processes[IMAGE_PROCESSES];
	unsigned next_process;	 /* whose turn it is to be forgotten */
	struct network *network; /* owned */
};

/* Many processes have the same one. */
struct image_reach {
	struct image_reach *next; /* owned */
	struct reach *reach;	  /* owned */
};

struct image_file {
	struct image *image;	 /* borrowed */
	struct image_file *next; /* owned */
	char *name;		 /* owned: path, or what stands for it */
	struct elf *elf;	 /* owned */
	uint8_t *bytes;		 /* owned: what elf reads, if we keep it */

	/* Each is looked for once; NULL afterwards: there is none. */
	bool debug_sought, mini_sought;
	struct elf *debug;   /* owned: a separate debug file */
	struct elf *mini;    /* owned: what .gnu_debugdata holds */
	uint8_t *mini_bytes; /* owned, from elf's heap */
	size_t mini_len;

	struct frame_table *frames; /* owned, from elf's heap */
	struct frames_stats frames_stats;
	struct symbols *symbols; /* owned */
	/* Owned: without separate debug files; NULL: .symbols, or not made. */
	struct symbols *own_symbols;
	struct dw *dwarf;   /* owned */
	bool dwarf_bad;	    /* it was tried, and it is damaged */
	uint64_t work_left; /* for the question being answered: dw_begin */
};

/* Opens an origin, or finds it among the files there are. A name of NULL is
 * the origin's path. */
int image_add(struct image *im, const struct elf_origin *o, const char *name,
	      struct image_file **out, struct hark_err *err);

/* The same for bytes from malloc, which are taken over, also on failure. */
int image_add_owned(struct image *im, const char *name, uint8_t *bytes,
		    size_t len, struct image_file **out, struct hark_err *err);

/* A separate debug file, or NULL. */
struct elf *image_file_separate(struct image_file *f);
/* The ELF file with the mini debug info, or NULL. */
struct elf *image_file_mini(struct image_file *f);
/* The ELF file that has debug sections: the file or the separate one; NULL
 * if neither has. */
struct elf *image_file_dwarf(struct image_file *f);

/* -- debug.c: where separate debug information is -- */

/* The file with the same build-id, or the debug link's; NULL if there is
 * none that matches. path: of e, for the debug link. */
struct elf *debug_find(struct image *im, struct elf *e, const char *path);
/* The file that a dwz-compressed debug file shares with others; NULL if it
 * names none, or there is none. */
struct elf *debug_find_shared(struct image *im, struct elf *e);

#endif
