// Matrix products and inverses by the BLAS and LAPACK that SciPy brings, reached through the addresses that it
// publishes for other extensions.
//
// Each call here runs on one thread: callers of kernels hold the library to one (topmix/base/threads.py), and
// kernels run many calls beside each other, on blocks that depend on the data alone. So the bits do not
// depend on the number of threads. Matrices are stored row by row, as everywhere in topmix.
#pragma once
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace topmix::blas {

template <class T>
using Gemm = void(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                  const T*, const int*, const T*, T*, const int*);
template <class T>
using Syrk = void(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*, T*,
                  const int*);
using Factor = void(const char*, const int*, double*, const int*, int*);

/// Set once, when the module loads (tests set their own).
template <class T>
inline Gemm<T>* gemm = nullptr;
template <class T>
inline Syrk<T>* syrk = nullptr;
inline Factor* potrf = nullptr;
inline Factor* potri = nullptr;

/// C += A B, with A [m, inner], B [inner, n], C [m, n].
template <class T>
void add_product(size_t m, size_t inner, size_t n, const T* A, const T* B, T* C) {
    if (!gemm<T>) throw std::logic_error("no BLAS was set");
    if (m == 0 || n == 0 || inner == 0) return;
    const int M = int(n), N = int(m), K = int(inner);  // by columns it is C' += B' A'
    const T one = 1;
    gemm<T>("N", "N", &M, &N, &K, &one, B, &M, A, &K, &one, C, &M);
}

/// C += A B', with A [m, inner], B [n, inner] whose rows lie `apart`, C [m, n].
template <class T>
void add_product_transposed(size_t m, size_t inner, size_t n, const T* A, const T* B, size_t apart, T* C) {
    if (!gemm<T>) throw std::logic_error("no BLAS was set");
    if (m == 0 || n == 0 || inner == 0) return;
    const int M = int(n), N = int(m), K = int(inner), ld = int(apart);
    const T one = 1;
    gemm<T>("T", "N", &M, &N, &K, &one, B, &ld, A, &K, &one, C, &M);
}

/// C = A' A, with A [m, n]; of C [n, n] only the upper triangle is written.
template <class T>
void gram(size_t m, size_t n, const T* A, T* C) {
    if (!syrk<T>) throw std::logic_error("no BLAS was set");
    if (n == 0) return;
    const int N = int(n), K = int(m);
    const T one = 1, zero = 0;
    syrk<T>("L", "N", &N, &K, &one, A, &N, &zero, C, &N);
}

/// A becomes its inverse, for a symmetric positive A [n, n] of which only the upper triangle is read and written.
/// False, with A spoilt, if it is not positive.
inline bool invert(size_t n, double* A, double& log_det) {
    if (!potrf || !potri) throw std::logic_error("no LAPACK was set");
    if (n == 0) return log_det = 0, true;
    const int N = int(n);
    int failed = 0;
    potrf("L", &N, A, &N, &failed);
    if (failed) return false;
    double product = 0;
    for (size_t i = 0; i < n; ++i) product += std::log(A[i * n + i]);
    log_det = 2 * product;
    potri("L", &N, A, &N, &failed);
    return !failed && std::isfinite(log_det);
}

}  // namespace topmix::blas
