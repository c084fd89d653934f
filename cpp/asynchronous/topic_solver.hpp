// The responsibilities of a document's words in a block, Eqs. (3.26) and (3.28), and what they add up to.
//
//     u_k = e_vk w_k,   phi_k = u_k / s       all topics, or the C largest: then all others have the same share of s
//
// Sums go by sixteens of topics. No phi leaves this file.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "asynchronous/topic_tables.hpp"
#include "simd/select.hpp"

namespace topmix::asynchronous {

class TopicSolver {
  public:
    explicit TopicSolver(const SharedTopics& shared)
        : tables(shared),
          doc(tables.vectors),
          K_(shared.K),
          C_(shared.C),
          tail_(shared.tail),
          u_(tables.vectors),
          value_(K_ + 2 * kWidth),
          id_(value_.size()) {
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

    /// A visit begins. In the warm-up, which does not climb the bound, `mean` does.
    void open(size_t rows, size_t entries, bool warm_up) {
        warming_up_ = warm_up;
        tails_.clear();
        evens_.clear();
        word.assign(rows * tables.vectors, Vector{});
        spread.assign(rows, 0.0);
        sums_.resize(entries);
        at_ = 0;
        entropy = 0;
    }

    /// One document's entries, under the tables.
    void pair(std::span<const uint16_t> row, std::span<const float> count) {
        std::ranges::fill(doc, Vector{});
        doc_even = 0;
        // Few topics are left of most documents: there is nothing to choose then.
        const bool keeps_all = all() || Lanes<float>::count_ge(numbers(tables.w), K_, kTiny) <= C_;
        keeps_all ? solve<true>(row, count) : solve<false>(row, count);
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
    void solve(std::span<const uint16_t> row, std::span<const float> count) {
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
                const Share share = keep(z, row[i]);
                sums_[at_++] = share.sum;
                float even = count[i] * share.tail / share.sum;
                if (!(even <= count[i])) even = count[i] * (share.tail / share.sum);  // the product was infinite
                const float a = count[i] / share.sum;
                float *of_doc = numbers(doc), *of_word = reinterpret_cast<float*>(back);
                for (size_t l = 0; l < share.kept; ++l) {
                    const float x = larger(a * value_[l] - even, 0.f);
                    of_doc[id_[l]] += x, of_word[id_[l]] += x;
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
        float sum, tail;                  // of all u; each of those that are not kept counts as `tail` in it
        size_t kept;                      // how many are kept
        float others = 0, kept_logs = 0;  // how many are not; sum of log u over what is kept
    };

    /// Of the entry with weights u_, which sum to z: puts what is kept into value_ and id_. Of equal weights the first
    /// are kept.
    Share keep(float z, size_t r) {
        float* u = numbers(u_);
        const size_t n = Lanes<float>::filter_ge(u, K_, z * kNothing, value_.data(), id_.data(), value_.size());
        if (n <= C_) return {z, 0, n};
        select_top_l(std::span<const float>(u, K_), C_, id_.data(), value_.data());
        const float *log_e = numbers(tables.log_e) + r * stride(), *log_w = numbers(tables.log_w);
        float top = 0, logs = 0;
        for (size_t l = 0; l < C_; ++l) {
            top += value_[l], logs += log_e[id_[l]] + log_w[id_[l]];
            u[id_[l]] = 0;
        }
        const float others = float(K_ - C_);
        if (is_best()) {
            const double left = tables.log_e_all[r] + tables.log_all - double(logs);
            const float tail = math::exp(float(left) / others);
            return {top + others * tail, tail, C_, others, logs};
        }
        Vector low{};
        for (const Vector& rest : u_) low += rest;
        return {z, topmix::sum(low) / others, C_, others, logs};
    }

    const size_t K_, C_;
    const Tail tail_;
    std::vector<Vector> u_;     // [vectors] weights of the entry at hand
    std::vector<float> value_;  // [K] what an entry keeps, and its topics
    std::vector<int32_t> id_;
    Vector last_{};  // the trace in the last vector: nothing beyond K
    bool warming_up_ = false;
    std::vector<float> sums_;           // [entries of the visit]
    std::vector<float> tails_, evens_;  // of those that have others than what they keep, where not the best is done
    size_t at_ = 0;
};

}  // namespace topmix::asynchronous
