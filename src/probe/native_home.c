/* probe/native_home.c - where home is.
 *
 * In the image: behind it, by its linker script. Hosted: here. */
#include "probe/native_priv.h"

#if __STDC_HOSTED__
uint8_t native_home_at[NATIVE_HOME_SIZE] __attribute__((aligned(4096)));
#else
extern uint8_t native_home_at[] __attribute__((visibility("hidden")));
#endif

struct collect_home *native_home(void)
{
	return (void *)native_home_at;
}

struct native_home *native_home_all(void)
{
	return (void *)native_home_at;
}

const struct collect_plan *native_plan(void)
{
	return (const void *)(uintptr_t)native_home()->plan;
}
