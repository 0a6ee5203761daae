/* outside/pace.c - how hard shall bytes be pressed? */
#include "outside/pace.h"

enum {
	WINDOW_NS = 100000000,
	WINDOW_BYTES = 256 << 10, /* fewer tell nothing of what they cost */
	WORTH = 110,		  /* percent: hardly more than the next one */
	FAR = 2,		  /* times what it may cost */
	FIRST = 2,
	PATIENCE = 4, /* windows; twice as many every time */
	PATIENCE_MOST = 128,
};

static const int8_t levels[PACE_LEVELS] = {3, 2, 1, -1, -3, -5, -10};

/* What is usual, until it is known. */
static const uint32_t usual[PACE_LEVELS - 1] = {155, 130, 115, 135, 130, 140};

/* Up to so many waiting bytes, no harder than this. */
static const struct {
	uint64_t waiting;
	unsigned number;
} pressed[] = {{8 << 20, 0}, {16 << 20, 3}, {32 << 20, 5}, {UINT64_MAX, 6}};

void pace_init(struct pace *p, int64_t now_ns)
{
	*p = (struct pace){.at = FIRST,
			   .last = FIRST,
			   .since_ns = now_ns,
			   .patience = PATIENCE};
	for (unsigned i = 0; i < PACE_LEVELS - 1; i++)
		p->factor[i] = usual[i];
}

int pace_level(const struct pace *p, uint64_t waiting, unsigned *number)
{
	unsigned i = 0;

	while (waiting > pressed[i].waiting)
		i++;
	i = pressed[i].number > p->at ? pressed[i].number : p->at;
	*number = i;
	return levels[i];
}

/* The window before was at the next level: what is the one to the other? */
static void learn(struct pace *p, uint64_t cost)
{
	uint64_t hard = p->at < p->last ? cost : p->last_cost;
	uint64_t easy = p->at < p->last ? p->last_cost : cost;
	unsigned i = p->at < p->last ? p->at : p->last;
	uint64_t percent;

	if ((p->at + 1 != p->last && p->at != p->last + 1) ||
	    p->last_cost == 0 || easy == 0)
		return;
	percent = hard * 100 / easy;
	p->factor[i] = percent < 80    ? 80
		       : percent > 400 ? 400
				       : (uint32_t)percent;
}

/* What level i may cost, if so many bytes come in that time: ps a byte. */
static uint64_t most_of(unsigned i, uint64_t bytes, int64_t passed_ns)
{
	unsigned share = i < FIRST ? PACE_SHARE_HARD : PACE_SHARE;

	return (uint64_t)passed_ns / share * 1000 / bytes;
}

/* Level i costs too much, and the next easier one less. */
static int is_dear(const struct pace *p, unsigned i, uint64_t cost,
		   uint64_t most)
{
	return i + 1 < PACE_LEVELS && cost > most && p->factor[i] > WORTH;
}

/* A step towards where it should be; two if it is far away: a short program
 * has said all before single steps lead anywhere. */
static unsigned next_step(const struct pace *p, uint64_t cost, uint64_t bytes,
			  int64_t passed_ns)
{
	unsigned i = p->at;
	uint64_t most = most_of(i, bytes, passed_ns);

	if (i > 0 && (cost * p->factor[i - 1] / 100 <=
			  most_of(i - 1, bytes, passed_ns) ||
		      p->factor[i - 1] <= WORTH))
		return i - 1;
	if (!is_dear(p, i, cost, most))
		return i;
	if (cost > FAR * most &&
	    is_dear(p, i + 1, cost * 100 / p->factor[i], most))
		return i + 2;
	return i + 1;
}

/* Is it really as it is thought to be? */
static unsigned try_harder(struct pace *p)
{
	if (p->quiet++ < p->patience || p->at == 0)
		return p->at;
	if (p->patience < PATIENCE_MOST)
		p->patience *= 2;
	return p->at - 1;
}

void pace_note(struct pace *p, unsigned number, uint64_t bytes, int64_t busy_ns,
	       int64_t now_ns)
{
	int64_t passed = now_ns - p->since_ns;
	uint64_t cost;
	unsigned next;

	p->came += bytes;
	if (number == p->at) {
		p->bytes += bytes;
		p->busy_ns += busy_ns;
	}
	if (passed < WINDOW_NS || p->bytes < WINDOW_BYTES)
		return;
	cost = (uint64_t)p->busy_ns * 1000 / p->bytes;
	learn(p, cost);
	next = next_step(p, cost, p->came, passed);
	if (next == p->at)
		next = try_harder(p);
	if (next != p->at)
		p->quiet = 0;
	p->last = p->at;
	p->last_cost = cost;
	p->at = next;
	p->bytes = p->came = 0;
	p->busy_ns = 0;
	p->since_ns = now_ns;
}
