/* gdb/api.h - what the server asks of a recording, as a table.
 *
 * One row a function of hark/recording.h, so that tests can put a history of
 * their own behind the server. gdb_api is the real one. */
#ifndef GDB_API_H
#define GDB_API_H

#include <hark/recording.h>

/* clang-format off */
#define GDB_API(F) \
	F(n_processes)     F(process) \
	F(n_modules)       F(module)          F(read_module) \
	F(position_parse)  F(position_text)   F(position_compare) \
	F(timeline_open)   F(timeline_close)  F(on_progress) \
	F(n_threads)       F(thread)          F(thread_lives) \
	F(thread_name) \
	F(selected)        F(select) \
	F(where)           F(seek)            F(seek_start)   F(seek_end) \
	F(registers)       F(read)            F(mappings)     F(signal) \
	F(step)            F(run) \
	F(break)           F(watch)           F(catch_call)   F(catch_signal) \
	F(forget_stop)     F(last_write)
/* clang-format on */

struct gdb_api {
#define F(name) __typeof__(&hark_##name) f_##name;
	GDB_API(F)
#undef F
};

extern const struct gdb_api gdb_api;

#endif
