/* tests/lossless/work.c */
#include "lossless/work.h"

#define WORK __attribute__((section("work_text"), noipa))

/* A loop in the place of a call would not count as an entry. */
#define CALLS_ITSELF __attribute__((optimize("no-optimize-sibling-calls")))

static WORK CALLS_ITSELF uint64_t fibonacci(uint64_t n, uint64_t *calls)
{
	calls[WORK_FIBONACCI]++;
	return n < 2 ? n : fibonacci(n - 1, calls) + fibonacci(n - 2, calls);
}

static WORK void sort(int32_t *v, unsigned n, uint64_t *calls)
{
	calls[WORK_SORT]++;
	for (unsigned i = 1; i < n; i++) {
		int32_t x = v[i];
		unsigned k = i;

		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static WORK double step(unsigned kind, double x, uint64_t *calls)
{
	calls[WORK_STEP]++;
	switch (kind) {
	case 0:
		return x * 1.5;
	case 1:
		return x > 100 ? x / 3 : x + 1;
	case 2:
		return -x;
	case 3:
		return x < 0 ? x * x : x - 0.25;
	case 4:
		return (double)(int64_t)x;
	case 5:
		return (double)(float)x;
	case 6:
		return x + (double)(uint32_t)(x * x);
	default:
		return x - 7;
	}
}

static WORK uint64_t hash(const uint8_t *bytes, unsigned n, uint64_t *calls)
{
	uint64_t h = 14695981039346656037U;

	calls[WORK_HASH]++;
	for (unsigned i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 1099511628211U;
	return h;
}

static WORK uint64_t hash_rest(const uint8_t *bytes, unsigned n,
			       uint64_t *calls)
{
	return n > 3 ? hash(bytes + 3, n - 3, calls) : n;
}

WORK uint64_t work(uint64_t n, uint64_t *calls)
{
	uint64_t (*const ways[])(const uint8_t *, unsigned,
				 uint64_t *) = {hash, hash_rest};
	int32_t v[24];
	double x = (double)n;
	uint64_t sum = fibonacci(n % 8, calls);

	for (unsigned i = 0; i < 24; i++)
		v[i] = (int32_t)((n + i) * 2654435761U >> (i % 5));
	sort(v, 24, calls);
	for (unsigned i = 0; i < 24; i++)
		x = step((unsigned)(v[i] & 7), x, calls);
	for (unsigned i = 0; i < 4; i++)
		sum += ways[(n + i) & 1]((const uint8_t *)v, i * 9, calls);
	return sum ^ (x < 0 ? 3 : 5) ^ (uint64_t)(x > 1e9 ? 0 : (int64_t)x);
}

const void *work_function(unsigned which)
{
	const void *const functions[WORK_FUNCTIONS] = {[WORK_FIBONACCI] =
							   fibonacci,
						       [WORK_SORT] = sort,
						       [WORK_STEP] = step,
						       [WORK_HASH] = hash};

	return functions[which];
}

extern const char __stop_work_text[];

const char *work_start(void)
{
	return work_function(WORK_FIBONACCI);
}

const char *work_end(void)
{
	return __stop_work_text;
}
