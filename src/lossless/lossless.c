/* lossless/lossless.c - making probes, switching them, reading them.
 *
 * One lock for all who change something; hits know nothing of it (hit.c). A
 * probe is on before the first of its traps is written and off before the
 * first is taken away: a trap that is met in between executes its original,
 * counted or not, and nobody waits. */
#include "lossless/lossless.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lossless/lossless_priv.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

/* -- Beginning ------------------------------------------------------------- */

static void lossless_free(void)
{
	free(lossless.table);
	free(lossless.sites);
	free(lossless.probes);
	free(atomic_load(&lossless.previous));
	lossless.table = NULL;
}

static int make_room(unsigned max_probes, unsigned max_sites,
		     struct hark_err *err)
{
	uint64_t places = 16;

	while (places < 2 * (uint64_t)max_sites)
		places *= 2;
	lossless.table_mask = places - 1;
	lossless.max_probes = max_probes;
	lossless.max_sites = max_sites;
	lossless.table = calloc(places, sizeof *lossless.table);
	lossless.sites = calloc(max_sites, sizeof *lossless.sites);
	lossless.probes = calloc(max_probes, sizeof *lossless.probes);
	atomic_store(&lossless.previous, calloc(1, sizeof(struct sigaction)));
	if (lossless.table == NULL || lossless.sites == NULL ||
	    lossless.probes == NULL || atomic_load(&lossless.previous) == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for probes");
	return 0;
}

int lossless_open(unsigned max_probes, unsigned max_sites, struct hark_err *err)
{
	struct sigaction action = {.sa_sigaction = machine_entry,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	int rc = -1;

	take_lock();
	if (lossless.table != NULL) {
		err_set(err, HARK_EREFUSE, 0, "probes are open already");
		goto out;
	}
	if (max_probes == 0 || max_sites == 0 || max_probes > 1U << 24 ||
	    max_sites > 1U << 20) {
		err_set(err, HARK_EINPUT, 0, "%u probes at %u addresses",
			max_probes, max_sites);
		goto out;
	}
	sigfillset(&action.sa_mask);
	if (make_room(max_probes, max_sites, err) < 0) {
		lossless_free();
		goto out;
	}
	if (sigaction(machine.signal, NULL, atomic_load(&lossless.previous)) !=
		0 ||
	    pthread_atfork(take_lock, drop_lock, drop_lock) != 0 ||
	    sigaction(machine.signal, &action, NULL) != 0) {
		err_set(err, HARK_EDENIED, errno, "sigaction: %s",
			strerror(errno));
		lossless_free();
		goto out;
	}
	rc = 0;
out:
	drop_lock();
	return rc;
}

int lossless_signal(void)
{
	return machine.signal;
}

int lossless_action(const struct sigaction *action, struct sigaction *old,
		    struct hark_err *err)
{
	struct sigaction *new = NULL;

	if (lossless.table == NULL)
		return err_set(err, HARK_EINPUT, 0, "probes are not open");
	if (action != NULL) {
		new = malloc(sizeof *new);
		if (new == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM, "no memory");
		*new = *action;
	}
	if (old != NULL)
		*old = *atomic_load(&lossless.previous);
	if (new != NULL)
		atomic_store(&lossless.previous, new);
	return 0;
}

/* -- Finding instructions -------------------------------------------------- */

/* As it is without probes; end is 0 if it is not known. */
static int decode(uint64_t at, uint64_t end, struct machine_insn *out,
		  struct hark_err *err)
{
	const struct site *s = atomic_load(lossless_find(at));
	uint64_t here = 4096 - at % 4096; /* more may not be readable */
	const char *why;

	if (s != NULL) {
		*out = s->insn;
		return 0;
	}
	if (end != 0)
		here = end - at;
	if (here > machine.max_len)
		here = machine.max_len;
	why = machine_decode((const uint8_t *)at, here, at, out);
	if (why != NULL && end == 0)
		why = machine_decode((const uint8_t *)at, machine.max_len, at,
				     out);
	if (why == NULL)
		return 0;
	return err_set(err, HARK_EINPUT, 0, "0x%lx: %s", (unsigned long)at,
		       why);
}

static int check(const struct machine_insn *insn, struct hark_err *err)
{
	const char *why = machine_refuses(insn);

	if (why == NULL)
		return 0;
	return err_set(err, HARK_EREFUSE, 0, "0x%lx: %s",
		       (unsigned long)insn->at, why);
}

/* -- Sites and links: the lock is held ------------------------------------- */

static int region_of(uint64_t at, struct hark_err *err)
{
	struct region *r;

	for (unsigned i = 0; i < lossless.n_regions; i++) {
		uint64_t off = at - lossless.regions[i].anchor;

		if (machine.reach == 0 ||
		    off + machine.reach / 2 < machine.reach)
			return (int)i;
	}
	if (lossless.n_regions == REGIONS)
		return err_set(err, HARK_ENOMEM, 0,
			       "0x%lx: too many distant places have probes",
			       (unsigned long)at);
	r = &lossless.regions[lossless.n_regions];
	r->anchor = at & ~(uint64_t)0xffff;
	atomic_store(&r->next, r->anchor);
	return (int)lossless.n_regions++;
}

static struct site *site_at(const struct machine_insn *insn,
			    struct hark_err *err)
{
	_Atomic(struct site *) *place = lossless_find(insn->at);
	struct site *s = atomic_load(place);
	unsigned number = atomic_load(&lossless.n_sites);
	int region;

	if (s != NULL)
		return s;
	if (number == lossless.max_sites) {
		err_set(err, HARK_ENOMEM, 0,
			"no more than %u addresses have room",
			lossless.max_sites);
		return NULL;
	}
	region = region_of(insn->at, err);
	if (region < 0)
		return NULL;
	s = &lossless.sites[number];
	s->insn = *insn;
	s->number = number;
	s->region = (unsigned)region;
	atomic_store(&lossless.n_sites, number + 1);
	atomic_store_explicit(place, s, memory_order_release); /* L1 */
	return s;
}

/* A probe that is being made: nothing of it counts until it has a number. */
static struct link *link_add(struct link **links,
			     const struct machine_insn *insn,
			     struct hark_err *err)
{
	struct site *s = site_at(insn, err);
	struct link *l;

	if (s == NULL)
		return NULL;
	l = calloc(1, sizeof *l);
	if (l == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "no memory");
		return NULL;
	}
	l->site = s;
	l->next_mine = *links;
	*links = l;
	return l;
}

static void links_free(struct link *l)
{
	while (l != NULL) {
		struct link *next = l->next_mine;

		free(l);
		l = next;
	}
}

/* Takes the links, whatever comes of it. */
static int probe_new(struct link *links, struct hark_err *err)
{
	unsigned number = lossless.n_probes;

	if (number == lossless.max_probes) {
		links_free(links);
		return err_set(err, HARK_ENOMEM, 0, "no more than %u probes",
			       lossless.max_probes);
	}
	lossless.probes[number].links = links;
	for (struct link *l = links; l != NULL; l = l->next_mine) {
		l->probe = number;
		l->next_here = atomic_load(&l->site->links);
		atomic_store_explicit(&l->site->links, l, memory_order_release);
	}
	lossless.n_probes++;
	return (int)number;
}

/* -- Making probes --------------------------------------------------------- */

static int probe_at(uint64_t at, uint64_t end, struct hark_err *err)
{
	struct machine_insn insn;
	struct link *links = NULL;

	if (decode(at, end, &insn, err) < 0 || check(&insn, err) < 0 ||
	    link_add(&links, &insn, err) == NULL)
		return -1;
	return probe_new(links, err);
}

static int is_open(struct hark_err *err)
{
	if (lossless.table != NULL)
		return 1;
	err_set(err, HARK_EINPUT, 0, "probes are not open");
	return 0;
}

int lossless_entry(const void *function, struct hark_err *err)
{
	int rc = -1;

	take_lock();
	if (is_open(err))
		rc = probe_at((uint64_t)function, 0, err);
	drop_lock();
	return rc;
}

/* Does an instruction start there? */
static int walk_to(uint64_t at, uint64_t end, uint64_t to, struct hark_err *err)
{
	struct machine_insn insn;

	while (at < to) {
		if (decode(at, end, &insn, err) < 0)
			return -1;
		at += insn.len;
	}
	if (at == to && to < end)
		return 0;
	return err_set(err, HARK_EINPUT, 0,
		       "0x%lx: no instruction of the function starts here",
		       (unsigned long)to);
}

int lossless_offset(const void *function, size_t len, size_t offset,
		    struct hark_err *err)
{
	uint64_t at = (uint64_t)function, end = at + len;
	int rc = -1;

	take_lock();
	if (is_open(err) && walk_to(at, end, at + offset, err) == 0)
		rc = probe_at(at + offset, end, err);
	drop_lock();
	return rc;
}

/* Links to all that leaves [at, end). */
static int find_leaving(uint64_t at, uint64_t end, struct link **links,
			struct hark_err *err)
{
	struct machine_insn insn, next;
	const uint64_t start = at;

	if (at >= end || decode(at, end, &insn, err) < 0)
		return -1;
	for (; at < end; at = next.at, insn = next) {
		enum machine_leaves how;
		struct link *l;
		int is_last = at + insn.len >= end;

		if (!is_last && decode(at + insn.len, end, &next, err) < 0)
			return -1;
		if (is_last)
			next.at = end;
		how = machine_leaves(&insn, is_last ? NULL : &next, start, end);
		if (how == MACHINE_STAYS)
			continue;
		if (check(&insn, err) < 0)
			return -1;
		l = link_add(links, &insn, err);
		if (l == NULL)
			return -1;
		l->is_leaving = how == MACHINE_MAY_LEAVE;
		l->start = start;
		l->end = end;
	}
	return 0;
}

int lossless_return(const void *function, size_t len, struct hark_err *err)
{
	uint64_t at = (uint64_t)function;
	struct link *links = NULL;
	int rc = -1;

	take_lock();
	if (!is_open(err))
		goto out;
	if (len == 0) {
		err_set(err, HARK_EINPUT, 0, "a function of no bytes");
		goto out;
	}
	if (find_leaving(at, at + len, &links, err) < 0) {
		links_free(links);
		goto out;
	}
	if (links == NULL) {
		err_set(err, HARK_EREFUSE, 0,
			"0x%lx: the function never returns", (unsigned long)at);
		goto out;
	}
	rc = probe_new(links, err);
out:
	drop_lock();
	return rc;
}

/* -- Switching ------------------------------------------------------------- */

static int switch_site(struct site *s, int on)
{
	int rc = 0;

	if (on ? s->on == 0 : s->on == 1)
		rc = machine_write(&s->insn, on);
	if (rc == 0)
		s->on += on ? 1U : (unsigned)-1;
	return rc;
}

static int switch_probe(struct probe *p, int on, struct hark_err *err)
{
	int rc = 0;

	if (atomic_load(&p->is_on) == on)
		return 0;
	atomic_store(&p->is_on, on);
	for (struct link *l = p->links; l != NULL && rc == 0;
	     l = l->next_mine) {
		rc = switch_site(l->site, on);
		if (rc == 0)
			continue;
		err_set(err, HARK_EDENIED, rc, "0x%lx: cannot be written: %s",
			(unsigned long)l->site->insn.at, strerror(rc));
		atomic_store(&p->is_on, !on);
		for (struct link *u = p->links; u != l; u = u->next_mine)
			switch_site(u->site, !on);
	}
	machine_written();
	return rc == 0 ? 0 : -1;
}

static int switch_number(int probe, int on, struct hark_err *err)
{
	int rc = -1;

	take_lock();
	if (probe < 0 || (unsigned)probe >= lossless.n_probes)
		err_set(err, HARK_EINPUT, 0, "there is no probe %d", probe);
	else
		rc = switch_probe(&lossless.probes[probe], on, err);
	drop_lock();
	return rc;
}

int lossless_on(int probe, struct hark_err *err)
{
	return switch_number(probe, 1, err);
}

int lossless_off(int probe, struct hark_err *err)
{
	return switch_number(probe, 0, err);
}

/* -- Reading --------------------------------------------------------------- */

static uint64_t counted(int probe, int is_all, unsigned thread)
{
	const struct thread *t = atomic_load(&lossless.threads);
	uint64_t n = 0;

	if (probe < 0 || (unsigned)probe >= lossless.max_probes)
		return 0;
	for (; t != NULL; t = t->next)
		if (is_all || t->number == thread)
			n += atomic_load_explicit(&t->count[probe],
						  memory_order_relaxed);
	return n;
}

uint64_t lossless_count(int probe)
{
	return counted(probe, 1, 0);
}

uint64_t lossless_thread_count(int probe, unsigned thread)
{
	return counted(probe, 0, thread);
}

unsigned lossless_threads(void)
{
	return atomic_load(&lossless.n_threads);
}
