// The objective of combinatorial topics at the best psi, and its terms.  docs/math.md Eq. (3.16).
//
//     sum_k G(n_k) - sum_vk G(n_vk) + lambda sum_d (topics used by d),      G(n) = n log n
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/views.hpp"
#include "chains/tokens.hpp"

namespace topmix {

inline double n_log_n(double n) { return n > 0 ? n * std::log(n) : 0.0; }

/// sum_k G(n_k) - sum_vk G(n_vk): distances of all tokens to their topics at the optimum.
inline double distance_of_tokens(Rows<const int32_t> word, std::span<const int64_t> total, int threads) {
    const size_t V = word.rows();
    std::vector<double> part((V + kWordGrain - 1) / kWordGrain);
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        double s = 0;
        for (size_t v = begin; v < end; ++v) {
            const int32_t* n = word[v].data();
#pragma omp simd reduction(+ : s)
            for (size_t k = 0; k < word.cols; ++k) s += n[k] * math::log(std::max(double(n[k]), 1.0));
        }
        part[begin / kWordGrain] = s;
    });
    double sum = 0;
    for (const int64_t n : total) sum += n_log_n(double(n));
    for (const double s : part) sum -= s;
    return sum;
}

/// Topics that documents use, summed over documents.
inline size_t topics_in_use(const Tokens& tokens, size_t K, int threads) {
    const size_t docs = tokens.X.rows();
    std::vector<size_t> part((docs + kCountDocuments - 1) / kCountDocuments);
    parallel_for(docs, kCountDocuments, threads, [&](size_t begin, size_t end, size_t) {
        std::vector<uint32_t> last(K);  // the document that used a topic last, counted from 1
        size_t n = 0;
        for (size_t d = begin; d < end; ++d)
            for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) {
                uint32_t& by = last[tokens.z[size_t(i)]];
                n += by != d + 1 - begin, by = uint32_t(d + 1 - begin);
            }
        part[begin / kCountDocuments] = n;
    });
    size_t sum = 0;
    for (const size_t n : part) sum += n;
    return sum;
}

/// G(n) = n log n, and what c more are worth, looked up for numbers below 2^16.
class Entropies {
  public:
    static constexpr size_t kSteps = 16;

    /// For counts up to `most`, and fewer than kSteps more.
    explicit Entropies(int64_t most) : G_(std::min<size_t>(size_t(most) + kSteps, 1 << 16)) {
        for (size_t n = 0; n < G_.size(); ++n) G_[n] = n_log_n(double(n));
    }

    double operator()(int64_t n) const { return size_t(n) < G_.size() ? G_[size_t(n)] : n_log_n(double(n)); }
    double rise(int64_t n, int64_t by) const { return (*this)(n + by) - (*this)(n); }

    /// [n] G(n + by) - G(n), by < kSteps. The caller makes sure that n + by is below size().
    const float* rises(size_t by) {
        auto& table = rises_[by];
        if (table.empty())
            for (size_t n = 0; n + by < G_.size(); ++n) table.push_back(float(G_[n + by] - G_[n]));
        return table.data();
    }
    size_t size() const { return G_.size(); }

  private:
    std::vector<double> G_;
    std::array<std::vector<float>, kSteps> rises_;
};

}  // namespace topmix
