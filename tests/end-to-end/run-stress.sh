#!/usr/bin/env bash
# timeout: 300
# Many at once, many in a row: nothing may go wrong, or grow.
. "$(dirname "$0")/lib.sh"
plan 5

# Each prints what it would print natively, though 24 run at once.
seq 1 20000 >numbers
commands=(
	"gzip -9 -c numbers"
	"sort -R --random-source=numbers numbers"
	"/usr/bin/python3 -c print(sum(i*i%7for(i)in(range(200000))))"
	"sha256sum numbers"
	"seq 1 3 30000"
	"awk {s+=\$1*\$1}END{print(s)} numbers"
)
twin() {
	local i=$1
	# shellcheck disable=SC2086  # words are meant
	${commands[$((i % 6))]} >"native.$i" 2>&1
	# shellcheck disable=SC2086
	"$HARK" run -q -- ${commands[$((i % 6))]} >"run.$i" 2>&1
	cmp -s "native.$i" "run.$i" || echo "$i: ${commands[$((i % 6))]}"
}
for i in $(seq 24); do
	twin "$i" &
done >differ
wait
is "24 programs at once" "$(cat differ)" ""

cat >threads.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static atomic_int ran;
static pthread_barrier_t all; // as many at once in each round
static void *body(void *arg)
{
	ran++;
	pthread_barrier_wait(&all);
	return arg;
}
static long rss(void)
{
	char line[200];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	return kb;
}
int main(void)
{
	pthread_t t[100];
	long before = 0;
	pthread_barrier_init(&all, NULL, 100);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 100; i++)
			if (pthread_create(&t[i], NULL, body, NULL) != 0)
				return 1;
		for (int i = 0; i < 100; i++)
			pthread_join(t[i], NULL);
		if (round == 20)
			before = rss();
	}
	printf("%d threads, %s\n", ran,
	       rss() > before + 2048 ? "growing" : "flat");
}
END
gcc -O2 -pthread threads.c -o threads
is "10,000 threads, and memory stays flat" \
	"$(hark run -q -- ./threads)" "10000 threads, flat"

cat >crowd.c <<'END'
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t all;
static void *body(void *arg)
{
	pthread_barrier_wait(&all);
	return arg;
}
int main(void)
{
	static pthread_t t[1000];
	pthread_attr_t a;
	int made = 0;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_barrier_init(&all, NULL, 1001);
	while (made < 1000 && pthread_create(&t[made], &a, body, NULL) == 0)
		made++;
	printf("%d at once\n", made);
	pthread_barrier_wait(&all);
	for (int i = 0; i < made; i++)
		pthread_join(t[i], NULL);
}
END
gcc -O2 -pthread crowd.c -o crowd
is "1,000 threads at once" "$(hark run -q -- ./crowd)" "1000 at once"

# Code made, run and thrown away.
cat >churn.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	enum { LEN = 1 << 16 };
	unsigned char *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long sum = 0;
	for (int round = 0; round < 300; round++) {
		for (int at = 0; at < LEN; at += 64) {
			unsigned v = (unsigned)(round + at);
			p[at] = 0xb8;
			memcpy(p + at + 1, &v, 4);
			p[at + 5] = 0xc3;
		}
		for (int at = 0; at < LEN; at += 64)
			sum += ((unsigned (*)(void))(p + at))();
	}
	printf("%lu\n", sum);
}
END
gcc -O2 churn.c -o churn
is "code that is made anew 300 times" "$(hark run -q -- ./churn)" "$(./churn)"

# shellcheck disable=SC2016  # the inner shell expands it
is "200 programs, one after the other" \
	"$(hark run -q -- sh -c \
		'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done; echo $i')" 200
