/* tests/lossless/check.h - pieces with probes: are they right, are they
 * counted? */
#ifndef TESTS_LOSSLESS_CHECK_H
#define TESTS_LOSSLESS_CHECK_H

#include "lossless/gen.h"
#include "lossless/lossless.h"

enum { THREADS = 4 };

/* A line of TAP for each of them, once. */
void test_begin(unsigned planned);
void test(const char *name, void (*run)(void));
int test_end(void);
/* In a test: it has failed. Any thread; only the first of a test's is shown. */
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what))                                                   \
			fault("%s:%d: not so: %s", __FILE__, __LINE__, #what); \
	} while (0)

/* All pieces of the family, with a probe on each instruction, all off. */
struct pieces {
	struct piece *all; /* owned, for ever */
	unsigned n;
};
const struct pieces *pieces_of(enum family family);
extern uint64_t pieces_seed; /* to be changed before that */

/* Room for code that is written by hand. */
uint8_t *code_room(unsigned len);
/* Is it an address of a piece, or of code written there? */
int is_in_pieces(uint64_t pc);

/* Switches; a failure is a fault. */
void on(int probe);
void off(int probe);

/* Each instruction of the parts alone: every outcome with and without it. */
void check_each_alone(enum family family, unsigned parts);
/* All of them at once, of all pieces, in so many threads. */
void check_all_at_once(enum family family, unsigned parts, unsigned threads);

/* All pieces in all threads, which call also() after each, while the probes of
 * the family are switched on and off at random. */
void check_while_switched(enum family family, void (*also)(void));

/* Is the text of all pieces what it was before the first probe? */
void check_text(void);

/* One run: a state that was prepared and what became of it. */
void run_piece(const struct piece *p, unsigned outcome, uint64_t seed,
	       struct state *work, struct state *before);
/* Is the state what it was without probes? */
void check_state(const struct piece *p, const struct state *native,
		 const struct state *probed);

#endif
