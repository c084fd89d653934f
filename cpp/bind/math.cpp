// The vector functions of math.hpp over whole arrays.
#include "base/math.hpp"

#include "base/parallel.hpp"
#include "bind/arrays.hpp"

namespace topmix {

namespace {

constexpr size_t grain = 1 << 14;

/// Registers out[i] = f(x[i]) for float32 and float64.
template <class Fn>
void elementwise(nb::module_& m, const char* name, const char* doc, Fn f) {
    auto add = [&]<class T>(T) {
        m.def(
            name,
            [f](Vec<const T> x, Vec<T> out, Threads threads) {
                require(x.size() == out.size(), "x and out must have the same length");
                const auto from = view(x);
                const auto to = view(out);
                nb::gil_scoped_release nogil;
                parallel_for(from.size(), grain, threads, [&](size_t begin, size_t end, size_t) {
                    f(from.subspan(begin, end - begin), to.subspan(begin, end - begin));
                });
            },
            "x"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1, doc);
    };
    add(float());
    add(double());
}

}  // namespace

void register_math(nb::module_& m) {
    elementwise(m, "exp", "out = exp(x)", [](auto x, auto y) { math::exp(x, y); });
    elementwise(m, "log", "out = log(x)", [](auto x, auto y) { math::log(x, y); });
    elementwise(m, "digamma", "out = digamma(x), x >= 0", [](auto x, auto y) { math::digamma(x, y); });
    elementwise(m, "lgamma", "out = log Gamma(x), x >= 0", [](auto x, auto y) { math::lgamma(x, y); });
    elementwise(m, "exp_digamma", "out = exp(digamma(x)), x >= 0", [](auto x, auto y) { math::exp_digamma(x, y); });
}

}  // namespace topmix
