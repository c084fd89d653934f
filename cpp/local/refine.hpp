// Refinement of combinatorial topics (Jiang, Sra & Kulis 2016, Algorithm 3): all tokens that a document has in one
// topic, a mini-topic, move together to another topic where that lowers the objective.
//
// With psi at its optimum the distances add up to sum_k G(n_k) - sum_vk G(n_vk), G(n) = n log n. Moving S, c_v copies
// of word v and s in all, from t to k therefore changes only counts of the words in S:
//
//     Delta = sum_S [G(n_vt) - G(n_vt - c_v)] + G(n_t - s) - G(n_t)
//           - sum_S [G(n_vk + c_v) - G(n_vk)] + G(n_k + s) - G(n_k) - lambda [k is used by the document]      Eq.
//           (3.18)
//
// O(|S|) a candidate. For single copies the rise G(n + 1) - G(n) is looked up; the best candidate is computed once more
// in double, so that what is accepted does lower the objective. Counts follow each move, so documents come one after
// another, in an order that is given.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "gibbs.hpp"

namespace topmix {

inline double n_log_n(double n) { return n > 0 ? n * std::log(n) : 0.0; }

/// sum_k G(n_k) - sum_vk G(n_vk): distances of all tokens to their topics at the optimum.
inline double distance_of_tokens(Rows<const int32_t> word, std::span<const int64_t> total, int threads) {
    const size_t V = word.rows();
    std::vector<double> part((V + kWordGrain - 1) / kWordGrain);
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        double s = 0;
        for (size_t v = begin; v < end; ++v)
            for (const int32_t n : word[v])
                if (n > 1) s += n_log_n(n);
        part[begin / kWordGrain] = s;
    });
    double sum = 0;
    for (const int64_t n : total) sum += n_log_n(double(n));
    for (const double s : part) sum -= s;
    return sum;
}

class Refiner {
  public:
    Refiner(const TopicCounts& topic_counts, double penalty)
        : counts(topic_counts), lambda(penalty), K(counts.K()), used(K), gain(K), candidate(K) {
        int32_t most = 0;
        for (const int32_t n : counts.word) most = std::max(most, n);
        rise.resize(std::min<size_t>(size_t(most) + 2, 1 << 16));
        for (size_t n = 0; n < rise.size(); ++n) rise[n] = float(n_log_n(double(n) + 1) - n_log_n(double(n)));
    }

    /// Tries every mini-topic of document d once. Returns the change of the objective.
    double visit(const Tokens& tokens, size_t d) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i)
            if (used[tokens.z[size_t(i)]]++ == 0) present.push_back(tokens.z[size_t(i)]);
        double sum = 0;
        const std::vector<size_t> mine = present;
        for (const size_t t : mine) {
            if (used[t] == 0) continue;
            gather(tokens, d, t);
            weigh(t);
            size_t best = t;
            for (size_t k = 0; k < K; ++k)
                if (k != t && (best == t || candidate[k] < candidate[best])) best = k;
            if (best == t || !(candidate[best] < 0)) continue;
            const double change = delta(t, best);
            if (!(change < -1e-9)) continue;
            move(tokens, d, t, best);
            sum += change;
        }
        for (const size_t k : present) used[k] = 0;
        present.clear();
        return sum;
    }

    /// Delta to every topic, of the mini-topic that document d has in t; nothing moves. Delta to t itself is 0.
    void deltas(const Tokens& tokens, size_t d, size_t t, std::span<double> out) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i)
            if (used[tokens.z[size_t(i)]]++ == 0) present.push_back(tokens.z[size_t(i)]);
        gather(tokens, d, t);
        weigh(t);
        for (size_t k = 0; k < K; ++k) out[k] = k == t ? 0.0 : double(candidate[k]);
        for (const size_t k : present) used[k] = 0;
        present.clear();
    }

  private:
    const TopicCounts& counts;
    double lambda;
    size_t K;
    std::vector<float> rise;                       // G(n + 1) - G(n)
    std::vector<int32_t> used;                     // [K] tokens of the document
    std::vector<size_t> present;                   // topics that it has, or had
    std::vector<std::pair<size_t, int32_t>> mini;  // S: words and copies
    std::vector<float> gain;                       // [K] sum_S G(n_vk + c) - G(n_vk)
    std::vector<float> candidate;                  // [K] Delta
    int64_t size = 0;                              // s

    void gather(const Tokens& tokens, size_t d, size_t t) {
        mini.clear(), size = 0;
        const TopicId* z = tokens.z.data() + tokens.first[d];
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            int32_t copies = 0;
            for (auto left = int64_t(tokens.X.value[size_t(u)]); left > 0; --left, ++z) copies += *z == t;
            if (copies) mini.emplace_back(size_t(tokens.X.index[size_t(u)]), copies), size += copies;
        }
    }

    /// What t loses when S leaves it.
    double leaving(size_t t) const {
        double sum = 0;
        for (const auto& [v, c] : mini) {
            const double n = counts.word[v * K + t];
            sum += n_log_n(n) - n_log_n(n - c);
        }
        const double n = double(counts.total[t]);
        return sum + n_log_n(n - double(size)) - n_log_n(n);
    }

    double delta(size_t t, size_t k) const {
        double sum = leaving(t);
        for (const auto& [v, c] : mini) {
            const double n = counts.word[v * K + k];
            sum -= n_log_n(n + c) - n_log_n(n);
        }
        const double n = double(counts.total[k]);
        return sum + n_log_n(n + double(size)) - n_log_n(n) - (used[k] ? lambda : 0.0);
    }

    void weigh(size_t t) {
        std::ranges::fill(gain, 0.f);
        float* __restrict g = gain.data();
        const float* __restrict r = rise.data();
        const auto known = int32_t(rise.size());
        for (const auto& [v, c] : mini) {
            const int32_t* __restrict n = &counts.word[v * K];
            int32_t most = 0;
            if (c > 1 || known == 1 << 16) {
                for (size_t k = 0; k < K; ++k) most = std::max(most, n[k]);
            }
            if (most + c <= known) {
                for (int32_t copy = 0; copy < c; ++copy)
#pragma omp simd
                    for (size_t k = 0; k < K; ++k) g[k] += r[n[k] + copy];
            } else {
                for (size_t k = 0; k < K; ++k) g[k] += float(n_log_n(double(n[k]) + c) - n_log_n(n[k]));
            }
        }
        const double out = leaving(t), s = double(size);
        float* __restrict x = candidate.data();
        const int64_t* __restrict total = counts.total.data();
#pragma omp simd
        for (size_t k = 0; k < K; ++k) {
            const double n = double(total[k]), m = n + s;
            const double norm = m * math::log(std::max(m, 1.0)) - n * math::log(std::max(n, 1.0));
            x[k] = float(out - double(g[k]) + norm - (used[k] ? lambda : 0.0));
        }
    }

    void move(const Tokens& tokens, size_t d, size_t t, size_t k) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i)
            if (tokens.z[size_t(i)] == t) tokens.z[size_t(i)] = TopicId(k);
        for (const auto& [v, c] : mini) {
            counts.word[v * K + t] -= c;
            const int32_t n = counts.word[v * K + k] += c;
            while (size_t(n) + 1 >= rise.size() && rise.size() < 1 << 16) {
                const double x = double(rise.size());
                rise.push_back(float(n_log_n(x + 1) - n_log_n(x)));
            }
        }
        counts.total[t] -= size, counts.total[k] += size;
        if (used[k] == 0) present.push_back(k);
        used[k] += used[t], used[t] = 0;
    }
};

/// Every document in the order given. Returns the change of the objective.
inline double refine(const Tokens& tokens, std::span<const int32_t> order, double penalty, const TopicCounts& counts) {
    Refiner refiner(counts, penalty);
    double sum = 0;
    parallel_for(order.size(), kGibbsDocuments, 1, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; ++i) sum += refiner.visit(tokens, size_t(order[i]));
    });
    return sum;
}

}  // namespace topmix
