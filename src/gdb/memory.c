/* gdb/memory.c - packets about memory.
 *
 * What is not known is not guessed: a range is answered up to its first byte
 * that is unknown, and refused if that is its first. But gdb shows nothing of
 * a structure with such a byte in it, be it padding; a client may wish for
 * marks instead (monitor unknown mark), and must then find out itself which
 * numbers of the structure have a mark in them, by reading each alone, as
 * init.py does. While a core file is written the rest of a mapping reads as
 * zeros. */
#include "gdb/gdb_priv.h"

#include <string.h>

enum {
	READ_MAX = (PACKET_MAX - 16) / 2,
	PAGE = 4096,
};

/* Nothing is ever mapped below the program; gdb looks there before it has
 * relocated it. */
static int is_below(struct gdb *g, uint64_t address, size_t len)
{
	const struct hark_mapping *m;
	unsigned n;

	return gdb_mappings(g, &m, &n) == 0 && n > 0 && address < m->start &&
	       len <= m->start - address;
}

static size_t read_known(struct gdb *g, uint64_t address, size_t len,
			 uint8_t *out, uint8_t *known)
{
	if (is_below(g, address, len)) {
		memset(known, 0, len);
		return 0;
	}
	if (len > 0 && gdb_read_fixed(g, address, len, out)) {
		memset(known, 1, len);
		return len;
	}
	return g->api->f_read(g->t, address, len, out, known, NULL);
}

int gdb_read(struct gdb *g, uint64_t address, void *out, size_t len)
{
	static uint8_t known[PAGE];
	uint8_t *to = out;

	while (len > 0) {
		size_t n = len < PAGE ? len : PAGE;

		if (read_known(g, address, n, to, known) != n)
			return -1;
		address += n;
		to += n;
		len -= n;
	}
	return 0;
}

static int is_filled(struct gdb *g, uint64_t address, size_t len,
		     size_t n_known)
{
	enum { NUMBER_MAX = 8 }; /* one with a mark in it would deceive */

	switch (g->unknown) {
	case GDB_UNKNOWN_MARK:
		return n_known > 0 && len > NUMBER_MAX;
	case GDB_UNKNOWN_ZERO:
		return gdb_mapping_at(g, address) != NULL;
	case GDB_UNKNOWN_ERROR:
		break;
	}
	return 0;
}

/* How many bytes from the first one on can be told; known: those that are no
 * marks. */
static size_t read_some(struct gdb *g, uint64_t address, size_t len,
			uint8_t *out, uint8_t *known)
{
	uint8_t fill = g->unknown == GDB_UNKNOWN_MARK ? '?' : 0;
	size_t n;

	memset(known, 0, len);
	n = read_known(g, address, len, out, known);
	if (n >= len)
		return len;
	if (is_filled(g, address, len, n)) {
		for (size_t i = 0; i < len; i++)
			out[i] = known[i] ? out[i] : fill;
		if (fill == 0)
			memset(known, 1, len);
		return len;
	}
	for (n = 0; n < len && known[n]; n++)
		;
	return n;
}

void on_memory(struct gdb *g, struct words *w)
{
	static uint8_t bytes[READ_MAX], known[READ_MAX];
	uint64_t address, len;
	size_t n;

	if (!words_number(w, &address) || !words_skip(w, ",") ||
	    !words_number(w, &len) || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	len = len < READ_MAX ? len : READ_MAX;
	n = read_some(g, address, (size_t)len, bytes, known);
	if (n == 0 && len > 0)
		gdb_fail(g, GDB_EFAULT);
	else
		packet_hex(&g->out, bytes, n);
}

/* -- Questions about memory -- */

void on_region(struct gdb *g, struct words *w)
{
	const struct hark_mapping *m, *all;
	struct doc name = {0};
	uint64_t address, start = 0, end = UINT64_MAX;
	unsigned n;

	if (!words_number(w, &address) || g->is_away ||
	    gdb_mappings(g, &all, &n) < 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	m = gdb_mapping_at(g, address);
	if (m != NULL) {
		packet_text(&g->out,
			    "start:%llx;size:%llx;permissions:%s%s%s;name:",
			    (unsigned long long)m->start,
			    (unsigned long long)(m->end - m->start),
			    m->prot & 1 ? "r" : "", m->prot & 2 ? "w" : "",
			    m->prot & 4 ? "x" : "");
		doc_plain(&name, m->path);
		packet_hex(&g->out, name.at, name.n);
		doc_free(&name);
		packet_text(&g->out, ";");
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		if (all[i].end <= address && all[i].end > start)
			start = all[i].end;
		if (all[i].start > address && all[i].start < end)
			end = all[i].start;
	}
	packet_text(&g->out, "start:%llx;size:%llx;", (unsigned long long)start,
		    (unsigned long long)(end - start));
}

/* A pattern is not found among marks. */
static const uint8_t *find_known(const uint8_t *bytes, const uint8_t *known,
				 size_t n, const void *pattern, size_t len)
{
	const uint8_t *end = bytes + n, *hit = bytes;

	while ((hit = memmem(hit, (size_t)(end - hit), pattern, len)) != NULL) {
		if (memchr(known + (hit - bytes), 0, len) == NULL)
			return hit;
		hit++;
	}
	return NULL;
}

/* The pattern's first place in [address, address + len), or 0. */
static int search(struct gdb *g, uint64_t address, uint64_t len,
		  const void *pattern, size_t pattern_len, uint64_t *out)
{
	static uint8_t window[READ_MAX], known[READ_MAX];

	while (len >= pattern_len) {
		size_t want = len < READ_MAX ? (size_t)len : READ_MAX, step;
		size_t n = read_some(g, address, want, window, known);
		const uint8_t *hit =
		    find_known(window, known, n, pattern, pattern_len);

		if (hit != NULL) {
			*out = address + (uint64_t)(hit - window);
			return 1;
		}
		if (n < want || n == len)
			return n < want ? -1 : 0;
		step = n - pattern_len + 1;
		address += step;
		len -= step;
	}
	return 0;
}

void on_search(struct gdb *g, struct words *w)
{
	uint64_t address, len, found;
	size_t pattern_len;
	int rc;

	if (!words_skip(w, ":") || !words_number(w, &address) ||
	    !words_skip(w, ";") || !words_number(w, &len) ||
	    !words_skip(w, ";") || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	pattern_len = (size_t)(w->end - w->at);
	if (pattern_len == 0 || pattern_len > PAGE) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	rc = search(g, address, len, w->at, pattern_len, &found);
	if (rc > 0)
		packet_text(&g->out, "1,%llx", (unsigned long long)found);
	else if (rc == 0)
		packet_text(&g->out, "0");
	else
		gdb_fail(g, GDB_EFAULT);
}

void on_crc(struct gdb *g, struct words *w)
{
	uint64_t address, len;
	uint32_t crc = UINT32_MAX;
	uint8_t byte[PAGE];

	if (!words_number(w, &address) || !words_skip(w, ",") ||
	    !words_number(w, &len) || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	while (len > 0) {
		size_t n = len < PAGE ? (size_t)len : PAGE;

		if (gdb_read(g, address, byte, n) < 0) {
			gdb_fail(g, GDB_EFAULT);
			return;
		}
		for (size_t i = 0; i < n; i++) {
			crc ^= (uint32_t)byte[i] << 24;
			for (int bit = 0; bit < 8; bit++)
				crc = crc << 1 ^ (crc >> 31) * 0x04c11db7U;
		}
		address += n;
		len -= n;
	}
	packet_text(&g->out, "C%x", crc);
}
