/* probe/insert_memory.c - what is mapped in a probed process.
 *
 *	image | home	side by side: the image finds home behind itself
 *	table		zero in children of fork
 *	plan, board	shared with hark
 *	trampolines	wherever the patches lead to, page by page
 */
#include "probe/insert_priv.h"

#include "outside/blob.h"
#include "outside/limit.h"
#include "probe/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };

/* -- Image and home -- */

static int map_image(struct insertion *i, struct door *d, struct hark_err *err)
{
	struct remote_map m = {.prot = PROT_NONE, .flags = PRIVATE, .fd = -1};
	int64_t fd = -1;
	uint64_t at;
	int rc = -1;

	i->image_len = insert_page_up(blob_len());
	i->home_len = NATIVE_HOME_SIZE;
	m.len = i->image_len + i->home_len;
	if (remote_map(d, &m, &i->image, err) < 0 ||
	    remote_image(d, &fd, err) < 0)
		return -1;
	m = (struct remote_map){i->image, i->image_len, PROT_READ | PROT_EXEC,
				MAP_SHARED | MAP_FIXED, fd};
	if (remote_map(d, &m, &at, err) == 0) {
		i->home = i->image + i->image_len;
		m = (struct remote_map){i->home, i->home_len,
					PROT_READ | PROT_WRITE,
					PRIVATE | MAP_FIXED, -1};
		rc = remote_map(d, &m, &at, err);
	}
	if (remote_close(d, fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

/* -- The table -- */

static int map_table(struct insertion *i, struct door *d, struct hark_err *err)
{
	struct remote_map m = {
	    .prot = PROT_READ | PROT_WRITE, .flags = PRIVATE, .fd = -1};
	int64_t answer;

	i->table_len = insert_page_up(sizeof(struct collect_table));
	m.len = i->table_len;
	if (remote_map(d, &m, &i->table, err) < 0 ||
	    gate_call(&d->gate, &answer, err, SYS_madvise, i->table,
		      i->table_len, MADV_WIPEONFORK, 0, 0, 0) < 0)
		return -1;
	if (answer < 0)
		return err_set(err, HARK_EREFUSE, (int)-answer,
			       "memory of process %d cannot be kept from its "
			       "children: %s",
			       i->pid, strerror((int)-answer));
	return 0;
}

/* -- Plan and board -- */

static int map_ours(struct insert_shared *s, int fd, struct hark_err *err)
{
	struct rlimit was;
	void *p;
	int rc;

	limit_lift_files(&was);
	rc = ftruncate(fd, (off_t)s->size);
	limit_restore_files(&was);
	if (rc < 0)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot make %lu bytes of shared memory: %s",
			       (unsigned long)s->size, strerror(errno));
	p = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, HARK_ENOMEM, errno,
			       "cannot map %lu bytes: %s",
			       (unsigned long)s->size, strerror(errno));
	s->base = p;
	return 0;
}

static int map_shared(struct insert_shared *s, struct door *d, int prot,
		      struct hark_err *err)
{
	struct remote_map m = {
	    .len = s->size, .prot = prot, .flags = MAP_SHARED | MAP_NORESERVE};
	int ours = -1, rc = -1;

	if (remote_memfd(d, &m.fd, &ours, err) < 0)
		return -1;
	if (map_ours(s, ours, err) == 0)
		rc = remote_map(d, &m, &s->at, err);
	close(ours);
	if (remote_close(d, m.fd, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

int insert_map(struct insertion *i, struct door *d, struct hark_err *err)
{
	const struct insert_plan *p = i->want;
	struct collect_plan *head;

	i->plan.size = insert_page_up(insert_plan_size(p));
	if (map_image(i, d, err) < 0 || map_table(i, d, err) < 0 ||
	    map_shared(&i->plan, d, PROT_READ, err) < 0)
		return -1;
	head = (struct collect_plan *)i->plan.base;
	head->geometry = p->geometry;
	if (insert_put(i, p->program, p->program->size, &head->program.offset,
		       err) < 0)
		return -1;
	head->program.n = p->program->size;
	i->board.size = insert_page_up(collect_board_size(head));
	if (map_shared(&i->board, d, PROT_READ | PROT_WRITE, err) < 0)
		return -1;
	collect_board_init(head, i->board.base);
	return 0;
}

/* -- Trampolines -- */

static int by_address(const void *a, const void *b)
{
	const struct insert_range *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void add_pages(struct insert_range *r, uint64_t at, uint64_t len)
{
	r->at = at & ~(uint64_t)(INSERT_PAGE - 1);
	r->len = insert_page_up(at + len) - r->at;
}

/* Ranges that touch become one. */
static size_t merge(struct insert_range *r, size_t n)
{
	size_t out = 0;

	qsort(r, n, sizeof *r, by_address);
	for (size_t k = 0; k < n; k++) {
		struct insert_range *last = out > 0 ? &r[out - 1] : NULL;
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

static int list_pages(struct insertion *i, struct hark_err *err)
{
	size_t n = 0;

	i->range = calloc(2 * i->n_patches + 1, sizeof *i->range);
	if (i->range == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t k = 0; k < i->n_patches; k++) {
		const struct patch *p = i->patch[k].patch;

		if (p->code != 0)
			add_pages(&i->range[n++], p->code, code_len(p));
		if (p->entry != 0 && p->entry != p->code)
			add_pages(&i->range[n++], p->entry, FORM_SLOT);
	}
	i->n_ranges = n > 0 ? merge(i->range, n) : 0;
	return 0;
}

int insert_map_code(struct insertion *i, struct door *d, struct hark_err *err)
{
	size_t n;

	if (list_pages(i, err) < 0)
		return -1;
	n = i->n_ranges;
	for (i->n_ranges = 0; i->n_ranges < n; i->n_ranges++) {
		const struct insert_range *r = &i->range[i->n_ranges];
		const struct remote_map m = {r->at, r->len,
					     PROT_READ | PROT_EXEC,
					     PRIVATE | MAP_FIXED_NOREPLACE, -1};
		uint64_t at;

		if (remote_map(d, &m, &at, err) < 0)
			return -1;
	}
	return 0;
}

/* -- And away -- */

int insert_unmap(struct insertion *i, struct door *d, struct hark_err *err)
{
	int rc = 0;

	while (i->n_ranges > 0) {
		struct insert_range *r = &i->range[i->n_ranges - 1];

		if (remote_unmap(d, &r->at, r->len, err) < 0)
			return -1;
		i->n_ranges--;
	}
	if (remote_unmap(d, &i->board.at, i->board.size, err) < 0 ||
	    remote_unmap(d, &i->plan.at, i->plan.size, err) < 0 ||
	    remote_unmap(d, &i->table, i->table_len, err) < 0 ||
	    remote_unmap(d, &i->image, i->image_len + i->home_len, err) < 0)
		rc = -1;
	return rc;
}

void insert_unmap_ours(struct insertion *i)
{
	if (i->board.base != NULL)
		munmap(i->board.base, i->board.size);
	if (i->plan.base != NULL)
		munmap(i->plan.base, i->plan.size);
	i->board.base = i->plan.base = NULL;
}
