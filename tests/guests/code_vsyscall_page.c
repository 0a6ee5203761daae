/* tests/guests/code_vsyscall_page.c - the old vsyscall page, where the kernel
 * still has it: calls to its three entries work, anything else there faults. */
#include "faults.h"
#include <sys/time.h>
#include <time.h>

int main(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int there = 0;
	struct timeval tv = {0};

	while (f && fgets(line, sizeof line, f))
		there |= strstr(line, "[vsyscall]") != NULL;
	printf("vsyscall %s\n", there ? "yes" : "no");
	fault_catch(SIGSEGV);
	if (there)
		for (int i = 0; i < 10; i++) {
			long (*time_of)(long *) =
			    (long (*)(long *))0xffffffffff600400;
			int (*day)(void *, void *) =
			    (int (*)(void *, void *))0xffffffffff600000;

			CHECK(llabs(time_of(NULL) - time(NULL)) <= 1);
			SAME(day(&tv, NULL), 0);
			CHECK(llabs(tv.tv_sec - time(NULL)) <= 1);
		}
	FAULT("jmp *%%rcx", "c"(0xffffffffff600123));
	SAME(fault.sig, SIGSEGV);
	SAME(fault.r[REG_RIP], 0xffffffffff600123);
	return guest_end();
}
