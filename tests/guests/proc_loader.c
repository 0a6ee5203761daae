/* tests/guests/proc_loader.c - the dynamic loader run as a program, with this
 * one as its argument: no interpreter, another /proc/self/exe. */
#include "guest.h"
#include <link.h>
#include <sys/auxv.h>

int main(int argc, char **argv)
{
	char exe[4096] = "", loader[4096] = "";

	if (argc == 1) {
		const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);

		MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
		for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
			if (ph[i].p_type == PT_INTERP)
				snprintf(loader, sizeof loader, "%s",
					 (const char *)ph + ph[i].p_vaddr -
					     ph[0].p_vaddr);
		MUST(loader[0] == '/');
		execl(loader, loader, exe, "by the loader", NULL);
		return 1;
	}
	CHECK(strcmp(argv[1], "by the loader") == 0);
	SAME(getauxval(AT_BASE), 0);
	MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	CHECK(strstr(exe, "/ld-") != NULL || strstr(exe, "/ld.so") != NULL);
	return guest_end();
}
