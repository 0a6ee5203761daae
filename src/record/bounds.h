/* record/bounds.h - how much of this machine a recording may take.
 *
 * A small file can ask for much: it is compressed, and what it says happened
 * may take for ever to replay. Each bound has a default, and an environment
 * variable that sets another: a number, with K, M, G or T after it if it counts
 * bytes. What is no number counts as not set. Hosted. */
#ifndef RECORD_BOUNDS_H
#define RECORD_BOUNDS_H

#include <stdint.h>

/* Bytes that all modules of a recording of file_len bytes may unpack to. */
#define BOUNDS_UNPACK "HARK_MAX_UNPACK"
uint64_t bounds_unpack(uint64_t file_len);
/* Bytes of memory that a process that replays may have. */
#define BOUNDS_MEMORY "HARK_MAX_MEMORY"
uint64_t bounds_memory(void);
/* Seconds of processor time that one question may take. */
#define BOUNDS_TIME "HARK_MAX_TIME"
uint64_t bounds_time(void);

#endif
