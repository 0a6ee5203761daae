// build: -ldl
/* tests/guests/code_dlopen.c - a library is loaded, called, unloaded and loaded
 * again, thirty times; its functions work each time, at whatever address. */
#include "guest.h"
#include <dlfcn.h>

int main(void)
{
	double (*cosine)(double);
	void *same;

	for (int i = 0; i < 30; i++) {
		void *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		MUST(h != NULL);
		cosine = (double (*)(double))dlsym(h, "cos");
		MUST(cosine != NULL);
		CHECK(cosine(0) == 1);
		CHECK(cosine(1) > 0.54030230586 && cosine(1) < 0.54030230587);
		same = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
		SAME(same, h);
		MUST(dlclose(same) == 0 && dlclose(h) == 0);
		same = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
		SAME(same, 0); /* it is gone */
	}
	SAME(dlopen("libnot-there.so.0", RTLD_NOW), 0);
	CHECK(dlerror() != NULL);
	SAME(dlsym(RTLD_DEFAULT, "getpid") != NULL, 1);
	return guest_end();
}
