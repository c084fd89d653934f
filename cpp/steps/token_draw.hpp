// Draws the topic of a token given all the others.
//
//     p(z = k | rest) ~ (n_dk + alpha_k) (n_vk + eta_vk) / (n_k + eta_k),      counts without the token itself
//
// Words and totals stand still, as e_vk = (n_vk + eta_vk) / (n_k + eta_k); the document's own counts follow every draw,
// and the token itself is out of all three. With e fixed the weight falls into parts that are cheap to draw from:
//
//     z, the topic it has      (n_dz - 1 + alpha_z) e'_vz             one number; most tokens keep it
//     the document's others    sum over its few topics n_dk e_vk      a gather
//     the prior's others       alpha_k e_vk, all k                    its running sums are kept while a word lasts
//
// so the cost of a token is the number of topics in its document, whatever K is.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/views.hpp"
#include "simd/block.hpp"
#include "steps/priors.hpp"
#include "steps/topic_lines.hpp"

namespace topmix {

constexpr size_t kPriorBlock = 16;  // topics to a running sum of the prior's part

inline size_t prior_blocks(size_t K) { return (K + kPriorBlock - 1) / kPriorBlock; }

/// mass_b = sum of alpha_k e_k over the first b + 1 blocks of topics.
inline void prior_mass(std::span<const float> e, std::span<const float> alpha, std::span<float> mass) {
    const size_t K = alpha.size();
    float running = 0;
    for (size_t at = 0, b = 0; at < K; at += kPriorBlock, ++b) {
        float s = 0;
        if (at + kPriorBlock <= K) {
            Block sums{};
            for (size_t k = at; k < at + kPriorBlock; k += kBlock) {
                Block x, y;
                std::memcpy(&x, &alpha[k], sizeof x), std::memcpy(&y, &e[k], sizeof y);
                sums += x * y;
            }
            s = sum(sums);
        } else {
            for (size_t k = at; k < K; ++k) s += alpha[k] * e[k];
        }
        mass[b] = running += s;
    }
}

/// Numbers of each topic that draws need, of n_k + eta_k [K].
struct TopicNumbers {
    std::vector<float> inverse, larger;  // [K] as in TopicWeights

    explicit TopicNumbers(std::span<const double> norm) {
        for (const double n : norm) {
            inverse.push_back(float(1 / n));
            larger.push_back(n > 1 ? float(n / (n - 1)) : 1.f);  // asked only of a topic that has a token
        }
    }
};

/// What all draws need of the topics.
struct TopicWeights {
    std::span<const float> alpha;    // [K]
    std::span<const float> inverse;  // [K] 1 / (n_k + eta_k)
    std::span<const float> larger;   // [K] (n_k + eta_k) / (n_k + eta_k - 1)
    float least;                     // the smallest eta
    Priors own = {};                 // of documents, where they are not all alpha
};

/// What draws of one word need.
struct WordWeights {
    std::span<const float> e;     // [K]
    std::span<const float> mass;  // [blocks] running sums of alpha_k e_k
    float scale;                  // one token more adds this times inverse_k to e_k
};

/// A topic in proportion to alpha_k e_k but not `but`, whose weight `out` is taken out of the running sums. x is from
/// [0, the sum of what is left). Where no other topic weighs anything it is `but`, or 0 where that is no topic.
inline size_t pick_by_prior(const WordWeights& word, std::span<const float> alpha, size_t but, float out, float x) {
    auto up_to = [&](size_t b) { return word.mass[b] - (b >= but / kPriorBlock ? out : 0.f); };
    size_t b = 0;
    while (b + 1 < word.mass.size() && x >= up_to(b)) ++b;
    if (b) x -= up_to(b - 1);
    size_t last = but == kNoTopic ? 0 : but;
    const size_t end = std::min((b + 1) * kPriorBlock, alpha.size());
    for (size_t k = b * kPriorBlock; k < end; ++k) {
        const float w = k == but ? 0.f : alpha[k] * word.e[k];
        if (w > 0) last = k;
        if ((x -= w) < 0) break;
    }
    return last;
}

/// Draws by alpha are draws by alpha.
struct AlwaysAccept {
    bool operator()(size_t, float, size_t, float, float) const { return true; }
};

/// A draw by the shared alpha is a proposal for a document that has another prior a (Metropolis and Hastings, Eq.
/// (3.35)): it is accepted with probability (n_k + a_k) (n_z + alpha_z) / ((n_k + alpha_k) (n_z + a_z)), the token
/// itself not counted.
struct AcceptByPrior {
    std::span<const float> alpha, own;  // [K]

    bool operator()(size_t k, float n_k, size_t z, float n_z, float x) const {
        return x * (n_k + alpha[k]) * (n_z + own[z]) < (n_k + own[k]) * (n_z + alpha[z]);
    }
};

/// A token that has topic z, drawn again; the counts of its document follow. u and w are from [0, 1).
template <class Count, class Accept = AlwaysAccept>
size_t draw_again(const TopicWeights& topics, const WordWeights& word, DocumentTopics<Count>& documents, size_t d,
                  size_t z, float u, float w, const Accept& accept = {}) {
    const std::span<TopicLine<Count>> lines = documents[d];
    const float* row = word.e.data();
    const LineWeights weights = line_weights(lines[0], row, z);
    LineWeights sums = weights;
    uint32_t found = places_of(lines[0], z);
    size_t at = 0;
    for (size_t i = 1; i < lines.size(); ++i) {
        sums = sums + line_weights(lines[i], row, z);
        if (!found) found = places_of(lines[i], z), at = i;
    }
    Count& n = lines[at].count[std::countr_zero(found)];
    const float e = row[z], a = topics.alpha[z], one = topics.inverse[z] * word.scale;
    const float without = std::max(e - one, topics.least * one) * topics.larger[z];  // e with the token taken out
    const float keep = (float(n) - 1 + a) * without, document = sum(sums);
    const float prior = std::max(word.mass.back() - a * e, 0.f);
    float x = u * (keep + document + prior) - keep;
    if (x < 0) return z;
    if (x < document) {
        for (size_t i = 0; i < lines.size(); ++i) {
            const LineWeights here = i ? line_weights(lines[i], row, z) : weights;
            if (const size_t place = first_above(here, x); place < kLine) {
                if (!accept(lines[i].id[place], float(lines[i].count[place]), z, float(n) - 1, w)) return z;
                --n, ++lines[i].count[place];
                return lines[i].id[place];
            }
            x -= sum(here);
        }
        return z;  // rounding
    }
    const size_t k = prior > 0 ? pick_by_prior(word, topics.alpha, z, a * e, w * prior) : z;
    if constexpr (!std::is_same_v<Accept, AlwaysAccept>)
        if (k != z && !accept(k, documents.count(d, k), z, float(n) - 1, (x - document) / prior)) return z;
    if (k != z) --n, documents.add(d, k);
    return k;
}

/// A token of a document whose proportions are given.
template <class Count>
size_t draw_given(const TopicWeights& topics, const WordWeights& word, DocumentTopics<Count>& documents, size_t d,
                  float u, float w) {
    const std::span<TopicLine<Count>> lines = documents[d];
    LineWeights sums{};
    for (const auto& line : lines) sums = sums + line_weights(line, word.e.data(), kNoTopic);
    const float document = sum(sums), prior = word.mass.back();
    float x = u * (document + prior);
    if (x < document)
        for (const auto& line : lines) {
            const LineWeights here = line_weights(line, word.e.data(), kNoTopic);
            if (const size_t place = first_above(here, x); place < kLine) return line.id[place];
            x -= sum(here);
        }
    return pick_by_prior(word, topics.alpha, kNoTopic, 0, w * prior);
}

}  // namespace topmix
