// tests/end-to-end/ask_values.cc - the same as ask_values.c, for C++.
#include <cstdio>

namespace shop {
int count = 41;
struct base {
	int id;
	virtual int price() const
	{
		return id;
	}
	virtual ~base() {}
};
class item : public base {
      public:
	static int made;
	double weight;
	item(int i, double w) : weight(w)
	{
		id = i;
		made++;
	}
	int price() const override;
	__attribute__((noinline)) int heavier(const item &other, bool twice);
};
int item::made = 0;
enum class kind : unsigned char { big = 2, small = 9 };
template <class T, int N> struct box {
	T value[N];
	kind k;
};
} // namespace shop

shop::box<short, 3> box = {{1, -2, 3}, shop::kind::small};
shop::item *first, *second;
volatile int sink;

extern "C" __attribute__((noinline)) void mark(int n)
{
	sink = n;
	__asm__ volatile("" ::: "memory");
}

int shop::item::price() const
{
	return id * 3;
}

int shop::item::heavier(const item &other, bool twice)
{
	volatile double mine = weight * (twice ? 2 : 1);
	const item &alias = other;

	std::printf("0 shop::count = %d\n", count);
	std::printf("0 shop::item::made = %d\n", made);
	std::printf("0 first->weight = %g\n", first->weight);
	std::printf("0 second->id = %d\n", second->id);
	std::printf("0 box = {value = {1, -2, 3}, k = small}\n");
	std::printf("1 this->weight = %g\n", weight);
	std::printf("1 weight = %g\n", weight);
	std::printf("1 other.weight = %g\n", other.weight);
	std::printf("1 mine = %g\n", mine);
	std::printf("mark %d\n", id);
	std::fflush(stdout);
	mark(id);
	return mine > alias.weight ? alias.id + id : 0;
}

int main()
{
	shop::item a(1, 2.5), b(2, 0.75);
	int sum;

	first = &a;
	second = &b;
	shop::count++;
	sum = a.heavier(b, true);
	shop::count++;
	sum += b.heavier(a, false);
	return sum == 3 ? 0 : 1;
}
