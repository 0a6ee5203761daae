/* tests/unit/probe_world.h - a process with probes, as far as the collector
 * knows: plan, table and board of a script; sites that a test hits itself.
 *
 * Sites are the functions f0, f1, ... of the script's probe descriptions:
 * `pid1::f0:entry`. */
#ifndef PROBE_WORLD_H
#define PROBE_WORLD_H

#include "native/collect.h"
#include "probe/board.h"
#include "script/script.h"

#include <stddef.h>

enum { WORLD_SITES = 8 };

struct world {
	struct script *script;
	const struct probe_program *program;
	struct collect_plan *plan;
	struct collect_table *table;
	uint8_t *board;
	uint8_t *own; /* areas */
	uint64_t board_size;
	struct collect_site *site; /* WORLD_SITES of them */
	struct collect_arg *arg;   /* 10 of site 0 */
	struct board *b;
};

/* As large as any test needs: 16 threads, 1 MB of each. */
struct collect_geometry world_geometry(void);
void world_open(struct world *w, const char *script,
		const struct collect_geometry *g, uint32_t flags);
void world_close(struct world *w);

/* One hit of f<site> with arg0. */
void world_hit(const struct world *w, unsigned site, uint64_t arg0);
void world_fire(const struct world *w, unsigned site, struct probe_frame *f);

struct collect_account world_account(const struct world *w, unsigned site);
/* executed = recorded + dropped + recursed + faulted. */
void world_check_accounts(const struct world *w);
/* The first cell of the row with that key (of 8 bytes; NULL: none), or -1. */
int64_t world_value(const struct world *w, uint32_t aggregation,
		    const uint64_t *key);
int64_t world_text_value(const struct world *w, uint32_t aggregation,
			 const char *key);
size_t world_rows(const struct world *w, uint32_t aggregation);
/* What board_explain() says, joined by newlines; static. */
const char *world_reasons(const struct world *w);

/* Drains all there is; the first numbers that records have put out, and how
 * many records there were. */
struct world_log {
	size_t n, room;
	struct {
		uint64_t number; /* the first argument of the first entry */
		uint32_t action; /* its kind */
		struct board_record record;
		uint8_t bytes[256];
	} * at;
};
void world_drain(const struct world *w, struct world_log *log, int last);
void world_log_free(struct world_log *log);

#endif
