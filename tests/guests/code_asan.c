// build: -fsanitize=address -fno-omit-frame-pointer -O1
/* tests/guests/code_asan.c - a program under the address sanitizer, whose
 * shadow takes terabytes at fixed addresses: it starts, its allocator and its
 * threads work, and a poisoned byte is known. */
#include "guest.h"
#include <pthread.h>
#include <sanitizer/asan_interface.h>

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void *thread(void *arg)
{
	char *p = malloc(100);

	p[99] = 5;
	free(p);
	return arg;
}

int main(void)
{
	char *p = malloc(1000), *volatile freed = p;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	SAME(__asan_address_is_poisoned(p + 999), 0);
	SAME(__asan_address_is_poisoned(p + 1000), 1);
	free(p);
	SAME(__asan_address_is_poisoned(freed), 1);
	return guest_end();
}
