/* tests/guests/code_exceptions.cc - C++ exceptions through many frames, with
 * destructors on the way, rethrown, caught by type, from threads; the unwinder
 * sees the program's return addresses. */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local int alive;

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

__attribute__((noinline)) static int deep(int n, int how)
{
	guard g;

	if (n > 0)
		return deep(n - 1, how) + 1;
	if (how == 0)
		throw std::runtime_error("deep");
	if (how == 1)
		throw how;
	if (how == 2)
		throw std::string("text");
	return 0;
}

static int once(int i)
{
	try {
		try {
			deep(i % 50, i % 4);
			return 4;
		} catch (const std::runtime_error &) {
			throw; /* again */
		}
	} catch (const std::exception &e) {
		return e.what() == std::string("deep") ? 1 : 9;
	} catch (int) {
		return 2;
	} catch (...) {
		return 3;
	}
}

static void many(int *wrong)
{
	for (int i = 0; i < 400; i++)
		if (once(i) != i % 4 + 1 || alive != 0)
			++*wrong;
}

int main()
{
	std::vector<std::thread> threads;
	int wrong[3] = {0, 0, 0};

	many(&wrong[0]);
	for (int i = 1; i < 3; i++)
		threads.emplace_back(many, &wrong[i]);
	for (auto &t : threads)
		t.join();
	if (wrong[0] + wrong[1] + wrong[2] != 0) {
		std::printf("expected no wrong catch, got %d %d %d\n", wrong[0],
			    wrong[1], wrong[2]);
		return 1;
	}
	std::puts("ok");
	return 0;
}
