// tests/end-to-end/ask_damaged.cc - containers that something has written over.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

typedef unsigned long word;

// Sets word number i of a container.
template <class T> static void poke(T &t, unsigned i, word value)
{
	std::memcpy((char *)&t + 8 * i, &value, 8);
}
template <class T> static word peek(const T &t, unsigned i)
{
	word value;

	std::memcpy(&value, (const char *)&t + 8 * i, 8);
	return value;
}

std::vector<int> backwards{1, 2, 3}, odd{1, 2, 3}, wild{1}, endless{1};
std::vector<std::vector<int>> inside_out;
std::string lost = "text", enormous = "text", nowhere = "text";
std::list<int> looped{1, 2, 3}, shortened{1, 2, 3}, lonely{1};
std::map<int, int> knotted{{1, 1}, {2, 2}, {3, 3}};
std::map<int, int> counted_wrong{{1, 1}, {2, 2}};
std::map<int, int> astray{{1, 1}, {2, 2}};
std::set<int> deep;
std::unordered_map<int, int> ring{{1, 1}, {2, 2}, {3, 3}};
std::deque<int> torn{1, 2, 3};
std::shared_ptr<int> bad_count = std::make_shared<int>(5);
std::unique_ptr<int> dangling(new int(7));
struct Self {
	std::vector<Self> all;
};
Self self;

int main()
{
	word first, second;

	poke(backwards, 1, peek(backwards, 0) - 4);
	poke(odd, 1, peek(odd, 1) - 1);
	for (unsigned i = 0; i < 3; i++)
		poke(wild, i, 0x1234567000 + 400 * i);
	poke(endless, 1, peek(endless, 0) + (1ul << 40));
	poke(endless, 2, peek(endless, 0) + (1ul << 40));
	inside_out.resize(1);
	poke(inside_out[0], 1, 1);
	poke(lost, 0, 0x1234567000);
	poke(enormous, 1, ~0ul);
	poke(nowhere, 0, 0), poke(nowhere, 1, 1000);
	first = peek(looped, 0), second = *(word *)first;
	*(word *)second = first; // the second is before the first
	poke(shortened, 2, 1000);
	*(word *)peek(lonely, 0) = 0x1234567000;
	poke(lonely, 2, 5);
	first = peek(knotted, 2); // the root: its own left and right
	((word *)first)[2] = first, ((word *)first)[3] = first;
	poke(counted_wrong, 5, 77);
	((word *)peek(astray, 2))[3] = 0x1234567000;
	poke(astray, 5, 5);
	for (int i = 0; i < 9; i++)
		deep.insert(i);
	first = peek(deep, 2);
	second = ((word *)first)[3];
	((word *)second)[2] = first; // a left child is its grandparent
	first = peek(ring, 2), second = *(word *)first;
	*(word *)second = first;
	poke(torn, 9, 3);
	poke(bad_count, 1, 0x1234567000);
	poke(dangling, 0, 0x1234567000);
	self.all.reserve(1);
	self.all.resize(1);
	first = peek(self, 0);
	for (unsigned i = 0; i < 3; i++) // the one that is in it is all of it
		((word *)first)[i] = peek(self, i);
	std::abort();
}
