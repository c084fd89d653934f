// What a solved document leaves behind: each word's tokens in its L best topics, the document's topics, and its part of
// the objective. Tokens are integers of 1 / unit: a word's shares add up to its count exactly, and all sums are exact.
#pragma once
#include "document.hpp"
#include "rounding.hpp"
#include "terms.hpp"

template <int SIZE, bool EXTRA>
struct Shares {
    const SolveArgs& a;
    Document<SIZE, EXTRA>& document;
    const Team<SIZE>& team;
    u64* mass;  // [topics] in the place of lists that nobody needs any more
    double entropy = 0, bound = 0;

    __device__ Shares(const SolveArgs& args, Document<SIZE, EXTRA>& solved)
        : a(args), document(solved), team(solved.team), mass(reinterpret_cast<u64*>(solved.next)) {}

    __device__ void write(int d, TeamSums& sums) {
        for (int j = team.lane; j < document.n; j += SIZE) mass[j] = 0;
        team.sync();
        const int at = a.indptr[d];
        for (int first = 0; first < document.U; first += SIZE) {
            const int u = first + team.lane;
            if (document.n <= kL)
                all_topics(u, at + u);
            else if (u < document.U)
                best_topics(u, at + u);
        }
        team.sync();
        write_document(d, sums);
    }

  private:
    __device__ float weight(int u, int j) const { return document.weight(u, j); }

    __device__ void keep(i64 entry, int slot, int j, int u, u32 share) {
        if (a.memo_n) {
            a.memo_topic[slot * a.n_entries + entry] = TopicId(document.topic[j]);
            a.memo_share[slot * a.n_entries + entry] = share;
        }
        if (a.wants_bound && share)
            bound += double(share) / double(a.unit) * log_phi(document.word[u], document.topic[j]);
    }

    __device__ NOINLINE double log_phi(int word, int k) const {
        return log_of(double(a.table[i64(word) * a.K + k])) + a.log_scale[word];
    }

    /// Every topic of the document has a slot. The whole warp is here, also the lanes after the last word.
    __device__ void all_topics(int u, i64 entry) {
        const int n = document.n;
        const bool in = u < document.U;
        float s = 0;
        if (in)
            for (int j = 0; j < n; ++j) s += weight(u, j);
        s = fmaxf(s, kTiny);
        const float count = in ? document.count[u] : 0.f;
        Rounding rounding(count, a.unit, s);
        float negative = 0;
        for (int j = 0; j < n; ++j) {
            const float w = in ? weight(u, j) : 0.f;
            const u32 share = rounding(w, j == n - 1);
            if (in) keep(entry, j, j, u, share);
            negative += plogp(w / s);
            const u64 sum = wide_sum(share);
            if (team.lane % 32 == 0 && sum) atomicAdd(&mass[j], sum);
        }
        entropy -= double(count) * double(negative);
        if (in && a.memo_n) a.memo_n[entry] = (unsigned char)n;
    }

    __device__ void best_topics(int u, i64 entry) {
        float best[kL];
        int id[kL];
        document.best_of(best, id, [&](int j) { return weight(u, j); });
        float s = 0, negative = 0;
#pragma unroll
        for (int l = 0; l < kL; ++l) s += best[l];
        s = fmaxf(s, kTiny);
        const float count = document.count[u];
        Rounding rounding(count, a.unit, s);
#pragma unroll
        for (int l = 0; l < kL; ++l) {
            const u32 share = rounding(best[l], l == kL - 1);
            keep(entry, l, id[l], u, share);
            negative += plogp(best[l] / s);
            if (share) atomicAdd(&mass[id[l]], u64(share));
        }
        entropy -= double(count) * double(negative);
        if (a.memo_n) a.memo_n[entry] = (unsigned char)kL;
    }

    /// The document's topics, and its part of Eq. (3.8).
    __device__ void write_document(int d, TeamSums& sums) {
        const i64 at = a.places[d];
        double within = 0, gammas = 0;
        u64 tokens = 0;
        int n = 0;
        for (int first = 0; first < document.n; first += SIZE) {
            const int j = first + team.lane;
            const u64 x = j < document.n ? mass[j] : 0;
            const int to = team.place(x > 0, n);
            if (x == 0) continue;
            const int k = document.topic[j];
            a.doc_topic[at + to] = TopicId(k), a.doc_count[at + to] = float(double(x) / double(a.unit));
            tokens += x;
            add_topic(a, k, x, within, gammas);
        }
        entropy = team.over(entropy, Sum()), bound = team.over(bound, Sum());
        within = team.over(within, Sum()), gammas = team.over(gammas, Sum());
        tokens = team.over(tokens, Sum());
        if (team.lane == 0) {
            a.doc_n[d] = n;
            sums.iterations += document.iterations;
            if (EXTRA) sums.tried += document.tried, sums.accepted += document.accepted;
            sums.entropy += fixed(entropy, kSums), sums.bound += fixed(bound, kSums);
            sums.within += fixed(within, kSums), sums.gammas += fixed(gammas, kSums);
            add_length(a, double(tokens) / double(a.unit), sums);
        }
        team.sync();
    }
};
