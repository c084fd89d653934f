// A document and its part of the table, laid out for the fixed point.
//
// Words go by sixteens: a block holds a vector of sixteen words for each topic. Documents have many more words than
// topics, so lanes are seldom wasted, sums over topics need no shuffling, and a topic that leaves takes one vector out
// of each block.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "local/document_options.hpp"
#include "simd/block.hpp"

namespace topmix {

/// The document's own tokens in the table of its shard: e_vk has c r / norm_k / scale_v for c r tokens.
struct OwnTokens {
    std::span<const float> by_topic;  // [K] 1 / norm_k
    std::span<const float> by_word;   // [words] 1 / scale_v
    float least = 0;                  // the smallest prior count of a word, which always stays
};

/// Memory of one thread, used again for each document.
class DocumentTable {
  public:
    DocumentTable(size_t K, const DocumentOptions& options, std::span<const float> prior)
        : opt(options),
          excludes(options.exclude && options.posterior == Posterior::collapsed),
          alpha_all(prior),
          dense(K, 0.f),
          last(K, 0.f) {}

    std::vector<int32_t> topic;  // the document's topics, ascending global ids

    /// Counts to start from, [K]: all zero between documents, to be filled before a document is solved.
    std::vector<float>& start() { return dense; }

    /// The prior [K] of the next documents, where each has its own.
    void use_prior(std::span<const float> prior) { alpha_all = prior; }

    /// Counts that the last visit left, [K]: likewise, where own tokens are to be discounted.
    std::vector<float>& left_before() { return last; }

  protected:
    const DocumentOptions& opt;
    const bool excludes;
    std::span<const float> alpha_all;  // [K]
    std::vector<float> dense, last;    // [K]
    std::span<const int32_t> words;
    std::span<const float> counts;
    size_t blocks = 0, width = 0;   // blocks of words; vectors per block, at least the number of topics
    std::vector<Block> E, R, M, C;  // [blocks, width]: word table, last responsibilities, masked table; [blocks]
    std::vector<Block> own;         // [blocks] what a word counts of itself: one token, or less if it has less
    std::vector<float> alpha, N, P, logP, least, next;  // [topics]
    std::vector<int32_t> keep;                          // topics to keep, by their place in `topic`

    bool is_masked() const { return opt.select_often && opt.L < topic.size(); }

    /// A_d = {k : N_dk > eps}, never empty.
    void activate() {
        topic.clear();
        N.clear(), alpha.clear();
        const size_t K = dense.size();
        float largest = -1;
        size_t best = 0;
        for (size_t k0 = 0; k0 < K; k0 += kBlock) {
            const size_t k1 = std::min(K, k0 + kBlock);
            float high = 0;
            for (size_t k = k0; k < k1; ++k) high = std::max(high, dense[k]);
            if (high > largest) {
                largest = high;
                best = size_t(std::find(dense.begin() + k0, dense.begin() + k1, high) - dense.begin());
            }
            if (!(high > opt.eps)) continue;
            for (size_t k = k0; k < k1; ++k)
                if (dense[k] > opt.eps) topic.push_back(int32_t(k));
        }
        if (topic.empty()) topic.push_back(int32_t(std::min(best, K - 1)));  // K: nothing was a number
        for (const int32_t k : topic) N.push_back(dense[size_t(k)]), alpha.push_back(alpha_all[size_t(k)]);
        std::fill(dense.begin(), dense.end(), 0.f);
        width = topic.size();
        for (auto* x : {&P, &logP, &least, &next}) x->assign(width, 0.f);
    }

    static void at_least(std::vector<Block>& x, size_t n) {
        if (x.size() < n) x.resize(n);
    }

    /// Copies the document's part of the table. The lanes after the last word repeat it and count nothing.
    void gather(std::span<const float> table) {
        const size_t K = dense.size(), n = width;
        at_least(E, blocks * n);
        at_least(C, blocks);
        at_least(own, blocks);
        for (size_t b = 0; b < blocks; ++b) {
            const size_t u0 = b * kBlock, in = std::min(kBlock, words.size() - u0);
            const float* from[kBlock];
            for (size_t i = 0; i < kBlock; ++i) from[i] = &table[size_t(words[u0 + std::min(i, in - 1)]) * K];
            for (size_t j = 0; j < n; ++j) {
                const size_t k = size_t(topic[j]);
                float e[kBlock];
                for (size_t i = 0; i < kBlock; ++i) e[i] = from[i][k];
                std::copy_n(e, kBlock, reinterpret_cast<float*>(&E[b * n + j]));
            }
            for (size_t i = 0; i < kBlock; ++i) C[b][i] = i < in ? counts[u0 + i] : 0.f;
            own[b] = choose(C[b] < 1.f + Block{}, C[b], 1.f + Block{});
        }
        if (excludes) {
            at_least(R, blocks * n);
            std::fill_n(R.begin(), blocks * n, Block{});
        }
        if (opt.select_often) at_least(M, blocks * n);
    }

    /// Eq. (3.5b). What the last visit gave to a word is worked out again from its counts; the table has moved since,
    /// and topics that are not active now are left out, so this is near it, not equal.
    void discount(const OwnTokens& tokens) {
        const size_t n = width;
        for (size_t b = 0; b < blocks; ++b) {
            Block *e = &E[b * n], s{}, by_word;
            for (size_t j = 0; j < n; ++j) s += last[size_t(topic[j])] * e[j];
            const size_t u0 = b * kBlock, in = std::min(kBlock, words.size() - u0);
            for (size_t i = 0; i < kBlock; ++i) by_word[i] = tokens.by_word[size_t(words[u0 + std::min(i, in - 1)])];
            const Block given = opt.own_discount * C[b] * by_word / larger(s, kTiny + Block{});
            for (size_t j = 0; j < n; ++j) {
                const float N_last = last[size_t(topic[j])], by_topic = tokens.by_topic[size_t(topic[j])];
                if (N_last > 0)
                    e[j] = larger(e[j] - given * (N_last * by_topic) * e[j], tokens.least * by_topic * by_word);
            }
        }
        std::fill(last.begin(), last.end(), 0.f);
    }

    /// Keeps the vectors of the topics in `keep`.
    void squeeze() {
        const size_t m = keep.size();
        auto narrow = [&](std::vector<Block>& x) {
            for (size_t b = 0; b < blocks; ++b)  // in place: a block's new vectors never pass its old ones
                for (size_t j = 0; j < m; ++j) x[b * m + j] = x[b * width + size_t(keep[j])];
        };
        narrow(E);
        if (excludes) narrow(R);
        if (opt.select_often) narrow(M);
        width = m;
        for (size_t j = 0; j < m; ++j) {
            const size_t from = size_t(keep[j]);
            topic[j] = topic[from], N[j] = N[from], alpha[j] = alpha[from];
        }
        topic.resize(m);
        for (auto* x : {&alpha, &N, &P, &logP, &least, &next}) x->resize(m);
    }
};

}  // namespace topmix
