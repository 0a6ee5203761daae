/* tests/guests/code_vsyscall.c - time by the vdso, through its own symbols in
 * its own ELF image, agrees with the system call. */
#include "guest.h"
#include <elf.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

static void *find(const char *base, const char *name)
{
	const Elf64_Ehdr *e = (const void *)base;
	const Elf64_Phdr *ph = (const void *)(base + e->e_phoff);
	const Elf64_Sym *sym = NULL;
	const char *str = NULL;
	const uint32_t *hash = NULL;
	uint64_t load = 0;

	for (int i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			load = (uint64_t)base - ph[i].p_vaddr;
	for (int i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			for (const Elf64_Dyn *d =
				 (const void *)(load + ph[i].p_vaddr);
			     d->d_tag != DT_NULL; d++) {
				void *v = (void *)(load + d->d_un.d_ptr);

				if (d->d_tag == DT_SYMTAB)
					sym = v;
				if (d->d_tag == DT_STRTAB)
					str = v;
				if (d->d_tag == DT_HASH)
					hash = v;
			}
	if (sym == NULL || str == NULL)
		return NULL;
	for (uint32_t i = 0; i < (hash ? hash[1] : 64); i++)
		if (sym[i].st_shndx != 0 &&
		    strcmp(str + sym[i].st_name, name) == 0)
			return (void *)(load + sym[i].st_value);
	return NULL;
}

int main(void)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	int (*gettime)(clockid_t, struct timespec *);
	struct timespec a, b, c;

	if (vdso == NULL)
		guest_absent("kernel");
	MUST(memcmp(vdso, ELFMAG, SELFMAG) == 0);
	gettime = (int (*)(clockid_t, struct timespec *))find(
	    vdso, "__vdso_clock_gettime");
	MUST(gettime != NULL);
	for (int i = 0; i < 1000; i++) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &a);
		SAME(gettime(CLOCK_MONOTONIC, &b), 0);
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &c);
		if (b.tv_sec * 1000000000 + b.tv_nsec <
			a.tv_sec * 1000000000 + a.tv_nsec ||
		    b.tv_sec * 1000000000 + b.tv_nsec >
			c.tv_sec * 1000000000 + c.tv_nsec)
			CHECK(!"between two system calls");
	}
	return guest_end();
}
