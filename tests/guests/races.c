/* tests/guests/races.c - two threads that share something, in many ways.
 *
 *	races [WAY]	of the table at the end; by default the first
 *
 * Two threads run at the same time: each waits, by locked instructions, until
 * the other is there. So whatever is not ordered by what a way itself does is
 * not ordered by anything, however they are scheduled. */
#include "guest.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

enum { ROUNDS = 200, LEN = 64 };

static long counter __attribute__((aligned(64)));
static long buffer[LEN] __attribute__((aligned(64)));
static long other[LEN] __attribute__((aligned(64)));
static volatile int flag __attribute__((aligned(64)));
/* Words that are looked at plainly. Both threads look at what is beside them
 * first, so that the recording tells when they are found changed. */
static struct {
	atomic_int word;
	pthread_once_t once;
	volatile int beside;
} shared
    __attribute__((aligned(64))) = {.once = PTHREAD_ONCE_INIT, .beside = 1};
static atomic_long atomic_counter __attribute__((aligned(64)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem[2];
static int pipes[2][2], event_fd;
static pthread_t threads[2];
static long *pointer __attribute__((aligned(64)));

/* Both are there. It is crossed once. */
static void meet(void)
{
	static atomic_int here __attribute__((aligned(64)));

	atomic_fetch_add(&here, 1);
	while (atomic_fetch_add(&here, 0) < 2)
		sched_yield();
}

/* -- Ways that are in order ------------------------------------------------ */

static void with_mutex(int me)
{
	(void)me;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
}

static void with_spin(int me)
{
	(void)me;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&spin);
		counter++;
		pthread_spin_unlock(&spin);
	}
}

static void with_rwlock(int me)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 == me) {
			pthread_rwlock_wrlock(&rwlock);
			counter++;
		} else {
			pthread_rwlock_rdlock(&rwlock);
			sum += counter;
		}
		pthread_rwlock_unlock(&rwlock);
	}
	asm volatile("" ::"r"(sum));
}

static void with_atomics(int me)
{
	(void)me;
	for (int i = 0; i < ROUNDS; i++) {
		atomic_fetch_add(&atomic_counter, 1);
		if (atomic_load(&atomic_counter) == 0)
			abort();
	}
}

/* A word that locked instructions are used on, too, is stored to and looked at
 * plainly. */
static void with_release(int me)
{
	if (me == 0) {
		for (int i = 0; i < LEN; i++)
			buffer[i] = i;
		atomic_store_explicit(&shared.word, 1, memory_order_release);
		return;
	}
	while (!atomic_load_explicit(&shared.word, memory_order_acquire))
		sched_yield();
	for (int i = 0; i < LEN; i++)
		if (buffer[i] != i)
			abort();
	atomic_fetch_add(&shared.word, 1);
}

/* The same, looked at many times before, and for nothing. */
static void with_polling(int me)
{
	if (me == 0) {
		with_release(me);
		return;
	}
	for (int i = 0; i < 5000; i++)
		atomic_load_explicit(&shared.word, memory_order_acquire);
	with_release(me);
}

static void with_semaphores(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&sem[me]);
		counter++;
		sem_post(&sem[!me]);
	}
}

static void with_cond(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (counter % 2 != me)
			pthread_cond_wait(&cond, &mutex);
		counter++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
}

static void with_barrier(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2 == me)
			counter++;
		pthread_barrier_wait(&barrier);
	}
}

static void with_pipe(int me)
{
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if ((me != 0 || i > 0) && read(pipes[me][0], &c, 1) != 1)
			abort();
		counter++;
		if (write(pipes[!me][1], &c, 1) != 1)
			abort();
	}
}

static void with_eventfd(int me)
{
	uint64_t one = 1;

	if (me == 0) {
		counter++;
		if (write(event_fd, &one, sizeof one) != sizeof one)
			abort();
		return;
	}
	if (read(event_fd, &one, sizeof one) != sizeof one)
		abort();
	counter++;
}

static void make_it(void)
{
	buffer[3] = 7;
	pointer = buffer;
}

static void with_once(int me)
{
	(void)me;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_once(&shared.once, make_it);
		if (pointer[3] != 7)
			abort();
	}
}

/* Each its own bytes, side by side. */
static void with_parts(int me)
{
	volatile char *bytes = (volatile char *)buffer;

	for (int i = me; i < LEN * 8; i += 2)
		bytes[i]++;
}

static void only_reading(int me)
{
	long sum = me;

	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < LEN; k++)
			sum += ((volatile long *)other)[k];
	asm volatile("" ::"r"(sum));
}

/* Nothing to be found, but much to be replayed. */
static void busy(int me)
{
	volatile long mine = me;

	for (int i = 0; i < 20000000; i++)
		mine = mine * 5 + i;
}

static void with_malloc(int me)
{
	void *blocks[32] = {0};

	for (int i = 0; i < 20 * ROUNDS; i++) {
		int k = (i * 7 + me) % 32;

		free(blocks[k]);
		blocks[k] = malloc((size_t)(i * 37 % 3000) + 1);
		memset(blocks[k], i, (size_t)(i * 37 % 3000) + 1);
	}
	for (int k = 0; k < 32; k++)
		free(blocks[k]);
}

static void with_stdio(int me)
{
	for (int i = 0; i < ROUNDS; i++)
		fprintf(stderr, "%d %d\n", me, i);
	for (int i = 0; i < ROUNDS; i++)
		fprintf(stdout, "%d\n", 7);
}

static void *add_one(void *arg)
{
	++*(long *)arg;
	return NULL;
}

/* Each makes threads, and takes over what they have done. */
static void with_join(int me)
{
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		buffer[8 * me] += i;
		if (pthread_create(&t, NULL, add_one, &buffer[8 * me]) != 0)
			abort();
		pthread_join(t, NULL);
		buffer[8 * me]++;
	}
}

/* -- Ways that are not ----------------------------------------------------- */

static void racy_counter(int me)
{
	(void)me;
	for (int i = 0; i < ROUNDS; i++)
		asm volatile("incq %0" : "+m"(counter));
}

static void racy_bytes(int me)
{
	volatile char *bytes = (volatile char *)buffer;

	if (me == 0)
		bytes[5] = 1;
	else
		*(volatile int *)(bytes + 4) = 2;
}

__attribute__((noinline)) static void copy_in(const void *from)
{
	memcpy(buffer, from, sizeof buffer);
}

static void racy_memcpy(int me)
{
	long mine[LEN] = {me};

	copy_in(mine);
}

static void racy_movs(int me)
{
	long mine[LEN] = {me};
	void *to = buffer, *from = mine;
	size_t n = sizeof buffer;

	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

static void racy_vector(int me)
{
	if (me == 0) {
		asm volatile("pxor %%xmm0, %%xmm0\n\tmovaps %%xmm0, %0"
			     : "=m"(*(char(*)[16])buffer)
			     :
			     : "xmm0");
	} else {
		long x;

		asm volatile("mov %1, %0" : "=r"(x) : "m"(buffer[1]));
	}
}

/* A flag that is waited for, and what it stands for. */
static void racy_flag(int me)
{
	if (me == 0) {
		counter = 5;
		asm volatile("" ::: "memory");
		flag = 1;
		return;
	}
	for (int i = 0; i < 1000000 && !flag; i++)
		sched_yield();
	asm volatile("" ::: "memory");
	if (counter == 77)
		abort();
}

static void racy_init(int me)
{
	(void)me;
	if (*(long *volatile *)&pointer == NULL) {
		pthread_mutex_lock(&mutex);
		if (pointer == NULL)
			make_it();
		pthread_mutex_unlock(&mutex);
	}
	if (pointer[3] != 7)
		abort();
}

/* The one holds a lock, the other another one. */
static void racy_locks(int me)
{
	static pthread_mutex_t locks[2][2]; /* not in one line */

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&locks[me][0]);
		asm volatile("incq %0" : "+m"(counter));
		pthread_mutex_unlock(&locks[me][0]);
	}
}

/* In order inside of the lock, and not behind it. */
static void racy_behind(int me)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		buffer[0]++;
		pthread_mutex_unlock(&mutex);
		((volatile long *)buffer)[8] = me;
	}
}

/* One of them is the last; it was 1 before. */
static void racy_choice(int me)
{
	asm volatile("movq %1, %0" : "=m"(counter) : "r"(me ? 7l : 5l));
}

/* What is done behind the store that tells is not told. */
static void racy_polling(int me)
{
	with_polling(me);
	if (me == 0)
		counter = 3;
	else if (counter == 77)
		abort();
}

/* Unrelated system calls are no order. */
static void racy_calls(int me)
{
	for (int i = 0; i < 20; i++) {
		asm volatile("incq %0" : "+m"(counter));
		if (syscall(SYS_getppid) == me)
			abort();
		sched_yield();
	}
}

/* The C library's own: these functions are not made for threads. */
static void inside(int me)
{
	if (l64a(1234567 + me) == NULL)
		abort();
}

static void racy_strtok(int me)
{
	char words[] = "one two";

	words[0] = (char)('a' + me);
	if (strtok(words, " ") == NULL)
		abort();
}

static const struct way {
	const char *name;
	void (*run)(int me);
} ways[] = {
    {"mutex", with_mutex},
    {"spin", with_spin},
    {"rwlock", with_rwlock},
    {"atomics", with_atomics},
    {"release", with_release},
    {"polling", with_polling},
    {"semaphores", with_semaphores},
    {"cond", with_cond},
    {"barrier", with_barrier},
    {"pipe", with_pipe},
    {"eventfd", with_eventfd},
    {"once", with_once},
    {"parts", with_parts},
    {"reading", only_reading},
    {"malloc", with_malloc},
    {"busy", busy},
    {"stdio", with_stdio},
    {"join", with_join},
    {"counter", racy_counter},
    {"bytes", racy_bytes},
    {"memcpy", racy_memcpy},
    {"movs", racy_movs},
    {"vector", racy_vector},
    {"flag", racy_flag},
    {"init", racy_init},
    {"locks", racy_locks},
    {"behind", racy_behind},
    {"calls", racy_calls},
    {"choice", racy_choice},
    {"late", racy_polling},
    {"inside", inside},
    {"strtok", racy_strtok},
};

static const struct way *way;

static void *thread(void *arg)
{
	if (shared.beside != 1)
		abort();
	meet();
	way->run(arg != NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : ways[0].name;
	long sum = 0;

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		if (strcmp(ways[i].name, name) == 0)
			way = &ways[i];
	if (way == NULL)
		return 2;
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&sem[0], 0, 1);
	sem_init(&sem[1], 0, 0);
	counter = way->run == racy_choice;
	event_fd = eventfd(0, 0);
	if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0 || event_fd < 0)
		return 1;
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* They are no more: this is in order. */
	sum += counter + flag;
	for (int i = 0; i < LEN; i++)
		sum += buffer[i];
	counter = sum;
	puts(way->name);
	return 0;
}
