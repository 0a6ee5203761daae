/* profile/grow_priv.h - arrays that grow as base/vec.h has them, where their
 * length is known by another name; and memory as malloc gives it. */
#ifndef PROFILE_GROW_PRIV_H
#define PROFILE_GROW_PRIV_H

#include "base/vec.h"

extern const struct heap profile_heap;

/* Makes room for `want` elements in all: 0, or -1: no memory. */
#define GROW(at, room, want)                                                \
	({                                                                  \
		size_t grow_want_ = (want);                                 \
		void *grow_at_ = vec_grown(&profile_heap, (at), &(room), 0, \
					   grow_want_, sizeof *(at));       \
		if (grow_at_ != NULL)                                       \
			(at) = grow_at_;                                    \
		grow_at_ != NULL || grow_want_ == 0 ? 0 : -1;               \
	})

#endif
