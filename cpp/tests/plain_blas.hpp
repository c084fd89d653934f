// A BLAS and LAPACK of plain loops, for tests without SciPy: by columns, as theirs are.
#pragma once
#include <cmath>
#include <vector>

#include "base/blas.hpp"

namespace topmix::blas {

template <class T>
void plain_gemm(const char* how, const char*, const int* m, const int* n, const int* k, const T*, const T* A,
                const int* a, const T* B, const int* b, const T*, T* C, const int* c) {
    for (int j = 0; j < *n; ++j)
        for (int i = 0; i < *m; ++i)
            for (int l = 0; l < *k; ++l) C[j * *c + i] += (*how == 'T' ? A[i * *a + l] : A[l * *a + i]) * B[j * *b + l];
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

/// The lower triangle, by columns, of the factor.
inline void plain_potrf(const char*, const int* n, double* A, const int*, int* failed) {
    const size_t N = size_t(*n);
    *failed = 0;
    for (size_t j = 0; j < N; ++j)
        for (size_t i = j; i < N; ++i) {
            double x = A[j * N + i];
            for (size_t l = 0; l < j; ++l) x -= A[l * N + i] * A[l * N + j];
            if (i == j && !(x > 0)) {
                *failed = int(j) + 1;
                return;
            }
            A[j * N + i] = i == j ? std::sqrt(x) : x / A[j * N + j];
        }
}

inline void plain_potri(const char*, const int* n, double* A, const int*, int* failed) {
    const size_t N = size_t(*n);
    *failed = 0;
    std::vector<double> inverse(N * N, 0.0);  // of the factor, by columns
    for (size_t j = 0; j < N; ++j)
        for (size_t i = j; i < N; ++i) {
            double x = i == j ? 1.0 : 0.0;
            for (size_t l = j; l < i; ++l) x -= A[l * N + i] * inverse[j * N + l];
            inverse[j * N + i] = x / A[i * N + i];
        }
    for (size_t j = 0; j < N; ++j)
        for (size_t i = j; i < N; ++i) {
            double x = 0;
            for (size_t l = i; l < N; ++l) x += inverse[i * N + l] * inverse[j * N + l];
            A[j * N + i] = x;
        }
}

/// To be called first in main().
inline void set_plain_blas() {
    gemm<float> = plain_gemm<float>;
    gemm<double> = plain_gemm<double>;
    syrk<float> = plain_syrk<float>;
    syrk<double> = plain_syrk<double>;
    potrf = plain_potrf;
    potri = plain_potri;
}

}  // namespace topmix::blas
