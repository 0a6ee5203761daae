/* gdb/init.h - a program in Python that hark carries for gdb to run. */
#ifndef GDB_INIT_H
#define GDB_INIT_H

extern const char gdb_init[], gdb_init_end[];

#endif
