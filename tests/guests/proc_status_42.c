/* tests/guests/proc_status_42.c - a plain exit status: 42. */
#include "guest.h"

int main(void)
{
	puts("ok");
	return 42;
}
