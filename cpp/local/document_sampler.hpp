// One document of a sampler: every token has one topic z, and is drawn again given all the others.
//
//     p(z = k | rest) ~ (n_dk + alpha_k) (n_vk + eta_vk) / (n_k + eta_k),      counts without the token itself
//
// Words and totals stand still meanwhile, as a table e_vk = (n_vk + eta_vk) / (n_k + eta_k); the document's own counts
// follow every draw, and the token itself is out of all three. With e fixed the weight falls into parts that are cheap
// to draw from:
//
//     z, the topic it has      (n_dz - 1 + alpha_z) e'_vz             one number; most tokens stay
//     the document's others    sum over its few topics n_dk e_vk      a gather
//     the prior's others       alpha_k e_vk, all k                    its sum and running sums are kept for each word
//
// so the cost of a token is the number of topics in its document, whatever K is.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/rng.hpp"
#include "base/views.hpp"
#include "global/word_stats.hpp"
#include "local/topic_list.hpp"

namespace topmix {

/// Documents and the topics of their tokens: entry u of a document stands for value[u] tokens, which lie together.
struct Tokens {
    Csr<float> X;                    // whole counts
    std::span<const int64_t> first;  // [docs + 1] where a document's tokens begin in z
    std::span<TopicId> z;
};

constexpr size_t kPriorBlock = 64;  // topics to a running sum of the prior's part

inline size_t prior_blocks(size_t K) { return (K + kPriorBlock - 1) / kPriorBlock; }

/// What sampling needs of the topics while a block lasts.
struct GibbsTable {
    Rows<const float> e;                  // [V, K]
    Rows<const float> mass;               // [V, blocks] running sums of alpha_k e_vk
    std::span<const float> alpha;         // [K]
    std::span<const float> inverse;       // [K] 1 / (n_k + eta_k)
    std::span<const float> larger;        // [K] (n_k + eta_k) / (n_k + eta_k - 1)
    float least;                          // the smallest eta
    std::span<const float> by_word = {};  // [V] where e is divided by a number for each word: one over that number

    /// What one token of word v adds to e_vk.
    float one(size_t v, size_t k) const { return by_word.empty() ? inverse[k] : inverse[k] * by_word[v]; }
};

/// A topic in proportion to alpha_k e_vk, but not `but`: drawn until it is another. Tokens come here seldom, and the
/// more seldom the more often it would be `but`.
inline size_t pick_by_prior(const GibbsTable& table, size_t v, size_t but, Rng& rng) {
    const auto sums = table.mass[v];
    const float *e = table.e[v].data(), *alpha = table.alpha.data();
    const size_t K = table.alpha.size();
    for (int attempt = 0; attempt < 1000; ++attempt) {
        float x = rng.uniform_float() * sums.back();
        size_t b = 0;
        while (b + 1 < sums.size() && x >= sums[b]) ++b;
        if (b) x -= sums[b - 1];
        size_t k = b * kPriorBlock;
        for (const size_t end = std::min(k + kPriorBlock, K) - 1; k < end; ++k)
            if ((x -= alpha[k] * e[k]) < 0) break;
        if (k != but) return k;
    }
    return but;
}

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
    explicit DocumentSampler(const GibbsTable& words) : table(words), topics(words.alpha.size()) {}

    /// Draws the tokens of document d. `moved(v, from, to)` hears of every change.
    template <Draw how, class Moved>
    void visit(const Tokens& tokens, size_t d, const GivenTopics& given, Rng rng, Moved&& moved) {
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
    }

    /// Of the document that was visited last.
    const TopicList& topics_of_document() const { return topics; }

  private:
    const GibbsTable& table;
    TopicList topics;

    size_t draw_again(size_t v, const float* row, size_t z, Rng& rng) {
        const auto at = size_t(topics.place(z));
        const float e = row[z], n = topics.count(at), a = table.alpha[z], one = table.one(v, z);
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
};

}  // namespace topmix
