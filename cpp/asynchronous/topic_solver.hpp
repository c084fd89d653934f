// The responsibilities of a document's words in a block, Eqs. (3.26) and (3.28), and what they add up to.
//
//     u_k = e_vk w_k,   phi_k = u_k / s       all topics, or the C largest: then all others have the same share of s
//
// Sums go by sixteens of topics. No phi leaves this file.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "asynchronous/topic_tables.hpp"
#include "simd/lanes.hpp"

namespace topmix::asynchronous {

class TopicSolver {
  public:
    explicit TopicSolver(const SharedTopics& shared)
        : tables(shared), doc(tables.vectors), K_(shared.K), C_(shared.C), tail_(shared.tail), u_(tables.vectors) {
        for (size_t k = (tables.vectors - 1) * kWidth; k < K_; ++k) last_[k % kWidth] = kTrace;
    }

    TopicTables tables;
    std::vector<Vector> doc;     // [vectors] c phi of the pair's entries, less what all topics have
    float doc_even = 0;          // what all topics have of the pair
    std::vector<Vector> word;    // [rows, vectors] likewise of the visit, by word
    std::vector<double> spread;  // [rows] what all topics have
    double entropy = 0;          // of the visit: sum c H[phi], once close() was called

    bool all() const { return C_ >= K_; }
    /// Whether what is not kept gets what is best for the bound: then tables need the sums of their logarithms.
    bool is_best() const { return !all() && tail_ == Tail::best && !warming_up_; }

    /// A visit begins. In the warm-up, which does not climb the bound, `mean` does, and a few less than C may be kept.
    void open(size_t rows, size_t entries, bool warm_up) {
        warming_up_ = warm_up;
        slack_ = warm_up ? C_ / 8 : 0;
        tails_.clear();
        evens_.clear();
        word.assign(rows * tables.vectors, Vector{});
        spread.assign(rows, 0.0);
        sums_.resize(entries);
        at_ = 0;
        entropy = 0;
    }

    /// One document's entries, under the tables. `cut` [entries] is where the last visit cut, or nothing if all are
    /// kept.
    void pair(std::span<const uint16_t> row, std::span<const float> count, float* cut) {
        std::ranges::fill(doc, Vector{});
        doc_even = 0;
        // Few topics are left of most documents: there is nothing to choose then.
        const bool keeps_all = all() || Lanes<float>::count_ge(numbers(tables.w), K_, kTiny) <= C_;
        keeps_all ? solve<true>(row, count, cut) : solve<false>(row, count, cut);
        double cross = 0;
        const float *x = numbers(doc), *log_w = numbers(tables.log_w);
#pragma omp simd reduction(+ : cross)
        for (size_t k = 0; k < K_; ++k) cross += double(x[k]) * double(log_w[k]);
        if (is_best()) cross += double(doc_even) * tables.log_all;
        entropy -= cross;
    }

    /// Adds sum c log s, and what the words' tables say of their counts.
    void close(std::span<const float> count) {
        double logs = 0, cross = 0;
        const float *s = sums_.data(), *c = count.data();
#pragma omp simd reduction(+ : logs)
        for (size_t i = 0; i < sums_.size(); ++i) logs += double(c[i]) * double(math::log(s[i]));
        for (size_t r = 0; r < spread.size(); ++r) {
            const float *log_e = numbers(tables.log_e) + r * stride(), *x = numbers(word) + r * stride();
#pragma omp simd reduction(+ : cross)
            for (size_t k = 0; k < K_; ++k) cross += double(x[k]) * double(log_e[k]);
            if (is_best()) cross += spread[r] * tables.log_e_all[r];
        }
        const float *tail = tails_.data(), *even = evens_.data();
#pragma omp simd reduction(+ : cross)
        for (size_t i = 0; i < tails_.size(); ++i) cross += double(even[i]) * double(math::log(tail[i]));
        entropy += logs - cross;
    }

    size_t stride() const { return tables.vectors * kWidth; }

  private:
    static constexpr float kTrace = 1e-30f;   // of every topic: no product is subnormal, and no sum zero
    static constexpr float kNothing = 1e-9f;  // of an entry: a topic with less is as good as none

    template <bool All>
    void solve(std::span<const uint16_t> row, std::span<const float> count, float* cut) {
        const size_t J = tables.vectors;
        const Vector *w = tables.w.data(), trace = kTrace + Vector{};
        Vector *u = u_.data(), *A = doc.data();
        for (size_t i = 0; i < row.size(); ++i) {
            const Vector* e = &tables.e[row[i] * J];
            Vector *back = &word[row[i] * J], s = u[J - 1] = e[J - 1] * w[J - 1] + last_;
            for (size_t j = 0; j + 1 < J; ++j) s += u[j] = e[j] * w[j] + trace;
            const float z = topmix::sum(s);
            if constexpr (All) {
                sums_[at_++] = z;
                const Vector a = count[i] / z + Vector{};
                for (size_t j = 0; j < J; ++j) A[j] += a * u[j], back[j] += a * u[j];
            } else {
                const Share share = keep(z, row[i], cut[i]);
                sums_[at_++] = share.sum;
                float even = count[i] * share.tail / share.sum;
                if (!(even <= count[i])) even = count[i] * (share.tail / share.sum);  // the product was infinite
                const Vector a = count[i] / share.sum + Vector{}, b = even + Vector{}, t = share.cut + Vector{};
                for (size_t j = 0; j < J; ++j) {
                    const Vector x = choose(u[j] >= t, larger(a * u[j] - b, Vector{}), Vector{});
                    A[j] += x, back[j] += x;
                }
                doc_even += even;
                spread[row[i]] += double(even);
                if (!is_best() && even > 0) {
                    entropy -= double(even) * double(share.kept_logs);
                    tails_.push_back(share.tail);
                    evens_.push_back(even * share.others);
                }
            }
        }
    }

    struct Share {
        float sum, cut, tail;             // of all u; what is kept is >= cut; each of the others counts as `tail` in it
        float others = 0, kept_logs = 0;  // how many; sum of log u over what is kept
    };

    /// Of the entry with weights u_, which sum to z.
    Share keep(float z, size_t r, float& last_cut) {
        const float nothing = z * kNothing;
        const size_t n = Lanes<float>::count_ge(numbers(u_), K_, nothing);
        if (n <= C_) return {z, nothing, 0};
        const auto [t, kept] = threshold(numbers(u_), nothing, n, z, last_cut * z);
        last_cut = t / z;
        const Vector cut = t + Vector{}, *log_e = &tables.log_e[r * tables.vectors], *log_w = tables.log_w.data();
        Vector top{}, low{}, logs{};
        for (size_t j = 0; j < tables.vectors; ++j) {
            const auto in = u_[j] >= cut;
            top += choose(in, u_[j], Vector{});
            low += choose(in, Vector{}, u_[j]);
            logs += choose(in, log_e[j] + log_w[j], Vector{});
        }
        const float others = float(K_ - kept), kept_logs = topmix::sum(logs);
        if (!is_best()) return {z, t, topmix::sum(low) / others, others, kept_logs};
        const double left = tables.log_e_all[r] + tables.log_all - double(kept_logs);
        const float tail = math::exp(float(left) / others);
        return {topmix::sum(top) + others * tail, t, tail, others, kept_logs};
    }

    struct Cut {
        float t;
        size_t kept;
    };

    /// A number that C of u reach, or a few less in the warm-up, where n > C reach `least` and none is over `most`. The
    /// first try is where it lay at the last visit, the next ones where it would be if logarithms were spread evenly.
    /// Of equal weights the first are kept; the others are made a little less.
    Cut threshold(float* u, float least, size_t n, float most, float guess) const {
        // The bits of positive numbers are in their order, and nearly as their logarithms.
        int64_t low = std::bit_cast<int32_t>(least), high = std::bit_cast<int32_t>(most) + 1;
        int64_t middle = std::bit_cast<int32_t>(guess), below = int64_t(n), above = 0;  // how many reach low, and high
        for (unsigned tries = 1; high - low > 1; ++tries) {
            middle = std::clamp(middle, low + 1, high - 1);
            const float t = std::bit_cast<float>(int32_t(middle));
            const size_t found = Lanes<float>::count_ge(u, K_, t);
            if (found <= C_ && found + slack_ >= C_) return {t, found};
            (found > C_ ? low : high) = middle;
            (found > C_ ? below : above) = int64_t(found);
            middle = tries % 4 ? low + (high - low) * (below - int64_t(C_)) / (below - above) : (low + high) / 2;
        }
        const float t = std::bit_cast<float>(int32_t(low)), less = std::bit_cast<float>(int32_t(low - 1));
        size_t surplus = Lanes<float>::count_ge(u, K_, t) - C_;
        for (size_t k = K_; surplus > 0;)
            if (u[--k] == t) u[k] = less, --surplus;
        return {t, C_};
    }

    const size_t K_, C_;
    const Tail tail_;
    std::vector<Vector> u_;  // [vectors] weights of the entry at hand
    Vector last_{};          // the trace in the last vector: nothing beyond K
    bool warming_up_ = false;
    size_t slack_ = 0;
    std::vector<float> sums_;           // [entries of the visit]
    std::vector<float> tails_, evens_;  // of those that have others than what they keep, where not the best is done
    size_t at_ = 0;
};

}  // namespace topmix::asynchronous
