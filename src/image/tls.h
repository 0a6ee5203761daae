/* image/tls.h - where a thread has the thread-local variables of a module.
 *
 * Hosted. */
#ifndef IMAGE_TLS_H
#define IMAGE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_file;

/* A module in a process, and one of its threads. */
struct tls_place {
	uint64_t bias;
	uint64_t thread_pointer; /* the base of fs */
	bool is_program;	 /* not a library */
	bool is_musl;		 /* the process has musl, not glibc */
	/* Memory of the process: 0, or -1. */
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
};

/* In the name of musl's loader. */
#define TLS_MUSL "/ld-musl-"

/* Is it a program of musl's, not of glibc's? A static one need not be asked. */
bool tls_is_musl(struct image_file *program);
/* The address of its block, which begins with what image_file_tls() says. -1:
 * it has none, the thread has not used it yet, or that is not known. */
int tls_block(struct image_file *f, const struct tls_place *p, uint64_t *out);

#endif
