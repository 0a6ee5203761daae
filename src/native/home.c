/* native/home.c - where home is.
 *
 * In the image: behind it, by its linker script. Hosted: here. */
#include "native/home.h"

#if __STDC_HOSTED__
uint8_t native_home_at[NATIVE_HOME_SIZE] __attribute__((aligned(4096)));
#else
extern uint8_t native_home_at[] __attribute__((visibility("hidden")));
#endif

struct collect_home *native_home(void)
{
	return (void *)native_home_at;
}

const struct collect_index *native_index(const struct collect_plan *plan)
{
	uint64_t mine =
	    __atomic_load_n(&native_home()->index, __ATOMIC_ACQUIRE);

	return mine != 0 ? collect_at(plan, mine) : collect_index(plan);
}

struct native_home *native_home_all(void)
{
	return (void *)native_home_at;
}

const struct collect_plan *native_plan(void)
{
	return (const void *)(uintptr_t)native_home()->plan;
}
