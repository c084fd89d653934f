// Refinement of combinatorial topics (Jiang, Sra & Kulis 2016, Algorithm 3): all tokens that a document has in one
// topic, a mini-topic, move together to another topic where that lowers the objective.
//
// With psi at its optimum the distances add up to sum_k G(n_k) - sum_vk G(n_vk), G(n) = n log n. Moving S, c_v copies
// of word v and s in all, from t to k therefore changes only counts of the words in S:
//
//     Delta = sum_S [G(n_vt) - G(n_vt - c_v)] + G(n_t - s) - G(n_t)
//           - sum_S [G(n_vk + c_v) - G(n_vk)] + G(n_k + s) - G(n_k) - lambda [k is used by the document]
//
// (Eq. 3.18), O(|S|) a candidate. What one more copy of a word is worth to each topic, G(n_vk + 1) - G(n_vk), is kept
// beside the counts, so that a word with one copy is a row to add, for sixteen topics at once; for more copies it is
// looked up. The best candidate is computed once more in double, so that what is accepted does lower the objective.
// Counts follow each move, so documents that move come one after another, in an order that is given. After the first
// passes few do. So a round of documents is looked at by all threads first, under the counts of its beginning, and only
// those that would move something are visited; after a round in which most moved, the next one is visited as it is. A
// few documents are always visited: their counts change much within a round.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "base/parallel.hpp"
#include "chains/hard_objective.hpp"
#include "chains/tokens.hpp"
#include "models/word_stats.hpp"
#include "simd/block.hpp"

namespace topmix {

/// What the counts are worth. One thread may change it, while no other reads.
struct WorthOfCounts {
    const TopicCounts& counts;
    size_t K;
    Entropies G;
    Rows<float> more;              // [V, padded(K)] G(n_vk + 1) - G(n_vk)
    std::vector<double> of_total;  // [K] G(n_k)

    /// `scratch` is [V, padded(K)].
    WorthOfCounts(const TopicCounts& topic_counts, Rows<float> scratch, int threads)
        : counts(topic_counts), K(counts.K()), G(most_of_a_word(counts)), more(scratch), of_total(K) {
        for (size_t k = 0; k < K; ++k) of_total[k] = n_log_n(double(counts.total[k]));
        const bool small = G.size() < 1 << 16;  // every count is in the table, whatever moves
        const float* __restrict one = G.rises(1);
        parallel_for(more.rows(), kWordGrain, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t v = begin; v < end; ++v) {
                const int32_t* __restrict n = &counts.word[v * K];
                float* __restrict r = more[v].data();
                if (small) {
#pragma omp simd
                    for (size_t k = 0; k < K; ++k) r[k] = one[n[k]];
                } else {
                    for (size_t k = 0; k < K; ++k) r[k] = float(G.rise(n[k], 1));
                }
                std::fill(r + K, r + more.cols, 0.f);
            }
        });
    }

    static int64_t most_of_a_word(const TopicCounts& counts) {
        int64_t most = 0;
        for (size_t at = 0, K = counts.K(); at < counts.word.size(); at += K) {
            int64_t sum = 0;
            for (size_t k = 0; k < K; ++k) sum += counts.word[at + k];
            most = std::max(most, sum);
        }
        return most;
    }
};

/// Scratch of one thread, on cache lines of its own: a document at a time.
class alignas(64) Refiner {
  public:
    Refiner(WorthOfCounts& of_counts, double penalty)
        : worth(of_counts),
          counts(worth.counts),
          lambda(penalty),
          K(worth.K),
          G(worth.G),
          more(worth.more),
          used(K),
          first(K),
          mixed(K),
          of_total(worth.of_total),
          saved(K),
          gain(more.cols / kBlock),
          candidate(K) {}

    /// Whether a mini-topic of document d would move; nothing does.
    bool would_move(const Tokens& tokens, size_t d) {
        sort_out(tokens, d);
        const bool moves = std::ranges::any_of(present, [&](size_t t) { return better(by_topic(t), t) != t; });
        forget();
        return moves;
    }

    /// Tries every mini-topic of document d once. Returns the change of the objective.
    double visit(const Tokens& tokens, size_t d) {
        sort_out(tokens, d);
        double sum = 0;
        for (size_t i = 0, n = present.size(); i < n; ++i) {
            const size_t t = present[i];
            if (mixed[t]) gather(tokens, d, t);
            const std::span<const Item> mini = mixed[t] ? std::span(gathered) : by_topic(t);
            const size_t best = better(mini, t);
            if (best == t) continue;
            sum += change;
            move(tokens, d, mini, t, best);
        }
        forget();
        return sum;
    }

    /// Delta to every topic, of the mini-topic that document d has in t; nothing moves. Delta to t itself is 0.
    void deltas(const Tokens& tokens, size_t d, size_t t, std::span<double> out) {
        sort_out(tokens, d);
        weigh(by_topic(t), t);
        for (size_t k = 0; k < K; ++k) out[k] = k == t ? 0.0 : double(candidate[k]);
        forget();
    }

  private:
    /// A word and its copies in a mini-topic.
    struct Item {
        int32_t v, c;
    };

    WorthOfCounts& worth;
    const TopicCounts& counts;
    double lambda;
    size_t K;
    Entropies G;  // a copy, because it makes tables when they are asked for
    Rows<float> more;
    std::vector<int32_t> used;        // [K] tokens of the document
    std::vector<size_t> present;      // topics that it has, or had, in order of appearance
    std::vector<Item> flat, items;    // its words: as they come, and topic by topic
    std::vector<TopicId> flat_topic;  // topics of flat
    std::vector<uint32_t> first;      // [K] where a topic's items end, while there are any
    std::vector<char> mixed;          // [K] another mini-topic has come to it
    std::vector<Item> gathered;       // the items of such a one
    std::vector<TopicId> copies;      // topics of the copies of one word
    std::vector<double>& of_total;    // [K] G(n_k)
    std::vector<double> saved;        // [K] lambda where the document uses the topic
    std::vector<Block> gain;          // [padded(K)] sum_S G(n_vk + c) - G(n_vk)
    std::vector<float> candidate;     // [K] Delta
    double change = 0;                // Delta of the last better topic

    /// The topic that lowers the objective most, or t if none does.
    size_t better(std::span<const Item> mini, size_t t) {
        const size_t best = weigh(mini, t);
        if (best == t || !(candidate[best] < 0)) return t;
        change = delta(mini, t, best);
        return change < -1e-9 ? best : t;
    }

    void sort_out(const Tokens& tokens, size_t d) {
        const size_t tokens_here = size_t(tokens.first[d + 1] - tokens.first[d]);
        flat.resize(tokens_here), flat_topic.resize(tokens_here), items.resize(tokens_here);
        size_t n = 0;
        auto add = [&](int32_t v, int32_t c, TopicId t) {
            flat[n] = {v, c}, flat_topic[n] = t, ++n;
            ++first[t];
        };
        const TopicId* z = tokens.z.data() + tokens.first[d];
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            const int32_t v = tokens.X.index[size_t(u)], c = int32_t(tokens.X.value[size_t(u)]);
            if (c == 0) continue;
            bool same = true;
            for (int32_t i = 1; i < c; ++i) same &= z[i] == z[0];
            if (same) {
                if (used[z[0]] == 0) present.push_back(z[0]);
                used[z[0]] += c;
                add(v, c, z[0]);
            } else {
                for (int32_t i = 0; i < c; ++i)
                    if (used[z[i]]++ == 0) present.push_back(z[i]);
                copies.assign(z, z + c);
                std::ranges::sort(copies);
                for (auto i = copies.begin(), end = i; i != copies.end(); i = end) {
                    end = std::upper_bound(i, copies.end(), *i);
                    add(v, int32_t(end - i), *i);
                }
            }
            z += c;
        }
        uint32_t at = 0;
        for (const size_t t : present) first[t] = at += first[t], saved[t] = lambda;
        for (size_t i = n; i-- > 0;) items[--first[flat_topic[i]]] = flat[i];
    }

    std::span<const Item> by_topic(size_t t) const {
        size_t n = 0;
        for (int32_t left = used[t]; left > 0; ++n) left -= items[first[t] + n].c;
        return {items.data() + first[t], n};
    }

    void forget() {
        for (const size_t k : present) used[k] = 0, first[k] = 0, mixed[k] = 0, saved[k] = 0;
        present.clear();
    }

    void gather(const Tokens& tokens, size_t d, size_t t) {
        gathered.clear();
        const TopicId* z = tokens.z.data() + tokens.first[d];
        for (int64_t u = tokens.X.indptr[d]; u < tokens.X.indptr[d + 1]; ++u) {
            int32_t c = 0;
            for (auto left = int64_t(tokens.X.value[size_t(u)]); left > 0; --left, ++z) c += *z == t;
            if (c) gathered.push_back({tokens.X.index[size_t(u)], c});
        }
    }

    /// What t loses when S leaves it.
    double leaving(std::span<const Item> mini, size_t t) const {
        double sum = 0;
        for (const auto& [v, c] : mini) sum += G.rise(counts.word[size_t(v) * K + t] - c, c);
        return sum + n_log_n(double(counts.total[t] - used[t])) - of_total[t];
    }

    double delta(std::span<const Item> mini, size_t t, size_t k) const {
        double sum = leaving(mini, t);
        for (const auto& [v, c] : mini) sum -= G.rise(counts.word[size_t(v) * K + k], c);
        return sum + n_log_n(double(counts.total[k] + used[t])) - of_total[k] - saved[k];
    }

    /// Delta to every topic; the best, not counting t itself, or t if there is no other.
    size_t weigh(std::span<const Item> mini, size_t t) {
        for (size_t b = 0; b < gain.size(); ++b) {
            Block g{};
            for (const auto& [v, c] : mini) {
                Block row;
                std::memcpy(&row, more[size_t(v)].data() + b * kBlock, sizeof row);
                g += (c == 1 ? 1.f : 0.f) * row;  // not a branch, which would be unpredictable
            }
            gain[b] = g;
        }
        float* __restrict g = reinterpret_cast<float*>(gain.data());
        for (const auto& [v, c] : mini)
            if (c > 1) add_several(&counts.word[size_t(v) * K], c, g);
        const double out = leaving(mini, t), s = double(used[t]);
        float* __restrict x = candidate.data();
        const int64_t* __restrict total = counts.total.data();
        const double* __restrict have = of_total.data(), * __restrict there = saved.data();
#pragma omp simd
        for (size_t k = 0; k < K; ++k) {
            const double m = double(total[k]) + s;
            x[k] = float(out - double(g[k]) + m * math::log(m) - have[k] - there[k]);
        }
        x[t] = std::numeric_limits<float>::infinity();
        const auto best = size_t(std::ranges::min_element(candidate) - candidate.begin());
        return K > 1 ? best : t;
    }

    void add_several(const int32_t* __restrict n, int32_t c, float* __restrict g) {
        bool known = size_t(c) < Entropies::kSteps;
        if (known && G.size() == 1 << 16) {
            int32_t most = 0;
            for (size_t k = 0; k < K; ++k) most = std::max(most, n[k]);
            known = size_t(most) + size_t(c) < G.size();
        }
        if (known) {
            const float* __restrict r = G.rises(size_t(c));
#pragma omp simd
            for (size_t k = 0; k < K; ++k) g[k] += r[n[k]];
        } else {
            for (size_t k = 0; k < K; ++k) g[k] += float(G.rise(n[k], c));
        }
    }

    void move(const Tokens& tokens, size_t d, std::span<const Item> mini, size_t t, size_t k) {
        for (int64_t i = tokens.first[d]; i < tokens.first[d + 1]; ++i)
            if (tokens.z[size_t(i)] == t) tokens.z[size_t(i)] = TopicId(k);
        for (const auto& [v, c] : mini) {
            int32_t* n = &counts.word[size_t(v) * K];
            n[t] -= c, n[k] += c;
            more[size_t(v)][t] = float(G.rise(n[t], 1)), more[size_t(v)][k] = float(G.rise(n[k], 1));
        }
        counts.total[t] -= used[t], counts.total[k] += used[t];
        of_total[t] = n_log_n(double(counts.total[t])), of_total[k] = n_log_n(double(counts.total[k]));
        if (used[k] == 0) present.push_back(k);
        used[k] += used[t], used[t] = 0, mixed[k] = 1;
        saved[k] = lambda, saved[t] = 0;
    }
};

constexpr size_t kRounds = 8;  // of a pass

/// Every document in the order given. Returns the change of the objective. `scratch` is [V, padded(K)]. Rounds have
/// `least_round` documents or more; with too few documents for that there are none.
inline double refine(const Tokens& tokens, std::span<const int32_t> order, double penalty, int threads,
                     const TopicCounts& counts, Rows<float> scratch, size_t least_round = 256) {
    WorthOfCounts worth(counts, scratch, threads);
    std::vector<Refiner> team(size_t(std::max(threads, 1)), Refiner(worth, penalty));
    const size_t size = (order.size() + kRounds - 1) / kRounds;
    const bool are_few = size < least_round;
    std::vector<char> moves(size);
    double sum = 0;
    bool most_move = false;
    for (size_t begin = 0; begin < order.size(); begin += size) {
        const auto round = order.subspan(begin, std::min(size, order.size() - begin));
        std::ranges::fill(moves, 1);
        if (!most_move && !are_few)
            parallel_for(round.size(), kGibbsDocuments, threads, [&](size_t from, size_t to, size_t t) {
                for (size_t i = from; i < to; ++i) moves[i] = team[t].would_move(tokens, size_t(round[i]));
            });
        size_t moved = 0;
        parallel_for(round.size(), kGibbsDocuments, 1, [&](size_t from, size_t to, size_t) {
            for (size_t i = from; i < to; ++i) {
                const double change = moves[i] ? team[0].visit(tokens, size_t(round[i])) : 0.0;
                sum += change, moved += change < 0;
            }
        });
        most_move = 2 * moved > round.size();
    }
    return sum;
}

}  // namespace topmix
