// What the bindings share: NumPy arrays as spans, and shape checks that raise ValueError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <stdexcept>
#include <string>

#include "../views.hpp"

namespace topmix {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vec = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mat = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class A>
auto view(const A& a) {
    return std::span(a.data(), a.size());
}

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

/// Rows that a kernel can walk without looking: indptr from 0, rising, ending at nnz; columns inside [0, cols).
template <class T>
Csr<T> csr(const Vec<const int64_t>& indptr, const Vec<const int32_t>& index, const Vec<const T>& value) {
    require(indptr.size() >= 1 && index.size() == value.size(), "indptr, index and value do not make sparse rows");
    require(indptr.data()[0] == 0 && indptr.data()[indptr.size() - 1] == int64_t(index.size()),
            "indptr must start at 0 and end at len(index)");
    return {view(indptr), view(index), view(value)};
}

}  // namespace topmix
