/* profile_pipes - threads that send each other one byte after the other, so
 * that each of them waits in read() nearly always. Says "ready", and ends when
 * standard input does. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PAIRS = 8 };

static int to[PAIRS][2], back[PAIRS][2];

static void *ping(void *p)
{
	long i = (long)p;
	char c = 0;

	while (write(to[i][1], &c, 1) == 1 && read(back[i][0], &c, 1) == 1)
		;
	return NULL;
}

static void *pong(void *p)
{
	long i = (long)p;
	char c;

	while (read(to[i][0], &c, 1) == 1 && write(back[i][1], &c, 1) == 1)
		;
	return NULL;
}

int main(void)
{
	pthread_t t;

	for (long i = 0; i < PAIRS; i++)
		if (pipe(to[i]) != 0 || pipe(back[i]) != 0 ||
		    pthread_create(&t, NULL, ping, (void *)i) != 0 ||
		    pthread_create(&t, NULL, pong, (void *)i) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	if (getchar() != EOF)
		return 1;
	puts("ok");
	return 0;
}
