/* image/network.c - ask the servers of DEBUGINFOD_URLS, but not for ever.
 *
 * libdebuginfod waits 90 s for a server that says nothing, and that for each
 * file again; a profile has dozens. So
 *
 * N1  without DEBUGINFOD_URLS the library is not even loaded;
 * N2  a server must send 64 KB in 10 s (DEBUGINFOD_TIMEOUT, if it is set), and
 *     all of a file in 5 minutes, else nothing more is asked for;
 * N3  nor is it when 20 s were spent on what came to nothing. That a server
 *     does not have a file is an answer, and costs nothing;
 * N4  what went wrong first is told, in one line.
 *
 * Time that brought a file is not counted: whoever sets the variable wants
 * to wait for that. The library keeps what it gets, so it comes once. */
#include "image/network_priv.h"

#include "base/fmt.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS  ((int64_t)1000000000)
#define FILE_NS	   (300 * SECOND_NS)
#define IN_VAIN_NS (20 * SECOND_NS)
#define LEN_MAX	   ((long)4 << 30)

enum {
	STALL_S = 10,
	STALL_LEN = 64 * 1024,
	TROUBLE_LEN = 400,
};

/* What is called of the library. */
struct library {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *id, int id_len,
		    char **path);
	void (*set_progress)(void *client, int (*)(void *, long, long));
};

enum cut { CUT_NOT, CUT_STALL, CUT_SLOW, CUT_LONG };

/* One file being asked for. */
struct request {
	int64_t begin_ns;
	int64_t seen_ns; /* when seen_len was */
	long seen_len;
	bool has_begun; /* a server has it */
	enum cut cut;
};

struct network {
	struct library lib;
	void *client; /* owned */
	bool is_tried, gave_up;
	int stall_s;
	int64_t in_vain_ns;
	struct request now;
	char trouble[TROUBLE_LEN]; /* empty: none */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

struct network *network_new(void)
{
	struct network *n = calloc(1, sizeof *n);
	const char *wish = getenv("DEBUGINFOD_TIMEOUT");
	long s = wish != NULL ? strtol(wish, NULL, 10) : 0;

	if (n != NULL)
		n->stall_s = s > 0 && s <= 3600 ? (int)s : STALL_S;
	return n;
}

void network_free(struct network *n)
{
	if (n != NULL && n->client != NULL)
		n->lib.end(n->client);
	free(n);
}

const char *network_trouble(const struct network *n)
{
	return n->trouble[0] != '\0' ? n->trouble : NULL;
}

static void tell(struct network *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void tell(struct network *n, const char *format, ...)
{
	va_list args;

	if (n->trouble[0] != '\0')
		return;
	va_start(args, format);
	fmt_vtext(n->trouble, sizeof n->trouble, format, args);
	va_end(args);
}

/* -- The library -- */

/* It is not closed again: curl behind it does not like that. */
static bool load(struct library *out)
{
	void *l = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	const struct {
		void **to;
		const char *name;
	} wanted[] = {
	    {(void **)&out->begin, "debuginfod_begin"},
	    {(void **)&out->end, "debuginfod_end"},
	    {(void **)&out->find, "debuginfod_find_debuginfo"},
	    {(void **)&out->set_progress, "debuginfod_set_progressfn"},
	};

	for (size_t i = 0; l != NULL && i < sizeof wanted / sizeof wanted[0];
	     i++) {
		*wanted[i].to = dlsym(l, wanted[i].name);
		if (*wanted[i].to == NULL)
			return false;
	}
	return l != NULL;
}

/* The library calls it each second, and whenever something has come. Before a
 * server has answered, got counts the calls: few. */
static enum cut judge(struct network *n, long got)
{
	struct request *r = &n->now;
	int64_t t = now_ns();

	if (got > LEN_MAX)
		return CUT_LONG;
	if (t - r->begin_ns > FILE_NS)
		return CUT_SLOW;
	if (got - r->seen_len >= STALL_LEN) {
		r->seen_len = got;
		r->seen_ns = t;
	}
	return t - r->seen_ns > n->stall_s * SECOND_NS ? CUT_STALL : CUT_NOT;
}

/* Who asks: the library gives no more than its own handle back. */
static _Thread_local struct network *asking;

static int progress(void *client, long got, long all)
{
	(void)client;
	asking->now.has_begun |= all > 0;
	asking->now.cut = judge(asking, got);
	return asking->now.cut != CUT_NOT;
}

static bool is_ready(struct network *n)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls == NULL || urls[strspn(urls, " ")] == '\0' || n->gave_up)
		return false;
	if (n->is_tried)
		return n->client != NULL;
	n->is_tried = true;
	if (!load(&n->lib)) {
		tell(n, "DEBUGINFOD_URLS is set, but there is no "
			"libdebuginfod.so.1 that could ask");
		return false;
	}
	n->client = n->lib.begin();
	if (n->client != NULL)
		n->lib.set_progress(n->client, progress);
	return n->client != NULL;
}

/* -- Asking -- */

static void spent_in_vain(struct network *n)
{
	n->in_vain_ns += now_ns() - n->now.begin_ns;
	if (n->in_vain_ns >= IN_VAIN_NS)
		n->gave_up = true;
}

static void tell_failure(struct network *n, const char *name, int rc)
{
	const char *const reason[] = {
	    [CUT_NOT] = rc == -ENOENT ? "it broke off" : strerror(-rc),
	    [CUT_SLOW] = "not all of it came within 5 minutes",
	    [CUT_LONG] = "more than 4 GB came",
	};

	if (n->now.cut == CUT_STALL)
		tell(n,
		     "nothing from DEBUGINFOD_URLS for %s: no answer within "
		     "%d s; asked no further",
		     name, n->stall_s);
	else
		tell(n, "nothing from DEBUGINFOD_URLS for %s: %s", name,
		     reason[n->now.cut]);
}

int network_find(struct network *n, const uint8_t *id, size_t id_len,
		 const char *name, char **path)
{
	int fd;

	*path = NULL;
	if (!is_ready(n))
		return -1;
	n->now = (struct request){.begin_ns = now_ns()};
	n->now.seen_ns = n->now.begin_ns;
	asking = n;
	fd = n->lib.find(n->client, id, (int)id_len, path);
	asking = NULL;
	if (fd >= 0)
		return fd;
	if (fd == -ENOENT && n->now.cut == CUT_NOT && !n->now.has_begun)
		return -1;
	tell_failure(n, name, fd);
	spent_in_vain(n);
	if (n->now.cut != CUT_NOT)
		n->gave_up = true;
	return -1;
}

void network_refuse(struct network *n, const char *name, const char *path)
{
	tell(n,
	     "what came from DEBUGINFOD_URLS for %s is not its debug "
	     "information%s%s",
	     name, path != NULL ? ": " : "", path != NULL ? path : "");
	spent_in_vain(n);
}
