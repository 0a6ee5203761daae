// tests/fuzz/modules/containers.cc - the types of containers.so, for
// ask_containers.c. It was made by
//	g++ -std=c++17 -g -gz -O1 -shared -nostdlib -fPIC -fno-exceptions
//		-Wl,--unresolved-symbols=ignore-all containers.cc
// and is kept, so that the corpus means the same with every compiler.
#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
struct Item {
	int id;
	std::string name;
};
union All {
	All();
	~All();
	std::string text;
	std::u16string wide;
	std::vector<Item> items;
	std::vector<bool> bits;
	std::vector<std::vector<int>> nested;
	std::array<int, 3> numbers;
	std::map<int, Item> map;
	std::set<short> set;
	std::unordered_map<int, Item> hash;
	std::list<Item> list;
	std::forward_list<int> forward;
	std::deque<Item> deque;
	std::optional<Item> optional;
	std::variant<int, Item, double> variant;
	std::tuple<int, std::string> tuple;
	std::unique_ptr<Item> unique;
	std::shared_ptr<Item> shared;
};
extern "C" {
extern All all;
void touch(All &a)
{
	a.text = "";
}
}
