/* bench/hot_lttng.h - the tracepoint that LTTng wants in hot.c.
 *
 * Read several times by LTTng's own headers: no guard but theirs. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "hot_lttng.h"

#if !defined(HOT_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HOT_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, hot, LTTNG_UST_TP_ARGS(long, a, long, b),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(
			       long, a, a) lttng_ust_field_integer(long, b, b)))

#endif

#include <lttng/tracepoint-event.h>
