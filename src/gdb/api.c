/* gdb/api.c - the table of a real recording. */
#include "gdb/api.h"

const struct gdb_api gdb_api = {
#define F(name) .f_##name = hark_##name,
    GDB_API(F)
#undef F
};
