// Collapsed Gibbs sampling: every token has one topic z, and is drawn again given all the others.
//
//     p(z = k | rest) ~ (n_dk + alpha_k) (n_vk + eta_vk) / (n_k + eta_k),      counts without the token itself
//
// gibbs_sequential.hpp does exactly that, one token after another. Here, `sample_documents` does many documents at
// once. While a block of documents is sampled, words and totals stand as they were when it began, as a table e_vk =
// (n_vk + eta_vk) / (n_k + eta_k); a document's own counts follow every draw, and the token itself is out of all three.
// With e fixed the weight falls into parts that are cheap to draw from:
//
//     z, the topic it has      (n_dz - 1 + alpha_z) e'_vz             one number; most tokens stay
//     the document's others    sum over its few topics n_dk e_vk      a gather
//     the prior's others       alpha_k e_vk, all k                    its sum and running sums are kept for each word
//
// so the cost of a token is the number of topics in its document, whatever K is. Counts of words are whole numbers, so
// that threads may add to them in any order, and random numbers belong to a document: the result is the same for any
// number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "chains/gibbs_table.hpp"
#include "chains/tokens.hpp"
#include "chains/topic_list.hpp"

namespace topmix {

enum class Draw {
    again,  // each token given all others
    given,  // tokens given the proportions of their document, which do not move
};

/// Topics of documents in given proportions, for Draw::given.
struct GivenTopics {
    std::span<const int64_t> indptr;
    std::span<const TopicId> topic;
    std::span<const float> count;
};

/// One thread's work on documents.
class DocumentSampler {
  public:
    DocumentSampler(const GibbsTable& words, std::span<const double> log_gamma_alpha)
        : table(words), lga(log_gamma_alpha), topics(words.alpha.size()) {}

    /// Draws the tokens of document d. `moved(v, from, to)` hears of every change.
    /// Returns sum_k log Gamma(n_dk + alpha_k) - log Gamma(alpha_k).
    template <Draw how, class Moved>
    double visit(const Tokens& tokens, size_t d, const GivenTopics& given, Rng rng, Moved&& moved) {
        TopicId* z = tokens.z.data() + tokens.first[d];
        topics.clear();
        if constexpr (how == Draw::again)
            for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i) topics.add(tokens.z[size_t(i)]);
        if constexpr (how == Draw::given)
            for (int64_t i = given.indptr[d]; i < given.indptr[d + 1]; ++i)
                topics.add(given.topic[size_t(i)], given.count[size_t(i)]);

        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            const size_t v = size_t(tokens.X.index[size_t(u)]);
            const float* row = table.e[v].data();
            if (u + 2 < tokens.X.indptr[d + 1]) topics.prefetch(table.e[size_t(tokens.X.index[size_t(u + 2)])].data());
            for (auto left = int64_t(tokens.X.value[size_t(u)]); left > 0; --left, ++z) {
                if constexpr (how == Draw::again) {
                    const size_t from = *z, to = draw_again(v, row, from, rng);
                    if (to == from) continue;
                    topics.remove(from), topics.add(to);
                    *z = TopicId(to);
                    moved(v, from, to);
                } else {
                    const size_t to = draw(v, row, rng);
                    *z = TopicId(to);
                    moved(v, to, to);
                }
            }
        }
        if constexpr (how == Draw::given) return 0;
        return log_probability();
    }

  private:
    const GibbsTable& table;
    std::span<const double> lga;  // [K] log Gamma(alpha)
    TopicList topics;

    size_t draw_again(size_t v, const float* row, size_t z, Rng& rng) {
        const auto at = size_t(topics.place(z));
        const float e = row[z], n = topics.count(at), a = table.alpha[z], one = table.inverse[z];
        const float without = std::max(e - one, table.least * one) * table.larger[z];  // e with the token taken out
        const float stay = (n - 1 + a) * without;
        const float document = topics.weigh(row, at);
        const float prior = std::max(table.mass[v].back() - a * e, 0.f);
        float x = rng.uniform_float() * (stay + document + prior);
        if (x < stay) return z;
        x -= stay;
        if (x < document) return topics.pick(x);
        return prior > 0 ? pick_by_prior(table, v, z, rng) : z;
    }

    size_t draw(size_t v, const float* row, Rng& rng) {
        const size_t none = table.alpha.size();
        const float document = topics.weigh(row, none), x = rng.uniform_float() * (document + table.mass[v].back());
        return x < document ? topics.pick(x) : pick_by_prior(table, v, none, rng);
    }

    double log_probability() const {
        const float* alpha = table.alpha.data();
        double s = 0;
#pragma omp simd reduction(+ : s)
        for (size_t i = 0; i < topics.size(); ++i) {
            const size_t k = topics.id(i);
            s += math::lgamma(double(topics.count(i)) + double(alpha[k])) - lga[k];
        }
        return s;
    }
};

/// A token of word v left topic `from`, if it had one, for `to`.
struct Move {
    int32_t v;
    TopicId from, to;
};

/// What one thread writes to, on cache lines of its own: the end of a list that grows is written at every move.
struct alignas(64) SamplingThread {
    DocumentSampler sampler;
    std::vector<Move> moves;
};

/// Each thread takes a range of words and applies what all threads noted for it. Not added at once, atomically: that
/// would wait for each row of counts to come from memory, token by token.
inline void apply_moves(const std::vector<SamplingThread>& team, bool had_topics, int threads,
                        const TopicCounts& counts) {
    const size_t K = counts.K(), V = counts.word.size() / K, range = (V + size_t(threads) - 1) / size_t(threads);
    parallel_for(V, range, threads, [&](size_t begin, size_t end, size_t) {
        for (const auto& thread : team)
            for (const Move& m : thread.moves) {
                if (size_t(m.v) < begin || size_t(m.v) >= end) continue;
                int32_t* n = &counts.word[size_t(m.v) * K];
                if (had_topics) --n[m.from];
                ++n[m.to];
            }
    });
    for (const auto& thread : team)
        for (const Move& m : thread.moves) {
            if (had_topics) --counts.total[m.from];
            ++counts.total[m.to];
        }
}

/// Draws the tokens of documents [begin, end), then moves their counts. Returns the documents' part of log p(w, z),
/// less what depends on their lengths alone. The draws of a document are a function of (seed, sweep, its number).
template <Draw how>
double sample_documents(const Tokens& tokens, size_t begin, size_t end, const GibbsTable& table,
                        const GivenTopics& given, uint64_t seed, uint32_t sweep, int threads,
                        const TopicCounts& counts) {
    const size_t K = counts.K(), docs = end - begin;
    threads = std::max(threads, 1);
    std::vector<double> lga(K);
    for (size_t k = 0; k < K; ++k) lga[k] = math::lgamma(double(table.alpha[k]));
    std::vector<double> part((docs + kGibbsDocuments - 1) / kGibbsDocuments);
    std::vector<SamplingThread> team(size_t(threads), SamplingThread{DocumentSampler(table, lga), {}});
    for (auto& t : team) t.moves.reserve(size_t(tokens.first[end] - tokens.first[begin]) / size_t(threads));
    parallel_for(docs, kGibbsDocuments, threads, [&](size_t from, size_t to, size_t t) {
        auto& [sampler, moves] = team[t];  // whole numbers add up to the same in any order
        double s = 0;
        for (size_t d = begin + from; d < begin + to; ++d)
            s += sampler.template visit<how>(
                tokens, d, given, Rng(seed, sweep, d),
                [&moves](size_t v, size_t old, size_t k) { moves.push_back({int32_t(v), TopicId(old), TopicId(k)}); });
        part[from / kGibbsDocuments] = s;
    });
    apply_moves(team, how == Draw::again, threads, counts);
    double sum = 0;
    for (const double s : part) sum += s;
    return sum;
}

}  // namespace topmix
