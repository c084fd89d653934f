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
inline std::string indptr_problem(const Csr<float>& X, size_t begin, size_t end) {
    for (size_t n = begin; n < end; ++n)
        if (X.indptr[n] < 0 || X.indptr[n] > X.indptr[n + 1] || X.indptr[n + 1] > int64_t(X.index.size()))
            return "row " + std::to_string(n) + ": indptr goes from " + std::to_string(X.indptr[n]) + " to " +
                   std::to_string(X.indptr[n + 1]) + ", but must rise from 0 to " + std::to_string(X.index.size());
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

/// Writes the rows again with columns renamed (remap[v], -1 drops v; an empty remap keeps all), sorted, duplicates
/// summed and zeros dropped. Returns the new nnz. Messages count rows from first_row.
inline size_t tidy_rows(const Csr<float>& X, std::span<const int64_t> remap, int64_t n_words, int64_t first_row,
                        std::span<int64_t> indptr, std::span<int32_t> index, std::span<float> value) {
    if (const std::string problem = indptr_problem(X, 0, X.rows()); !problem.empty())
        throw std::invalid_argument(problem);
    std::vector<uint64_t> order;  // word << 32 | place in the row: duplicates are summed in the order they came
    size_t out = 0;
    indptr[0] = 0;
    for (size_t n = 0; n < X.rows(); ++n) {
        const int64_t begin = X.indptr[n], end = X.indptr[n + 1];
        if (end - begin > std::numeric_limits<uint32_t>::max())
            throw std::invalid_argument("row " + std::to_string(first_row + int64_t(n)) + ": more than 2^32 entries");
        const size_t start = out;
        int64_t last = -1;
        bool sorted = true;
        order.clear();
        for (int64_t i = begin; i < end; ++i) {
            int64_t v = X.index[i];
            if (v < 0 || v >= (remap.empty() ? n_words : int64_t(remap.size())))
                throw std::invalid_argument(at(first_row + int64_t(n), v) + "the column is outside the " +
                                            std::to_string(remap.empty() ? n_words : int64_t(remap.size())) + " words");
            if (!is_count(X.value[i]))
                throw std::invalid_argument(at(first_row + int64_t(n), v) + value_problem(X.value[i]));
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
        if (!sorted) {
            std::sort(order.begin(), order.end());
            out = start;
            for (size_t j = 0; j < order.size();) {
                const uint64_t v = order[j] >> 32;
                double sum = 0;
                for (; j < order.size() && order[j] >> 32 == v; ++j)
                    sum += double(X.value[size_t(begin) + uint32_t(order[j])]);
                if (!is_count(float(sum)))
                    throw std::invalid_argument(at(first_row + int64_t(n), int64_t(v)) +
                                                "the summed count does not fit in single precision");
                index[out] = int32_t(v);
                value[out++] = float(sum);
            }
        }
        indptr[n + 1] = int64_t(out);
    }
    return out;
}

}  // namespace topmix
