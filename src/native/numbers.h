/* native/numbers.h - system calls that matter to signals, and to hark's memory.
 */
#ifndef NATIVE_NUMBERS_H
#define NATIVE_NUMBERS_H

#include "native/native.h"

enum {
	NR_READ = 0,
	NR_POLL = 7,
	NR_MPROTECT = 10,
	NR_UNMAP = 11,
	NR_ACTION = 13,
	NR_MASK = 14,
	NR_CLONE = 56,
	NR_VFORK = 58,
	NR_EXECVE = 59,
	NR_EXIT = 60,
	NR_PENDING = 127,
	NR_TIMEDWAIT = 128,
	NR_SUSPEND = 130,
	NR_MLOCKALL = 151,
	NR_PRCTL = 157,
	NR_EPOLL_WAIT = 232,
	NR_PSELECT = 270,
	NR_PPOLL = 271,
	NR_EPOLL_PWAIT = 281,
	NR_SECCOMP = 317,
	NR_EXECVEAT = 322,
	NR_PKEY_MPROTECT = 329,
	NR_CLONE3 = 435,
	NR_EPOLL_PWAIT2 = 441,
};

enum { ERR_INTR = 4, ERR_FAULT = 14 };

#endif
