/* travel/inner.h - a timeline where it is replayed: in a process of its own.
 *
 * These are the functions of hark/recording.h that take a timeline, with the
 * same meanings. serve.c calls them in the sandboxed process; what programs
 * call (remote*.c) only sends requests there. Private to this folder. */
#ifndef TRAVEL_INNER_H
#define TRAVEL_INNER_H

#include <hark/recording.h>

struct timeline; /* travel/timeline.h */

typedef int timeline_condition(void *ctx, struct timeline *t);
/* at: NULL: it may take a while until there are more, if any. */
typedef int timeline_each_visit(void *ctx, struct timeline *t,
				const struct hark_position *at);

/* a: NULL: it may take a while until there are more, if any. */
typedef int timeline_each_access(void *ctx, const struct hark_access *a);

int timeline_open(struct hark_recording *r, uint32_t process,
		  struct timeline **out, struct hark_error *err);
void timeline_close(struct timeline *t);
void timeline_on_progress(struct timeline *t, hark_progress *f, void *ctx);
int timeline_prepare(struct timeline *t, const struct hark_position *from,
		     const struct hark_position *to, unsigned n,
		     struct hark_error *err);
int timeline_prepare_search(struct timeline *t, int is_long_only,
			    struct hark_error *err);

unsigned timeline_n_threads(const struct timeline *t);
const struct hark_thread *timeline_thread(const struct timeline *t, unsigned i);
int timeline_thread_lives(struct timeline *t, uint32_t thread);
const char *timeline_thread_name(struct timeline *t, uint32_t thread);
uint32_t timeline_selected(const struct timeline *t);
int timeline_select(struct timeline *t, uint32_t thread,
		    struct hark_error *err);

int timeline_position_parse(struct timeline *t, const char *text,
			    struct hark_position *out, struct hark_error *err);
int timeline_position_compare(struct timeline *t, const struct hark_position *a,
			      const struct hark_position *b);
struct hark_position timeline_where(struct timeline *t);
int timeline_seek(struct timeline *t, const struct hark_position *to,
		  struct hark_error *err);
int timeline_seek_start(struct timeline *t, struct hark_error *err);
int timeline_seek_end(struct timeline *t, struct hark_error *err);

int timeline_registers(struct timeline *t, uint32_t thread,
		       struct hark_registers *out, struct hark_error *err);
size_t timeline_read(struct timeline *t, uint64_t address, size_t len,
		     uint8_t *out, uint8_t *known, struct hark_error *err);
uint64_t timeline_next_known(struct timeline *t, uint64_t address,
			     uint64_t end);
int timeline_mappings(struct timeline *t, const struct hark_mapping **out,
		      unsigned *n, struct hark_error *err);
int timeline_signal(struct timeline *t, uint32_t thread, int *signo,
		    uint8_t siginfo[128], struct hark_error *err);

int timeline_step(struct timeline *t, enum hark_direction way, uint64_t n,
		  struct hark_stopped *out, struct hark_error *err);
/* The window (travel/window.h) that the moment is in: its number, which no
 * other one has, how many places it has, and which the moment is; 0: none. */
uint32_t timeline_window(const struct timeline *t, uint32_t *n, uint32_t *at);
void timeline_window_place(const struct timeline *t, uint32_t i,
			   uint64_t *count, uint64_t *step);
int timeline_run(struct timeline *t, enum hark_direction way,
		 struct hark_stopped *out, struct hark_error *err);
uint32_t timeline_break(struct timeline *t, uint64_t address, uint32_t thread,
			timeline_condition *when, void *ctx);
uint32_t timeline_watch(struct timeline *t, uint64_t address, uint64_t len,
			unsigned on, uint32_t thread, timeline_condition *when,
			void *ctx);
uint32_t timeline_catch_call(struct timeline *t, int64_t number);
uint32_t timeline_catch_signal(struct timeline *t, int signal);
void timeline_forget_stop(struct timeline *t, uint32_t id);

int timeline_last_write(struct timeline *t, uint64_t address, uint64_t len,
			struct hark_access *out, struct hark_error *err);
int timeline_accesses(struct timeline *t, uint64_t address, uint64_t len,
		      unsigned on, const struct hark_position *from,
		      const struct hark_position *to,
		      timeline_each_access *each, void *ctx,
		      struct hark_error *err);
int timeline_visits(struct timeline *t, const uint64_t *addresses, unsigned n,
		    unsigned n_functions, const struct hark_position *from,
		    const struct hark_position *to, timeline_each_visit *each,
		    void *ctx, struct hark_error *err);
int timeline_races(struct timeline *t, hark_each_race *each, void *ctx,
		   struct hark_error *err);
int timeline_possible(struct timeline *t, uint64_t address, uint64_t len,
		      hark_each_possible *each, void *ctx,
		      struct hark_error *err);

#endif
