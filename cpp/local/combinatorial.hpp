// Combinatorial topics (Jiang, Sra & Kulis 2016): every token has one topic, and every topic a document uses costs
// lambda.
//
//     minimise  sum over tokens of D_vz + lambda sum_d (topics used by d),      D_vk = -log psi_kv            Eq.
//     (3.16)
//
// psi_kv = n_vk / n_k, fixed while documents are visited, each on its own:
//
//   basic   token by token to the nearest topic, where one that the document does not use yet is lambda farther
//   word    facility location: again and again open the topic, and take the tokens, that cost least a token
//
//     (f_k + sum over W of D_vk) / |W|,      f_k = lambda, or 0 once k is open                                Eq.
//     (3.17)
//
// For a closed topic the best W is every unmarked token nearer than the quotient rho itself, which solves
//     sum_u c_u max(rho_k - D_uk, 0) = lambda,
// a convex equation that Newton's method descends in a few passes over the entries, for all K topics side by side: no
// sorting. As tokens are marked rho only rises, so what was computed is a lower bound, and a topic is looked at again
// only when its bound is the least. An open topic takes tokens one at a time, those nearer than every bound at once.
// A token that was taken stays, even where a topic that opens later is nearer: what the document's large topics took
// first is more often theirs than the objective, which knows no proportions, would say.
// A document of U different words costs O(U K), and O(U) for each topic that is looked at again.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "gibbs.hpp"

namespace topmix {

constexpr float kFar = 1e6f;  // where a topic does not have a word: infinitely far, for all that is compared with it

/// Columns of D: K and, to whole vectors, topics that do not exist and are far from everything.
inline size_t padded(size_t K) { return (K + kLanes - 1) / kLanes * kLanes; }

/// D_vk = -log((n_vk + smoothing) / (n_k + V smoothing)), at most kFar; D is [V, padded(K)].
inline void distances(Rows<const int32_t> word, std::span<const int64_t> total, double smoothing, int threads,
                      Rows<float> D) {
    const size_t K = total.size(), V = D.rows();
    std::vector<double> norm(K);
    for (size_t k = 0; k < K; ++k) norm[k] = std::log(std::max(double(total[k]) + double(V) * smoothing, 1e-300));
    parallel_for(V, kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t v = begin; v < end; ++v) {
            const int32_t* __restrict n = word[v].data();
            const double* __restrict b = norm.data();
            float* __restrict d = D[v].data();
#pragma omp simd
            for (size_t k = 0; k < K; ++k) {
                const double x = double(n[k]) + smoothing;
                d[k] = x > 0 ? float(b[k] - math::log(std::max(x, 1e-300))) : kFar;
            }
            std::fill(d + K, d + D.cols, kFar);
        }
    });
}

/// Scratch of one thread, on cache lines of its own: a document at a time.
class alignas(64) HardDocument {
  public:
    HardDocument(Rows<const float> distance, size_t n_topics, double penalty)
        : D(distance),
          K(n_topics),
          lambda(float(penalty)),
          near(distance.cols),
          mass(distance.cols),
          key(distance.cols),
          seen(distance.cols),
          used(distance.cols),
          extra(distance.cols) {}

    /// Algorithm 1. Never raises the document's cost: a token may stay where it is.
    void basic(const Tokens& tokens, size_t d) {
        count_topics(tokens, d);
        for (size_t k = 0; k < D.cols; ++k) extra[k] = used[k] ? 0.f : lambda;
        TopicId* z = tokens.z.data() + tokens.first[d];
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u)
            for (auto n = int64_t(tokens.X.value[size_t(u)]); n > 0; --n, ++z) {
                const float* row = D[size_t(tokens.X.index[size_t(u)])].data();
                for (size_t k = 0; k < D.cols; ++k) key[k] = row[k] + extra[k];
                const size_t best = least(key);
                if (!(key[best] < row[*z])) continue;
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
        double after = double(lambda) * double(opened);
        for (size_t u = 0; u < rows.size(); ++u) after += double(copies[u]) * double(rows[u][topic[u]]);
        if (!(after < before - 1e-6 * std::abs(before))) return before;
        TopicId* z = tokens.z.data() + tokens.first[d];
        for (size_t u = 0; u < rows.size(); ++u)
            for (auto n = int64_t(copies[u]); n > 0; --n) *z++ = TopicId(topic[u]);
        return after;
    }

    /// The same for a document that had nothing: what Algorithm 2 alone says.
    double place(const Tokens& tokens, size_t d) {
        assign(tokens, d);
        TopicId* z = tokens.z.data() + tokens.first[d];
        double sum = double(lambda) * double(opened);
        for (size_t u = 0; u < rows.size(); ++u) {
            sum += double(copies[u]) * double(rows[u][topic[u]]);
            for (auto n = int64_t(copies[u]); n > 0; --n) *z++ = TopicId(topic[u]);
        }
        return sum;
    }

  private:
    Rows<const float> D;  // [V, padded(K)]
    size_t K;
    float lambda;
    std::vector<float> near, mass, key;  // [K] tokens within rho, their distances, rho or a bound below it
    std::vector<uint32_t> seen;          // [K] tokens marked when key was computed
    std::vector<int32_t> used;           // [K] tokens of the document
    std::vector<float> extra;            // [K] what a first token in a topic costs
    std::vector<const float*> rows;      // [U] distances of an entry
    std::vector<float> copies, reach;    // [U] tokens; distance to the nearest open topic
    std::vector<size_t> topic, nearest;  // [U] where it goes; that open topic
    std::vector<size_t> left;            // entries without a mark
    size_t opened = 0;                   // topics

    static size_t least(const std::vector<float>& x) {
        float low = x[0];
        for (const float y : x) low = std::min(low, y);
        return size_t(std::ranges::find(x, low) - x.begin());
    }

    void count_topics(const Tokens& tokens, size_t d) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) ++used[tokens.z[size_t(i)]];
    }
    void forget(const Tokens& tokens, size_t d) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) used[tokens.z[size_t(i)]] = 0;
    }

    double cost(const Tokens& tokens, size_t d) {
        const TopicId* z = tokens.z.data() + tokens.first[d];
        double sum = 0;
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u)
            for (auto n = int64_t(tokens.X.value[size_t(u)]); n > 0; --n, ++z) {
                sum += double(D[size_t(tokens.X.index[size_t(u)])][*z]);
                if (used[*z]++ == 0) sum += double(lambda);
            }
        forget(tokens, d);
        return sum;
    }

    /// rho of every topic with all tokens unmarked, from above.
    void start_keys() {
        const size_t cols = key.size() / kLanes * kLanes;
        float* __restrict n = near.data(), * __restrict s = mass.data(), * __restrict rho = key.data();
        std::ranges::fill(key, std::numeric_limits<float>::infinity());
        for (int round = 0; round < 60; ++round) {
            std::ranges::fill(near, 0.f), std::ranges::fill(mass, 0.f);
            for (size_t u = 0; u < rows.size(); ++u) {
                const float* __restrict row = rows[u];
                const float c = copies[u];
#pragma omp simd
                for (size_t k = 0; k < cols; ++k) {
                    const float in = row[k] <= rho[k] ? c : 0.f;
                    n[k] += in, s[k] += in * row[k];
                }
            }
            int moved = 0;
#pragma omp simd reduction(+ : moved)
            for (size_t k = 0; k < cols; ++k) {
                const float next = n[k] > 0 ? (lambda + s[k]) / n[k] : rho[k];
                moved += next < rho[k];
                rho[k] = std::min(rho[k], next);
            }
            if (!moved) break;
        }
        std::fill(key.begin() + int64_t(K), key.end(), std::numeric_limits<float>::infinity());
    }

    /// rho of one topic, over entries without a mark.
    float quotient(size_t k) const {
        float rho = std::numeric_limits<float>::infinity();
        for (int round = 0; round < 60; ++round) {
            float n = 0, s = 0;
            for (const size_t u : left)
                if (const float x = rows[u][k]; x <= rho) n += copies[u], s += copies[u] * x;
            const float next = n > 0 ? (lambda + s) / n : rho;
            if (!(next < rho)) break;
            rho = next;
        }
        return rho;
    }

    /// Where Algorithm 2 puts each entry: topic [U]; `opened` of them, each with a token.
    void assign(const Tokens& tokens, size_t d) {
        const size_t at = size_t(tokens.X.indptr[d]), U = size_t(tokens.X.indptr[d + 1]) - at;
        constexpr float inf = std::numeric_limits<float>::infinity();
        rows.resize(U), copies.resize(U), left.resize(U), opened = 0;
        reach.assign(U, inf), topic.assign(U, 0), nearest.assign(U, 0);
        for (size_t u = 0; u < U; ++u) {
            rows[u] = D[size_t(tokens.X.index[at + u])].data(), copies[u] = tokens.X.value[at + u], left[u] = u;
        }
        if (U == 0) return;
        start_keys();
        std::ranges::fill(seen, 0);
        for (uint32_t marks = 0; !left.empty();) {
            const size_t k = least(key);
            const auto taken = std::erase_if(left, [&](size_t u) {
                if (!(reach[u] <= key[k])) return false;
                topic[u] = nearest[u];
                return true;
            });
            if (taken) {
                ++marks;
                continue;
            }
            if (seen[k] != marks) {
                seen[k] = marks;
                if (const float rho = quotient(k); rho > key[k]) {
                    key[k] = rho;
                    continue;
                }
            }
            ++opened, ++marks;
            std::erase_if(left, [&](size_t u) {
                const float x = rows[u][k];
                if (x <= key[k]) {
                    topic[u] = k;
                    return true;
                }
                if (x < reach[u]) reach[u] = x, nearest[u] = k;
                return false;
            });
            key[k] = inf;
        }
    }
};

enum class HardStep { basic, word, place };

/// Every document by one of the algorithms, under fixed distances. Returns the sum of their costs (not for basic).
inline double assign_documents(const Tokens& tokens, HardStep step, Rows<const float> D, size_t K, double penalty,
                               int threads) {
    const size_t docs = tokens.X.rows();
    std::vector<double> part((docs + kGibbsDocuments - 1) / kGibbsDocuments);
    std::vector<HardDocument> team(size_t(std::max(threads, 1)), HardDocument(D, K, penalty));
    parallel_for(docs, kGibbsDocuments, threads, [&](size_t begin, size_t end, size_t t) {
        double sum = 0;
        for (size_t d = begin; d < end; ++d) {
            if (step == HardStep::basic) team[t].basic(tokens, d);
            if (step == HardStep::word) sum += team[t].word(tokens, d);
            if (step == HardStep::place) sum += team[t].place(tokens, d);
        }
        part[begin / kGibbsDocuments] = sum;
    });
    double sum = 0;
    for (const double s : part) sum += s;
    return sum;
}

}  // namespace topmix
