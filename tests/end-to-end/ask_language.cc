// tests/end-to-end/ask_language.cc - references, and what C++ says of them.
#include "ask_language.h"

#include <cstdio>
#include <cstdlib>

static void say(const char *what, int v)
{
	say_int(what, v);
}
static void say(const char *what, bool v)
{
	say_int(what, v);
}
static void say(const char *what, unsigned v)
{
	say_uint(what, v);
}
static void say(const char *what, long v)
{
	say_long(what, v);
}
static void say(const char *what, unsigned long v)
{
	say_ulong(what, v);
}
static void say(const char *what, double v)
{
	say_float(what, v);
}
#define SAY(e) say(#e, e)

namespace shop
{
enum kind { NONE, SMALL = 3, LARGE };
enum class state : unsigned char { open = 2, closed };
} // namespace shop

struct Item {
	int x;
	double y;
	shop::kind kind;
	int grid[3];
};
struct Holder {
	const Item &item;
	int &n;
	Item &&moved;
	Item *const &pointer;
	shop::state state;
};

volatile int sink;

struct Counter {
	int count;
	int &total;
	__attribute__((noinline)) void crash(const Item &i, Item &&r, int &n,
					     const Holder &h, int (&row)[3]);
};

void Counter::crash(const Item &i, Item &&r, int &n, const Holder &h,
		    int (&row)[3])
{
	const Item &alias = r;

	SAY(i.x + 1);
	SAY(i.y * r.x);
	SAY(i.kind == shop::SMALL);
	SAY(i.kind - 4);
	SAY((&i)->x + 0);
	SAY(((const Item *)&i)->x + 1);
	SAY(&h.item == &i);
	SAY(n * 2);
	SAY(n == h.n);
	SAY(h.item.x - h.moved.x);
	SAY(h.item.grid[1] + h.pointer->grid[2]);
	SAY((*h.pointer).x + 0);
	SAY(h.pointer - &i);
	SAY(&h.pointer[1] - h.pointer);
	SAY(h.state == shop::state::closed);
	SAY(alias.x + alias.grid[0]);
	SAY(row[2] - row[0]);
	SAY(*(row + 1) + 0);
	SAY(sizeof i);
	SAY(sizeof h.item.grid / sizeof h.item.grid[0]);
	SAY(count + total);
	SAY(this->total - this->count);
	SAY(total != 0 && count != 0);
	std::fflush(stdout);
	std::abort();
}

int main()
{
	Item item = {3, 1.5, shop::SMALL, {4, 5, 6}}, *p = &item;
	int n = 17;
	Holder h = {item, n, Item{7, 8, shop::LARGE, {}}, p,
		    shop::state::closed};
	Counter c = {2, n};

	c.crash(item, Item{4, 2.25, shop::NONE, {1}}, n, h, item.grid);
}
