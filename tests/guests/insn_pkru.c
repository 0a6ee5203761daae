/* tests/guests/insn_pkru.c - the register of protection keys: read, written,
 * enforced, each thread's own, and what a handler finds in it and leaves. */
#include "faults.h"

#include <pthread.h>
#include <sys/syscall.h>

static uint32_t pkru_get(void)
{
	uint32_t low, high;

	asm volatile("rdpkru" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static void pkru_set(uint32_t to)
{
	asm volatile("wrpkru" ::"a"(to), "c"(0), "d"(0) : "memory");
}

static uint32_t in_handler;

static void handle(int sig)
{
	(void)sig;
	in_handler = pkru_get();
	pkru_set(0x55555550); /* is forgotten when the handler returns */
}

static void *other_thread(void *of_parent)
{
	SAME(pkru_get(), *(uint32_t *)of_parent);
	for (uint32_t i = 0; i < 100; i++) {
		pkru_set(0x55555550 - (i << 30));
		sched_yield();
		SAME(pkru_get(), 0x55555550 - (i << 30));
	}
	return NULL;
}

static long alloc_key_32(unsigned rights)
{
	enum { PKEY_ALLOC = 381 };
	long key;

	asm volatile("int $0x80"
		     : "=a"(key)
		     : "a"(PKEY_ALLOC), "b"(0), "c"(rights)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)key;
}

/* The kernel sets the register, too. */
static void check_new_keys(void)
{
	for (unsigned rights = 0; rights < 4; rights++) {
		long key = rights & 1 ? alloc_key_32(rights)
				      : syscall(SYS_pkey_alloc, 0, rights);

		if (key >= 0)
			SAME(pkru_get() >> 2 * key & 3, rights);
		pkru_set(0x55555554);
	}
}

static void check_key(uint32_t at_start)
{
	long key = syscall(SYS_pkey_alloc, 0, 0);
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t all;

	if (key < 0) /* the kernel, or the hypervisor, has none */
		return;
	MUST(p != MAP_FAILED && key < 16);
	MUST(syscall(SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_WRITE,
		     (int)key) == 0);
	all = at_start & ~(3u << 2 * key);
	for (int i = 0; i < 50; i++) {
		pkru_set(all);
		p[i] = (uint8_t)i;
		pkru_set(all | 2u << 2 * key); /* not to be written */
		SAME(p[i], i);
		FAULT("movb $1, (%%rcx)", "c"(p));
		FAULTED(SIGSEGV, SEGV_PKUERR, 14);
		pkru_set(all | 1u << 2 * key); /* nor to be read */
		FAULT("movb (%%rcx), %%r10b", "c"(p));
		FAULTED(SIGSEGV, SEGV_PKUERR, 14);
	}
	pkru_set(at_start);
}

int main(void)
{
	uint32_t at_start, a, b, c, d;
	pthread_t thread;

	__cpuid_count(7, 0, a, b, c, d);
	if (!(c & 1 << 4)) /* OSPKE */
		guest_absent("processor");
	at_start = pkru_get();
	fault_catch(SIGSEGV);
	check_key(at_start);
	check_new_keys();
	signal(SIGUSR1, handle);
	for (uint32_t i = 0; i < 100; i++) {
		pkru_set(0x55555550 + (i & 3) * 4);
		raise(SIGUSR1);
		SAME(in_handler, at_start);
		SAME(pkru_get(), 0x55555550 + (i & 3) * 4);
	}
	at_start = pkru_get();
	MUST(pthread_create(&thread, NULL, other_thread, &at_start) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	pkru_set(0);
	SAME(pkru_get(), 0);
	return guest_end();
}
