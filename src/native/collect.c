/* native/collect.c - a hit, from the frame to the account.
 *
 * Each site has a slot in each part of the board, with its account, and a way
 * in each area, with what its clauses need. The first hit of a thread finds out
 * which of a few ways to take:
 *
 *	SLOT_COUNT	the one clause counts: one number of the slot, which
 *			hark adds to the account and to the row. A key that is
 *			always the same one is no different. Trampolines do it
 *			by themselves
 *	SLOT_KEYED	the one clause counts by a number: the cell of the last
 *			number is remembered
 *	SLOT_QUANTIZE	the one clause sorts a number into buckets
 *	SLOT_LEAN	all clauses only reckon: collect_lean.c
 *	SLOT_GENERAL	everything else, by the machine
 *
 * On the first three nothing but the account and a cell is touched. */
#include "native/collect_board.h"

#include "script/aggregate.h"

/* ORDER collect_enter */
_Static_assert(offsetof(struct collect_site, plan) == 0, "collect_enter.S");
_Static_assert(offsetof(struct collect_plan, table) == 64, "collect_enter.S");
_Static_assert(offsetof(struct collect_table, pid) == 0, "collect_enter.S");
_Static_assert(offsetof(struct collect_table, has_self) == 8,
	       "collect_enter.S");
_Static_assert(offsetof(struct collect_table, who) == 64, "collect_enter.S");
_Static_assert(offsetof(struct collect_who, fs) == 0, "collect_enter.S");
_Static_assert(offsetof(struct collect_who, area) == 8, "collect_enter.S");
_Static_assert(sizeof(struct collect_who) == 16, "collect_enter.S");
_Static_assert(offsetof(struct collect_area, busy) == 32, "collect_enter.S");
_Static_assert(offsetof(struct collect_area, ways) < 64,
	       "with .busy in a line of the cache");
_Static_assert(COLLECT_ENTRIES == 4096, "collect_enter.S");
_Static_assert(COLLECT_HASH == 0x9e3779b97f4a7c15ull, "collect_enter.S");

static struct collect_slot *slot_of(const struct collect_area *area,
				    const struct collect_site *site)
{
	return (struct collect_slot *)(uintptr_t)area->slots + site->number;
}

static struct collect_way *way_of(const struct collect_area *area,
				  const struct collect_site *site)
{
	return (struct collect_way *)(uintptr_t)area->ways + site->number;
}

static const uint32_t *clauses_of(const struct collect_work *w,
				  const struct collect_site *site)
{
	return collect_at(w->plan, site->clauses.offset);
}

/* -- What a site needs -- */

/* A register of the program, if that is all there is to it. */
static uint32_t register_of(const struct collect_site *site,
			    const struct probe_clause *c)
{
	static const uint8_t order[6] = {7, 6, 2, 1, 8, 9};

	if (c->hot_source != PROBE_FROM_ARG)
		return SLOT_SOURCE;
	if (site->kind == COLLECT_ENTRY && c->hot_number < 6)
		return order[c->hot_number];
	if (site->kind == COLLECT_RETURN && c->hot_number == 1)
		return 0;
	return SLOT_SOURCE;
}

/* A text that is the same at each hit of the site; NULL: it is none. */
static const char *constant_text(struct collect_work *w,
				 const struct probe_clause *c)
{
	if (c->hot_source == PROBE_FROM_TEXT)
		return probe_texts(w->h.program) + c->hot_number;
	if (c->hot_source == PROBE_FROM_BUILTIN &&
	    c->hot_number >= PROBE_BUILTIN_FIRST_TEXT &&
	    c->hot_number != PROBE_BUILTIN_THREADNAME)
		return collect_builtin_text(&w->h, c->hot_number);
	return NULL;
}

/* Laid out as a key: how many bytes. */
static uint32_t text_key(const struct collect_work *w, const char *text,
			 uint8_t *out)
{
	uint32_t most = w->h.program->string_size - 1, n = 0, end;

	while (n < most && text[n] != '\0')
		n++;
	end = (4 + n + 1 + 7) & ~7U;
	__builtin_memcpy(out, &n, sizeof n);
	for (uint32_t i = 0; i < end - 4; i++)
		out[4 + i] = i < n ? (uint8_t)text[i] : 0;
	return end;
}

/* The way remembers where a row's cells are. NULL row: no room; the next hit
 * tries again. Trampolines and hark go by the slot of one that counts. */
static void remember(const struct collect_work *w, struct collect_way *way,
		     struct collect_row *row, uint32_t key_len,
		     enum collect_how how)
{
	struct collect_slot *slot = slot_of(w->area, w->site);

	if (row == NULL)
		return;
	way->cell = (uint64_t)(uintptr_t)collect_cells(row, key_len);
	way->how = how;
	if (how != SLOT_COUNT)
		return;
	slot->cell =
	    (uint64_t)((const uint8_t *)row - (const uint8_t *)w->part);
	__atomic_store_n(&slot->how, how, __ATOMIC_RELEASE);
}

static void prepare_keyed(struct collect_work *w, struct collect_way *way,
			  const struct probe_clause *c)
{
	const char *text = constant_text(w, c);
	uint8_t *key = w->h.scratch;

	if (text != NULL) {
		uint32_t len = text_key(w, text, key);

		remember(w, way, collect_row(w, c->hot_aggregation, key, len),
			 len, SLOT_COUNT);
	} else if (c->hot_source == PROBE_FROM_BUILTIN &&
		   c->hot_number >= PROBE_BUILTIN_FIRST_TEXT) {
		way->how = SLOT_GENERAL;
	} else {
		way->uses = register_of(w->site, c);
		way->how = SLOT_KEYED;
	}
}

/* False: it must be tried again, for want of room. */
static bool prepare(struct collect_work *w, struct collect_way *way)
{
	const uint32_t *clauses = clauses_of(w, w->site);
	const struct probe_clause *c = &probe_clauses(
	    w->h.program)[w->site->clauses.n > 0 ? clauses[0] : 0];

	w->is_lacking = false;
	way->how = SLOT_NEW;
	if (w->site->clauses.n == 1 && c->hot == PROBE_HOT_COUNT) {
		remember(w, way, collect_row(w, c->hot_aggregation, NULL, 0), 0,
			 SLOT_COUNT);
	} else if (w->site->clauses.n == 1 && c->hot == PROBE_HOT_COUNT_KEYED) {
		prepare_keyed(w, way, c);
	} else if (w->site->clauses.n == 1 && c->hot == PROBE_HOT_QUANTIZE) {
		way->uses = register_of(w->site, c);
		remember(w, way, collect_row(w, c->hot_aggregation, NULL, 0), 0,
			 SLOT_QUANTIZE);
	} else if (collect_is_lean(w, way, clauses)) {
		way->how = SLOT_LEAN;
	} else {
		way->how = SLOT_GENERAL;
	}
	if (way->how == SLOT_GENERAL)
		way->uses =
		    collect_uses(w->h.program, clauses, w->site->clauses.n);
	return way->how != SLOT_NEW;
}

/* -- Hot ways -- */

static void count_as(struct collect_slot *slot, enum machine_end end)
{
	struct collect_account *a = &slot->account;

	if (end == MACHINE_FAULT)
		collect_add(&a->faulted, 1);
	else if (end == MACHINE_DROPPED)
		collect_add(&a->dropped, 1);
	else
		collect_add(&a->recorded, 1);
}

static uint64_t source(struct collect_work *w, const struct collect_site *site,
		       const struct probe_frame *frame)
{
	const struct probe_clause *c =
	    &probe_clauses(w->h.program)[clauses_of(w, site)[0]];

	if (c->hot_source == PROBE_FROM_ARG)
		return collect_argument(w->area, site, frame, c->hot_number);
	if (c->hot_source == PROBE_FROM_CONST)
		return probe_constants(w->h.program)[c->hot_number];
	collect_begin(w, site);
	w->frame = frame;
	w->clause = clauses_of(w, site)[0];
	return collect_builtin(&w->h, c->hot_number);
}

static inline uint64_t *cell_of(const struct collect_way *way)
{
	return (uint64_t *)(uintptr_t)way->cell;
}

static inline uint64_t value_of(struct collect_area *area,
				const struct collect_way *way,
				const struct collect_site *site,
				const struct probe_frame *frame)
{
	if (way->uses <= SLOT_REGISTER)
		return frame->gpr[way->uses];
	return source(collect_work(area), site, frame);
}

/* Another number than the last one. */
static __attribute__((noinline)) struct collect_area *
fire_other_key(struct collect_area *area, struct collect_slot *slot,
	       struct collect_way *way, const struct collect_site *site,
	       uint64_t key)
{
	struct collect_work *w = collect_work(area);
	const struct probe_clause *c =
	    &probe_clauses(w->h.program)[clauses_of(w, site)[0]];
	struct collect_row *row = collect_row(
	    w, c->hot_aggregation, (const uint8_t *)&key, sizeof key);

	if (row == NULL) {
		count_as(slot, MACHINE_DROPPED);
		return area;
	}
	way->key = key;
	way->cell = (uint64_t)(uintptr_t)collect_cells(row, sizeof key);
	collect_add(cell_of(way), 1);
	collect_add(&slot->account.recorded, 1);
	return area;
}

/* The first of them, which is in the account already. */
static void fire_counted(const struct collect_way *way,
			 struct collect_slot *slot)
{
	collect_add(cell_of(way), 1);
	collect_add(&slot->account.recorded, 1);
}

static inline struct collect_area *fire_keyed(struct collect_area *area,
					      struct collect_slot *slot,
					      struct collect_way *way,
					      const struct collect_site *site,
					      uint64_t key)
{
	if (key != way->key || way->cell == 0)
		return fire_other_key(area, slot, way, site, key);
	collect_add(cell_of(way), 1);
	collect_add(&slot->account.recorded, 1);
	return area;
}

static inline void fire_quantize(const struct collect_way *way,
				 struct collect_slot *slot, uint64_t value)
{
	collect_add(&cell_of(way)[aggregate_quantize_of((int64_t)value)], 1);
	collect_add(&slot->account.recorded, 1);
}

/* -- The general way -- */

static void look_at_arguments(struct collect_work *w, uint32_t uses)
{
	for (uint32_t left = uses & SLOT_ARGS; left != 0; left &= left - 1) {
		unsigned k = (unsigned)__builtin_ctz(left);

		w->args[k] = collect_argument(w->area, w->site, w->frame, k);
	}
	if (uses & SLOT_UREGS)
		collect_uregs(w, w->uregs);
}

static __attribute__((noinline)) struct collect_area *
run_clauses(struct collect_work *w, struct collect_slot *slot,
	    const struct collect_way *way)
{
	const uint32_t *clauses = clauses_of(w, w->site);
	enum machine_end worst = MACHINE_DONE;

	if (w->site->kind == COLLECT_LOADER)
		collect_tell_loaded(w);
	if (way->uses != 0)
		look_at_arguments(w, way->uses);
	for (uint64_t i = 0; i < w->site->clauses.n; i++) {
		enum machine_end end = collect_clause(w, clauses[i]);

		if (end >= MACHINE_DROPPED && end > worst)
			worst = end;
	}
	count_as(slot, worst);
	return w->area;
}

static void fire_lean(struct collect_work *w, struct collect_slot *slot,
		      const struct collect_way *way,
		      const struct collect_site *site,
		      const struct probe_frame *frame)
{
	collect_begin(w, site);
	w->frame = frame;
	count_as(slot, collect_run_lean(w, way));
}

/* In any way but a new one. */
static void fire_prepared(struct collect_area *area, struct collect_slot *slot,
			  const struct collect_site *site,
			  const struct probe_frame *frame)
{
	struct collect_way *way = way_of(area, site);

	switch (way->how) {
	case SLOT_COUNT:
		fire_counted(way, slot);
		break;
	case SLOT_KEYED:
		fire_keyed(area, slot, way, site,
			   value_of(area, way, site, frame));
		break;
	case SLOT_QUANTIZE:
		fire_quantize(way, slot, value_of(area, way, site, frame));
		break;
	case SLOT_LEAN:
		fire_lean(collect_work(area), slot, way, site, frame);
		break;
	default:
		run_clauses(collect_work(area), slot, way);
	}
}

static __attribute__((noinline)) struct collect_area *
fire_slow(struct collect_area *area, struct collect_slot *slot,
	  const struct collect_site *site, const struct probe_frame *frame)
{
	struct collect_work *w = collect_work(area);
	struct collect_way *way = way_of(area, site);

	if (way->how <= SLOT_GENERAL) {
		collect_begin(w, site);
		w->frame = frame;
	}
	if (way->how != SLOT_NEW || prepare(w, way))
		fire_prepared(area, slot, site, frame);
	else
		count_as(slot, MACHINE_DROPPED);
	return area;
}

/* -- All ways -- */

static __attribute__((noinline)) struct collect_area *
fire_chain(struct collect_area *area, const struct collect_site *site,
	   const struct probe_frame *frame)
{
	if (area->n_tokens != 0 && native_fired(area, frame))
		return area;
	for (; site != NULL;
	     site = (const struct collect_site *)(uintptr_t)site->next) {
		struct collect_slot *slot = slot_of(area, site);

		if (slot->how == SLOT_COUNT) {
			collect_add(&slot->counted, 1);
			continue;
		}
		collect_add(&slot->account.executed, 1);
		fire_slow(area, slot, site, frame);
	}
	return area;
}

/* There is room on the stack. */
struct collect_area *collect_fire_rest(struct probe_frame *frame,
				       const struct collect_site *site,
				       struct collect_area *area)
{
	struct collect_slot *slot = slot_of(area, site);
	struct collect_way *way = way_of(area, site);
	struct collect_work *w = collect_work(area);

	if (__builtin_expect((area->n_tokens | site->next) != 0, 0))
		return fire_chain(area, site, frame);
	collect_add(&slot->account.executed, 1);
	if (way->how != SLOT_GENERAL)
		return fire_slow(area, slot, site, frame);
	collect_begin(w, site);
	w->frame = frame;
	return run_clauses(w, slot, way);
}

void collect_fire_at(struct collect_area *area, const struct collect_site *site,
		     const struct probe_frame *frame, uint64_t time_ns)
{
	struct collect_slot *slot = slot_of(area, site);
	struct collect_work *w = collect_work(area);

	collect_add(&slot->account.executed, 1);
	w->time_ns = time_ns;
	fire_slow(area, slot, site, frame);
	w->time_ns = 0;
}

/* Returns the area: collect_hit() need not keep it. The ways that are taken
 * millions of times call nothing. */
struct collect_area *collect_fire(struct probe_frame *frame,
				  const struct collect_site *site,
				  struct collect_area *area)
{
	struct collect_slot *slot = slot_of(area, site);
	struct collect_way *way = way_of(area, site);
	uint64_t value;

	if (__builtin_expect((area->n_tokens | site->next) != 0, 0))
		return collect_fire_with_room(frame, site, area);
	if (slot->how == SLOT_COUNT) {
		collect_add(&slot->counted, 1);
		return area;
	}
	if (way->how == SLOT_LEAN) {
		collect_add(&slot->account.executed, 1);
		fire_lean(collect_work(area), slot, way, site, frame);
		return area;
	}
	if (way->how <= SLOT_COUNT || way->uses > SLOT_REGISTER)
		return collect_fire_with_room(frame, site, area);
	collect_add(&slot->account.executed, 1);
	value = frame->gpr[way->uses];
	if (way->how != SLOT_QUANTIZE)
		return fire_keyed(area, slot, way, site, value);
	fire_quantize(way, slot, value);
	return area;
}

/* The thread is in a probe already. */
void collect_recursed(const struct collect_site *site,
		      struct collect_area *area)
{
	for (; site != NULL;
	     site = (const struct collect_site *)(uintptr_t)site->next) {
		struct collect_slot *slot = slot_of(area, site);

		collect_add(&slot->account.executed, 1);
		collect_add(&slot->account.recursed, 1);
	}
}
