/* tests/end-to-end/ask_fork.c - what a forked process has from its parent, and
 * what it does not have. Nobody but the parent touches most of it, and the
 * parent writes all of it again when the children are there. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[32] = "from the file", kept[32] = "kept in the file";
static int own, *heap, *shared, *moved, *by_thread;
static sem_t is_written;

static void *other(void *p)
{
	*(int *)p = 17;
	sem_post(&is_written);
	pause();
	return NULL;
}

static int *new_page(int how, void *where)
{
	return mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | how,
		    -1, 0);
}

static __attribute__((noinline)) void grandchild(int depth)
{
	own += depth; /* 13 */
	abort();
}

static __attribute__((noinline)) void child(int depth)
{
	int status;

	own = 12;
	/* What is here now is another page than the parent's. */
	munmap(moved, 4096);
	if (new_page(MAP_PRIVATE | MAP_FIXED, moved) != moved)
		abort();
	if (fork() == 0)
		grandchild(depth + 1);
	own = 99;
	wait(&status);
	abort();
}

static __attribute__((noinline)) void parent(const char *with)
{
	int local = 14, status;
	volatile int *seen = &local;
	pthread_t thread;

	own = 11;
	strcpy(text, with);
	heap = malloc(2 * sizeof *heap);
	heap[0] = 15;
	shared = new_page(MAP_SHARED, NULL);
	*shared = 16;
	moved = new_page(MAP_PRIVATE, NULL);
	*moved = 18;
	by_thread = heap + 1;
	pthread_create(&thread, NULL, other, by_thread);
	sem_wait(&is_written);
	if (fork() == 0)
		child(0);
	/* Too late for them. */
	*seen = 0;
	strcpy(text, "too late");
	heap[0] = heap[1] = *shared = *moved = 0;
	wait(&status);
}

int main(void)
{
	sem_init(&is_written, 0, 0);
	parent("from the parent");
	return kept[0] == text[0];
}
