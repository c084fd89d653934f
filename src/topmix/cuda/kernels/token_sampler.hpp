// Draws the topic of a token given all others of its document, by a warp: what Gibbs chains and the sampling step of a
// shard share.
//
//     z, the topic it has      (n_dz - 1 + alpha_z) e'_vz             e' without the token itself
//     the document's others    sum over its few topics n_dk e_vk      lanes are topics
//     the prior's others       alpha_k e_vk, all k                    running sums over blocks of topics are kept
#pragma once
#include "team.hpp"

constexpr int kGibbsWarps = 8;  // documents of a block at a time
constexpr u64 kGolden = 0x9E3779B97F4A7C15ull;

__device__ inline u64 mixed(u64 x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/// Random numbers of a document are a function of this and of the token's place.
__device__ inline u64 key_of(u64 seed, u64 sweep, int d) {
    return mixed(seed + kGolden * mixed((sweep << 32) + u64(d)));
}

/// In [0, 1), 24 bits.
__device__ inline float uniform(u64 bits) { return float(u32(bits >> 40)) * (1.f / 16777216.f); }

/// What drawing needs of the topics; it stands still meanwhile.
struct SamplerTables {
    const float* e;        // [words, K]
    const float* mass;     // [words, blocks] running sums of alpha_k e_vk over blocks of 32 topics
    const float* alpha;    // [K]
    const float* inverse;  // [K] 1 / (n_k + eta_k)
    const float* by_word;  // [words] where e is divided by a number for each word: one over that number; or null
    float least;           // the smallest eta
    int K, blocks;

    /// What one token of word v adds to e_vk.
    __device__ float one(int v, int k) const { return by_word ? inverse[k] * by_word[v] : inverse[k]; }
    /// What taking one token out leaves of the norm of topic k, as a share.
    __device__ float without_one(int k) const { return fmaxf(1.f - inverse[k], 1e-6f); }
};

/// The topics of one document and their tokens, in shared memory. A place whose topic has left is used again.
struct TopicList {
    int *id, *count;
    const int lane;
    int n = 0;

    __device__ int place_of_topic(int k) const {
        for (int first = 0; first < n; first += 32) {
            const u32 mask = __ballot_sync(kAll, first + lane < n && id[first + lane] == k);
            if (mask) return first + __ffs(int(mask)) - 1;
        }
        return -1;
    }

    /// A token of the topic at one place goes to the topic at another.
    __device__ void move(int from, int to) {
        __syncwarp();  // all lanes have read the list
        if (lane == 0) count[from] -= 1, count[to] += 1;
        __syncwarp();
    }

    __device__ void remove_one(int at) {
        __syncwarp();
        if (lane == 0) count[at] -= 1;
        __syncwarp();
    }

    __device__ void add_one(int k) {
        int at = place_of_topic(k);
        for (int first = 0; at < 0 && first < n; first += 32) {
            const u32 mask = __ballot_sync(kAll, first + lane < n && count[first + lane] == 0);
            if (mask) at = first + __ffs(int(mask)) - 1;
        }
        __syncwarp();
        if (at < 0) {
            at = n++;
            if (lane == 0) count[at] = 0;
        }
        if (lane == 0) id[at] = k, count[at] += 1;
        __syncwarp();
    }

    /// A token goes from the topic at one place to topic k, which is at another; -1: it may not be in the list.
    __device__ void follow(int from, int to, int k) {
        if (to >= 0) return move(from, to);
        remove_one(from);
        add_one(k);
    }
};

__device__ inline float up_to_lane(float x, int lane) {
    for (int far = 1; far < 32; far <<= 1) {
        const float below = __shfl_sync(kAll, x, lane - far);
        if (lane >= far) x += below;
    }
    return x;
}

struct TokenSampler {
    const SamplerTables a;
    TopicList& topics;
    const int lane;
    const float* row = nullptr;   // of e
    const float* mass = nullptr;  // of its word
    int at_old = 0, at_new = -1;  // places of the topic it had and of the one drawn; -1: of a topic from the prior

    __device__ float weight(int at, int old) const {
        return at < topics.n && topics.id[at] != old ? float(topics.count[at]) * row[topics.id[at]] : 0.f;
    }

    /// Every lane has the result.
    __device__ int draw(int v, int old, float u, float u_prior) {
        row = a.e + i64(v) * a.K, mass = a.mass + i64(v) * a.blocks;
        const float e = row[old], prior_old = a.alpha[old], one = a.one(v, old);
        at_new = -1;
        int n_old = 0;
        float document = 0;
        for (int first = 0; first < topics.n; first += 32) {  // one read of the list for both
            const int at = first + lane, k = at < topics.n ? topics.id[at] : -1, n = k < 0 ? 0 : topics.count[at];
            const u32 mask = __ballot_sync(kAll, k == old);
            if (mask) at_old = first + __ffs(int(mask)) - 1, n_old = __shfl_sync(kAll, n, __ffs(int(mask)) - 1);
            if (n > 0 && k != old) document += float(n) * row[k];
        }
        document = over_warp(document, Sum());
        const float without = fmaxf(e - one, a.least * one) / a.without_one(old);
        const float keep = (float(n_old - 1) + prior_old) * without;
        const float from_prior = fmaxf(mass[a.blocks - 1] - prior_old * e, 0.f);
        const float x = u * (keep + document + from_prior) - keep;
        if (x < 0) return old;
        if (x < document) return of_document(x, old);
        return from_prior > 0 ? of_prior(u_prior * from_prior, old, prior_old * e) : old;
    }

    /// A token without a topic yet, where the list has the proportions of its document: `count` are then floats.
    __device__ int draw_given(int v, float u, float u_prior) {
        row = a.e + i64(v) * a.K, mass = a.mass + i64(v) * a.blocks;
        const float* share = reinterpret_cast<const float*>(topics.count);
        float document = 0;
        for (int at = lane; at < topics.n; at += 32) document += share[at] * row[topics.id[at]];
        document = over_warp(document, Sum());
        const float x = u * (document + mass[a.blocks - 1]);
        if (x >= document) return of_prior(u_prior * mass[a.blocks - 1], -1, 0.f);
        float before = 0;
        for (int first = 0; first < topics.n; first += 32) {
            const int at = first + lane;
            const float w = at < topics.n ? share[at] * row[topics.id[at]] : 0.f, sum = before + up_to_lane(w, lane);
            const u32 over = __ballot_sync(kAll, w > 0 && sum > x);
            if (over) return topics.id[first + __ffs(int(over)) - 1];
            before = __shfl_sync(kAll, sum, 31);
        }
        return topics.id[topics.n - 1];  // rounding
    }

    __device__ int of_document(float x, int old) {
        int last = -1;
        float before = 0;
        for (int first = 0; first < topics.n; first += 32) {
            const float w = weight(first + lane, old), sum = before + up_to_lane(w, lane);
            const u32 over = __ballot_sync(kAll, w > 0 && sum > x), some = __ballot_sync(kAll, w > 0);
            if (over) return topics.id[at_new = first + __ffs(int(over)) - 1];
            if (some) last = first + 31 - __clz(int(some));
            before = __shfl_sync(kAll, sum, 31);
        }
        at_new = last;
        return last < 0 ? old : topics.id[last];  // rounding: the last of them
    }

    /// In proportion to alpha_k e_vk, without `old`, whose weight is taken out of the running sums.
    __device__ int of_prior(float x, int old, float out) const {
        int block = a.blocks - 1;
        for (int first = 0; first < a.blocks; first += 32) {
            const int b = first + lane;
            const bool over = b < a.blocks && mass[b] - (b >= old / 32 ? out : 0.f) > x;
            const u32 mask = __ballot_sync(kAll, over);
            if (mask) {
                block = first + __ffs(int(mask)) - 1;
                break;
            }
        }
        if (block > 0) x -= mass[block - 1] - (block - 1 >= old / 32 ? out : 0.f);
        const int k = 32 * block + lane;
        const float w = k < a.K && k != old ? a.alpha[k] * row[k] : 0.f, sum = up_to_lane(w, lane);
        const u32 over = __ballot_sync(kAll, w > 0 && sum > x), some = __ballot_sync(kAll, w > 0);
        if (over) return 32 * block + __ffs(int(over)) - 1;
        return some ? 32 * block + 31 - __clz(int(some)) : old;
    }
};
