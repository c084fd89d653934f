// Groups of small random rows: nobody writes out of bounds, every row is somewhere once, empty groups and groups of
// several chunks among them, and the bits are the same for any number of threads. What the numbers should be,
// tests/test_admixture.py knows.
#include "steps/groups.hpp"

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "steps/gaussian.hpp"
#include "tests/check.hpp"
#include "tests/plain_blas.hpp"

using namespace topmix;

namespace {

template <class T>
std::vector<T> numbers(size_t n, uint64_t seed) {
    Rng rng(seed, 0, 0);
    std::vector<T> out(n);
    for (T& x : out) x = T(rng.uniform());
    return out;
}

template <class T>
void groups_are_solved(const std::vector<int64_t>& starts, size_t K, size_t C, size_t L, bool collapsed, bool weighed) {
    const size_t n = size_t(starts.back()), G = starts.size() - 1, D = 3;
    const Features features{Quadratic::squares, true, D};
    const std::vector<T> z = numbers<T>(n * D, 1), W = numbers<T>(K * features.size(), 2), c = numbers<T>(G * K, 3);
    std::vector<double> alpha = numbers<double>(K, 4), weight = numbers<double>(weighed ? n : 0, 5);
    for (double& a : alpha) a += 0.01;
    struct Out {
        std::vector<int32_t> candidates, cluster;
        std::vector<T> share, r;
        std::vector<double> entropy, N, absent;
        int64_t iterations = 0;
        bool operator==(const Out&) const = default;
    };
    auto run = [&](int threads) {
        Out o{std::vector<int32_t>(n * C), std::vector<int32_t>(n * L), std::vector<T>(n * C),
              std::vector<T>(n * L),       std::vector<double>(n),      std::vector<double>(G * K),
              std::vector<double>(G * K)};
        std::vector<double> H(n), likelihood(n);
        const std::vector<int32_t> group = group_of_rows(starts);
        assign_gaussian<T>({z, D}, Scorer<T>{features, W, c, K, group}, C, threads,
                           {o.candidates, o.share, H, likelihood});
        const GroupTask<T> task{starts, {o.candidates, C}, {o.share, C}, weight, alpha, collapsed, L, T(1e-9), 4, 1e-6};
        o.iterations = solve_groups<T>(task, threads, {o.N, K}, {o.absent, K}, {o.cluster, o.r, o.entropy});
        return o;
    };
    const Out one = run(1);
    for (size_t g = 0; g < G; ++g) {
        double mass = 0, rows = 0;
        for (size_t k = 0; k < K; ++k) mass += one.N[g * K + k];
        for (int64_t i = starts[g]; i < starts[g + 1]; ++i) rows += weighed ? weight[size_t(i)] : 1.0;
        check(std::abs(mass - rows) < 1e-5 * (rows + 1), "every row is somewhere, once");
    }
    for (double a : one.absent) check(a <= 0);
    check(one.iterations <= int64_t(4 * G));
    for (int threads : {2, 7}) check(run(threads) == one);
}

}  // namespace

int main() {
    blas::set_plain_blas();
    for (const bool collapsed : {false, true})
        for (const bool weighed : {false, true})
            for (const auto& starts : std::vector<std::vector<int64_t>>{{0, 1}, {0, 0, 5, 5, 9}, {0, 3, 2600, 2604}}) {
                groups_are_solved<float>(starts, 7, 5, 2, collapsed, weighed);
                groups_are_solved<double>(starts, 3, 3, 3, collapsed, weighed);
                groups_are_solved<float>(starts, 20, 8, 1, collapsed, weighed);
            }
}
