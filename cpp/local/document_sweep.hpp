// One update of a document's responsibilities, and what it gives to each topic.
//
//     r_uk ~ P_k e_uk,   N_k = sum_u c_u r_uk,   P_k = weight(N_k + alpha_k)                       Eqs. (3.5)-(3.7)
//
// Everything stays out of log space: e_uk was exponentiated once per update, P_k once per iteration, and the inner loop
// is a multiply-add over the document's active topics.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "local/document_table.hpp"
#include "simd/select.hpp"

namespace topmix {

class DocumentSweep : public DocumentTable {
  public:
    using DocumentTable::DocumentTable;

    int64_t iterations = 0;  // over all documents

  protected:
    std::vector<Block> sums, shares;  // [topics]
    std::vector<float> row, chosen;   // [topics]
    std::vector<int32_t> id;

    /// P_k of Eq. (3.6); a topic without tokens has left, and weighs nothing. Scaled by a common factor in the
    /// variational case, where exp(psi) of a small count would underflow.
    void weights() {
        const size_t n = topic.size();
        if (opt.posterior == Posterior::collapsed) {
            for (size_t j = 0; j < n; ++j) {
                least[j] = N[j] > 0 ? alpha[j] : 0.f;
                P[j] = N[j] + least[j];
            }
            return;
        }
        float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
        for (size_t j = 0; j < n; ++j) {
            logP[j] = N[j] > 0 ? math::digamma(N[j] + alpha[j]) : -1e30f;
            largest = std::max(largest, logP[j]);
        }
#pragma omp simd
        for (size_t j = 0; j < n; ++j) {
            logP[j] -= largest;
            P[j] = math::exp(logP[j]);
        }
    }

    /// One update of all responsibilities: N from P, into `next`. Returns sum_u c_u log s_u when asked.
    template <bool Exclude, bool Judge>
    double sweep() {
        const size_t n = topic.size();
        sums.assign(n, Block{});
        double log_s = 0;
        if constexpr (Exclude) {
            for (size_t b = 0; b < blocks; ++b) reweigh_excluding(b);
        } else {
            size_t b = 0;
            for (; b + 4 <= blocks; b += 4) log_s += reweigh<4, Judge>(b);
            for (; b < blocks; ++b) log_s += reweigh<1, Judge>(b);
        }
        for (size_t j = 0; j < n; ++j) next[j] = sum(sums[j]) * (Exclude ? 1.f : P[j]);
        return log_s;
    }

    /// The same with each word's top L alone, nothing excluded. Returns sum_u c_u log s_u.
    double sweep_top_l() {
        const size_t n = topic.size();
        row.resize(n);
        chosen.resize(opt.L);
        id.resize(std::max(opt.L, n));
        std::fill_n(next.begin(), n, 0.f);
        double log_s = 0;
        for (size_t u = 0; u < words.size(); ++u) {
            const Block* e = &E[u / kBlock * width];
            for (size_t j = 0; j < n; ++j) row[j] = P[j] * e[j][u % kBlock];
            select_top_l(std::span<const float>(row), opt.L, id.data(), chosen.data());
            float s = 0;
            for (size_t l = 0; l < opt.L; ++l) s += row[size_t(id[l])];
            s = std::max(s, kTiny);
            for (size_t l = 0; l < opt.L; ++l) next[size_t(id[l])] += counts[u] * row[size_t(id[l])] / s;
            log_s += double(counts[u]) * std::log(double(s));
        }
        return log_s;
    }

    /// Several blocks side by side: the sum over topics is a chain of additions, each waiting for the last.
    template <size_t Several, bool Judge>
    double reweigh(size_t b) {
        const size_t n = topic.size(), step = width;
        const float* __restrict p = P.data();
        const Block* __restrict e = is_masked() ? &M[b * width] : &E[b * width];
        Block* __restrict out = sums.data();
        Block s[Several]{}, q[Several];
        for (size_t j = 0; j < n; ++j)
            for (size_t i = 0; i < Several; ++i) s[i] += p[j] * e[i * step + j];
        for (size_t i = 0; i < Several; ++i) q[i] = C[b + i] / larger(s[i], kTiny + Block{});
        for (size_t j = 0; j < n; ++j) {
            Block x = out[j];
            for (size_t i = 0; i < Several; ++i) x += q[i] * e[i * step + j];
            out[j] = x;
        }
        double log_s = 0;
        if constexpr (Judge)
            for (size_t i = 0; i < Several; ++i)
                for (size_t u = 0; u < kBlock; ++u) log_s += double(C[b + i][u]) * std::log(double(s[i][u]));
        return log_s;
    }

    /// The token aside, its topic still has the prior.
    void reweigh_excluding(size_t b) {
        const size_t n = topic.size();
        const Block* __restrict e = is_masked() ? &M[b * width] : &E[b * width];
        Block* __restrict r = &R[b * width];
        Block s{};
        for (size_t j = 0; j < n; ++j) {
            r[j] = larger(P[j] - own[b] * r[j], least[j] + Block{}) * e[j];
            s += r[j];
        }
        const Block q = 1.f / larger(s, kTiny + Block{});
        for (size_t j = 0; j < n; ++j) {
            r[j] *= q;
            sums[j] += C[b] * r[j];
        }
    }

    void update() {
        if (excludes)
            sweep<true, false>();
        else
            sweep<false, false>();
        ++iterations;
    }

    /// The top L of each word, of all topics in the document; until the next selection only these are reweighted.
    void select() {
        if (!is_masked()) return;
        const size_t n = topic.size();
        row.resize(n);
        chosen.resize(opt.L);
        id.resize(std::max(opt.L, n));
        for (size_t b = 0; b < blocks; ++b) {
            const Block* e = &E[b * width];
            Block* m = &M[b * width];
            std::fill_n(m, n, Block{});
            for (size_t i = 0; i < kBlock; ++i) {
                for (size_t j = 0; j < n; ++j) row[j] = P[j] * e[j][i];
                select_top_l(std::span<const float>(row), opt.L, id.data(), chosen.data());
                for (size_t l = 0; l < opt.L; ++l) m[id[l]][i] = e[id[l]][i];
            }
        }
    }
};

}  // namespace topmix
