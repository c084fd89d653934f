// One visit to small random rows, with a plain BLAS: nobody writes out of bounds, every row is somewhere once, and the
// bits are the same for any number of threads. What the numbers should be, tests/test_visit_kernel.py knows.
#include "steps/visit.hpp"

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"

using namespace topmix;

namespace {

template <class T>
std::vector<T> numbers(size_t n, uint64_t seed) {
    Rng rng(seed, 0, 0);
    std::vector<T> out(n);
    for (T& x : out) x = T(2 * rng.uniform() - 1);
    return out;
}

template <class T>
void rows_are_summed(Quadratic kind, size_t n, size_t D, size_t K, size_t L, bool chosen) {
    const Features features{kind, true, D};
    const size_t Q = quadratic_size(kind, D);
    const std::vector<T> x = numbers<T>(n * D, 1), W = numbers<T>(K * features.size(), 2), c = numbers<T>(K, 3);
    const bool framed = kind != Quadratic::none;
    const std::vector<T> centre = numbers<T>(framed ? K * D : 0, 4);
    const std::vector<double> origin = numbers<double>(framed ? D : 0, 5), scale = numbers<double>(origin.size(), 6);
    std::vector<int64_t> rows;
    if (chosen)
        for (size_t i = n; i > 0; i -= std::min<size_t>(i, 2)) rows.push_back(int64_t(i - 1));
    const size_t asked = chosen ? rows.size() : n;
    const std::vector<double> weight(asked, 0.5);
    struct Out {
        std::vector<double> N, first, second;
        double entropy = 0;
        bool operator==(const Out&) const = default;
    };
    auto run = [&](int threads) {
        Out o{std::vector<double>(K), std::vector<double>(K * D), std::vector<double>(K * Q)};
        o.entropy = visit_rows<T>({{{x, D}, rows}, features, origin, scale, W, c, centre, weight, L, T(0)}, threads,
                                  {o.N, o.first, o.second});
        return o;
    };
    const Out one = run(1);
    double mass = 0;
    for (double N : one.N) mass += N;
    check(std::abs(mass - 0.5 * double(asked)) < 1e-5 * double(asked + 1), "every row is somewhere, once");
    check(one.entropy >= 0 && one.entropy <= 0.5 * double(asked) * std::log(double(L)) + 1e-4);
    for (int threads : {2, 7}) check(run(threads) == one);
}

}  // namespace

int main() {
    blas::set_plain_blas();
    for (const Quadratic kind : {Quadratic::none, Quadratic::norm, Quadratic::squares})
        for (const bool chosen : {false, true})
            for (const size_t n : {1, 128, 1300}) {
                rows_are_summed<float>(kind, n, 5, 7, 3, chosen);
                rows_are_summed<double>(kind, n, 17, 3, 1, chosen);
                rows_are_summed<float>(kind, n, 33, 20, 20, chosen);
            }
}
