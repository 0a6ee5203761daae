// build: -static
/* tests/guests/code_static.c - a static program: no interpreter, IRELATIVE
 * relocations, TLS set up by the program itself. */
#include "guest.h"
#include <elf.h>
#include <pthread.h>
#include <sys/auxv.h>

static __thread int mine = 9;

static void *thread(void *arg)
{
	mine++;
	return (void *)(uintptr_t)(mine + (int)(uintptr_t)arg);
}

int main(void)
{
	pthread_t t;
	void *r;
	char text[100];

	SAME(getauxval(AT_BASE), 0);
	CHECK(getauxval(AT_ENTRY) != 0);
	for (int i = 0; i < 10; i++) {
		pthread_create(&t, NULL, thread, (void *)5);
		pthread_join(t, &r);
		SAME(r, 15);
	}
	SAME(mine, 9);
	/* chosen by ifunc */
	memset(text, 'x', 99);
	text[99] = 0;
	SAME(strlen(text), 99);
	SAME(strchr(text, 0) - text, 99);
	return guest_end();
}
