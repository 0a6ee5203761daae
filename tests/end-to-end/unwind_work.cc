// tests/end-to-end/unwind_work.cc - a program whose stack never rests: frames
// of any size, exceptions and longjmp through them, signals in signals, on a
// stack of their own, coroutines. For unwind_sampled.c.
#include <alloca.h>
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

namespace {

struct work {
	unsigned seed;
	long sum;
	jmp_buf out;
	ucontext_t home, away[2];
};

thread_local work *mine;

unsigned any(work &w, unsigned n)
{
	w.seed = w.seed * 1103515245 + 12345;
	return (w.seed >> 16) % n;
}

__attribute__((noinline)) void spend(work &w, unsigned n)
{
	volatile long sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += i ^ sum << 1;
	w.sum += sum;
}

__attribute__((noinline)) long plain(work &w, unsigned depth);
__attribute__((noinline)) long roomy(work &w, unsigned depth);

// What happens at the end of a path.
__attribute__((noinline)) long end(work &w)
{
	switch (any(w, 6)) {
	case 0:
		throw static_cast<int>(w.seed & 3);
	case 1:
		longjmp(w.out, 1);
	case 2:
		raise(SIGUSR1);
		break;
	default:
		spend(w, any(w, 3) == 0 ? 30000 : 400);
	}
	return 1;
}

// What comes next, one deeper.
inline __attribute__((always_inline)) long next(work &w, unsigned depth)
{
	if (depth == 0)
		return end(w);
	return any(w, 3) == 0 ? roomy(w, depth - 1) : plain(w, depth - 1);
}

__attribute__((noinline)) long plain(work &w, unsigned depth)
{
	volatile char room[40];
	long got;

	room[0] = static_cast<char>(depth);
	got = next(w, depth);
	spend(w, any(w, 10) == 0 ? 10000 : 30);
	return got + room[0];
}

// rbp leads to its frame, whose size nobody knows; what it takes is not
// written, so that old frames stay there.
__attribute__((noinline)) long roomy(work &w, unsigned depth)
{
	auto *room = static_cast<volatile char *>(alloca(any(w, 12) * 16 + 16));
	long got = 0;

	room[0] = 1;
	for (unsigned i = 0; i <= any(w, 2); i++) {
		if (any(w, 8) != 0) {
			got += next(w, depth);
			continue;
		}
		try {
			got += next(w, depth);
		} catch (int n) {
			got += n;
			if (n == 3)
				throw;
		}
	}
	return got + room[0];
}

// Aligned more than calls are: the CFA is in memory.
__attribute__((noinline)) long aligned(work &w, unsigned depth)
{
	alignas(64) volatile char room[64];
	long got;

	room[0] = 1;
	got = next(w, depth);
	return got + room[0];
}

void try_once(work &w)
{
	if (setjmp(w.out) != 0)
		return;
	try {
		if (any(w, 4) == 0)
			w.sum += aligned(w, any(w, 20));
		else
			w.sum += next(w, any(w, 60));
	} catch (int n) {
		w.sum += n;
	}
}

void on_signal(int number)
{
	work &w = *mine;

	spend(w, 300 + any(w, 100));
	if (number == SIGUSR1 && any(w, 2) == 0)
		raise(SIGUSR2);
	spend(w, 100);
}

void coroutine(int which)
{
	work &w = *mine;

	for (;;) {
		volatile char room[200];

		room[0] = 1;
		spend(w, 300 + static_cast<unsigned>(room[0]));
		swapcontext(&w.away[which], which == 0 ? &w.away[1] : &w.home);
	}
}

void make_coroutine(work &w, int which)
{
	constexpr size_t size = 256 << 10;
	ucontext_t &c = w.away[which];

	getcontext(&c);
	c.uc_stack.ss_size = size;
	c.uc_stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c.uc_stack.ss_sp == MAP_FAILED)
		abort();
	c.uc_link = nullptr;
	makecontext(&c, reinterpret_cast<void (*)()>(
			    reinterpret_cast<uintptr_t>(coroutine)),
		    1, which);
}

} // namespace

// Goes on until *done.
extern "C" long work_until(const volatile int *done, unsigned seed)
{
	static thread_local work w;
	struct sigaction a = {};
	int numbers[50];

	mine = &w;
	w.seed = seed;
	a.sa_handler = on_signal;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &a, nullptr);
	sigaction(SIGUSR2, &a, nullptr);
	make_coroutine(w, 0);
	make_coroutine(w, 1);
	while (*done == 0) {
		try_once(w);
		swapcontext(&w.home, &w.away[0]);
		for (int &n : numbers)
			n = static_cast<int>(any(w, 1000));
		qsort(numbers, 50, sizeof numbers[0],
		      [](const void *x, const void *y) {
			      return *static_cast<const int *>(x) -
				     *static_cast<const int *>(y);
		      });
		w.sum += numbers[25];
	}
	return w.sum;
}
