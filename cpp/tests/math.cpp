// The vector functions against the standard library and against identities. The ulp bounds are in tests/test_math.py.
#include "base/math.hpp"

#include <vector>

#include "tests/check.hpp"

using namespace topmix;

namespace {

template <class T>
bool close(T a, double b, double ulps) {
    return std::abs(double(a) - b) <= ulps * double(std::numeric_limits<T>::epsilon()) * std::max(std::abs(b), 1e-300);
}

template <class T>
void all() {
    std::vector<T> x;
    for (double v = 1e-28; v < 1e28; v *= 1.01) x.push_back(T(v));
    std::vector<T> y(x.size()), up(x.size());
    const std::span<const T> in(x);
    math::log(in, std::span(y));
    for (size_t i = 0; i < x.size(); ++i) check(close(y[i], std::log(double(x[i])), 2));
    math::lgamma(in, std::span(y));
    for (size_t i = 0; i < x.size(); ++i) check(close(y[i], std::lgamma(double(x[i])), 16));

    // psi(x + 1) = psi(x) + 1 / x, and exp(psi(x)) against its two halves.
    math::digamma(in, std::span(y));
    for (size_t i = 0; i < x.size(); ++i)
        if (x[i] > T(0.1) && x[i] < T(100)) {
            const double next = math::digamma(double(x[i]) + 1);
            check(std::abs(double(y[i]) + 1 / double(x[i]) - next) <= 40 * double(std::numeric_limits<T>::epsilon()));
            check(close(math::exp_digamma(x[i]), std::exp(math::digamma(double(x[i]))), 16));
        }
    for (double v = -80; v < 80; v += 0.0137) check(close(math::exp(T(v)), std::exp(double(T(v))), 2));

    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    check(math::exp(-inf) == 0 && math::exp(inf) == inf && std::isnan(math::exp(nan)));
    check(math::log(T(0)) == -inf && math::log(inf) == inf && std::isnan(math::log(T(-1))) &&
          std::isnan(math::log(nan)));
    check(math::digamma(T(0)) == -inf && math::digamma(inf) == inf && std::isnan(math::digamma(T(-1))));
    check(math::lgamma(T(0)) == inf && math::lgamma(T(1)) == 0 && math::lgamma(T(2)) == 0 && math::lgamma(inf) == inf);
    check(math::exp_digamma(T(0)) == 0 && math::exp_digamma(inf) == inf && std::isnan(math::exp_digamma(nan)));
}

}  // namespace

int main() {
    all<float>();
    all<double>();
}
