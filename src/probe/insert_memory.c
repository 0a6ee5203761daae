/* probe/insert_memory.c - what is mapped in a probed process.
 *
 *	plan | image | home | table | work | own | board	one block
 *	trampolines	wherever the patches lead to, page by page
 *
 * The block is a mapping of the plan's file first, into which the others are
 * put: so it has a name in the process's maps from the beginning, and a plan
 * at its start that says what else there is (insert_adopt.c). The image finds
 * home behind itself; table, work and own are zero in children of fork; plan
 *and board are shared with hark. Only trampolines have addresses of their own
 * choice: the block gets out of their way.
 *
 * Work is there if threads are sampled: what is remembered of the stacks of
 * each, for as many frames as there may be. That is much address space and
 * little memory; where address space is limited, there are fewer frames. */
#include "probe/insert_priv.h"

#include "native/native.h"
#include "outside/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };

static struct collect_plan *plan_of(const struct insertion *i)
{
	return (struct collect_plan *)i->plan.base;
}

/* -- In hark -- */

int insert_map_ours(struct insert_shared *s, int fd, struct hark_err *err)
{
	void *p;

	p = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot map %lu bytes: %s",
			       (unsigned long)s->size, strerror(errno));
	s->base = p;
	return 0;
}

/* The file is what is shown; the original is private. */
static int keep_original(struct insert_shared *s, struct hark_err *err)
{
	void *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
		       PRIVATE | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot map %lu bytes: %s",
			       (unsigned long)s->size, strerror(errno));
	s->shown = s->base;
	s->base = p;
	return 0;
}

int insert_make_ours(struct insert_shared *s, int fd, bool is_plan,
		     struct hark_err *err)
{
	if (remote_fix_size(fd, s->size) < 0)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot make %lu bytes of shared memory: %s",
			       (unsigned long)s->size, strerror(errno));
	if (insert_map_ours(s, fd, err) < 0 ||
	    (is_plan && keep_original(s, err) < 0))
		return -1;
	return remote_seal(fd, is_plan) == 0
		   ? 0
		   : err_set(err, HARK_EDENIED, errno,
			     "cannot seal shared memory: %s", strerror(errno));
}

/* -- What the process sees of the plan -- */

static bool is_zero(const uint8_t *bytes, size_t len)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* Room that was never used stays without memory. */
static void show(const struct insert_shared *s, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to;) {
		uint64_t end = (at | (INSERT_PAGE - 1)) + 1;

		end = end < to ? end : to;
		if (!is_zero(s->base + at, end - at))
			memcpy(s->shown + at, s->base + at, end - at);
		at = end;
	}
}

void insert_show_range(const struct insertion *i, uint64_t at, uint64_t len)
{
	memcpy(i->plan.shown + at, i->plan.base + at, len);
}

/* Threads that run look at .index and .calm_to: a store each, after all that
 * they lead to. Another hark looks at .self and .removal. */
void insert_sync(struct insertion *i)
{
	struct insert_shared *s = &i->plan;
	const struct collect_plan *from = plan_of(i);
	struct collect_plan *to = (struct collect_plan *)s->shown, head = *from;

	if (s->used > sizeof head) {
		show(s, s->synced > sizeof head ? s->synced : sizeof head,
		     s->used);
		s->synced = s->used;
	}
	if (i->sites != 0)
		show(s, i->sites,
		     i->sites + i->n_sites * sizeof(struct collect_site));
	head.index = to->index;
	head.calm_to = to->calm_to;
	head.self = to->self;
	head.removal = to->removal;
	*to = head;
	__atomic_store_n(&to->removal, from->removal, __ATOMIC_RELEASE);
	__atomic_store_n(&to->self, from->self, __ATOMIC_RELEASE);
	__atomic_store_n(&to->calm_to, from->calm_to, __ATOMIC_RELEASE);
	__atomic_store_n(&to->index, from->index, __ATOMIC_RELEASE);
}

/* -- Pages of trampolines -- */

static int by_address(const void *a, const void *b)
{
	const struct collect_range *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void add_pages(struct collect_range *r, uint64_t at, uint64_t len)
{
	r->at = at & ~(uint64_t)(INSERT_PAGE - 1);
	r->len = insert_page_up(at + len) - r->at;
}

/* Ranges that touch become one. */
static size_t merge(struct collect_range *r, size_t n)
{
	size_t out = 0;

	qsort(r, n, sizeof *r, by_address);
	for (size_t k = 0; k < n; k++) {
		struct collect_range *last = out > 0 ? &r[out - 1] : NULL;
		uint64_t end = r[k].at + r[k].len;

		if (last == NULL || r[k].at > last->at + last->len)
			r[out++] = r[k];
		else if (end > last->at + last->len)
			last->len = end - last->at;
	}
	return out;
}

static uint64_t code_len(const struct patch *p)
{
	return (uint64_t)FORM_TRAMPOLINE *
	       (unsigned)__builtin_popcount(p->probed);
}

int insert_list_pages(struct insertion *i, struct hark_err *err)
{
	struct collect_range *range = reallocarray(
	    i->range, i->n_ranges + 2 * i->n_patches + 1, sizeof *range);
	size_t n = 0;

	if (range == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->range = range;
	i->first.range = i->n_ranges;
	range += i->n_ranges;
	for (size_t k = 0; k < i->n_patches; k++) {
		const struct patch *p = i->patch[k].patch;

		if (p->code != 0)
			add_pages(&range[n++], p->code, code_len(p));
		if (p->entry != 0 && p->entry != p->code)
			add_pages(&range[n++], p->entry, FORM_SLOT);
	}
	i->n_ranges += n > 0 ? merge(range, n) : 0;
	return 0;
}

/* -- The block -- */

static bool is_in_the_way(const struct insertion *i, uint64_t at, uint64_t len)
{
	for (size_t k = 0; k < i->n_ranges; k++)
		if (at < i->range[k].at + i->range[k].len &&
		    i->range[k].at < at + len)
			return true;
	return false;
}

/* Where no trampoline will be: what was in the way is kept until there is
 * something else, so that the kernel offers another place each time. */
static int try_block(struct insertion *i, struct door *d, int64_t fd,
		     struct hark_err *err)
{
	enum { TRIES = 64 };
	const struct remote_map m = {.len = insert_whole(plan_of(i)),
				     .prot = PROT_READ,
				     .flags = MAP_SHARED | MAP_NORESERVE,
				     .fd = fd};
	uint64_t tried[TRIES], at = 0;
	int n = 0, rc = -1;

	while (n < TRIES && remote_map(d, &m, &at, err) == 0) {
		if (!is_in_the_way(i, at, m.len)) {
			rc = 0;
			break;
		}
		tried[n++] = at;
	}
	if (rc < 0 && n == TRIES)
		err_set(err, HARK_ENOMEM, 0, "process %d: no room for probes",
			i->pid);
	while (n > 0)
		if (remote_unmap(d, &tried[--n], m.len, rc < 0 ? NULL : err) <
		    0)
			rc = -1;
	if (rc == 0)
		i->plan.at = at;
	return rc;
}

/* Who is where, as seen by the process. */
static void place(struct insertion *i)
{
	struct collect_plan *head = plan_of(i);

	head->magic = COLLECT_MAGIC;
	head->version = COLLECT_VERSION;
	head->image = i->image = i->plan.at + i->plan.size;
	head->home = i->home = i->image + i->image_len;
	head->table = i->table = i->home + i->home_len;
	head->work = i->table + i->table_len;
	head->own = head->work + head->work_len;
	head->board = i->board.at = head->own + head->own_len;
}

/* From here on: whoever comes after a hark that was killed believes the plan,
 * so it has a record of what is to be taken out. Before, it is only unmapped.
 */
static void be_believed(struct insertion *i)
{
	plan_of(i)->self = i->plan.at;
	insert_sync(i);
}

static void measure(struct insertion *i)
{
	struct collect_plan *head = plan_of(i);

	i->image_len = insert_page_up(blob_len());
	i->home_len = NATIVE_HOME_SIZE;
	i->table_len = insert_page_up(sizeof(struct collect_table));
	i->board.size = insert_page_up(collect_board_size(head));
	head->own_len = insert_page_up(collect_own_size(head));
	head->size = i->plan.size;
	head->image_len = i->image_len;
	head->home_len = i->home_len;
	head->table_len = i->table_len;
	head->board_len = i->board.size;
}

/* Threads are sampled: down to depth. */
static void measure_work(struct insertion *i, uint32_t depth)
{
	struct collect_plan *head = plan_of(i);

	head->max_depth = depth;
	head->work_len =
	    depth == 0 ? 0 : insert_page_up(collect_work_size(head));
}

static int make_plan(struct insertion *i, struct hark_err *err)
{
	const struct insert_plan *p = i->want;
	struct collect_plan *head = plan_of(i);

	head->geometry = p->geometry;
	if (insert_put(i, p->program, p->program->size, &head->program.offset,
		       err) < 0)
		return -1;
	head->program.n = p->program->size;
	measure(i);
	return 0;
}

/* As deep as there is address space for. */
static int map_block(struct insertion *i, struct door *d, int64_t fd,
		     struct hark_err *err)
{
	static const uint32_t depths[] = {1 << 20, 1 << 16, 1 << 12, 1 << 8};

	if (!(i->want->flags & COLLECT_SAMPLES))
		return try_block(i, d, fd, err);
	for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
		measure_work(i, depths[k]);
		if (try_block(i, d, fd, err) == 0)
			return 0;
	}
	return -1;
}

static int map_plan(struct insertion *i, struct door *d, struct hark_err *err)
{
	int64_t fd = -1;
	int ours = -1, rc = -1;

	i->plan.size = insert_page_up(insert_plan_size(i->want));
	if (remote_memfd(d, &fd, &ours, err) == 0 &&
	    insert_make_ours(&i->plan, ours, true, err) == 0 &&
	    make_plan(i, err) == 0)
		rc = map_block(i, d, fd, err);
	if (ours >= 0)
		close(ours);
	if (fd >= 0 && remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	if (rc == 0)
		place(i);
	return rc;
}

/* -- Into the block -- */

/* fd -1: of no file. */
int insert_put_there(struct door *d, uint64_t at, uint64_t len, int prot,
		     int64_t fd, struct hark_err *err)
{
	const int flags = (fd < 0 ? PRIVATE : MAP_SHARED) | MAP_NORESERVE;
	const struct remote_map m = {at, len, prot, flags | MAP_FIXED, fd};
	uint64_t got;

	return remote_map(d, &m, &got, err);
}

static int map_image(struct insertion *i, struct door *d, struct hark_err *err)
{
	int64_t fd = -1;
	int rc = -1;

	if (remote_image(d, &fd, err) == 0)
		rc = insert_put_there(d, i->image, i->image_len,
				      PROT_READ | PROT_EXEC, fd, err);
	if (fd >= 0 && remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

/* Home; table, work and own. */
static int map_own(struct insertion *i, struct door *d, struct hark_err *err)
{
	const int prot = PROT_READ | PROT_WRITE;
	const uint64_t rest = plan_of(i)->work_len + plan_of(i)->own_len,
		       len = i->table_len + rest;
	int64_t answer;

	if (insert_put_there(d, i->home, i->home_len, prot, -1, err) < 0 ||
	    insert_put_there(d, i->table, len, prot, -1, err) < 0 ||
	    gate_call(&d->gate, &answer, err, SYS_madvise, i->table, len,
		      MADV_WIPEONFORK, 0, 0, 0) < 0)
		return -1;
	if (answer < 0)
		return err_set(err, HARK_EREFUSE, (int)-answer,
			       "memory of process %d cannot be kept from its "
			       "children: %s",
			       i->pid, strerror((int)-answer));
	/* Of each thread's share little is used. */
	return gate_call(&d->gate, &answer, err, SYS_madvise, plan_of(i)->work,
			 rest, MADV_NOHUGEPAGE, 0, 0, 0);
}

int insert_share_board(struct insertion *i, const struct insertion *from,
		       struct hark_err *err)
{
	i->board_file = dup(from->board_file);
	if (i->board_file <= 0) {
		i->board_file = 0;
		return err_set(err, HARK_EIO, errno, "cannot share memory: %s",
			       strerror(errno));
	}
	return insert_map_ours(&i->board, i->board_file, err);
}

/* The board of the program before: a file of hark's that the process opens. */
static int map_shared_board(struct insertion *i, struct door *d,
			    struct hark_err *err)
{
	const struct insertion *from = i->want->after;
	int64_t fd = -1;
	int rc = -1;

	if (i->board.size != from->board.size)
		return err_set(err, HARK_EREFUSE, 0,
			       "the script means something else there");
	if (remote_open(d, from->board_file, O_RDWR, &fd) == 0 &&
	    insert_share_board(i, from, err) == 0)
		rc = insert_put_there(d, i->board.at, i->board.size,
				      PROT_READ | PROT_WRITE, fd, err);
	else
		err_set(err, HARK_EDENIED, errno,
			"process %d cannot share memory with hark", i->pid);
	if (fd >= 0 && remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

static int map_board(struct insertion *i, struct door *d, struct hark_err *err)
{
	int64_t fd = -1;
	int ours = -1, rc = -1;

	if (i->want->after != NULL)
		return map_shared_board(i, d, err);
	if (remote_memfd(d, &fd, &ours, err) == 0 &&
	    insert_make_ours(&i->board, ours, false, err) == 0)
		rc = insert_put_there(d, i->board.at, i->board.size,
				      PROT_READ | PROT_WRITE, fd, err);
	i->board_file = ours > 0 ? ours : 0;
	if (fd >= 0 && remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	if (rc == 0)
		collect_board_init(plan_of(i), i->board.base);
	return rc;
}

int insert_map_code(const struct insertion *i, struct door *d,
		    struct hark_err *err)
{
	const uint64_t n = i->n_ranges;

	if (remote_write(d, i->home + offsetof(struct collect_home, ranges), &n,
			 sizeof n, err) < 0)
		return -1;
	for (size_t k = i->first.range; k < i->n_ranges; k++) {
		const struct collect_range *r = &i->range[k];
		const struct remote_map m = {r->at, r->len,
					     PROT_READ | PROT_EXEC,
					     PRIVATE | MAP_FIXED_NOREPLACE, -1};
		uint64_t at;

		if (remote_map(d, &m, &at, err) < 0)
			return -1;
	}
	return 0;
}

int insert_map(struct insertion *i, struct door *d, struct hark_err *err)
{
	if (map_plan(i, d, err) < 0 || insert_record(i, err) < 0)
		return -1;
	be_believed(i);
	return map_image(i, d, err) < 0 || map_own(i, d, err) < 0 ||
		       map_board(i, d, err) < 0 ||
		       insert_map_code(i, d, err) < 0
		   ? -1
		   : 0;
}

void insert_unmap_ours(struct insertion *i)
{
	if (i->board.base != NULL)
		munmap(i->board.base, i->board.size);
	if (i->plan.base != NULL)
		munmap(i->plan.base, i->plan.size);
	if (i->plan.shown != NULL)
		munmap(i->plan.shown, i->plan.size);
	i->board.base = i->plan.base = i->plan.shown = NULL;
}
