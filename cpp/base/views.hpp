// Borrowed views of memory that somebody else owns. Nothing below cpp/bind knows about Python.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace topmix {

/// Sparse rows: row n holds index[i], value[i] for indptr[n] <= i < indptr[n + 1].
template <class T = float>
struct Csr {
    std::span<const int64_t> indptr;  // [rows + 1]
    std::span<const int32_t> index;   // [nnz]
    std::span<const T> value;         // [nnz]
    size_t rows() const { return indptr.size() - 1; }
};

/// A dense matrix, row by row.
template <class T>
struct Rows {
    std::span<T> data;  // [rows, cols]
    size_t cols;
    size_t rows() const { return cols ? data.size() / cols : 0; }
    std::span<T> operator[](size_t n) const { return data.subspan(n * cols, cols); }
};

}  // namespace topmix
