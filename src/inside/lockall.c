/* inside/lockall.c - the program's mappings, locked one by one.
 *
 *	mlockall (mm/mlock.c)			here
 *	the limit against all of the		against that less hark's
 *	address space
 *	marks every mapping			mlock2 of each of the program's
 *	marks what comes later			likewise: MCL_FUTURE alone does
 *						nothing else
 *
 * A mapping that cannot be brought into memory (no access) is marked all the
 * same, by both; mlock2 says so and mlockall does not. Where /proc cannot be
 * read, all is marked to be locked when it is touched (MCL_ONFAULT), and
 * hark's own memory is unmarked. */
#include "inside/lockall.h"

#include "inside/sys.h"

enum {
	NR_READ = 0,
	NR_CLOSE = 3,
	NR_MLOCKALL = 151,
	NR_MUNLOCKALL = 152,
	NR_OPENAT = 257,
	NR_PRLIMIT = 302,
	NR_MLOCK2 = 325,
};
enum { PAGE = 4096, CWD = -100, CLOEXEC = 02000000, LIMIT_MEMLOCK = 8 };

static int64_t open_file(const char *path)
{
	return sys_call(NR_OPENAT, (uint64_t)CWD, (uint64_t)path, CLOEXEC, 0, 0,
			0);
}

static uint64_t limit_now(void)
{
	uint64_t limit[2] = {0};

	if (sys_call(NR_PRLIMIT, 0, LIMIT_MEMLOCK, 0, (uint64_t)limit, 0, 0) !=
	    0)
		return ~0ull;
	return limit[0];
}

int lockall_is_current(uint64_t flags)
{
	flags &= 0xffffffff;
	return flags & LOCKALL_CURRENT && flags <= 7;
}

int lockall_is_limited(void)
{
	return limit_now() != ~0ull;
}

/* -- What is mapped -- */

struct reader {
	int64_t fd;
	unsigned have, at;
	char bytes[512];
};

/* The next character; -1: the end. */
static int next_char(struct reader *r)
{
	if (r->at == r->have) {
		int64_t got = sys_call3(NR_READ, (uint64_t)r->fd,
					(uint64_t)r->bytes, sizeof r->bytes);

		if (got <= 0)
			return -1;
		r->have = (unsigned)got;
		r->at = 0;
	}
	return (unsigned char)r->bytes[r->at++];
}

/* A number to that base, up to the first other character, which is read too. */
static int next_number(struct reader *r, unsigned base, uint64_t *out)
{
	int c, digits = 0;

	for (*out = 0; (c = next_char(r)) >= 0; digits++) {
		unsigned digit =
		    c >= 'a' ? (unsigned)c - 'a' + 10 : (unsigned)c - '0';

		if (digit >= base)
			break;
		*out = *out * base + digit;
	}
	return digits > 0 && c >= 0;
}

/* 0: there are no more. */
static int next_mapping(struct reader *r, uint64_t *start, uint64_t *end)
{
	int c;

	if (!next_number(r, 16, start) || !next_number(r, 16, end))
		return 0;
	do
		c = next_char(r);
	while (c >= 0 && c != '\n');
	return 1;
}

/* Bytes of the address space; 0: it cannot be told. */
static uint64_t space_now(void)
{
	struct reader r = {.fd = open_file("/proc/self/statm")};
	uint64_t pages;

	if (r.fd < 0)
		return 0;
	if (!next_number(&r, 10, &pages))
		pages = 0;
	sys_call3(NR_CLOSE, (uint64_t)r.fd, 0, 0);
	return pages * PAGE;
}

/* -- Locking -- */

static void lock_range(uint64_t start, uint64_t end, uint64_t how)
{
	if (start < end)
		sys_call3(NR_MLOCK2, start, end - start, how);
}

static void lock_around(const struct lockall *l, uint64_t start, uint64_t end,
			uint64_t how)
{
	uint64_t own[2];

	while (l->meets(l->ctx, start, end, own)) {
		lock_range(start, own[0], how);
		start = own[1];
		if (start >= end)
			return;
	}
	lock_range(start, end, how);
}

/* -1: what is mapped cannot be told. */
static int lock_current(const struct lockall *l, uint64_t flags)
{
	const uint64_t top = 1ull << 47, how = flags & LOCKALL_ONFAULT ? 1 : 0;
	struct reader r = {.fd = open_file("/proc/self/maps")};
	uint64_t start, end;

	if (r.fd < 0)
		return -1;
	while (next_mapping(&r, &start, &end))
		if (end <= top)
			lock_around(l, start, end, how);
	sys_call3(NR_CLOSE, (uint64_t)r.fd, 0, 0);
	return 0;
}

static void unlock_own(const struct lockall *l)
{
	uint64_t at = 0, own[2];

	while (l->meets(l->ctx, at, ~0ull, own)) {
		sys_call3(SYS_NR_MUNLOCK, own[0], own[1] - own[0], 0);
		at = own[1];
	}
}

/* All that there is, and not hark's; 0, or the kernel's refusal. */
static int64_t mark_all(const struct lockall *l, uint64_t flags)
{
	int64_t answer = sys_call3(NR_MLOCKALL, flags | LOCKALL_ONFAULT, 0, 0);

	if (answer == 0)
		unlock_own(l);
	return answer;
}

int64_t lockall(const struct lockall *l, uint64_t flags)
{
	uint64_t space = l->is_silent ? 0 : space_now();
	uint64_t limit = l->is_silent ? 0 : limit_now();
	int64_t answer;

	if (space == 0)
		return mark_all(l, flags);
	if (space - l->own_bytes > limit) { /* unless it has the privilege */
		answer = mark_all(l, flags);
		if (answer == 0)
			lock_current(l, flags);
		return answer;
	}
	if (flags & LOCKALL_FUTURE)
		answer = sys_call3(NR_MLOCKALL, flags & ~1ull, 0, 0);
	else
		answer = sys_call3(NR_MUNLOCKALL, 0, 0, 0);
	if (answer == 0 && lock_current(l, flags) < 0)
		answer = mark_all(l, flags);
	return answer;
}
