/* travel/memory.c - what memory holds at a moment.
 *
 * What a thread last loaded from an address or stored to it is in its shadow;
 * if that was before its last key frame, in that of a segment before. The last
 * thread to do either is right. If no thread ever has, the file that is mapped
 * there says what it holds, unless it can have been written by others.
 *
 * M1  The shadow's index has 32 bits of the address: it is believed only if no
 *     other place in a mapping of that moment has the same ones, and fs does
 *     not reach it (M2); otherwise alias.c knows.
 * M2  What a thread reaches through fs lies at another index: the address less
 *     the base. Of two that are known and differ, the one is right that was
 *     touched last (route.c). So the index of an address where no memory can be
 *     (near 0, or the kernel's) is of others.
 * M3  What was known before something else was mapped there is not known any
 *     more (fresh.c). If that was at another address with the same index, too
 *     much was forgotten, and alias.c is asked. */
#include "travel/timeline.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* -- Mappings -- */

struct moment {
	struct timeline *t;
	int64_t turn;
};

/* Of a place of which only the low half of pc is known, or not even that. */
static int is_beyond(uint64_t count, uint64_t pc, uint64_t of_count,
		     uint32_t of_pc)
{
	return count > of_count || (count == of_count && of_pc != 0 &&
				    (int32_t)((uint32_t)pc - of_pc) > 0);
}

static int is_past(void *ctx, uint32_t thread, uint64_t count, uint32_t pc)
{
	const struct moment *m = ctx;
	struct timeline *t = m->t;
	struct lane *l = travel_lane(t, thread);
	uint64_t at = 0, at_pc = 0;
	int how;

	if (l == NULL)
		return 1;
	if (l == &t->lanes[t->selected])
		return is_beyond(t->here.count, t->here.pc, count, pc);
	how = travel_place_at(t, l, m->turn, &at, &at_pc);
	return how == 2 || (how == 1 && is_beyond(at, at_pc, count, pc));
}

static int module_of(const struct timeline *t, const struct map *m)
{
	struct recording *r = t->rec->r;

	if (m->path[0] == '\0')
		return -1;
	for (unsigned i = 0; i < recording_n_modules(r); i++) {
		const struct recording_module *about = recording_module(r, i);

		if (about->of == 0 && strcmp(about->path, m->path) == 0 &&
		    (m->ino == 0 ||
		     (about->ino == m->ino && about->dev == m->dev)))
			return (int)i;
	}
	return -1;
}

int travel_find_mappings(struct timeline *t, struct hark_err *err)
{
	struct moment m = {t, travel_turn(t, err)};
	const struct map *maps;
	struct hark_mapping *more;
	unsigned n;

	travel_fresh_at(t, m.turn);
	if (maps_at(t->maps, is_past, &m, &maps, &n, err) < 0)
		return -1;
	more = reallocarray(t->mappings, n + 1, sizeof *more);
	if (more == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	t->mappings = more;
	t->maps_now = maps;
	t->n_mappings = n;
	for (unsigned i = 0; i < n; i++)
		more[i] =
		    (struct hark_mapping){.start = maps[i].start,
					  .end = maps[i].end,
					  .offset = maps[i].offset,
					  .prot = maps[i].prot,
					  .prot_ever = maps[i].prot_ever,
					  .module = module_of(t, &maps[i]),
					  .path = maps[i].path};
	return 0;
}

int timeline_mappings(struct timeline *t, const struct hark_mapping **out,
		      unsigned *n, struct hark_error *err)
{
	struct hark_err why = {0};
	struct hark_mapping *shown;

	if (travel_find_mappings(t, &why) < 0)
		return travel_failed(&why, err);
	shown = reallocarray(t->shown, t->n_mappings + 1, sizeof *shown);
	if (shown == NULL)
		return travel_error(err, HARK_ERROR_MEMORY, "out of memory");
	memcpy(shown, t->mappings, t->n_mappings * sizeof *shown);
	t->shown = shown;
	*out = shown;
	*n = t->n_mappings;
	return 0;
}

unsigned travel_mapping_from(const struct timeline *t, uint64_t address)
{
	unsigned low = 0, high = t->n_mappings;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (t->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct hark_mapping *mapping_at(const struct timeline *t,
					     uint64_t address)
{
	unsigned i = travel_mapping_from(t, address);

	return i < t->n_mappings && t->mappings[i].start <= address
		   ? &t->mappings[i]
		   : NULL;
}

/* May the index be that of what threads reach through fs (M2)? Nearly all of
 * that is within a page; and what is a little further away from a multiple of
 * 4 GiB is, without random addresses, the main stack. */
static bool may_be_of_fs(const struct timeline *t, uint32_t index)
{
	if (index + WALKER_FS_INDEX < 2u * WALKER_FS_INDEX)
		return true;
	return 0u - index <= WALKER_FS_REACH &&
	       0u - index <= travel_fs_reach(t->rec);
}

/* What could never be accessed was never touched. */
static bool may_be_touched(const struct hark_mapping *m)
{
	return m->prot_ever != 0;
}

/* What could not be written holds what its file does. (What the loader has
 * relocated could be, until then.) */
static bool may_be_written(const struct hark_mapping *m)
{
	return m->prot_ever & PROT_WRITE;
}

/* Is there another place in the mapping, 4 GiB away? */
static int has_twin(const struct hark_mapping *m, uint64_t address)
{
	return address - m->start >= WIRE_SHADOW_SIZE ||
	       m->end - address > WIRE_SHADOW_SIZE;
}

/* Is there a place in some mapping whose address has this low half? */
static bool is_of_memory(const struct timeline *t, uint32_t low)
{
	for (unsigned i = 0; i < t->n_mappings; i++) {
		const struct hark_mapping *m = &t->mappings[i];

		if (may_be_touched(m) &&
		    low - (uint32_t)m->start < m->end - m->start)
			return true;
	}
	return false;
}

/* May the lane know the byte by its distance from fs, if the index of that is
 * of some memory, too? Then it is in one mapping with the base (fs_reach.c). */
static bool may_be_reached(const struct timeline *t, const struct walker *w,
			   uint64_t address)
{
	uint64_t base = walker_state(w)->fs_base;
	const struct hark_mapping *m = mapping_at(t, base);

	return may_be_of_fs(t, (uint32_t)(address - base)) && m != NULL &&
	       m->start <= address && address < m->end;
}

static bool is_fs_index_shared(const struct timeline *t, const struct walker *w,
			       uint64_t address)
{
	uint32_t offset = (uint32_t)(address - walker_state(w)->fs_base);

	return offset + WALKER_FS_INDEX >= 2u * WALKER_FS_INDEX &&
	       is_of_memory(t, offset);
}

/* Does some lane know the byte at an index of which one cannot tell whether it
 * is that of a distance from fs? at: each lane's walker, at the moment. */
static bool is_reached_in_memory(const struct timeline *t,
				 struct walker *const *at, uint64_t address)
{
	for (unsigned i = 0; i < t->n_lanes; i++)
		if (at[i] != NULL && walker_is_near_fs(at[i], address) &&
		    is_fs_index_shared(t, at[i], address) &&
		    may_be_reached(t, at[i], address))
			return true;
	return false;
}

/* M1, M2 */
static int is_unambiguous(const struct timeline *t, struct walker *const *at,
			  uint64_t address)
{
	unsigned others = 0;

	if (may_be_of_fs(t, (uint32_t)address) ||
	    is_reached_in_memory(t, at, address))
		return 0;
	for (unsigned i = 0; i < t->n_mappings; i++) {
		const struct hark_mapping *m = &t->mappings[i];
		uint32_t from = (uint32_t)m->start;
		uint64_t len = m->end - m->start;

		if (may_be_touched(m) &&
		    (uint32_t)((uint32_t)address - from) < len)
			others += m->start > address || m->end <= address ||
				  has_twin(m, address);
	}
	return others == 0;
}

/* M2 */
static int can_be_memory(const struct timeline *t, uint64_t address)
{
	enum { NULL_PAGES = 1 << 16 };

	return (address >= NULL_PAGES && address >> 47 == 0) ||
	       mapping_at(t, address) != NULL;
}

/* -- What threads know -- */

/* Where what a lane knows of a byte begins: not before this section. */
struct since {
	unsigned segment;
	uint64_t count; /* the section is that which has it */
};

/* What it knew when a segment ended of which the index has no values. */
static int segment_byte(struct timeline *t, struct lane *l, struct index *x,
			unsigned segment, uint64_t address, uint8_t *out,
			struct hark_err *err)
{
	enum { TOUCHED = INDEX_READ | INDEX_WRITTEN };
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	struct walker *ferry;

	if (x != NULL && !index_may(x, segment, TOUCHED, address, 1))
		return 0;
	if (l->past == NULL)
		l->past = past_new(t->memory_max);
	ferry = travel_ferry(t, l, err);
	if (l->past == NULL || ferry == NULL)
		return -1;
	return past_byte(l->past, ferry, segment, index, out, err);
}

/* What it knew at the begin of a section, as far as the index has values; `at`
 * goes back to where it has none. */
static int sections_byte(struct timeline *t, struct lane *l,
			 const struct since *since, struct index_place *at,
			 uint64_t address, uint8_t *out, struct hark_err *err)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	struct index *x = t->rec->index;
	struct index_place first = {since->segment, 0};
	unsigned rest;
	int rc;

	if (l->known == NULL)
		l->known = index_known_new();
	if (l->known == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	if (since->count > 0)
		first.section =
		    index_section_at(x, since->segment, since->count);
	rc = index_known_byte(x, l->known, &first, at, index, out, &rest);
	*at = (struct index_place){rest, 0};
	return rc >= 0 ? rc
		       : err_set(err, HARK_EINPUT, 0,
				 "the index beside the recording is damaged: "
				 "remove it");
}

/* What it knew when its walker began to mark what it touches. */
static int begin_byte(struct timeline *t, struct lane *l,
		      const struct walker *w, const struct since *since,
		      uint64_t address, uint8_t *out, struct hark_err *err)
{
	struct index_place at = {walker_segment(w), walker_first_section(w)};
	struct index *x = t->rec->index;
	int rc = 0;

	if (at.segment > since->segment) {
		x = travel_index(t, at.segment - since->segment, err);
		if (err->code != HARK_OK)
			return -1;
	}
	while (rc == 0 && (at.segment > since->segment || at.section > 0)) {
		if (x != NULL &&
		    (at.section > 0 || index_has_values(x, at.segment - 1)))
			rc = sections_byte(t, l, since, &at, address, out, err);
		if (rc != 0 || at.segment <= since->segment)
			break;
		at.segment--;
		rc = segment_byte(t, l, x, at.segment, address, out, err);
	}
	return rc;
}

/* The lane's own idea: 1, or 0: none. `w`: at the moment. */
static int lane_index(struct timeline *t, struct lane *l, struct walker *w,
		      const struct since *since, uint64_t address, uint8_t *out,
		      struct hark_err *err)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);
	int known;

	known = walker_byte(w, address, out);
	if (t->in_window >= 0 && l == &t->lanes[t->selected])
		known = window_byte(t->window, (unsigned)t->in_window, index,
				    known, out);
	if (known || walker_segment(w) < since->segment)
		return known;
	return begin_byte(t, l, w, since, address, out, err);
}

/* M2. 1, or 0: it does not know. */
static int lane_byte(struct timeline *t, struct lane *l, struct walker *w,
		     uint64_t address, uint8_t *out, struct hark_err *err)
{
	const struct fresh_event *e = travel_fresh_of_index(t, address);
	uint64_t offset = address - walker_state(w)->fs_base;
	struct since since = {.segment = l->first};
	uint8_t by_fs = 0;
	int rc, fs;

	if (e != NULL && travel_fresh_is_unseen(t, l, w, e))
		return 0;
	if (e != NULL)
		since.segment =
		    travel_fresh_segment(t, l, e, &since.count, err);
	rc = err->code == HARK_OK
		 ? lane_index(t, l, w, &since, address, out, err)
		 : -1;
	if (rc < 0 || !walker_is_near_fs(w, address) ||
	    (is_fs_index_shared(t, w, address) &&
	     !may_be_reached(t, w, address)))
		return rc;
	fs = lane_index(t, l, w, &since, offset, &by_fs, err);
	if (fs > 0 && rc > 0 && *out != by_fs)
		fs = travel_is_by_fs(t, l, w, address, err);
	if (fs > 0)
		*out = by_fs;
	return fs < 0 ? -1 : fs | rc;
}

/* All lanes that live or have lived. If those that know do not agree, the one
 * is right that touched it last. 2: one cannot tell. */
static int any_byte(struct timeline *t, struct walker **at, uint64_t address,
		    uint8_t *out, struct hark_err *err)
{
	uint8_t byte = 0;
	int known = 0, differ = 0, newest, rc;

	for (unsigned i = 0; i < t->n_lanes; i++) {
		rc = at[i] == NULL ? 0
				   : lane_byte(t, &t->lanes[i], at[i], address,
					       &byte, err);
		if (rc < 0)
			return -1;
		differ |= rc == 1 && known && byte != *out;
		if (rc == 1)
			*out = byte;
		known |= rc;
	}
	if (!differ)
		return known;
	newest = travel_newest(t, at, address, err);
	if (newest < 0)
		return err->code != HARK_OK ? -1 : 2;
	rc = lane_byte(t, &t->lanes[newest], at[newest], address, out, err);
	return rc == 1 ? 1 : 2;
}

/* -- What files say -- */

/* Of a program's or library's file: is what lies at this offset loaded as data?
 * Behind its data the loader puts zeros into the page. */
static int is_data(const struct travel_file *f, uint64_t offset)
{
	Elf64_Ehdr header;

	if (f->len < sizeof header || memcmp(f->bytes, ELFMAG, SELFMAG) != 0)
		return 1;
	memcpy(&header, f->bytes, sizeof header);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		uint64_t at = header.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (at > f->len || f->len - at < sizeof p)
			return 0;
		memcpy(&p, f->bytes + at, sizeof p);
		if (p.p_type == PT_LOAD && p.p_flags & PF_W &&
		    offset >= (p.p_offset & ~4095ull) &&
		    offset - (p.p_offset & ~4095ull) <
			p.p_filesz + (p.p_offset & 4095))
			return 1;
	}
	return 0;
}

static int file_byte(struct timeline *t, uint64_t address, uint8_t *out,
		     struct hark_err *err)
{
	const struct hark_mapping *m = mapping_at(t, address);
	uint64_t offset;
	struct travel_file *f;

	if (m == NULL || m->module < 0)
		return 0;
	f = travel_file(t->rec, (unsigned)m->module, err);
	offset = address - m->start + m->offset;
	if (f == NULL || offset >= f->len ||
	    (may_be_written(m) && !is_data(f, offset)))
		return 0;
	*out = f->bytes[offset];
	return 1;
}

/* Each lane's walker, at the moment; NULL: it does not live yet. */
static int bring_all(struct timeline *t, struct walker **at,
		     struct hark_err *err)
{
	for (unsigned i = 0; i < t->n_lanes; i++) {
		int rc = travel_bring(t, &t->lanes[i], &at[i], err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			at[i] = NULL;
	}
	return 0;
}

/* What no thread has touched: of the parent, or of a file. */
static int read_untouched(struct timeline *t, uint64_t address, size_t len,
			  uint8_t *out, uint8_t *known, struct hark_err *err)
{
	if (travel_inherit(t, address, len, out, known, err) < 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		if (known[i] == TRAVEL_UNTOUCHED)
			known[i] = file_byte(t, address + i, &out[i], err) == 1;
	return err->code == HARK_OK ? 0 : -1;
}

/* How many bytes from here on are like the first: ambiguous, or not. */
static size_t run_of(const struct timeline *t, struct walker *const *at,
		     uint64_t address, size_t len, int is_sure)
{
	size_t n = 1;

	while (n < len && is_unambiguous(t, at, address + n) == is_sure)
		n++;
	return n;
}

/* Who wants much at once gets what is at hand: each piece takes a search
 * through the past. */
enum { ALIAS_MOST = 64, SHORT = 1024, MISSED = 3 };

/* M3: where nobody knows, it may have been forgotten with another. What cannot
 * be written is what its file says, whoever has seen it. */
static int is_missed(struct timeline *t, uint64_t address)
{
	const struct fresh_event *e = travel_fresh_of_index(t, address);
	const struct hark_mapping *m;

	if (e == NULL || travel_fresh_has(e, address))
		return 0;
	m = mapping_at(t, address);
	return m == NULL || m->module < 0 || may_be_written(m);
}

/* Those that were MISSED. */
static int read_missed(struct timeline *t, struct walker **at, uint64_t address,
		       size_t len, int is_short, uint8_t *out, uint8_t *known,
		       struct hark_err *err)
{
	size_t n;

	for (size_t i = 0; i<len; i += n> 0 ? n : 1) {
		for (n = 0;
		     i + n < len && n < ALIAS_MOST && known[i + n] == MISSED;
		     n++)
			known[i + n] = 0;
		if (n > 0 && is_short &&
		    travel_read_alias(t, at, address + i, (unsigned)n, out + i,
				      known + i, err) < 0)
			return -1;
	}
	return 0;
}

static int read_run(struct timeline *t, struct walker **at, uint64_t address,
		    size_t len, int is_short, uint8_t *out, uint8_t *known,
		    struct hark_err *err)
{
	for (size_t i = 0; i < len; i++) {
		int rc = can_be_memory(t, address + i)
			     ? any_byte(t, at, address + i, &out[i], err)
			     : 0;

		if (rc < 0)
			return -1;
		known[i] = rc == 1 ? 1 : rc == 0 ? TRAVEL_UNTOUCHED : 0;
		if (rc == 0 && is_missed(t, address + i))
			known[i] = MISSED;
	}
	return read_missed(t, at, address, len, is_short, out, known, err) < 0
		   ? -1
		   : read_untouched(t, address, len, out, known, err);
}

static int read_alias(struct timeline *t, struct walker **at, uint64_t address,
		      size_t len, uint8_t *out, uint8_t *known,
		      struct hark_err *err)
{
	if (travel_read_alias(t, at, address, (unsigned)len, out, known, err) <
	    0)
		return -1;
	return read_untouched(t, address, len, out, known, err);
}

/* Much of what is ambiguous: files that are mapped and cannot be written have
 * what they had, and the rest is not known. */
static void read_files(struct timeline *t, uint64_t address, size_t len,
		       uint8_t *out, uint8_t *known, struct hark_err *err)
{
	for (size_t i = 0; i < len; i++) {
		const struct hark_mapping *m = mapping_at(t, address + i);

		if (m != NULL && m->module >= 0 && !may_be_written(m))
			known[i] = file_byte(t, address + i, &out[i], err) == 1;
	}
}

size_t travel_read(struct timeline *t, uint64_t address, size_t len,
		   uint8_t *out, uint8_t *known, struct hark_err *err)
{
	const int is_short = len <= SHORT;
	struct walker **at = calloc(t->n_lanes, sizeof(struct walker *));
	size_t n = 0, run;

	memset(known, 0, len);
	if (at == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		return 0;
	}
	if (travel_find_mappings(t, err) < 0 || bring_all(t, at, err) < 0)
		len = 0;
	for (size_t i = 0; i < len; i += run) {
		int is_sure = is_unambiguous(t, at, address + i), rc;

		run = run_of(t, at, address + i, len - i, is_sure);
		if (!is_sure && is_short && run > ALIAS_MOST)
			run = ALIAS_MOST;
		rc = 0;
		if (is_sure)
			rc = read_run(t, at, address + i, run, is_short,
				      out + i, known + i, err);
		else if (is_short)
			rc = read_alias(t, at, address + i, run, out + i,
					known + i, err);
		else
			read_files(t, address + i, run, out + i, known + i,
				   err);
		if (rc < 0) { /* what has not been decided is not known */
			memset(known + i, 0, run);
			break;
		}
	}
	for (size_t i = 0; i < len; i++)
		n += known[i];
	free(at);
	return n;
}

size_t timeline_read(struct timeline *t, uint64_t address, size_t len,
		     uint8_t *out, uint8_t *known, struct hark_error *err)
{
	struct hark_err why = {0};
	size_t n = travel_read(t, address, len, out, known, &why);

	if (why.code != HARK_OK)
		travel_failed(&why, err);
	return n;
}
