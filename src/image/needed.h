/* image/needed.h - which modules of a process stay as long as it lives?
 *
 * The program, and what it needs, and what that needs: the loader never unloads
 * these. Others were asked for (dlopen), and may go; or one cannot know. */
#ifndef IMAGE_NEEDED_H
#define IMAGE_NEEDED_H

#include "image/modules.h"

/* out[i] of module i. */
void needed_find(const struct modules *all, bool *out);

#endif
