/* tests/guests/proc_pipes.c - a pipeline of four processes passes a megabyte;
 * splice, tee and vmsplice move pages; ends close in order. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int stage(int in, int add)
{
	int p[2];

	MUST(pipe(p) == 0);
	if (fork() == 0) {
		uint8_t buf[5000];
		ssize_t n;

		close(p[0]);
		while ((n = read(in, buf, sizeof buf)) > 0) {
			for (ssize_t i = 0; i < n; i++)
				buf[i] = (uint8_t)(buf[i] + add);
			for (ssize_t at = 0, w; at < n; at += w)
				if ((w = write(p[1], buf + at,
					       (size_t)(n - at))) <= 0)
					_exit(1);
		}
		_exit(n != 0);
	}
	close(p[1]);
	close(in);
	return p[0];
}

int main(void)
{
	static uint8_t block[65536];
	int p[2], q[2], out, status;
	uint64_t sum = 0, total = 0;
	struct iovec v = {"spliced", 7};
	char buf[16] = "";
	ssize_t n;

	MUST(pipe(p) == 0);
	if (fork() == 0) {
		close(p[0]);
		for (int i = 0; i < 16; i++) {
			memset(block, i, sizeof block);
			for (size_t at = 0; at < sizeof block;) {
				n = write(p[1], block + at, sizeof block - at);
				if (n <= 0)
					_exit(1);
				at += (size_t)n;
			}
		}
		_exit(0);
	}
	close(p[1]);
	out = stage(stage(stage(p[0], 1), 10), 100);
	while ((n = read(out, block, sizeof block)) > 0) {
		total += (uint64_t)n;
		for (ssize_t i = 0; i < n; i++)
			sum += block[i];
	}
	SAME(total, 1 << 20);
	SAME(sum, 65536ul * (16 * 111 + 120));
	for (int i = 0; i < 4; i++) {
		MUST(wait(&status) > 0);
		SAME(status, 0);
	}
	MUST(pipe(p) == 0 && pipe(q) == 0);
	SAME(vmsplice(p[1], &v, 1, 0), 7);
	SAME(tee(p[0], q[1], 100, 0), 7);
	SAME(read(p[0], buf, 16), 7);
	SAME(splice(q[0], NULL, p[1], NULL, 3, 0), 3);
	SAME(read(p[0], buf, 16), 3);
	CHECK(memcmp(buf, "spl", 3) == 0);
	return guest_end();
}
