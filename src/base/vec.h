/* base/vec.h - arrays that grow.
 *
 *	struct { VEC(struct row); } rows = {0};
 *
 *	struct row *r = vec_push(&rows, heap);   // NULL: no memory
 *	for (size_t i = 0; i < rows.n; i++)
 *		use(rows.at[i]);
 *	vec_free(&rows, heap);
 *
 * Growth is by half, so that the last resize wastes little. Elements move
 * when the array grows: hold indices, not pointers. Pure. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/heap.h"

#include <stdint.h>

#define VEC(type) \
	type *at; \
	size_t n, room

/* The array with room for `more` beyond n, or NULL; *room says how much. */
static inline void *vec_grown(const struct heap *h, void *at, size_t *room,
			      size_t n, size_t more, size_t size)
{
	size_t want = n + more, next;
	void *grown;

	if (want < n || want > SIZE_MAX / 2 / size)
		return NULL;
	if (want <= *room)
		return at;
	next = *room + *room / 2;
	next = next < 8 ? 8 : next;
	next = next < want || next > SIZE_MAX / 2 / size ? want : next;
	grown = h->resize(h->ctx, at, *room * size, next * size);
	if (grown != NULL)
		*room = next;
	return grown;
}

/* Makes room for `more` elements: 0, or -1 when there is no memory. */
#define vec_fit(v, more, heap)                                                 \
	({                                                                     \
		size_t vec_room_ = (v)->room, vec_more_ = (more);              \
		void *vec_at_ = vec_grown((heap), (v)->at, &vec_room_, (v)->n, \
					  vec_more_, sizeof *(v)->at);         \
		if (vec_at_ != NULL) {                                         \
			(v)->at = vec_at_;                                     \
			(v)->room = vec_room_;                                 \
		}                                                              \
		vec_at_ != NULL || vec_more_ == 0 ? 0 : -1;                    \
	})

/* A new last element, not initialised; NULL when there is no memory. */
#define vec_push(v, heap)                                   \
	((v)->n == (v)->room && vec_fit((v), 1, (heap)) < 0 \
	     ? NULL                                         \
	     : &(v)->at[(v)->n++])

#define vec_free(v, heap)                                                \
	do {                                                             \
		heap_give((heap), (v)->at, (v)->room * sizeof *(v)->at); \
		(v)->at = NULL;                                          \
		(v)->n = (v)->room = 0;                                  \
	} while (0)

/* Gives back what growth took in advance; never fails. */
#define vec_trim(v, heap)                                                     \
	do {                                                                  \
		void *vec_at_ = NULL;                                         \
		if ((v)->n > 0 && (v)->n < (v)->room)                         \
			vec_at_ = (heap)->resize((heap)->ctx, (v)->at,        \
						 (v)->room * sizeof *(v)->at, \
						 (v)->n * sizeof *(v)->at);   \
		if (vec_at_ != NULL) {                                        \
			(v)->at = vec_at_;                                    \
			(v)->room = (v)->n;                                   \
		}                                                             \
	} while (0)

#endif
