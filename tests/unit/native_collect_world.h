/* tests/unit/native_collect_world.h - what the tests of the collector share:
 * one world, and a log of what came out of it. */
#ifndef PROBE_COLLECT_WORLD_H
#define PROBE_COLLECT_WORLD_H

#include "native/collect_board.h"
#include "probe_world.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

static struct world w;
static struct world_log out;

static inline void open_world(const char *script)
{
	world_open(&w, script, NULL, 0);
}

static inline void close_world(void)
{
	world_check_accounts(&w);
	world_log_free(&out);
	world_close(&w);
}

static inline struct show_row *only_row(uint32_t aggregation)
{
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	ck_assert_int_eq(board_rows(w.b, aggregation, &rows, &n, &err), 0);
	ck_assert_uint_eq(n, 1);
	return rows;
}

/* The n-th number of the k-th record. */
static inline uint64_t nth(size_t k, size_t n)
{
	uint64_t value;

	memcpy(&value, out.at[k].bytes + 16 * n + 8, sizeof value);
	return value;
}

static inline void in_thread(void *(*what)(void *))
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, what, NULL), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
}

#endif
