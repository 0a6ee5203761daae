/* tests/end-to-end/probe_throw.cc - exceptions pass through functions that are
 * probed at their entry and their returns.
 *
 * Three functions deep, every other call throws; destructors run; the unwinder
 * sees the program's own code alone. Said at the end: how often each function
 * was called, and how often it returned. */
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <unwind.h>

enum { N = 10000 };

static long alive, caught, wrong;

struct guard {
	guard()
	{
		alive++;
	}
	~guard()
	{
		alive--;
	}
};

static _Unwind_Reason_Code look(_Unwind_Context *c, void *n)
{
	Dl_info info;

	++*static_cast<int *>(n);
	if (_Unwind_GetIP(c) != 0 &&
	    dladdr(reinterpret_cast<void *>(_Unwind_GetIP(c)), &info) == 0) {
		std::printf("a stack has pc %#lx\n",
			    static_cast<unsigned long>(_Unwind_GetIP(c)));
		wrong++;
	}
	return _URC_NO_REASON;
}

extern "C" {
__attribute__((noinline)) long inner(long n)
{
	int frames = 0;

	if (n % 1000 == 0) {
		_Unwind_Backtrace(look, &frames);
		if (frames < 5)
			wrong++;
	}
	if (n % 2 != 0)
		throw std::runtime_error("odd");
	return n + 1;
}

__attribute__((noinline)) long middle(long n)
{
	guard g;
	long r = inner(n);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

/* Catches and throws again. */
__attribute__((noinline)) long outer(long n)
{
	try {
		guard g;
		long r = middle(n);

		__asm__ volatile("" : "+r"(r));
		return r + 1;
	} catch (const std::exception &) {
		caught++;
		if (n % 4 == 3)
			throw;
		return -1;
	}
}
}

int main()
{
	long rethrown = 0;

	for (long n = 0; n < N; n++) {
		try {
			long r = outer(n);

			if (r != (n % 2 ? -1 : n + 3))
				wrong++;
		} catch (const std::runtime_error &) {
			rethrown++;
		}
	}
	std::printf("hit inner %d\nhit middle %d\nhit outer %d\n", N, N, N);
	std::printf(
	    "returned inner %d\nreturned middle %d\nreturned outer %d\n", N / 2,
	    N / 2, N - N / 4);
	if (wrong || alive || caught != N / 2 || rethrown != N / 4) {
		std::printf("wrong %ld, alive %ld, caught %ld, rethrown %ld\n",
			    wrong, alive, caught, rethrown);
		return 1;
	}
	std::puts("ok");
	return 0;
}
