// Combinatorial topics (Jiang, Sra & Kulis 2016): every token has one topic, and every topic a document uses costs
// lambda.
//
//     minimise  sum over tokens of D_vz + lambda sum_d (topics used by d),      D_vk = -log psi_kv     Eq. (3.16)
//
// psi_kv = n_vk / n_k, fixed while documents are visited, each on its own:
//
//   basic   token by token to the nearest topic, where one that the document does not use yet is lambda farther
//   word    facility location: repeatedly open the topic, and take the tokens, with the least cost per token
//
//     (f_k + sum over W of D_vk) / |W|,      f_k = lambda, or 0 once k is open                         Eq. (3.17)
//
// For a closed topic the best W is every unmarked token nearer than the quotient rho itself, which solves
//     sum_u c_u max(rho_k - D_uk, 0) = lambda,
// a convex equation that Newton's method descends in a few passes over the entries, for sixteen topics side by side: no
// sorting. As tokens are marked rho only rises, so what was computed is a lower bound, and sixteen topics are looked at
// again, from their bounds, only when one of those is the least. An open topic takes tokens one at a time, those nearer
// than every bound at once.
// A token that was taken stays, even where a topic that opens later is nearer. The objective knows no proportions of
// topics; tokens that the document's large topics took first belong to them more often than it says.
// A document of U different words costs O(U K), and O(U) for sixteen topics that are looked at again.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/views.hpp"
#include "chains/tokens.hpp"
#include "simd/block.hpp"

namespace topmix {

/// Scratch of one thread, on cache lines of its own: a document at a time.
class alignas(64) HardDocument {
  public:
    HardDocument(Rows<const float> distance, size_t n_topics, double penalty)
        : D(distance),
          K(n_topics),
          lambda(float(penalty)),
          key(distance.cols / kBlock),
          low(distance.cols / kBlock),
          seen(distance.cols / kBlock),
          used(distance.cols),
          extra(distance.cols),
          far(distance.cols) {}

    /// Algorithm 1. Never raises the document's cost: a token may stay where it is.
    void basic(const Tokens& tokens, size_t d) {
        count_topics(tokens, d);
        for (size_t k = 0; k < D.cols; ++k) extra[k] = used[k] ? 0.f : lambda;
        TopicId* z = tokens.z.data() + tokens.first[d];
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u)
            for (auto n = int64_t(tokens.X.value[size_t(u)]); n > 0; --n, ++z) {
                const float* row = D[size_t(tokens.X.index[size_t(u)])].data();
                for (size_t k = 0; k < K; ++k) far[k] = row[k] + extra[k];
                const auto best = size_t(std::min_element(far.begin(), far.begin() + ptrdiff_t(K)) - far.begin());
                if (!(far[best] < row[*z])) continue;
                if (--used[*z] == 0) extra[*z] = lambda;
                *z = TopicId(best);
                if (used[best]++ == 0) extra[best] = 0;
            }
        forget(tokens, d);
    }

    /// Algorithm 2. Keeps what the document had unless the new assignment costs less. Returns its cost in the end.
    double word(const Tokens& tokens, size_t d) {
        const double before = cost(tokens, d);
        assign(tokens, d);
        const double after = price();
        if (!(after < before - 1e-6 * std::abs(before))) return before;
        put(tokens, d);
        return after;
    }

    /// The same for a document that had nothing: what Algorithm 2 alone says.
    double place(const Tokens& tokens, size_t d) {
        assign(tokens, d);
        put(tokens, d);
        return price();
    }

  private:
    Rows<const float> D;  // [V, padded(K)]
    size_t K;
    float lambda;
    std::vector<Block> key;                // [blocks] rho of each topic, or a bound below it; infinite once it is open
    std::vector<float> low;                // [blocks] the least of them
    std::vector<uint32_t> seen;            // [blocks] marks made when key was computed
    std::vector<int32_t> used;             // [K] tokens of the document
    std::vector<float> extra, far;         // [K] basic: what a first token in a topic costs; what a token costs there
    std::vector<const float*> rows;        // [U] distances of an entry
    std::vector<Block> near;               // [blocks, U] the same, sixteen topics at a time
    std::vector<float> copies, reach;      // [U] tokens; distance to the nearest open topic
    std::vector<uint32_t> topic, nearest;  // [U] where it goes; that open topic
    std::vector<uint32_t> left;            // entries without a mark
    std::vector<char> open;                // [K]
    size_t opened = 0;                     // topics

    void count_topics(const Tokens& tokens, size_t d) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) ++used[tokens.z[size_t(i)]];
    }
    void forget(const Tokens& tokens, size_t d) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) used[tokens.z[size_t(i)]] = 0;
    }

    double cost(const Tokens& tokens, size_t d) {
        const TopicId* z = tokens.z.data() + tokens.first[d];
        double sum = 0;
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            const float* row = D[size_t(tokens.X.index[size_t(u)])].data();
            for (auto n = int64_t(tokens.X.value[size_t(u)]); n > 0; --n, ++z) {
                sum += double(row[*z]);
                if (!used[*z]) used[*z] = 1, sum += double(lambda);
            }
        }
        forget(tokens, d);
        return sum;
    }

    /// What `assign` found costs.
    double price() const {
        double sum = double(lambda) * double(opened);
        for (size_t u = 0; u < rows.size(); ++u) sum += double(copies[u]) * double(rows[u][topic[u]]);
        return sum;
    }
    void put(const Tokens& tokens, size_t d) const {
        TopicId* z = tokens.z.data() + tokens.first[d];
        for (size_t u = 0; u < rows.size(); ++u)
            for (auto n = int64_t(copies[u]); n > 0; --n) *z++ = TopicId(topic[u]);
    }

    /// rho of the sixteen topics of block b over entries without a mark, from bounds below it: the first step of
    /// Newton's method goes beyond the solution, all others come back.
    void renew(size_t b) {
        constexpr float inf = std::numeric_limits<float>::infinity();
        const Block* __restrict x = &near[b * rows.size()];
        const float* __restrict c = copies.data();
        const uint32_t *i = left.data(), *const end = i + left.size(), *const even = i + left.size() / 2 * 2;
        Block rho = key[b];
        for (int round = 0; round < 60; ++round) {
            Block n{}, s{}, m{}, t{};  // two sums of each, so that one does not wait for the other
            for (i = left.data(); i < even; i += 2) {
                const auto in = x[i[0]] <= rho, also = x[i[1]] <= rho;
                n = choose(in, n + c[i[0]], n), s = choose(in, s + c[i[0]] * x[i[0]], s);
                m = choose(also, m + c[i[1]], m), t = choose(also, t + c[i[1]] * x[i[1]], t);
            }
            if (i < end) {
                const auto in = x[*i] <= rho;
                n = choose(in, n + c[*i], n), s = choose(in, s + c[*i] * x[*i], s);
            }
            n += m, s += t;
            const Block next = choose(n > 0.f, (lambda + s) / n, inf + Block{}), last = rho;
            rho = round == 0 ? next : choose(next < rho, next, rho);
            if (!differ(rho, last)) break;
        }
        key[b] = rho;
        for (size_t l = 0; l < kBlock; ++l)
            if (b * kBlock + l >= K || open[b * kBlock + l]) key[b][l] = inf;
        settle(b);
    }

    void settle(size_t b) {
        low[b] = key[b][0];
        for (size_t l = 1; l < kBlock; ++l) low[b] = std::min(low[b], key[b][l]);
    }

    /// Where Algorithm 2 puts each entry: topic [U]; `opened` of them, each with a token.
    void assign(const Tokens& tokens, size_t d) {
        const size_t at = size_t(tokens.X.indptr[d]), U = size_t(tokens.X.indptr[d + 1]) - at, blocks = key.size();
        constexpr float inf = std::numeric_limits<float>::infinity();
        rows.resize(U), copies.resize(U), left.resize(U), opened = 0;
        reach.assign(U, inf), topic.assign(U, 0), nearest.assign(U, 0), open.assign(D.cols, 0);
        if (near.size() < U * blocks) near.resize(U * blocks);
        for (size_t u = 0; u < U; ++u) {
            rows[u] = D[size_t(tokens.X.index[at + u])].data(), copies[u] = tokens.X.value[at + u];
            left[u] = uint32_t(u);
            for (size_t b = 0; b < blocks; ++b) std::memcpy(&near[b * U + u], rows[u] + b * kBlock, sizeof(Block));
        }
        if (U == 0) return;
        for (size_t b = 0; b < blocks; ++b) key[b] = inf + Block{}, seen[b] = 0, renew(b);
        float closest = inf;  // the least reach of an entry without a mark
        auto mark = [&](auto&& takes) {
            closest = inf;
            size_t kept = 0;
            for (const uint32_t u : left) {  // no branch: which entries are taken is unpredictable
                const bool taken = takes(u);
                left[kept] = u, kept += !taken;
                closest = !taken && reach[u] < closest ? reach[u] : closest;
            }
            left.resize(kept);
        };
        for (uint32_t marks = 0; !left.empty();) {
            const auto b = size_t(std::ranges::min_element(low) - low.begin());
            const float rho = low[b];
            if (closest <= rho) {
                mark([&](uint32_t u) {
                    topic[u] = nearest[u];
                    return reach[u] <= rho;
                });
                ++marks;
                continue;
            }
            if (seen[b] != marks) {
                seen[b] = marks, renew(b);
                continue;
            }
            size_t k = b * kBlock;
            while (key[b][k % kBlock] != rho) ++k;
            mark([&](uint32_t u) {
                const float x = rows[u][k];
                topic[u] = uint32_t(k);
                nearest[u] = x < reach[u] ? uint32_t(k) : nearest[u], reach[u] = std::min(reach[u], x);
                return x <= rho;
            });
            ++opened, ++marks;
            open[k] = 1, key[b][k % kBlock] = inf;
            settle(b);
        }
    }
};

}  // namespace topmix
