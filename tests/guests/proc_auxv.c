/* tests/guests/proc_auxv.c - the auxiliary vector is the program's: headers,
 * entry, base, page size, random bytes, platform, its own file name, secure. */
#include "guest.h"
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

extern char _start[];
extern const char __ehdr_start[];

int main(int argc, char **argv)
{
	const Elf64_Phdr *ph = (const void *)getauxval(AT_PHDR);
	const unsigned char *r = (const void *)getauxval(AT_RANDOM);
	int zero = 0;

	(void)argc;
	SAME(getauxval(AT_PHENT), sizeof *ph);
	SAME(ph, __ehdr_start + ((const Elf64_Ehdr *)__ehdr_start)->e_phoff);
	SAME(getauxval(AT_PHNUM), ((const Elf64_Ehdr *)__ehdr_start)->e_phnum);
	SAME(getauxval(AT_ENTRY), _start);
	SAME(getauxval(AT_PAGESZ), 4096);
	SAME(getauxval(AT_UID), getuid());
	SAME(getauxval(AT_EGID), getegid());
	SAME(getauxval(AT_SECURE), 0);
	SAME(getauxval(AT_CLKTCK), 100);
	SAME(getauxval(AT_BASE), _r_debug.r_ldbase);
	CHECK(strcmp((char *)getauxval(AT_PLATFORM), "x86_64") == 0);
	CHECK(strcmp((char *)getauxval(AT_EXECFN), argv[0]) == 0);
	for (int i = 0; i < 16; i++)
		zero += r[i] == 0;
	CHECK(zero < 8);
	unsigned a = 0, b = 0, c = 0, d = 0;
	Elf64_auxv_t *v;
	char **env = environ;

	__get_cpuid(1, &a, &b, &c, &d);
	while (*env != NULL)
		env++;
	/* the C library keeps another AT_HWCAP than the kernel gave */
	for (v = (Elf64_auxv_t *)(env + 1); v->a_type != AT_NULL; v++)
		if (v->a_type == AT_HWCAP)
			SAME(v->a_un.a_val, d);
	CHECK(getauxval(AT_MINSIGSTKSZ) == 0 ||
	      getauxval(AT_MINSIGSTKSZ) >= 512);
	printf("hwcap2 %lx minsigstksz %lu\n", getauxval(AT_HWCAP2),
	       getauxval(AT_MINSIGSTKSZ));
	SAME(getauxval(9999), 0);
	SAME(errno, ENOENT);
	return guest_end();
}
