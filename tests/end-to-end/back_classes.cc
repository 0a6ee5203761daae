// tests/end-to-end/back_classes.cc - a C++ program to go back in.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace zoo {

class Animal {
public:
	explicit Animal(std::string name) : name(std::move(name)) {}
	virtual ~Animal() = default;
	virtual int legs() const = 0;
	std::string name;
};

class Bird : public Animal {
public:
	using Animal::Animal;
	int legs() const override
	{
		return 2;
	}
};

class Cow : public Animal {
public:
	using Animal::Animal;
	int legs() const override
	{
		if (name == "mad")
			throw std::runtime_error("no legs");
		return 4;
	}
};

} // namespace zoo

static int count(const std::vector<zoo::Animal *> &all)
{
	int sum = 0;

	for (const zoo::Animal *a : all)
		sum += a->legs();
	return sum;
}

int main()
{
	std::vector<zoo::Animal *> all{new zoo::Bird("owl"), new zoo::Cow("cow")};
	std::map<std::string, int> seen;

	seen["first"] = count(all);
	all.push_back(new zoo::Cow("mad"));
	try {
		seen["second"] = count(all);
	} catch (const std::exception &e) {
		std::printf("caught %s\n", e.what());
	}
	std::printf("first %d size %zu\n", seen["first"], seen.size());
	for (zoo::Animal *a : all)
		delete a;
	return seen["first"];
}
