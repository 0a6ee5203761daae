/* profile/grow_priv.h - arrays that grow, by half. */
#ifndef PROFILE_GROW_PRIV_H
#define PROFILE_GROW_PRIV_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline void *grow_bytes(void *at, size_t *room, size_t want, size_t size)
{
	size_t next = *room + *room / 2 + 16;
	void *more;

	next = next < want ? want : next;
	more = next > SIZE_MAX / 2 / size ? NULL : realloc(at, next * size);
	if (more != NULL)
		*room = next;
	return more;
}

/* Makes room for `want` elements in all: 0, or -1: no memory. */
#define GROW(at, room, want)                                             \
	({                                                               \
		size_t grow_want_ = (want);                              \
		void *grow_at_ = (at);                                   \
		if (grow_want_ > (room))                                 \
			grow_at_ = grow_bytes((at), &(room), grow_want_, \
					      sizeof *(at));             \
		if (grow_at_ != NULL)                                    \
			(at) = grow_at_;                                 \
		grow_at_ != NULL || grow_want_ == 0 ? 0 : -1;            \
	})

#endif
