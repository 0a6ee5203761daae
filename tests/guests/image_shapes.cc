// tests/guests/image_shapes.cc - C++ that makes interesting debug information:
// templates, overloads, inlined calls several deep, lambdas, local classes,
// virtual functions, namespaces without a name, exceptions, static objects.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	double twice() const { return 2 * area(); }
};

template <class T> class box : public shape {
	T w, h;

public:
	box(T width, T height) : w(width), h(height) {}
	double area() const override { return static_cast<double>(w * h); }
	box operator+(const box &o) const { return {w + o.w, h + o.h}; }
	explicit operator bool() const { return w != 0; }
};

template <class... Ts> double sum(Ts... ts)
{
	return (0.0 + ... + ts);
}

namespace {
double scale = 1.5;

inline double apply(double x)
{
	return x * scale;
}
} // namespace

double measure(const std::vector<std::unique_ptr<shape>> &all)
{
	double total = 0;

	std::for_each(all.begin(), all.end(), [&](const auto &s) {
		total += apply(s->area()) + s->twice();
	});
	return total;
}

} // namespace shapes

static std::map<std::string, double> seen;

static __attribute__((noinline)) double risky(int n)
{
	struct guard {
		const char *name;
		~guard() { seen[name] += 1; }
	} g{"risky"};

	if (n > 2)
		throw std::runtime_error("too many: " + std::to_string(n));
	return shapes::sum(1, 2.5, n);
}

int main(int argc, char **)
{
	std::vector<std::unique_ptr<shapes::shape>> all;
	double d = 0;

	for (int i = 0; i < argc + 3; i++) {
		all.push_back(std::make_unique<shapes::box<int>>(i, i + 1));
		all.push_back(std::make_unique<shapes::box<double>>(i, .5));
		try {
			d += risky(i);
		} catch (const std::exception &e) {
			seen[e.what()] = d;
		}
	}
	d += shapes::measure(all);
	printf("%.2f %zu %d\n", d, seen.size(),
	       static_cast<bool>(shapes::box<long>(1, 2) +
				 shapes::box<long>(3, 4)));
	return 0;
}
