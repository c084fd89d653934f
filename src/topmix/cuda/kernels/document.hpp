// The fixed point of one document: which topics its words come from.  docs/math.md, section 3.
//
//     r_uk ~ P_k e_uk,   N_k = sum_u c_u r_uk,   P_k = N_k + alpha_k, or exp psi(N_k + alpha_k)    Eqs. (3.5)-(3.7)
//
// Steps have the names that they have in cpp/steps/document.hpp and the files under it; an update of all words is
// reweigh there, and here weigh_words and weigh_topics, because lanes are first words and then topics.
//
// A team keeps the document's part of the table as [topics, words] with an odd pitch: the sum over topics (lanes are
// words) and the sum over words (lanes are topics) are then both free of bank conflicts. Lists
// are aligned to 16 bytes.
//
// What few fits ask for is in the same code with EXTRA, and compiled apart, so that it costs the others nothing:
// tokens that are left out of the counts that judge them (R), the L best topics in early iterations too (M), and
// restarts. R and M lie behind E, each as large.
#pragma once
#include "arguments.hpp"
#include "math.hpp"
#include "team.hpp"

template <int SIZE, bool EXTRA>
struct Document {
    const SolveArgs& a;
    const Team<SIZE> team;
    int* topic;                          // [most] ascending
    float *N, *P, *alpha, *next, *last;  // [most]; `next` and `last` are neighbours
    float* body;                         // [room] counts to start from [K], then q and E
    float *saved, *before;               // [most] EXTRA: counts before a restart, and before all of them
    float* far;    // [slot_size] global memory, where E is as long as `body` is too small; or null
    float *q, *E;  // [words], [topics, pitch]
    i64 page = 0;  // floats from E to R, and to M
    const int* word = nullptr;
    const float* count = nullptr;
    int U = 0, pitch = 1, n = 0, iterations = 0, tried = 0, accepted = 0;

    __device__ Document(const SolveArgs& args, float* memory, float* slot) : a(args), far(slot) {
        topic = reinterpret_cast<int*>(memory);
        N = memory + a.most, P = N + a.most, alpha = P + a.most, next = alpha + a.most, last = next + a.most;
        saved = last + a.most, before = saved + a.most;
        body = memory + lists(a.most), q = body, E = body;
    }

    /// Floats that a document needs besides `body`.
    static __host__ __device__ i64 lists(int most) { return (EXTRA ? 8 : 6) * i64(most); }

    __device__ bool excludes() const { return EXTRA && a.exclude; }
    __device__ bool is_masked() const { return EXTRA && a.select_often && n > kL; }
    __device__ float* R() const { return E + page; }
    __device__ float* M() const { return E + (excludes() ? 2 : 1) * page; }

    /// What topic j is worth to word u.
    __device__ float weight(int u, int j) const {
        const float e = table()[j * pitch + u];
        if (!excludes()) return P[j] * e;
        const float own = fminf(count[u], 1.f) * R()[j * pitch + u];
        return fmaxf(P[j] - own, N[j] > 0 ? alpha[j] : 0.f) * e;  // the token aside, its topic still has the prior
    }

    /// The L best topics of word u by P_j e_uj, best first; of equal ones the lower is first.
    template <class Weight>
    __device__ void best_of(float* best, int* id, Weight&& weight_of) const {
#pragma unroll
        for (int l = 0; l < kL; ++l) best[l] = -1.f, id[l] = 0;
#pragma unroll 1
        for (int j = 0; j < n; ++j) {
            const float x = weight_of(j);
            if (!(x > best[kL - 1])) continue;
#pragma unroll
            for (int l = kL - 1; l > 0; --l) {
                const bool below = x > best[l - 1], here = x > best[l];
                id[l] = below ? id[l - 1] : here ? j : id[l];
                best[l] = below ? best[l - 1] : here ? x : best[l];
            }
            if (x > best[0]) best[0] = x, id[0] = j;
        }
    }

    /// Reads document d. False where it does not fit here.
    __device__ bool read(int d) {
        const int at = a.indptr[d];
        U = a.indptr[d + 1] - at, word = a.index + at, count = a.value + at;
        pitch = U | 1;
        if (a.starts_cold)
            start_from_words();
        else
            start_from(d);
        if (!activate(d)) return false;
        q = body, E = fits(n) ? body + U : far;
        if (U > a.room || (!fits(n) && (!far || pages() * n * pitch > a.slot_size))) return false;
        page = i64(n) * pitch;
        const bool discounts = a.own_discount > 0 && a.last_n != nullptr;
        if (discounts) recall(d);
        gather();
        if (discounts) discount();
        return true;
    }

    __device__ void solve() {
        iterations = tried = accepted = 0;
        fixed_point(a.max_iter);
        if (EXTRA && a.restarts > 0 && n > 1) propose_restarts();
    }

    /// P_k; a topic without tokens has left, and weighs nothing.
    __device__ void weights() {
        float largest = -1e30f;
        for (int j = team.lane; j < n; j += SIZE) {
            const float x = N[j] + alpha[j];
            P[j] = N[j] > 0 ? (a.variational ? digammaf(x) : x) : (a.variational ? -1e30f : 0.f);
            largest = fmaxf(largest, P[j]);
        }
        if (a.variational) {  // times a common factor, because exp(psi) of a small count would underflow
            largest = team.over(largest, Max());
            for (int j = team.lane; j < n; j += SIZE) P[j] = expf(P[j] - largest);
        }
        team.sync();
    }

  private:
    __device__ void fixed_point(int max_iter) {
        bool left = true;
        for (int it = 0; it < max_iter; ++it) {
            weights();
            if (EXTRA && (left || it < 5 || it % 10 == 0)) select();  // when a topic left, its tokens need another
            update();
            if (!step(left)) break;
        }
        squeeze();
        weights();
        if (EXTRA && left) select();
    }

    /// `next` from N.
    __device__ void update() {
        if (excludes()) {
            reweigh_excluding();
            team.sync();
            sum_over_words();
        } else {
            weigh_words();
            team.sync();
            weigh_topics();
        }
        team.sync();
        ++iterations;
    }

    __device__ i64 pages() const { return EXTRA ? 1 + (a.exclude != 0) + (a.select_often != 0) : 1; }

    __device__ bool fits(int topics) const { return pages() * topics * pitch + U <= a.room; }

    __device__ u32* dense() const { return reinterpret_cast<u32*>(body); }

    __device__ void clear() {
        for (int k = team.lane; k < a.K; k += SIZE) dense()[k] = 0;
        team.sync();
    }

    /// Integers, so that the order of the lanes does not matter; as fine as the document's length allows.
    __device__ void start_from_words() {
        clear();
        float tokens = 0;
        for (int u = team.lane; u < U; u += SIZE) tokens += count[u];
        tokens = team.over(tokens, Sum());
        float scale = 1048576.f;
        while (scale * (tokens + 1.f) > 2147483648.f) scale *= 0.5f;
        for (int i = team.lane; i < U * kL; i += SIZE) {
            const int u = i / kL;
            const i64 from = i64(word[u]) * kL + i % kL;
            atomicAdd(&dense()[a.first_topic[from]], u32(count[u] * a.first_share[from] * scale + 0.5f));
        }
        team.sync();
        for (int k = team.lane; k < a.K; k += SIZE) body[k] = float(dense()[k]) / scale;
        team.sync();
    }

    __device__ void start_from(int d) {
        clear();
        spread(d);
    }

    __device__ void spread(int d) {
        const i64 at = a.last_places[d];
        for (int i = team.lane; i < a.last_n[d]; i += SIZE) body[a.last_topic[at + i]] = a.last_count[at + i];
        team.sync();
    }

    __device__ float prior_of(int d, int k) const {
        return a.own_alpha ? a.own_alpha[i64(a.own_row[d]) * a.K + k] : float(a.alpha[k]);
    }

    /// A_d = {k : N_dk > eps}, never empty. False where there are too many.
    __device__ bool activate(int d) {
        u64 best = 0;
        n = 0;
        for (int first = 0; first < a.K; first += SIZE) {
            const int k = first + team.lane;
            const float x = k < a.K ? body[k] : 0.f;
            if (k < a.K) best = Max()(best, ranked(x, k));
            const bool in = k < a.K && x > a.eps;
            const int at = team.place(in, n);
            if (in && at < a.most) topic[at] = k, N[at] = x, alpha[at] = prior_of(d, k);
        }
        if (n == 0) {
            best = team.over(best, Max());
            const int k = place_of(best);
            if (team.lane == 0) topic[0] = k, N[0] = body[k], alpha[0] = prior_of(d, k);
            n = 1;
        }
        team.sync();
        return n <= a.most;
    }

    /// What the last visit left in the topics of now.
    __device__ void recall(int d) {
        clear();
        spread(d);
        for (int j = team.lane; j < n; j += SIZE) last[j] = body[topic[j]];
        team.sync();
    }

    /// Neighbouring lanes read one row of the table.
    __device__ void gather() {
#pragma unroll 4
        for (int i = team.lane; i < U * n; i += SIZE) {
            const int u = i / n, j = i - u * n;
            E[j * pitch + u] = a.table[i64(word[u]) * a.K + topic[j]];
        }
        if (EXTRA)
            for (i64 i = team.lane; i < (pages() - 1) * page; i += SIZE) E[page + i] = 0.f;
        team.sync();
    }

    /// Eq. (3.5b): the part of its own tokens that a document does not see in the topics' counts.
    __device__ void discount() {
        for (int u = team.lane; u < U; u += SIZE) {
            float s = 0;
            for (int j = 0; j < n; ++j) s += last[j] * E[j * pitch + u];
            const float by_word = float(exp(-a.log_scale[word[u]]));
            const float given = a.own_discount * count[u] * by_word / fmaxf(s, kTiny);
            for (int j = 0; j < n; ++j) {
                const float by_topic = a.by_topic[topic[j]];
                float& e = E[j * pitch + u];
                if (last[j] > 0) e = fmaxf(e - given * (last[j] * by_topic) * e, a.least * by_topic * by_word);
            }
        }
        team.sync();
    }

    /// q_u = c_u / sum_k P_k e_uk: lanes are words. Four sums side by side, because each addition waits for the last.
    __device__ void weigh_words() {
        for (int u = team.lane; u < U; u += SIZE) {
            const float* e = table() + u;
            float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            int j = 0;
            for (; j + 4 <= n; j += 4, e += 4 * pitch) {
                const float4 p = *reinterpret_cast<const float4*>(P + j);  // one read for all lanes
                s0 += p.x * e[0], s1 += p.y * e[pitch];
                s2 += p.z * e[2 * pitch], s3 += p.w * e[3 * pitch];
            }
            for (; j < n; ++j, e += pitch) s0 += P[j] * *e;
            q[u] = count[u] / fmaxf((s0 + s1) + (s2 + s3), kTiny);
        }
    }

    /// next_k = P_k sum_u q_u e_uk. A warp has lanes for topics, and where there are few, several for each, which take
    /// words in turn; a block has a warp for each topic.
    __device__ void weigh_topics() {
        if (SIZE == 32) {
            int width = 32;
            while (width > 1 && width / 2 >= n) width /= 2;
            const int j0 = team.lane & (width - 1), part = team.lane / width, parts = 32 / width;
            for (int first = 0; first < n; first += width) {
                const int j = first + j0;
                float s = 0;
                if (j < n) s = dot(j, part, parts);
                for (int far = width; far < 32; far <<= 1) s += __shfl_xor_sync(kAll, s, far);
                if (j < n && part == 0) next[j] = s * P[j];
            }
        } else {
            for (int j = 2 * (team.lane / 32); j < n; j += SIZE / 16) {  // two at a time share the reads of q
                const float *e = table() + j * pitch, *f = j + 1 < n ? e + pitch : e;
                float s = 0, t = 0;
#pragma unroll 4
                for (int u = team.lane % 32; u < U; u += 32) s += q[u] * e[u], t += q[u] * f[u];
                s = over_warp(s, Sum()), t = over_warp(t, Sum());
                if (team.lane % 32 == 0) next[j] = s * P[j];
                if (team.lane % 32 == 1 && j + 1 < n) next[j + 1] = t * P[j + 1];
            }
        }
    }

    __device__ const float* table() const { return is_masked() ? M() : E; }

    __device__ float dot(int j, int from, int by) const {
        const float* e = table() + j * pitch;
        float s0 = 0, s1 = 0;
        int u = from;
        for (; u + by < U; u += 2 * by) s0 += q[u] * e[u], s1 += q[u + by] * e[u + by];
        if (u < U) s0 += q[u] * e[u];
        return s0 + s1;
    }

    /// Takes `next`; topics at or under eps leave, but never the largest. False when nothing moves any more.
    /// A topic that left weighs nothing; its row goes when a quarter of them can go at once.
    __device__ bool step(bool& left) {
        float largest = 0, total = 0;
        u64 best = 0;
        for (int j = team.lane; j < n; j += SIZE) {
            const float change = fabsf(next[j] - N[j]);
            largest = fmaxf(largest, change), total += change;
            best = Max()(best, ranked(next[j], j));
        }
        best = team.over(best, Max());
        const float moved = a.mean_change ? team.over(total, Sum()) / float(a.K) : team.over(largest, Max());
        bool with_tokens = false;
        int kept = 0;
        for (int first = 0; first < n; first += SIZE) {
            const int j = first + team.lane;
            const float x = j < n ? next[j] : 0.f;
            const bool keep = j < n && (j == place_of(best) || x > a.eps);
            with_tokens |= j < n && !keep && x > 0;
            team.place(keep, kept);
            if (j < n) N[j] = keep ? x : 0.f;
        }
        left = team.any(with_tokens);
        team.sync();
        if (4 * kept <= 3 * n) squeeze();
        return left || !(moved < a.tol);
    }

    /// Keeps the rows of topics with tokens, from now on in shared memory where they fit. A lane moves its own words,
    /// upwards, so nothing is overwritten too soon.
    __device__ void squeeze() {
        int m = 0;
        for (int j = 0; j < n; ++j) m += N[j] > 0;
        if (m == n || m == 0) return;
        float* const nearer = fits(m) ? body + U : E;
        const i64 nearer_page = nearer == E ? page : i64(m) * pitch;
        for (int u = team.lane; u < U; u += SIZE)
            for (int j = 0, to = 0; j < n; ++j)
                if (N[j] > 0) {
                    if (to != j || nearer != E)
                        for (int p = 0; p < pages(); ++p)
                            nearer[p * nearer_page + to * pitch + u] = E[p * page + j * pitch + u];
                    ++to;
                }
        team.sync();
        E = nearer, page = nearer_page;
        int kept = 0;
        for (int first = 0; first < n; first += SIZE) {
            const int j = first + team.lane;
            const float x = j < n ? N[j] : 0.f, prior = j < n ? alpha[j] : 0.f;
            const int k = j < n ? topic[j] : 0, to = team.place(x > 0, kept);
            team.sync();
            if (x > 0) N[to] = x, alpha[to] = prior, topic[to] = k;
            team.sync();
        }
        n = kept;
    }

    /// r_uk of every word, a token not counting itself; for sum_over_words.
    __device__ void reweigh_excluding() {
        for (int u = team.lane; u < U; u += SIZE) {
            float s = 0;
            for (int j = 0; j < n; ++j) {
                const float w = weight(u, j);
                R()[j * pitch + u] = w;
                s += w;
            }
            for (int j = 0; j < n; ++j) R()[j * pitch + u] /= fmaxf(s, kTiny);
        }
    }

    /// next_k = sum_u c_u r_uk: a warp has a topic.
    __device__ void sum_over_words() {
        for (int j = team.lane / 32; j < n; j += SIZE / 32) {
            float s = 0;
            for (int u = team.lane % 32; u < U; u += 32) s += count[u] * R()[j * pitch + u];
            s = over_warp(s, Sum());
            if (team.lane % 32 == 0) next[j] = s;
        }
    }

    /// M: the table of each word's L best topics; until the next selection only these are weighed.
    __device__ void select() {
        if (!is_masked()) return;
        for (int u = team.lane; u < U; u += SIZE) {
            float best[kL];
            int id[kL];
            best_of(best, id, [&](int j) { return P[j] * E[j * pitch + u]; });
            for (int j = 0; j < n; ++j) M()[j * pitch + u] = 0.f;
#pragma unroll
            for (int l = 0; l < kL; ++l) M()[id[l] * pitch + u] = E[id[l] * pitch + u];
        }
        team.sync();
    }

    /// The document's objective less a constant, Eq. (3.9), at the responsibilities that N implies: each word's top L,
    /// nothing excluded. Tokens are summed as integers in the place of `next` and `last`; P is of N.
    __device__ double objective() {
        u64* const mass = reinterpret_cast<u64*>(next);
        team.sync();
        for (int j = team.lane; j < n; j += SIZE) mass[j] = 0;
        team.sync();
        double value = 0;
        for (int u = team.lane; u < U; u += SIZE) {
            const float* e = table() + u;
            float s = 0;
            if (n <= kL || is_masked()) {
                for (int j = 0; j < n; ++j) s += P[j] * e[j * pitch];
                s = fmaxf(s, kTiny);
                for (int j = 0; j < n; ++j) add_tokens(mass, j, count[u] * (P[j] * e[j * pitch] / s));
            } else {
                float best[kL];
                int id[kL];
                best_of(best, id, [&](int j) { return P[j] * e[j * pitch]; });
#pragma unroll
                for (int l = 0; l < kL; ++l) s += best[l];
                s = fmaxf(s, kTiny);
#pragma unroll
                for (int l = 0; l < kL; ++l) add_tokens(mass, id[l], count[u] * (best[l] / s));
            }
            value += double(count[u]) * log_of(double(s));
        }
        team.sync();
        for (int j = team.lane; j < n; j += SIZE)
            if (mass[j]) {
                const double x = double(mass[j]) / double(a.unit), prior = alpha[j];
                value += log_gamma(x + prior) - log_gamma(prior) - x * log_of(double(P[j]));
            }
        value = team.over(value, Sum());
        team.sync();
        return value;
    }

    __device__ void add_tokens(u64* mass, int j, float tokens) const {
        const u64 x = u64(tokens * a.unit + 0.5f);
        if (x) atomicAdd(&mass[j], x);
    }

    /// The next topic in the order of their first counts after (x, at), among those that still have tokens; -1: none.
    __device__ int next_smallest(float& x, int& at, int& live) {
        u64 best = 0;  // the largest rank of negated order: smallest count, then lowest place
        int with_tokens = 0;
        for (int j = team.lane; j < n; j += SIZE) {
            if (!(N[j] > 0)) continue;
            ++with_tokens;
            if (before[j] > x || (before[j] == x && j > at)) {
                const u64 rank = (u64(~__float_as_uint(before[j])) << 32) | u32(~j);
                best = Max()(best, rank);
            }
        }
        live = team.over(with_tokens, Sum());
        best = team.over(best, Max());
        if (best == 0) return -1;
        at = place_of(best), x = before[at];
        return at;
    }

    /// Tries the document without each of its smallest topics; keeps what raises the objective.
    __device__ void propose_restarts() {
        double now = objective();
        for (int j = team.lane; j < n; j += SIZE) before[j] = N[j];
        team.sync();
        float x = -1.f;
        int at = -1, live = 0;
        for (int tries = 0; tries < a.restarts; ++tries) {
            const int j = next_smallest(x, at, live);
            if (j < 0 || live < 2) break;
            ++tried;
            for (int i = team.lane; i < n; i += SIZE) saved[i] = N[i], N[i] = i == j ? 0.f : N[i];
            team.sync();
            for (int it = 0; it < a.restart_iter; ++it) {
                weights();
                if (it == 0) select();
                update();
                for (int i = team.lane; i < n; i += SIZE) N[i] = next[i];
                team.sync();
            }
            weights();
            if (const double then = objective(); then > now) {
                now = then, ++accepted;
            } else {
                for (int i = team.lane; i < n; i += SIZE) N[i] = saved[i];
                team.sync();
            }
        }
        drop_small();
        fixed_point(2);  // responsibilities are still those of the last proposal: make them agree with N
    }

    /// Topics at or under eps leave, but never the largest.
    __device__ void drop_small() {
        for (int j = team.lane; j < n; j += SIZE) next[j] = N[j];
        team.sync();
        bool left = false;
        step(left);
    }
};
