// The local step of Gaussian mixtures on small random rows, with a plain BLAS: nobody writes out of bounds, shares sum
// to one, moments add up, and the bits are the same for any number of threads. What the numbers should be,
// tests/test_gaussian_kernel.py knows.
#include "local/gaussian.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "rng.hpp"

using namespace topmix;

namespace {

template <class T>
void plain_gemm(const char*, const char*, const int* m, const int* n, const int* k, const T*, const T* A, const int*,
                const T* B, const int*, const T*, T* C, const int*) {
    for (int j = 0; j < *n; ++j)
        for (int i = 0; i < *m; ++i)
            for (int l = 0; l < *k; ++l) C[j * *m + i] += A[l * *m + i] * B[j * *k + l];
}

template <class T>
void plain_syrk(const char*, const char*, const int* n, const int* k, const T*, const T* A, const int*, const T*, T* C,
                const int*) {
    for (int j = 0; j < *n; ++j)
        for (int i = j; i < *n; ++i) {
            C[j * *n + i] = 0;
            for (int l = 0; l < *k; ++l) C[j * *n + i] += A[l * *n + i] * A[l * *n + j];
        }
}

template <class T>
std::vector<T> numbers(size_t n, uint64_t seed) {
    Rng rng(seed, 0, 0);
    std::vector<T> out(n);
    for (T& x : out) x = T(2 * rng.uniform() - 1);
    return out;
}

template <class T>
void rows_are_assigned(size_t n, size_t D, size_t K, size_t L, Quadratic kind, bool linear) {
    blas::gemm<T> = plain_gemm<T>;
    blas::gemm<double> = plain_gemm<double>;
    blas::syrk<T> = plain_syrk<T>;
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

}  // namespace

int main() {
    for (Quadratic kind : {Quadratic::none, Quadratic::norm, Quadratic::squares, Quadratic::products})
        for (bool linear : {true, false}) {
            rows_are_assigned<float>(600, 5, 7, 3, kind, linear);
            rows_are_assigned<double>(257, 3, 2, 2, kind, linear);
            rows_are_assigned<float>(1, 1, 1, 1, kind, linear);
        }
    rows_are_assigned<float>(20, 80, 4, 2, Quadratic::products, true);  // more features than are made at a time
    return 0;
}
