/* image/network_priv.h - debug files from the servers of DEBUGINFOD_URLS.
 *
 * debug.c says which file is wanted and whether what came is it; here is how
 * it is asked for, and for how long. */
#ifndef IMAGE_NETWORK_PRIV_H
#define IMAGE_NETWORK_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct network; /* opaque */

/* NULL: no memory. Nothing is loaded or asked yet. */
struct network *network_new(void);
void network_free(struct network *n);

/* The debug file with this build-id, open for reading; -1: there is none, or
 * nobody may be asked. name is what messages call it. *path: where it lies,
 * from malloc, or NULL. */
int network_find(struct network *n, const uint8_t *id, size_t id_len,
		 const char *name, char **path);
/* What came for name is not what was asked for. */
void network_refuse(struct network *n, const char *name, const char *path);

/* The first thing that went wrong, as a line; NULL: nothing did. */
const char *network_trouble(const struct network *n);

#endif
