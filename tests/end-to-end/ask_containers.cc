// tests/end-to-end/ask_containers.cc - says what its containers hold, as hark
// ask would: `NAME = VALUE`, and crashes. The values are random.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#include <variant>
#endif

struct Item {
	int id;
	std::string name;
};
struct Empty {
};
struct Deleter {
	int calls;
	void operator()(Item *i)
	{
		calls++;
		delete i;
	}
};

// -- What hark says of them --

static std::string text(int v)
{
	return std::to_string(v);
}
static std::string text(short v)
{
	return std::to_string(v);
}
static std::string text(long v)
{
	return std::to_string(v);
}
static std::string text(bool v)
{
	return v ? "true" : "false";
}
static std::string text(double v)
{
	char out[64];

	snprintf(out, sizeof out, "%g", v);
	return out;
}
static std::string text(char c)
{
	char out[16];

	snprintf(out, sizeof out, "%d '%c'", c, c);
	return out;
}
static std::string text(const std::string &s)
{
	std::string out = "\"";

	for (size_t i = 0; i < s.size() && i < 200; i++)
		if (s[i] == '\0')
			out += "\\000";
		else
			out += s[i];
	return out + (s.size() > 200 ? "\"..." : "\"");
}
static std::string text(const Item &i)
{
	return "{id = " + text(i.id) + ", name = " + text(i.name) + "}";
}

// Templates need each other.
#define TEXT_OF(...) template <__VA_ARGS__> std::string text
TEXT_OF(class T, class A)(const std::vector<T, A> &v);
TEXT_OF(class K, class V)(const std::map<K, V> &v);
TEXT_OF(class A, class B)(const std::pair<A, B> &p);
TEXT_OF(class T)(const std::list<T> &v);
TEXT_OF(class T)(const std::set<T> &v);

template <class C> std::string rows(const C &c)
{
	std::string out = "{", comma;
	size_t n = 0;

	for (const auto &e : c) {
		if (n++ == 200) {
			out += ", ...";
			break;
		}
		out += comma + text(e);
		comma = ", ";
	}
	return out + "}";
}

template <class C> std::string row(const char *name, const C &c)
{
	return std::string(name) + " of length " + std::to_string(c.size()) +
	       " = " + rows(c);
}

template <class C> std::string counted(const char *name, const C &c)
{
	return std::string(name) + " with " + std::to_string(c.size()) +
	       (c.size() == 1 ? " element = " : " elements = ");
}

template <class C> std::string pairs(const char *name, const C &c)
{
	std::string out = counted(name, c) + "{", comma;
	size_t n = 0;

	for (const auto &e : c) {
		if (n++ == 200) {
			out += ", ...";
			break;
		}
		out += comma + "[" + text(e.first) + "] = " + text(e.second);
		comma = ", ";
	}
	return out + "}";
}

TEXT_OF(class T, class A)(const std::vector<T, A> &v)
{
	return row("std::vector", v);
}
static std::string text(const std::vector<bool> &v)
{
	std::string out = "{", comma;

	for (size_t i = 0; i < v.size() && i < 200; i++) {
		out += comma + (v[i] ? "true" : "false");
		comma = ", ";
	}
	return "std::vector<bool> of length " + std::to_string(v.size()) +
	       " = " + out + (v.size() > 200 ? ", ...}" : "}");
}
TEXT_OF(class T, size_t N)(const std::array<T, N> &v)
{
	return row("std::array", v);
}
TEXT_OF(class K, class V)(const std::map<K, V> &v)
{
	return pairs("std::map", v);
}
TEXT_OF(class K, class V)(const std::multimap<K, V> &v)
{
	return pairs("std::multimap", v);
}
TEXT_OF(class K, class V)(const std::unordered_map<K, V> &v)
{
	return pairs("std::unordered_map", v);
}
TEXT_OF(class T)(const std::set<T> &v)
{
	return counted("std::set", v) + rows(v);
}
TEXT_OF(class T)(const std::multiset<T> &v)
{
	return counted("std::multiset", v) + rows(v);
}
TEXT_OF(class T)(const std::unordered_set<T> &v)
{
	return counted("std::unordered_set", v) + rows(v);
}
TEXT_OF(class T)(const std::list<T> &v)
{
	return row("std::list", v);
}
TEXT_OF(class T)(const std::forward_list<T> &v)
{
	return "std::forward_list = " + rows(v);
}
TEXT_OF(class T)(const std::deque<T> &v)
{
	return row("std::deque", v);
}
TEXT_OF(class A, class B)(const std::pair<A, B> &p)
{
	return "{first = " + text(p.first) + ", second = " + text(p.second) +
	       "}";
}

template <class P> std::string owned(const P &p)
{
	char out[32];

	if (!p)
		return "nullptr";
	snprintf(out, sizeof out, "%p -> ", (const void *)p.get());
	return out + text(*p);
}
TEXT_OF(class T, class D)(const std::unique_ptr<T, D> &p)
{
	return "std::unique_ptr = " + owned(p);
}

#define SAY(v) printf("%s = %s\n", #v, text(v).c_str())

// -- The containers --

static unsigned seed;

static int some(int n)
{
	seed = seed * 1103515245 + 12345;
	return (int)(seed >> 8) % n;
}

static std::string word()
{
	std::string out;

	for (int i = some(40); i > 0; i--)
		out += (char)('a' + some(26));
	return out;
}

std::string empty, little, large, very_large, with_zero;
std::vector<int> ints, no_ints, many_ints;
std::vector<Item> items;
std::vector<std::vector<std::string>> nested;
std::vector<char> chars;
std::vector<bool> bits, no_bits;
std::array<short, 4> shorts;
std::array<std::string, 2> words;
std::map<int, std::string> numbers;
std::map<std::string, std::vector<int>> index_of;
std::multimap<char, long> repeated;
std::map<int, int> big_map;
std::set<int> numbers_set, no_numbers;
std::multiset<short> repeated_set;
std::unordered_map<std::string, double> prices;
std::unordered_map<int, Item> by_id;
std::unordered_set<long> longs;
std::unordered_set<std::string> hashed_words;
std::list<int> listed, nothing_listed;
std::list<Item> listed_items;
std::forward_list<int> forward, no_forward;
std::deque<int> queue_of_ints, no_queue;
std::deque<Item> queue_of_items;
std::pair<int, std::string> one_pair;
std::tuple<int, std::string, double, Empty> triple;
std::unique_ptr<Item> owner, no_owner;
std::unique_ptr<Item, Deleter> with_deleter;
std::unique_ptr<int[]> array_owner;
std::shared_ptr<Item> shared, second_owner, no_shared;
std::weak_ptr<Item> watcher, expired;
std::atomic<int> atomic_int;
std::atomic<bool> atomic_bool;
#if __cplusplus >= 201703L
std::string_view view;
std::optional<int> number, no_number;
std::optional<Item> item, no_item;
std::variant<int, std::string, double> choice, second_choice;
#endif

static void fill()
{
	little = "seven";
	large = word() + word() + "0123456789abcdef";
	very_large = std::string(1000, 'x');
	with_zero = std::string("a\0b", 3);
	for (int i = 0; i < 5 + some(20); i++) {
		ints.push_back(some(1000) - 500);
		items.push_back(Item{some(100), word()});
		nested.push_back({word(), word()});
		chars.push_back((char)('a' + some(26)));
		numbers[some(1000)] = word();
		index_of[word()] = {some(9), some(9)};
		repeated.insert({(char)('a' + some(3)), some(100)});
		numbers_set.insert(some(1000));
		repeated_set.insert((short)some(4));
		prices[word()] = some(100) / 4.0;
		by_id[some(100)] = Item{some(5), word()};
		longs.insert(some(100000) * 100000L);
		hashed_words.insert(word());
		listed.push_back(some(10));
		listed_items.push_back(Item{i, word()});
		forward.push_front(some(10));
		queue_of_items.push_front(Item{i, word()});
	}
	for (int i = 0; i < 500; i++) {
		many_ints.push_back(i);
		bits.push_back(some(2));
		big_map[some(100000)] = i;
		queue_of_ints.push_back(i);
		if (i % 3 == 0)
			queue_of_ints.pop_front();
	}
	shorts = {{1, -2, 3, -4}};
	words = {{word(), word()}};
	one_pair = {some(10), word()};
	triple = std::make_tuple(some(10), word(), 0.5, Empty());
	owner.reset(new Item{some(10), word()});
	with_deleter.reset(new Item{some(10), word()});
	array_owner.reset(new int[3]{1, 2, 3});
	shared = second_owner = std::make_shared<Item>(Item{4, word()});
	watcher = shared;
	expired = std::shared_ptr<Item>(new Item{1, word()});
	atomic_int = some(100);
	atomic_bool = true;
#if __cplusplus >= 201703L
	view = large;
	view.remove_prefix(3);
	number = some(10);
	item = Item{some(10), word()};
	choice = word();
	second_choice = 1.25;
#endif
}

int main(int argc, char **argv)
{
	(void)argc;
	seed = (unsigned)atoi(argv[1]);
	fill();
	SAY(empty), SAY(little), SAY(large), SAY(very_large), SAY(with_zero);
	SAY(ints), SAY(no_ints), SAY(many_ints), SAY(items), SAY(nested);
	SAY(chars), SAY(bits), SAY(no_bits), SAY(shorts), SAY(words);
	SAY(numbers), SAY(index_of), SAY(repeated), SAY(big_map);
	SAY(numbers_set), SAY(no_numbers), SAY(repeated_set);
	SAY(prices), SAY(by_id), SAY(longs), SAY(hashed_words);
	SAY(listed), SAY(nothing_listed), SAY(listed_items);
	SAY(forward), SAY(no_forward);
	SAY(queue_of_ints), SAY(no_queue), SAY(queue_of_items), SAY(one_pair);
	printf("triple = std::tuple = {%s, %s, 0.5, {}}\n",
	       text(std::get<0>(triple)).c_str(),
	       text(std::get<1>(triple)).c_str());
	SAY(owner), SAY(no_owner), SAY(with_deleter);
	printf("array_owner = std::unique_ptr = %p\n", (void *)&array_owner[0]);
	printf("shared = std::shared_ptr (use count 2, weak count 1) = %s\n",
	       owned(shared).c_str());
	printf("no_shared = std::shared_ptr = %s\n",
	       no_shared || no_shared.use_count() != 0 ? "?" : "nullptr");
	printf("watcher = std::weak_ptr (use count 2, weak count 1) = %s\n",
	       owned(shared).c_str());
	printf("atomic_int = %d\n", atomic_int.load());
	printf("atomic_bool = true\n");
#if __cplusplus >= 201703L
	printf("view = %s\n", text(std::string(view)).c_str());
	printf("number = std::optional = %d\n", *number);
	printf("no_number = std::optional = %s\n", no_number ? "?" : "nullopt");
	printf("item = std::optional = %s\n", text(*item).c_str());
	printf("no_item = std::optional = %s\n", no_item ? "?" : "nullopt");
	printf("choice = std::variant [index 1] = %s\n",
	       text(std::get<1>(choice)).c_str());
	printf("second_choice = std::variant [index 2] = 1.25\n");
#endif
	fflush(stdout);
	abort();
}
