// A document and its part of the table, laid out for the fixed point.
//
// Words go by sixteens: a block holds a vector of sixteen words for each topic. Documents have many more words than
// topics, so lanes are seldom wasted, sums over topics need no shuffling, and a topic that leaves takes one vector out
// of each block.
//
// Where each word's L best topics are chosen along the way, most updates need those alone: then the table is kept word
// by word instead, as rows to choose from, with lists of what was chosen.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "simd/block.hpp"
#include "steps/document_options.hpp"
#include "steps/response.hpp"

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

    /// The response of the next document, where documents have some.
    void use_response(const Responses& responses, size_t d) { response.use(responses, d); }

    /// Counts that the last visit left, [K]: likewise, where own tokens are to be discounted.
    std::vector<float>& left_before() { return last; }

  protected:
    const DocumentOptions& opt;
    const bool excludes;
    std::span<const float> alpha_all;  // [K]
    std::vector<float> dense, last;    // [K]
    std::span<const int32_t> words;
    std::span<const float> counts;
    size_t blocks = 0, width = 0;      // blocks of words; vectors per block, at least the number of topics
    std::vector<Block> E, R, C;        // [blocks, width]: word table, last responsibilities; [blocks]
    std::vector<Block> own;            // [blocks] what a word counts of itself: one token, or less if it has less
    bool lists = false;                // whether there are W and lists, and neither E nor R
    std::vector<float> W;              // [words, width]: word table
    size_t listed = 0;                 // topics in the list of a word
    bool stale = false;                // whether lists lack topics although there is room for all
    std::vector<int32_t> pick;         // [words, listed]: chosen topics by their place in `topic`, ascending
    std::vector<float> picked, given;  // [words, listed]: their part of the table, 0 for one that left; last shares
    std::vector<float> alpha, N, P, logP, least, next;  // [topics]
    Tilt response;
    std::vector<int32_t> keep, place;  // topics to keep, by their place in `topic`; their places then

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
        lists = opt.select_often && opt.L < width;
        listed = 0, stale = false;
        for (auto* x : {&P, &logP, &least, &next}) x->assign(width, 0.f);
    }

    template <class T>
    static void at_least(std::vector<T>& x, size_t n) {
        if (x.size() < n) x.resize(n);
    }

    /// Copies the document's part of the table. The lanes after the last word repeat it and count nothing.
    void gather(std::span<const float> table) {
        const size_t K = dense.size(), n = width;
        if (lists) {
            at_least(W, words.size() * n);
            for (size_t u = 0; u < words.size(); ++u) {
                const float* from = &table[size_t(words[u]) * K];
                for (size_t j = 0; j < n; ++j) W[u * n + j] = from[topic[j]];
            }
            return;
        }
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
    }

    /// Eq. (3.5b). What the last visit gave to a word is worked out again from its counts; the table has moved since,
    /// and topics that are not active now are left out, so this is near it, not equal.
    void discount(const OwnTokens& tokens) {
        const size_t n = width;
        if (lists)
            for (size_t u = 0; u < words.size(); ++u)
                discount(tokens, &W[u * n], counts[u], tokens.by_word[size_t(words[u])]);
        else
            for (size_t b = 0; b < blocks; ++b) {
                const size_t u0 = b * kBlock, in = std::min(kBlock, words.size() - u0);
                Block by_word;
                for (size_t i = 0; i < kBlock; ++i)
                    by_word[i] = tokens.by_word[size_t(words[u0 + std::min(i, in - 1)])];
                discount(tokens, &E[b * n], C[b], by_word);
            }
        std::fill(last.begin(), last.end(), 0.f);
    }

    /// For one word, or a block of them.
    template <class T>
    void discount(const OwnTokens& tokens, T* e, T count, T by_word) {
        T s{};
        for (size_t j = 0; j < width; ++j) s += last[size_t(topic[j])] * e[j];
        const T had = opt.own_discount * count * by_word / larger(s, kTiny + T{});
        for (size_t j = 0; j < width; ++j) {
            const float N_last = last[size_t(topic[j])], by_topic = tokens.by_topic[size_t(topic[j])];
            if (N_last > 0) e[j] = larger(e[j] - had * (N_last * by_topic) * e[j], tokens.least * by_topic * by_word);
        }
    }

    /// Keeps the vectors of the topics in `keep`.
    void squeeze() {
        const size_t m = keep.size();
        auto narrow = [&](std::vector<Block>& x) {
            for (size_t b = 0; b < blocks; ++b)  // in place: a block's new vectors never pass its old ones
                for (size_t j = 0; j < m; ++j) x[b * m + j] = x[b * width + size_t(keep[j])];
        };
        if (lists) {
            for (size_t u = 0; u < words.size(); ++u)
                for (size_t j = 0; j < m; ++j) W[u * m + j] = W[u * width + size_t(keep[j])];
            move_lists();
        } else {
            narrow(E);
            if (excludes) narrow(R);
        }
        width = m;
        for (size_t j = 0; j < m; ++j) {
            const size_t from = size_t(keep[j]);
            topic[j] = topic[from], N[j] = N[from], alpha[j] = alpha[from];
        }
        topic.resize(m);
        if (response) response.squeeze(keep);
        for (auto* x : {&alpha, &N, &P, &logP, &least, &next}) x->resize(m);
    }

    /// Lists by the places that topics will have.
    void move_lists() {
        stale = keep.size() <= opt.L;
        place.assign(width, -1);
        for (size_t j = 0; j < keep.size(); ++j) place[size_t(keep[j])] = int32_t(j);
        for (size_t i = 0; i < words.size() * listed; ++i) {
            pick[i] = place[size_t(pick[i])];
            if (pick[i] < 0) pick[i] = 0, picked[i] = given[i] = 0;
        }
    }
};

}  // namespace topmix
