// Word-topic statistics of a shard: S_vk = sum of what the entries of word v give to topic k.  Eqs. (2.3), (3.8).
//
// Owner-computes: the entries of a word are added by one thread, in row order, in a buffer of K doubles that stays in
// cache, and the non-zeros of that buffer become a sparse row. So there are no atomics, the bits do not depend on the
// number of threads, and a memo takes min(entries x L, words x K) pairs, never more.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/views.hpp"

namespace topmix {

constexpr size_t kWordGrain =
    64;  // words a task; part of the contract on bits, because topic totals are summed per task

using TopicId = uint16_t;                // small ids: memos hold many of them
constexpr size_t kMaxTopics = 1u << 16;  // what TopicId can name

struct WordStats {
    std::vector<int64_t> indptr;  // [words + 1]
    std::vector<TopicId> topic;   // [pairs] ascending within a word
    std::vector<float> value;     // [pairs]
    std::vector<double> totals;   // [K] sum over words
};

/// A row of K sums that knows which of them were touched: a rare word costs what it has, not K.
class Row {
  public:
    explicit Row(size_t K) : sum_(K, 0.0), touched_((K + 63) / 64, 0) {}

    void add(size_t k, double x) {
        sum_[k] += x;
        touched_[k / 64] |= uint64_t(1) << (k % 64);
    }

    /// Calls out(k, sum) for what is not zero, ascending, and clears the row.
    template <class Out>
    void drain(Out&& out) {
        for (size_t w = 0; w < touched_.size(); ++w)
            for (uint64_t bits = std::exchange(touched_[w], 0); bits; bits &= bits - 1) {
                const size_t k = w * 64 + size_t(std::countr_zero(bits));
                if (const double x = std::exchange(sum_[k], 0.0); float(x) != 0) out(k, x);
            }
    }

  private:
    std::vector<double> sum_;
    std::vector<uint64_t> touched_;
};

/// add(order[i], row) adds what i stands for into the row of word v, for i from starts[v] to starts[v + 1].
template <class Order, class Add>
WordStats sum_by_word(std::span<const int64_t> starts, const Order& order, size_t K, int threads, Add&& add) {
    const size_t words = starts.size() - 1, tasks = (words + kWordGrain - 1) / kWordGrain;
    struct alignas(64) Piece {  // threads write to neighbours at the same time
        std::vector<TopicId> topic;
        std::vector<float> value;
        std::vector<double> totals;
    };
    std::vector<Piece> pieces(tasks);
    WordStats out;
    out.indptr.assign(words + 1, 0);

    parallel_for(words, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        Piece& piece = pieces[begin / kWordGrain];
        piece.totals.assign(K, 0.0);
        Row row(K);
        for (size_t v = begin; v < end; ++v) {
            for (int64_t i = starts[v]; i < starts[v + 1]; ++i) add(order[size_t(i)], row);
            const size_t before = piece.topic.size();
            row.drain([&](size_t k, double x) {
                piece.topic.push_back(TopicId(k));
                piece.value.push_back(float(x));
                piece.totals[k] += double(float(x));
            });
            out.indptr[v + 1] = int64_t(piece.topic.size() - before);
        }
    });

    out.totals.assign(K, 0.0);
    for (const Piece& piece : pieces)
        for (size_t k = 0; k < K; ++k) out.totals[k] += piece.totals[k];
    for (size_t v = 0; v < words; ++v) out.indptr[v + 1] += out.indptr[v];
    out.topic.resize(size_t(out.indptr[words]));
    out.value.resize(size_t(out.indptr[words]));
    parallel_for(tasks, 1, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t task = begin; task < end; ++task) {
            const auto at = out.indptr[task * kWordGrain];
            std::ranges::copy(pieces[task].topic, out.topic.begin() + at);
            std::ranges::copy(pieces[task].value, out.value.begin() + at);
        }
    });
    return out;
}

/// total[cols[j], :] += weight * row j
inline void add_word_stats(std::span<const int32_t> cols, std::span<const int64_t> indptr,
                           std::span<const TopicId> topic, std::span<const float> value, double weight, int threads,
                           Rows<double> total) {
    parallel_for(cols.size(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t j = begin; j < end; ++j) {
            double* row = total[size_t(cols[j])].data();
            for (int64_t i = indptr[j]; i < indptr[j + 1]; ++i) row[topic[i]] += weight * double(value[i]);
        }
    });
}

}  // namespace topmix
