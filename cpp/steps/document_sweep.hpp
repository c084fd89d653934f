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
#include "simd/select.hpp"
#include "steps/document_table.hpp"

namespace topmix {

class DocumentSweep : public DocumentTable {
  public:
    using DocumentTable::DocumentTable;

    int64_t iterations = 0;  // over all documents

  protected:
    std::vector<Block> sums, shares;  // [topics]
    std::vector<float> row, chosen;   // [topics]
    std::vector<float> other, had;    // [topics]
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
            if (response) respond();
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
        if (response) respond();
    }

    /// What the document's response makes of the weights; tokens are not excluded then.
    void respond() {
        const std::span<const double> tilt = response.of(N);
        for (size_t j = 0; j < topic.size(); ++j) {
            const float factor = float(std::exp(tilt[j]));
            P[j] *= factor, logP[j] += float(tilt[j]);
        }
    }

    /// One update of all responsibilities: N from P, into `next`. Returns sum_u c_u log s_u when asked.
    template <bool Exclude, bool Judge>
    double sweep() {
        if (lists) return sweep_lists<Exclude, Judge>();
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
        const Block* __restrict e = &E[b * width];
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
        const Block* __restrict e = &E[b * width];
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

    /// The same over the lists: L topics of each word, however many the document has.
    template <bool Exclude, bool Judge>
    double sweep_lists() {
        const size_t n = topic.size();
        std::fill_n(next.begin(), n, 0.f);
        other.assign(n, 0.f);
        float* sums_of[2] = {next.data(), other.data()};  // words that follow each other share topics: they take turns
        had.resize(listed);
        double log_s = 0;
        for (size_t u = 0; u < words.size(); ++u) {
            const float s = share<Exclude>(u), q = counts[u] / larger(s, kTiny);
            float* to = sums_of[u % 2];
            for (size_t l = 0; l < listed; ++l) to[pick[u * listed + l]] += q * had[l];
            if constexpr (Exclude)
                for (size_t l = 0; l < listed; ++l) given[u * listed + l] = had[l] / larger(s, kTiny);
            if constexpr (Judge) log_s += double(counts[u]) * std::log(double(s));
        }
        for (size_t j = 0; j < n; ++j) next[j] += other[j];
        return log_s;
    }

    /// What the topics in the list of a word weigh, into `had`; returns their sum.
    template <bool Exclude>
    float share(size_t u) {
        const int32_t* j = &pick[u * listed];
        const float *e = &picked[u * listed], *r = &given[u * listed], one = std::min(counts[u], 1.f);
        float s = 0;
        for (size_t l = 0; l < listed; ++l) {
            const float p = P[size_t(j[l])];
            had[l] = (Exclude ? larger(p - one * r[l], least[size_t(j[l])]) : p) * e[l];
            s += had[l];
        }
        return s;
    }

    /// The top L of each word, of all topics in the document; until the next selection only these are reweighted.
    void select() {
        if (!lists) return;
        const size_t n = topic.size(), before = listed, now = std::min(opt.L, n);
        row.resize(n);
        chosen.resize(opt.L);
        id.resize(std::max(opt.L, n));
        other.assign(n, 0.f);
        at_least(pick, words.size() * opt.L);
        at_least(picked, words.size() * opt.L);
        at_least(given, words.size() * opt.L);
        for (size_t u = 0; u < words.size(); ++u) choose_topics(u, before, now);
        listed = now, stale = false;
    }

    /// The L best are no worse than the worst in the list of before, and few others are: those few are compared alone.
    /// False where they are not few.
    bool select_near(size_t u, size_t now) {
        float worst = std::numeric_limits<float>::infinity(), near[kNear];
        int32_t ids[kNear];
        for (size_t l = 0; l < now; ++l) worst = std::min(worst, row[size_t(pick[u * now + l])]);
        if (!(worst > 0)) return false;
        const size_t n = Lanes<float>::filter_ge(row.data(), row.size(), worst, near, ids, kNear);
        if (n < now || n > kNear) return false;  // fewer: a topic of the list has left
        select_top_l(std::span<const float>(near, n), now, id.data(), chosen.data());
        for (size_t l = 0; l < now; ++l) id[l] = ids[id[l]];
        return true;
    }
    static constexpr size_t kNear = 128;

    /// The lists shrink where topics leave and never grow, so that a new list never passes an old one.
    void choose_topics(size_t u, size_t before, size_t now) {
        const float* e = &W[u * width];
        for (size_t j = 0; j < row.size(); ++j) row[j] = P[j] * e[j];
        if (before != now || !select_near(u, now))
            select_top_l(std::span<const float>(row), now, id.data(), chosen.data());
        if (excludes)  // a topic that comes has nothing yet
            for (size_t l = 0; l < before; ++l) other[size_t(pick[u * before + l])] += given[u * before + l];
        for (size_t l = 0; l < now; ++l) chosen[l] = other[size_t(id[l])];
        if (excludes)
            for (size_t l = 0; l < before; ++l) other[size_t(pick[u * before + l])] = 0;
        for (size_t l = 0, at = u * now; l < now; ++l, ++at)
            pick[at] = id[l], picked[at] = e[id[l]], given[at] = chosen[l];
    }
};

}  // namespace topmix
