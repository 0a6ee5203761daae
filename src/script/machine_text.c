/* script/machine_text.c - the functions of D, mostly about texts.
 *
 * A text that is made is cut to what the program says texts may have. */
#include "script/machine_priv.h"

enum { PIECE = 64, DIGITS = 66 };

uint32_t machine_text_len(const struct machine *m, const char *text)
{
	uint32_t most = m->h->program->string_size - 1, n = 0;

	while (n < most && text[n] != '\0')
		n++;
	return n;
}

/* A new text of two parts, cut. */
static bool make(struct machine *m, const char *a, uint32_t a_len,
		 const char *b, uint32_t b_len, uint64_t *out)
{
	uint32_t most = m->h->program->string_size - 1;
	uint8_t *text;

	if (b_len > most - a_len)
		b_len = most - a_len;
	text = machine_take(m, a_len + b_len + 1);
	if (text == NULL)
		return false;
	for (uint32_t i = 0; i < a_len; i++)
		text[i] = (uint8_t)a[i];
	for (uint32_t i = 0; i < b_len; i++)
		text[a_len + i] = (uint8_t)b[i];
	text[a_len + b_len] = '\0';
	*out = (uint64_t)(uintptr_t)text;
	return true;
}

/* -- Memory -- */

static bool copyin(struct machine *m, uint64_t addr, uint64_t len,
		   uint64_t *out)
{
	uint8_t *block;

	if (len > PROBE_OUTPUT_MAX)
		return machine_fail(m, MACHINE_NO_SCRATCH, 0);
	block = machine_take(m, (uint32_t)len);
	if (block == NULL || !machine_read(m, addr, block, (uint32_t)len))
		return false;
	*out = (uint64_t)(uintptr_t)block;
	return true;
}

/* Pieces never cross a multiple of PIECE: a text that ends just before
 * memory ends is no fault. */
static bool copyinstr(struct machine *m, uint64_t addr, uint64_t len,
		      uint64_t *out)
{
	uint32_t most = m->h->program->string_size - 1, n = 0;
	uint8_t *text;

	if (len < most)
		most = (uint32_t)len;
	text = machine_take(m, most + 1);
	if (text == NULL)
		return false;
	while (n < most) {
		uint32_t piece = PIECE - (uint32_t)((addr + n) % PIECE);

		if (piece > most - n)
			piece = most - n;
		if (!machine_read(m, addr + n, text + n, piece))
			return false;
		for (; piece > 0 && text[n] != '\0'; piece--)
			n++;
		if (piece > 0)
			break;
	}
	text[n] = '\0';
	*out = (uint64_t)(uintptr_t)text;
	return true;
}

/* -- Finding -- */

static bool begins(const char *text, const char *with, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (text[i] != with[i])
			return false;
	return true;
}

/* From `from` on, upwards; -1 if it is not there. */
static int64_t find(const struct machine *m, const char *in, const char *what,
		    int64_t from)
{
	uint32_t n = machine_text_len(m, in), k = machine_text_len(m, what);

	for (int64_t i = from < 0 ? 0 : from; i + k <= n; i++)
		if (begins(in + i, what, k))
			return i;
	return -1;
}

static int64_t find_last(const struct machine *m, const char *in,
			 const char *what, int64_t from)
{
	int64_t n = machine_text_len(m, in), k = machine_text_len(m, what);
	int64_t i = from < n - k ? from : n - k;

	for (; i >= 0; i--)
		if (begins(in + i, what, (uint32_t)k))
			return i;
	return -1;
}

static int64_t find_char(const struct machine *m, const char *in, char c,
			 bool is_last)
{
	uint32_t n = machine_text_len(m, in);
	int64_t at = -1;

	for (uint32_t i = 0; i < n && (at < 0 || is_last); i++)
		if (in[i] == c)
			at = i;
	return at;
}

/* The rest of a text from a place on; no text from -1 on. */
static void rest(const char *text, int64_t at, uint64_t *out)
{
	*out = at < 0 ? 0 : (uint64_t)(uintptr_t)(text + at);
}

/* -- Making -- */

/* As DTrace has it: a negative index counts from the end, a negative length
 * leaves out so many at the end. */
static bool substr(struct machine *m, const char *text, int64_t at, int64_t len,
		   uint64_t *out)
{
	int64_t n = machine_text_len(m, text), end;

	if (at < 0)
		at = at < -n ? 0 : n + at;
	if (at > n)
		at = n;
	end =
	    len < 0 ? (len < -n ? 0 : n + len) : (len > n - at ? n : at + len);
	if (end < at)
		end = at;
	return make(m, text + at, (uint32_t)(end - at), "", 0, out);
}

static bool change_case(struct machine *m, const char *text, char first,
			uint64_t *out)
{
	uint32_t n = machine_text_len(m, text);
	uint8_t *made;

	if (!make(m, text, n, "", 0, out))
		return false;
	made = (uint8_t *)(uintptr_t)*out;
	for (uint32_t i = 0; i < n; i++)
		if (made[i] >= first && made[i] <= first + 25)
			made[i] ^= 0x20;
	return true;
}

static bool lltostr(struct machine *m, int64_t value, int64_t base,
		    uint64_t *out)
{
	uint64_t left =
	    value < 0 && base == 10 ? 0 - (uint64_t)value : (uint64_t)value;
	char text[DIGITS];
	uint32_t at = DIGITS;

	if (base < 2 || base > 36)
		return machine_fail(m, MACHINE_BAD_ADDRESS, (uint64_t)base);
	do {
		uint64_t digit = left % (uint64_t)base;

		text[--at] =
		    (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
		left /= (uint64_t)base;
	} while (left > 0);
	if (base == 16)
		text[--at] = 'x';
	if (base == 16 || (base == 8 && value != 0))
		text[--at] = '0';
	if (value < 0 && base == 10)
		text[--at] = '-';
	return make(m, text + at, DIGITS - at, "", 0, out);
}

static int64_t digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

static int64_t strtoll_of(const char *text, int64_t base)
{
	uint64_t value = 0;
	bool is_minus;

	while (*text == ' ' || *text == '\t' || *text == '\n')
		text++;
	is_minus = *text == '-';
	if (*text == '-' || *text == '+')
		text++;
	if (base == 16 && text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2;
	for (; digit_of(*text) < base; text++)
		value = value * (uint64_t)base + (uint64_t)digit_of(*text);
	return (int64_t)(is_minus ? 0 - value : value);
}

/* The last part of a path: where it begins and how long it is. */
static uint32_t last_part(const struct machine *m, const char *path,
			  uint32_t *len)
{
	uint32_t end = machine_text_len(m, path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (start == end && end > 0)
		start--; /* "/" */
	*len = end - start;
	return start;
}

static bool basename_of(struct machine *m, const char *path, uint64_t *out)
{
	uint32_t len, start = last_part(m, path, &len);

	if (len == 0)
		return make(m, ".", 1, "", 0, out);
	return make(m, path + start, len, "", 0, out);
}

static bool dirname_of(struct machine *m, const char *path, uint64_t *out)
{
	uint32_t len, end = last_part(m, path, &len);

	while (end > 1 && path[end - 1] == '/')
		end--;
	if (end == 0)
		return make(m, path[0] == '/' ? "/" : ".", 1, "", 0, out);
	return make(m, path, end, "", 0, out);
}

/* -- Calls -- */

static bool call_text(struct machine *m, enum probe_function function,
		      const uint64_t *arg, uint64_t *out)
{
	const char *a = machine_text(arg[0]), *b;

	switch (function) {
	case PROBE_CALL_STRJOIN:
		b = machine_text(arg[1]);
		return make(m, a, machine_text_len(m, a), b,
			    machine_text_len(m, b), out);
	case PROBE_CALL_SUBSTR:
		return substr(m, a, (int64_t)arg[1], (int64_t)arg[2], out);
	case PROBE_CALL_TOLOWER:
		return change_case(m, a, 'A', out);
	case PROBE_CALL_TOUPPER:
		return change_case(m, a, 'a', out);
	case PROBE_CALL_BASENAME:
		return basename_of(m, a, out);
	case PROBE_CALL_DIRNAME:
		return dirname_of(m, a, out);
	case PROBE_CALL_STRCHR:
		rest(a, find_char(m, a, (char)arg[1], false), out);
		return true;
	case PROBE_CALL_STRRCHR:
		rest(a, find_char(m, a, (char)arg[1], true), out);
		return true;
	default:
		rest(a, find(m, a, machine_text(arg[1]), 0), out);
		return true;
	}
}

static uint64_t call_number(struct machine *m, enum probe_function function,
			    const uint64_t *arg)
{
	switch (function) {
	case PROBE_CALL_INDEX:
		return (uint64_t)find(m, machine_text(arg[0]),
				      machine_text(arg[1]), (int64_t)arg[2]);
	case PROBE_CALL_RINDEX:
		return (uint64_t)find_last(m, machine_text(arg[0]),
					   machine_text(arg[1]),
					   (int64_t)arg[2]);
	case PROBE_CALL_STRLEN:
		return machine_text_len(m, machine_text(arg[0]));
	case PROBE_CALL_RAND:
		return m->h->random(m->h);
	case PROBE_CALL_SPECULATION:
		return m->h->speculation(m->h);
	case PROBE_CALL_HTONS:
	case PROBE_CALL_NTOHS:
		return __builtin_bswap16((uint16_t)arg[0]);
	case PROBE_CALL_HTONL:
	case PROBE_CALL_NTOHL:
		return __builtin_bswap32((uint32_t)arg[0]);
	default:
		return __builtin_bswap64(arg[0]);
	}
}

bool machine_call(struct machine *m, enum probe_function function,
		  const uint64_t *arg, uint64_t *out)
{
	int64_t base = (int64_t)arg[1];

	switch (function) {
	case PROBE_CALL_COPYIN:
		return copyin(m, arg[0], arg[1], out);
	case PROBE_CALL_COPYINSTR:
		return copyinstr(m, arg[0], arg[1], out);
	case PROBE_CALL_LLTOSTR:
		return lltostr(m, (int64_t)arg[0], base, out);
	case PROBE_CALL_STRTOLL:
		if (base < 2 || base > 36)
			return machine_fail(m, MACHINE_BAD_ADDRESS, arg[1]);
		*out = (uint64_t)strtoll_of(machine_text(arg[0]), base);
		return true;
	case PROBE_CALL_INDEX:
	case PROBE_CALL_RINDEX:
	case PROBE_CALL_STRLEN:
		break;
	default:
		if (function <= PROBE_CALL_DIRNAME)
			return call_text(m, function, arg, out);
	}
	*out = call_number(m, function, arg);
	return true;
}
