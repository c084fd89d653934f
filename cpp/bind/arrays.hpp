// What the bindings share: NumPy arrays as spans, and shape checks that raise ValueError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "base/views.hpp"

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

/// Hands a vector over to NumPy without a copy.
template <class T>
Vec<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Vec<T>(owned->data(), {owned->size()}, owner);
}

/// The same for an array whose values were never set to zero first.
template <class T>
Vec<T> give(std::unique_ptr<T[]>&& values, size_t size) {
    T* data = values.get();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    values.release();  // only now: making the capsule may throw
    return Vec<T>(data, {size}, owner);
}

template <class T>
Mat<T> give(std::vector<T>&& values, size_t rows, size_t cols) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Mat<T>(owned->data(), {rows, cols}, owner);
}

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

/// Sparse rows, checked for lengths only: ids and monotone indptr are checked once, where data comes in
/// (data/corpus.py).
inline Csr<float> csr(const Vec<const int64_t>& indptr, const Vec<const int32_t>& index,
                      const Vec<const float>& value) {
    require(indptr.size() >= 1 && index.size() == value.size(), "indptr, index and value do not make sparse rows");
    require(indptr.data()[0] == 0 && indptr.data()[indptr.size() - 1] == int64_t(index.size()),
            "indptr must start at 0 and end at len(index)");
    return {view(indptr), view(index), view(value)};
}

}  // namespace topmix
