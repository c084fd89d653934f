// Rows of counts at the door: is this a corpus (`check_rows`), and make it one (`tidy_rows`).
//
// A corpus has its words sorted and once per row, ids inside the vocabulary, and counts that are positive and finite.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix {

struct RowsReport {
    std::string problem;  // empty: none. Otherwise the first one, with its row and column
    int64_t n_zeros = 0;  // explicit zeros are harmless, but a corpus does not keep them
    double n_tokens = 0;  // sum of the counts, in order
};

inline std::string at(int64_t row, int64_t column) {
    return "row " + std::to_string(row) + ", column " + std::to_string(column) + ": ";
}

inline std::string value_problem(float x) {
    if (std::isnan(x)) return "the count is NaN";
    if (std::isinf(x)) return "the count is infinite";
    return "the count is negative (" + std::to_string(x) + ")";
}

inline bool is_count(float x) { return x >= 0 && x <= std::numeric_limits<float>::max(); }

/// Where indptr stops being 0 = p_0 <= p_1 <= ... <= nnz, or empty.
inline std::string indptr_problem(const Csr<float>& X, size_t begin, size_t end, int64_t first_row = 0) {
    for (size_t n = begin; n < end; ++n)
        if (X.indptr[n] < 0 || X.indptr[n] > X.indptr[n + 1] || X.indptr[n + 1] > int64_t(X.index.size()))
            return "row " + std::to_string(first_row + int64_t(n)) + ": indptr goes from " +
                   std::to_string(X.indptr[n]) + " to " + std::to_string(X.indptr[n + 1]) +
                   ", but must rise from 0 to " + std::to_string(X.index.size());
    return {};
}

inline std::string row_problem(const Csr<float>& X, size_t n, int64_t n_words, int64_t first_row) {
    int64_t last = -1;
    for (int64_t i = X.indptr[n]; i < X.indptr[n + 1]; ++i) {
        const int64_t v = X.index[i];
        const std::string where = at(first_row + int64_t(n), v);
        if (v < 0 || v >= n_words)
            return where + "the column is outside the " + std::to_string(n_words) + " words of the vocabulary";
        if (!is_count(X.value[i])) return where + value_problem(X.value[i]);
        if (v == last) return where + "the column is there twice";
        if (v < last) return where + "the columns are not sorted (after column " + std::to_string(last) + ")";
        last = v;
    }
    return {};
}

/// One pass over rows that may be mapped from a file: nothing is copied.
inline RowsReport check_rows(const Csr<float>& X, int64_t n_words) {
    RowsReport report;
    parallel_for(X.rows(), 1 << 14, 1, [&](size_t begin, size_t end, size_t) {
        if (!report.problem.empty()) return;
        report.problem = indptr_problem(X, begin, end);
        for (size_t n = begin; n < end && report.problem.empty(); ++n) {
            bool bad = false;
            int64_t last = -1;
            for (int64_t i = X.indptr[n]; i < X.indptr[n + 1]; ++i) {
                bad |= X.index[i] <= last || !is_count(X.value[i]);
                last = X.index[i];
                report.n_zeros += X.value[i] == 0;
                report.n_tokens += double(X.value[i]);
            }
            if (bad || last >= n_words) report.problem = row_problem(X, n, n_words, 0);
        }
    });
    return report;
}

struct SavedRowsReport {
    std::string problem;  // empty: none. Otherwise the first one, with its row and column
    double n_tokens = 0;
};

/// Rows of a file, as somebody saved them: are they the rows of a corpus, without zeros? Faster than `check_rows`,
/// because it is part of reading. `first_row` is the number of the first one.
inline SavedRowsReport check_saved_rows(const Csr<float>& X, int64_t n_words, int64_t first_row, int threads) {
    constexpr size_t kBlock = 1 << 10;  // rows
    std::vector<SavedRowsReport> reports((X.rows() + kBlock - 1) / kBlock);
    parallel_for(X.rows(), kBlock, threads, [&](size_t begin, size_t end, size_t) {
        SavedRowsReport& report = reports[begin / kBlock];
        if (!(report.problem = indptr_problem(X, begin, end, first_row)).empty()) return;
        const int32_t* index = X.index.data();
        const float* value = X.value.data();
        int bad = 0;
        double tokens = 0;
        const int64_t first = X.indptr[begin], last = X.indptr[end];
#pragma omp simd reduction(| : bad) reduction(+ : tokens)
        for (int64_t i = first; i < last; ++i) {
            bad |= !(value[i] > 0 && value[i] <= std::numeric_limits<float>::max());
            tokens += double(value[i]);
        }
        for (size_t n = begin; n < end; ++n) {
            const int64_t a = X.indptr[n], b = X.indptr[n + 1];
            if (a == b) continue;
            bad |= (index[a] < 0) | (index[b - 1] >= n_words);
#pragma omp simd reduction(| : bad)
            for (int64_t i = a + 1; i < b; ++i) bad |= index[i] <= index[i - 1];
        }
        report.n_tokens = tokens;
        if (!bad) return;
        for (size_t n = begin; n < end && report.problem.empty(); ++n) {
            report.problem = row_problem(X, n, n_words, first_row);
            for (int64_t i = X.indptr[n]; i < X.indptr[n + 1] && report.problem.empty(); ++i)
                if (value[i] == 0) report.problem = at(first_row + int64_t(n), index[i]) + "the count is zero";
        }
    });
    SavedRowsReport all;
    for (SavedRowsReport& report : reports) {
        if (all.problem.empty()) all.problem = std::move(report.problem);
        all.n_tokens += report.n_tokens;
    }
    return all;
}

/// How `tidy_rows` renames columns: remap[v], -1 drops v; an empty remap keeps all.
struct Renaming {
    std::span<const int64_t> remap;
    int64_t n_words;    // ids after renaming are below this
    int64_t first_row;  // messages count rows from here
};

/// Row n of X, tidied, at index[out] and value[out]. Returns where it ends.
inline size_t tidy_row(const Csr<float>& X, size_t n, const Renaming& how, std::vector<uint64_t>& order, size_t out,
                       std::span<int32_t> index, std::span<float> value) {
    const auto& [remap, n_words, first_row] = how;
    const int64_t row = first_row + int64_t(n), begin = X.indptr[n], end = X.indptr[n + 1];
    const int64_t n_old = remap.empty() ? n_words : int64_t(remap.size());
    if (end - begin > std::numeric_limits<uint32_t>::max())
        throw std::invalid_argument("row " + std::to_string(row) + ": more than 2^32 entries");
    const size_t start = out;
    int64_t last = -1;
    bool sorted = true;
    order.clear();  // word << 32 | place in the row: duplicates are summed in the order they came
    for (int64_t i = begin; i < end; ++i) {
        int64_t v = X.index[i];
        if (v < 0 || v >= n_old)
            throw std::invalid_argument(at(row, v) + "the column is outside the " + std::to_string(n_old) + " words");
        if (!is_count(X.value[i])) throw std::invalid_argument(at(row, v) + value_problem(X.value[i]));
        if (!remap.empty()) v = remap[size_t(v)];
        if (v == -1 || X.value[i] == 0) continue;
        if (v < 0 || v >= n_words)
            throw std::invalid_argument("remap sends column " + std::to_string(X.index[i]) + " to " +
                                        std::to_string(v) + ", outside the " + std::to_string(n_words) + " words");
        sorted &= v > last;
        last = v;
        order.push_back(uint64_t(v) << 32 | uint64_t(i - begin));
        index[out] = int32_t(v);
        value[out++] = X.value[i];
    }
    if (sorted) return out;
    std::sort(order.begin(), order.end());
    out = start;
    for (size_t j = 0; j < order.size();) {
        const uint64_t v = order[j] >> 32;
        double sum = 0;
        for (; j < order.size() && order[j] >> 32 == v; ++j) sum += double(X.value[size_t(begin) + uint32_t(order[j])]);
        if (!is_count(float(sum)))
            throw std::invalid_argument(at(row, int64_t(v)) + "the summed count does not fit in single precision");
        index[out] = int32_t(v);
        value[out++] = float(sum);
    }
    return out;
}

/// Writes the rows again with columns renamed, sorted, duplicates summed and zeros dropped. Returns the new nnz.
inline size_t tidy_rows(const Csr<float>& X, const Renaming& how, int threads, std::span<int64_t> indptr,
                        std::span<int32_t> index, std::span<float> value) {
    if (const std::string problem = indptr_problem(X, 0, X.rows()); !problem.empty())
        throw std::invalid_argument(problem);
    constexpr size_t kBlock = 1 << 8;  // rows
    const size_t n_blocks = (X.rows() + kBlock - 1) / kBlock;
    std::vector<std::string> problem(n_blocks);  // the first in the order of rows is reported, not the first in time
    std::vector<std::vector<uint64_t>> order(size_t(std::max(threads, 1)));
    parallel_for(X.rows(), kBlock, threads, [&](size_t begin, size_t end, size_t t) {
        try {
            size_t out = size_t(X.indptr[begin]);  // rows do not grow, so a block has room where it was
            for (size_t n = begin; n < end; ++n) {
                const size_t start = out;
                out = tidy_row(X, n, how, order[t], out, index, value);
                indptr[n + 1] = int64_t(out - start);
            }
        } catch (const std::invalid_argument& error) {
            problem[begin / kBlock] = error.what();
        }
    });
    for (const std::string& p : problem)
        if (!p.empty()) throw std::invalid_argument(p);

    // Blocks move together where something was dropped.
    indptr[0] = 0;
    for (size_t b = 0; b < n_blocks; ++b) {
        const size_t begin = b * kBlock, end = std::min(begin + kBlock, X.rows());
        const ptrdiff_t from = X.indptr[begin], to = indptr[begin];
        for (size_t n = begin; n < end; ++n) indptr[n + 1] += indptr[n];
        const ptrdiff_t size = indptr[end] - to;
        if (from == to) continue;
        std::copy_n(index.begin() + from, size, index.begin() + to);
        std::copy_n(value.begin() + from, size, value.begin() + to);
    }
    return size_t(indptr[X.rows()]);
}

}  // namespace topmix
