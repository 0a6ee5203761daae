/* native/hooks.c - which system calls are not simply made. Pure. */
#include "native/numbers.h"

bool native_hooks(uint64_t number)
{
	switch (number) {
	case NR_READ:
	case NR_POLL:
	case NR_EPOLL_WAIT:
	case NR_UNMAP:
	case NR_ACTION:
	case NR_MASK:
	case NR_PENDING:
	case NR_TIMEDWAIT:
	case NR_SUSPEND:
	case NR_PSELECT:
	case NR_PPOLL:
	case NR_EPOLL_PWAIT:
	case NR_EPOLL_PWAIT2:
	case NR_EXIT:
	case NR_CLONE:
	case NR_VFORK:
	case NR_CLONE3:
	case NR_EXECVE:
	case NR_EXECVEAT:
	case NR_PRCTL:
	case NR_SECCOMP:
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
	case NR_MLOCKALL:
		return true;
	default:
		return false;
	}
}
