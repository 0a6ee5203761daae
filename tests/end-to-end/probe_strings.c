/* tests/end-to-end/probe_strings.c - libc's string functions against simple
 * ones.
 *
 *	probe_strings ROUNDS THREADS
 *
 * What is executed depends on ROUNDS and THREADS alone: the buffers lie at the
 * same places of their pages in every run. Says how often memcpy was called
 * with MAGIC bytes: it is one of several functions that libc chooses from. */
#include "guest.h"
#include <pthread.h>

enum { MAGIC = 777, LEN = 2048 };

static unsigned long rounds;
static struct space {
	char a[8192], b[8192], c[8192];
} spaces[8] __attribute__((aligned(8192)));

static uint64_t next(uint64_t *x)
{
	*x = *x * 6364136223846793005 + 1442695040888963407;
	return *x >> 33;
}

/* -- Simple ones -- */

static size_t my_len(const char *s)
{
	size_t n = 0;

	while (s[n] != '\0')
		n++;
	return n;
}

static int my_compare(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i] != b[i])
			return (unsigned char)a[i] < (unsigned char)b[i] ? -1
									 : 1;
		if (a[i] == '\0')
			break;
	}
	return 0;
}

static const char *my_find(const char *s, int c, int last)
{
	const char *found = NULL;

	for (;; s++) {
		if (*s == (char)c && (found == NULL || last))
			found = s;
		if (*s == '\0')
			return found;
	}
}

static const char *my_search(const char *s, const char *what)
{
	size_t len = my_len(what);

	for (;; s++) {
		if (my_compare(s, what, len) == 0)
			return s;
		if (*s == '\0')
			return NULL;
	}
}

static size_t my_span(const char *s, const char *set, int in)
{
	size_t n = 0;

	while (s[n] != '\0' && (my_find(set, s[n], 0) != NULL) == in)
		n++;
	return n;
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

/* -- One round -- */

/* Two texts at odd places, alike for a while. */
static void fill(struct space *s, uint64_t *x, char **a, char **b)
{
	size_t len = next(x) % LEN, from = next(x) % 64;

	*a = s->a + 4096 - len / 2 + next(x) % 64;
	*b = s->b + from;
	for (size_t i = 0; i < len; i++)
		(*a)[i] = (*b)[i] = (char)('a' + next(x) % 20);
	(*a)[len] = (*b)[len] = '\0';
	if (len > 0 && next(x) % 2)
		(*b)[next(x) % len] ^= 0x10;
}

static void texts(struct space *s, uint64_t *x)
{
	char *a, *b, *c = s->c + 64;
	size_t len, n = next(x) % LEN;
	int ch = (int)('a' + next(x) % 26);
	char word[4] = {0};

	fill(s, x, &a, &b);
	len = my_len(a);
	SAME(strlen(a), len);
	SAME(strnlen(a, n), len < n ? len : n);
	SAME(sign(strcmp(a, b)), my_compare(a, b, -1ul));
	SAME(sign(strncmp(a, b, n)), my_compare(a, b, n));
	SAME(strchr(a, ch), my_find(a, ch, 0));
	SAME(strrchr(a, ch), my_find(a, ch, 1));
	SAME(strspn(a, "abcdefghijklm"), my_span(a, "abcdefghijklm", 1));
	SAME(strcspn(a, "xyzt"), my_span(a, "xyzt", 0));
	SAME(strpbrk(a, "t"), my_find(a, 't', 0));
	if (len > 3)
		memcpy(word, a + len - 3, 3);
	SAME(strstr(a, word), my_search(a, word));
	SAME(strcpy(c, a), c);
	SAME(my_compare(a, c, -1ul), 0);
	SAME(stpcpy(c, b), c + my_len(b));
	SAME(my_compare(b, c, -1ul), 0);
	if (len < LEN / 2) {
		strcat(c, a);
		SAME(my_len(c), my_len(b) + len);
	}
	strncpy(c, a, n);
	SAME(my_compare(a, c, n), 0);
}

static void memory(struct space *s, uint64_t *x)
{
	size_t n = next(x) % LEN, from = next(x) % 512, to = next(x) % 512;
	unsigned char v = (unsigned char)next(x);
	uint64_t before, after;

	n += n == MAGIC; /* those are counted, memmove may be the same code */
	for (size_t i = 0; i < LEN + 512; i++)
		s->a[i] = (char)next(x);
	memcpy(s->b + to, s->a + from, n);
	for (size_t i = 0; i < n; i++)
		if (s->b[to + i] != s->a[from + i])
			guest_wrong = 1;
	SAME(memcmp(s->b + to, s->a + from, n), 0);
	before = guest_hash(1, s->a + from, n);
	memmove(s->a + to, s->a + from, n);
	after = guest_hash(1, s->a + to, n);
	SAME(after, before);
	memset(s->c + to, v, n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s->c[to + i] != v)
			guest_wrong = 1;
	s->c[to + n] = (char)~v;
	SAME(memchr(s->c + to, (unsigned char)~v, n + 1), s->c + to + n);
	SAME(memrchr(s->c + to, v, n + 1), n == 0 ? NULL : s->c + to + n - 1);
	SAME(rawmemchr(s->c + to, (unsigned char)~v), s->c + to + n);
}

struct worker {
	pthread_t thread;
	uint64_t n;
};

static void *work(void *p)
{
	struct worker *w = p;
	struct space *s = &spaces[w->n];
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	uint64_t x = w->n + 1;

	for (unsigned long i = 0; i < rounds; i++) {
		texts(s, &x);
		memory(s, &x);
		copy(s->b, s->a, MAGIC);
		if (guest_hash(1, s->b, MAGIC) != guest_hash(1, s->a, MAGIC))
			guest_wrong = 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[8];
	int n;

	MUST(argc == 3);
	rounds = strtoul(argv[1], NULL, 10);
	n = atoi(argv[2]);
	MUST(n > 0 && n <= 8);
	for (int i = 0; i < n; i++) {
		w[i].n = (uint64_t)i;
		MUST(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	printf("hit memcpy %lu\n", rounds * (unsigned long)n);
	return guest_end();
}
