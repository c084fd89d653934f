// The local step of Gaussian mixtures on small random rows, with a plain BLAS: nobody writes out of bounds, shares sum
// to one, moments add up, and the bits are the same for any number of threads. What the numbers should be,
// tests/test_gaussian_kernel.py knows.
#include "steps/gaussian.hpp"

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "models/wishart.hpp"
#include "steps/moments.hpp"
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
void rows_are_assigned(size_t n, size_t D, size_t K, size_t L, Quadratic kind, bool linear) {
    const Features features{kind, linear, D};
    const std::vector<T> x = numbers<T>(n * D, 1), W = numbers<T>(features.size() * K, 2), c = numbers<T>(K, 3);
    const std::vector<T> centre = numbers<T>(K * D, 4);
    const std::vector<double> A = numbers<double>(D * D, 5), origin(D, 0.25);
    const size_t Q = quadratic_size(kind, D);
    struct Out {
        std::vector<T> z;
        std::vector<int32_t> cluster;
        std::vector<T> r;
        std::vector<double> entropy, likelihood, N, first, second;
        bool operator==(const Out&) const = default;
    };
    auto run = [&](int threads) {
        Out o{std::vector<T>(n * D),      std::vector<int32_t>(n * L), std::vector<T>(n * L),
              std::vector<double>(n),     std::vector<double>(n),      std::vector<double>(K),
              std::vector<double>(K * D), std::vector<double>(K * Q)};
        to_frame<T>({x, D}, origin, A, threads, {o.z, D});
        const Scorer<T> score{features, W, c};
        assign_gaussian<T>({o.z, D}, score, L, threads, {o.cluster, o.r, o.entropy, o.likelihood});
        add_moments<T>({o.z, D}, o.cluster, o.r, {}, {centre, D}, kind, threads, {o.N, o.first, o.second});
        return o;
    };
    const Out one = run(1);
    double rows = 0;
    for (double N : one.N) rows += N;
    check(std::abs(rows - double(n)) < 1e-4 * double(n + 1), "every row is somewhere, once");
    for (size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (size_t l = 0; l < L; ++l) sum += double(one.r[i * L + l]);
        check(std::abs(sum - 1) < 1e-5 && std::isfinite(one.likelihood[i]));
    }
    for (int threads : {2, 7}) check(run(threads) == one);
}

template <class T>
void a_few_clusters_are_scored_as_all(size_t n, size_t D, size_t K, size_t L) {
    const Features features{Quadratic::products, true, D};
    const std::vector<T> z = numbers<T>(n * D, 1), W = numbers<T>(features.size() * K, 2), c = numbers<T>(K, 3);
    std::vector<int32_t> every(K * K), was(n);
    for (size_t i = 0; i < K * K; ++i) every[i] = int32_t(i % K);
    for (size_t i = 0; i < n; ++i) was[i] = int32_t(i * 7 % K);
    struct Out {
        std::vector<int32_t> cluster;
        std::vector<T> r;
        std::vector<double> entropy, likelihood;
    };
    auto empty = [&] {
        return Out{std::vector<int32_t>(n * L), std::vector<T>(n * L), std::vector<double>(n), std::vector<double>(n)};
    };
    Out all = empty();
    assign_gaussian<T>({z, D}, Scorer<T>{features, W, c}, L, 2, {all.cluster, all.r, all.entropy, all.likelihood});
    for (int threads : {1, 3}) {
        Out few = empty();
        assign_near<T>({z, D}, was, {every, K}, features, {W, features.size()}, c, L, threads,
                       {few.cluster, few.r, few.entropy, few.likelihood});
        check(few.cluster == all.cluster, "with all clusters near, the same are chosen");
        for (size_t i = 0; i < n; ++i) check(std::abs(few.likelihood[i] - all.likelihood[i]) < 1e-4);
    }
    std::vector<int32_t> candidates(n * K);  // of each row
    for (size_t i = 0; i < n * K; ++i) candidates[i] = int32_t(i % K);
    const Scorer<T> linear{{Quadratic::none, true, D}, std::span(W).first(K * D), c};
    assign_gaussian<T>({z, D}, linear, L, 2, {all.cluster, all.r, all.entropy, all.likelihood});
    for (int threads : {1, 3}) {
        Out few = empty();
        assign_among<T>({z, D}, was, {candidates, K}, {linear.W, D}, c, L, threads,
                        {few.cluster, few.r, few.entropy, few.likelihood});
        check(few.cluster == all.cluster, "among all clusters the same are chosen");
        for (size_t i = 0; i < n; ++i) check(std::abs(few.likelihood[i] - all.likelihood[i]) < 1e-4);
    }
}

void inverses_are_inverses(size_t K, size_t D) {
    const size_t Q = quadratic_size(Quadratic::products, D);
    const std::vector<double> second = numbers<double>(K * Q, 6), m = numbers<double>(K * D, 7), N(K, 0.5),
                              beta(K, 0.1);
    std::vector<double> base(D * D), reg(D * D);
    for (size_t i = 0; i < D; ++i) base[i * D + i] = 2.0 * double(D), reg[i * D + i] = 0.1;
    std::vector<double> B(K * D * D), inverse(K * D * D), log_det(K);
    update_precisions({{second, Q}, N, base, reg, beta, {m, D}}, 3, B, inverse, log_det);
    for (size_t k = 0; k < K; ++k)
        for (size_t i = 0; i < D; ++i)
            for (size_t j = 0; j < D; ++j) {
                double sum = i == j ? -1.0 : 0.0;
                for (size_t l = 0; l < D; ++l) sum += B[(k * D + i) * D + l] * inverse[(k * D + l) * D + j];
                check(std::abs(sum) < 1e-9);
            }
}

}  // namespace

int main() {
    blas::set_plain_blas();
    a_few_clusters_are_scored_as_all<float>(301, 5, 7, 3);
    a_few_clusters_are_scored_as_all<double>(40, 1, 2, 1);
    inverses_are_inverses(9, 6);
    inverses_are_inverses(1, 1);
    for (Quadratic kind : {Quadratic::none, Quadratic::norm, Quadratic::squares, Quadratic::products})
        for (bool linear : {true, false}) {
            rows_are_assigned<float>(600, 5, 7, 3, kind, linear);
            rows_are_assigned<double>(257, 3, 2, 2, kind, linear);
            rows_are_assigned<float>(1, 1, 1, 1, kind, linear);
        }
    rows_are_assigned<float>(20, 80, 4, 2, Quadratic::products, true);  // more features than are made at a time
    return 0;
}
