// build: -mamx-tile -mamx-int8
/* tests/guests/insn_amx.c - tiles: eight registers of a kilobyte each, which a
 * program must ask the kernel for.  They are loaded with strides, multiplied,
 * stored, and kept over system calls, signals and other threads' use of theirs.
 */
#include "guest.h"
#include <asm/prctl.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { XTILE_DATA = 18, REQ_XCOMP_PERM = 0x1023, GET_XCOMP_PERM = 0x1022 };
enum { ROWS = 16, BYTES = 64, STRIDE = 80 };

struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t bytes[16];
	uint8_t rows[16];
} __attribute__((aligned(64)));

static volatile int signals;

static void configure(int rows)
{
	struct config c = {.palette = 1};

	for (int i = 0; i < 8; i++) {
		c.bytes[i] = BYTES;
		c.rows[i] = (uint8_t)(i == 2 ? ROWS : rows);
	}
	_tile_loadconfig(&c);
}

/* A handler that uses tiles of its own. */
static void on_signal(int sig)
{
	static int8_t ones[ROWS * BYTES];

	(void)sig;
	memset(ones, 1, sizeof ones);
	configure(8);
	_tile_loadd(0, ones, BYTES);
	_tile_loadd(1, ones, BYTES);
	_tile_loadd(2, ones, BYTES);
	_tile_dpbssd(0, 1, 2);
	signals++;
}

static void fill(uint64_t seed, int8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (int8_t)guest_random(&seed);
}

/* What the processor should compute. */
static void multiply(int32_t c[ROWS][16], const int8_t *a, const int8_t *b)
{
	for (int m = 0; m < ROWS; m++)
		for (int n = 0; n < 16; n++)
			for (int k = 0; k < 64; k++)
				c[m][n] += a[m * STRIDE + k] *
					   b[k / 4 * STRIDE + 4 * n + k % 4];
}

static void round_of(uint64_t seed, int trouble)
{
	int8_t a[ROWS * STRIDE], b[ROWS * STRIDE];
	int32_t got[ROWS][16], want[ROWS][16];
	int before = signals;

	fill(seed, a, sizeof a);
	fill(seed + 1, b, sizeof b);
	memset(want, 0, sizeof want);
	configure(ROWS);
	_tile_zero(0);
	_tile_loadd(1, a, STRIDE);
	_tile_stream_loadd(2, b, STRIDE);
	for (int i = 0; i < 3; i++) {
		_tile_dpbssd(0, 1, 2);
		multiply(want, a, b);
		if (trouble == 1)
			getppid();
		if (trouble == 2)
			raise(SIGUSR1);
	}
	_tile_stored(0, got, BYTES);
	SAME(memcmp(got, want, sizeof got), 0);
	SAME(signals - before, trouble == 2 ? 3 : 0);
	_tile_stored(2, a, STRIDE);
	for (int i = 0; i < ROWS; i++)
		SAME(memcmp(a + i * STRIDE, b + i * STRIDE, BYTES), 0);
	_tile_release();
}

static void *thread(void *arg)
{
	for (uint64_t i = 1; i < 30; i++)
		round_of((uint64_t)arg * i, (int)(i % 2));
	return NULL;
}

int main(void)
{
	uint64_t bits = 0;
	unsigned a, b, c, d = 0;
	pthread_t t[3];
	int status;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
	    !(d >> 24 & d >> 25 & 1) ||
	    syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILE_DATA) != 0)
		guest_absent("machine");
	SAME(syscall(SYS_arch_prctl, GET_XCOMP_PERM, &bits), 0);
	CHECK(bits >> XTILE_DATA & 1);
	signal(SIGUSR1, on_signal);
	for (uint64_t i = 1; i < 30; i++)
		round_of(i * 77, (int)(i % 3));
	for (uint64_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)(i * 1000 + 7));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	if (fork() == 0) {
		round_of(99, 2);
		_exit(guest_wrong);
	}
	wait(&status);
	SAME(status, 0);
	return guest_end();
}
