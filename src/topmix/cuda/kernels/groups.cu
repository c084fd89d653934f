// Groups of rows that share proportions of clusters: the device's half of steps/rows.py.  docs/math.md, section A.
//
//     r_nk ~ exp(s_nk) P_dk for the L best candidates of row n,   N_dk = sum_{n in d} w_n r_nk,
//     P_dk = exp psi(N_dk + alpha_k) variational, N_dk + alpha_k collapsed                         Eqs. (A.4)-(A.6)
//
// Rows come in blocks, with scores that products of matrices made. Each keeps a few candidates, and the scores of all
// clusters are gone when the next block comes. Then a block of threads solves one group on the candidates of its rows.
// A thread has a row, so candidates lie one row beside the other. Counts are integers of a part of the group's rows: no
// sum depends on which thread was first.
#include "math.hpp"
#include "top.hpp"

constexpr int kWeighThreads = 256;
constexpr int kCandidateThreads = 256;  // at most
constexpr int kFewThreads = 128;        // of a group with few rows
constexpr int kManyThreads = 1024;
constexpr double kCertain = 1 - 9.094947017729282e-13;  // 1 - 2^-40: a share that leaves no doubt
constexpr double kAbsent = 1.0 / 32;                    // logs of what is left reach down to -28

__device__ inline u64 whole(double x) { return u64(x + 0.5); }

/// E log pi_k up to what all clusters of a group have in common; its point where collapsed.  Eq. (A.5).
__device__ inline double log_weight(const GroupArgs& a, double count, int k) {
    const double x = count + a.alpha[k];
    return a.collapsed ? log_of(x) : digamma(x);
}

/// log_p [groups, K] from N. A block has a group.
extern "C" __global__ void __launch_bounds__(kWeighThreads) weigh_groups(GroupArgs a) {
    const Team<kWeighThreads> team;
    for (i64 g = blockIdx.x; g < a.n_groups; g += gridDim.x) {
        double largest = nothing<double>();
        for (int k = team.lane; k < a.K; k += kWeighThreads) {
            const double x = log_weight(a, a.N[g * a.K + k], k);
            a.log_p[g * a.K + k] = x;
            largest = Max()(largest, x);
        }
        largest = team.over(largest, Max());
        for (int k = team.lane; k < a.K; k += kWeighThreads) a.log_p[g * a.K + k] -= largest;
    }
}

/// The scores of a row, by a warp: of clusters alone, or under the proportions of the row's group.
template <class T>
struct GroupScores {
    const GroupArgs& a;
    const T* scores;
    const double* log_p;
    T scale;

    __device__ GroupScores(const GroupArgs& args, i64 n)
        : a(args),
          scores(static_cast<const T*>(args.scores) + n * args.pitch),
          log_p(args.log_p + i64(args.group[args.first + n] - args.first_group) * args.K),
          scale(args.row_scale ? T(args.row_scale[n]) : T(1)) {}

    __device__ T product(int k) const { return a.row_scale ? scores[k] * scale * T(a.cluster_scale[k]) : scores[k]; }
    __device__ T alone(int k) const {
        const T x = product(k) + T(a.constant[k]);
        return x == x ? x : nothing<T>();
    }

    __device__ void put(const Scores<T>& row) const {
        for (int k = row.lane; k < a.K; k += 32) row.set(k, product(k) + T(a.constant[k] + log_p[k]));
    }
};

/// The C best clusters of each row, ascending, and their scores without proportions, less that of the best.
template <class T>
__device__ void candidates(const GroupArgs& a) {
    DYNAMIC_SHARED(double, memory);
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = int(blockDim.x) / 32;
    const Scores<T> row{reinterpret_cast<T*>(memory) + i64(warp) * 32 * a.of_lane, a.K, a.of_lane, lane};
    row.fill_up();
    for (i64 n = i64(blockIdx.x) * warps + warp; n < a.n; n += i64(gridDim.x) * warps) {
        const GroupScores<T> scores(a, n);
        scores.put(row);
        __syncwarp();
        int best = 0;
        const Cut<T> cut = choose_best(row, a.C < a.K ? a.C : 1, [&](int l, T, int k) { best = l == 0 ? k : best; });
        const T high = scores.alone(best);
        const auto keep = [&](int c, int k) {
            const i64 at = c * a.n_rows + a.first + n;
            const T x = scores.alone(k);
            a.id[at] = TopicId(k), static_cast<T*>(a.s)[at] = x == high ? T(0) : x - high;
        };
        int to = cut.first_place(lane);
        if (a.C == a.K) {
            for (int k = lane; k < a.K; k += 32) keep(k, k);
        } else if (cut.mine > 0) {
            for (int k = lane * a.of_lane; k < (lane + 1) * a.of_lane; ++k)
                if (cut.has(row, k)) keep(to++, k);
        }
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(kCandidateThreads) candidates_float(GroupArgs a) { candidates<float>(a); }
extern "C" __global__ void __launch_bounds__(kCandidateThreads) candidates_double(GroupArgs a) {
    candidates<double>(a);
}

/// The log of the summed weights of all clusters.
template <class T>
__device__ void likelihood(const GroupArgs& a) {
    DYNAMIC_SHARED(double, memory);
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, warps = int(blockDim.x) / 32;
    const Scores<T> row{reinterpret_cast<T*>(memory) + i64(warp) * 32 * a.of_lane, a.K, a.of_lane, lane};
    for (i64 n = i64(blockIdx.x) * warps + warp; n < a.n; n += i64(gridDim.x) * warps) {
        GroupScores<T>(a, n).put(row);
        __syncwarp();
        const Chosen<T> c = choose_all(row);
        if (lane == 0) a.likelihood[a.first + n] = double(c.high) + double(log_of_sum(c.sum));
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(kCandidateThreads) likelihood_float(GroupArgs a) { likelihood<float>(a); }
extern "C" __global__ void __launch_bounds__(kCandidateThreads) likelihood_double(GroupArgs a) {
    likelihood<double>(a);
}

/// A row's candidates under the proportions of its group, read by one thread.
template <class T>
struct Candidates {
    const T* s;
    const TopicId* id;
    const T* log_p;
    const i64 apart;
    const int C, L;

    __device__ T operator()(int c) const { return s[c * apart] + log_p[id[c * apart]]; }

    /// take(l, k, r) for the L best, by rising k. Returns the entropy of r.
    template <class Take>
    __device__ double share(T least, Take&& take) const {
        T high = nothing<T>(), last = -nothing<T>();
        int at = -1;
        if (L == C)
            for (int c = 0; c < C; ++c) high = Max()(high, (*this)(c));
        for (int l = 0; L < C && l < L; ++l) {
            T next = nothing<T>();
            int next_at = -1;
            for (int c = 0; c < C; ++c) {
                const T x = (*this)(c);
                if (Scores<T>::is_before(last, at, x, c) && (next_at < 0 || x > next)) next = x, next_at = c;
            }
            high = l == 0 ? next : high, last = next, at = next_at;
        }
        const auto is_in = [&](T x, int c) { return L == C || !Scores<T>::is_before(last, at, x, c); };
        T sum = 0, moment = 0;
        for (int c = 0; c < C; ++c) {
            const T x = (*this)(c);
            if (!is_in(x, c)) continue;
            const T w = weight_of(x, high);
            sum += w;
            if (w > 0 && x != high) moment += w * (x - high);
        }
        for (int c = 0, l = 0; c < C; ++c) {
            const T x = (*this)(c);
            if (!is_in(x, c)) continue;
            const T r = weight_of(x, high) / sum;
            take(l++, int(id[c * apart]), r < least ? T(0) : r);
        }
        return double(log_of_sum(sum)) - double(moment) / double(sum);
    }
};

/// One group, by a block.
template <class T, int SIZE>
struct Group {
    const GroupArgs& a;
    const Team<SIZE>& team;
    u64* sum;  // [K] integers of 1 / unit
    T* log_p;  // [K]
    const i64 g, begin, end;
    const double unit;

    __device__ Group(const GroupArgs& args, const Team<SIZE>& all, u64* memory, i64 group)
        : a(args),
          team(all),
          sum(memory),
          log_p(reinterpret_cast<T*>(memory + args.K)),
          g(group),
          begin(args.starts[group] - args.base),
          end(args.starts[group + 1] - args.base),
          unit(args.unit[group]) {}

    /// From the counts N, which become what the rows sum to.
    __device__ void solve() const {
        int it = 0;
        for (bool moves = true; moves; ++it) {
            weigh();
            rows([&](i64, int, int k, double w, T r) {
                if (r > 0) atomicAdd(&sum[k], whole(w * double(r) * unit));
            });
            team.sync();
            moves = moved() && it + 1 < a.max_iter;
        }
        if (team.lane == 0) a.iterations[g] = it;
        for (int k = team.lane; k < a.K; k += SIZE) sum[k] = 0;
        team.sync();
        rows([&](i64 n, int l, int k, double w, T r) {  // what the last iteration found
            a.cluster[n * a.L + l] = k, static_cast<T*>(a.r)[n * a.L + l] = r;
            if (a.absent) atomicAdd(&sum[k], whole(-w * log_of(1.0 - fmin(double(r), kCertain)) * unit * kAbsent));
        });
        team.sync();
        for (int k = team.lane; a.absent && k < a.K; k += SIZE)
            a.absent[g * a.K + k] = -double(sum[k]) / (unit * kAbsent);
        team.sync();
    }

  private:
    __device__ void weigh() const {
        const double* N = a.N + g * a.K;
        double *wide = a.log_p + g * a.K, largest = nothing<double>();
        for (int k = team.lane; k < a.K; k += SIZE) {
            wide[k] = log_weight(a, N[k], k);
            largest = Max()(largest, wide[k]);
        }
        largest = team.over(largest, Max());
        for (int k = team.lane; k < a.K; k += SIZE) log_p[k] = T(wide[k] - largest), sum[k] = 0;
        team.sync();
    }

    /// take(n, l, k, w, r) for each row of the group and each of its clusters.
    template <class Take>
    __device__ void rows(Take&& take) const {
        for (i64 n = begin + team.lane; n < end; n += SIZE) {
            const Candidates<T> row{static_cast<const T*>(a.s) + n, a.id + n, log_p, a.n_rows, a.C, a.L};
            const double w = a.weight ? a.weight[n] : 1.0;
            a.entropy[n] = row.share(T(a.least), [&](int l, int k, T r) { take(n, l, k, w, r); });
        }
    }

    /// The sums become N. Whether enough of them has changed.
    __device__ bool moved() const {
        double* N = a.N + g * a.K;
        u64 change = 0, total = 0;
        for (int k = team.lane; k < a.K; k += SIZE) {
            const u64 now = sum[k], was = whole(N[k] * unit);
            change += now > was ? now - was : was - now, total += now;
            N[k] = double(now) / unit;
        }
        change = team.over(change, Sum()), total = team.over(total, Sum());
        return double(change) > a.tol * double(total);
    }
};

template <class T, int SIZE>
__device__ void solve(const GroupArgs& a) {
    DYNAMIC_SHARED(u64, memory);
    const Team<SIZE> team;
    for (i64 g = blockIdx.x; g < a.n_groups; g += gridDim.x) Group<T, SIZE>(a, team, memory, g).solve();
}

extern "C" __global__ void __launch_bounds__(kFewThreads) solve_few_float(GroupArgs a) { solve<float, kFewThreads>(a); }
extern "C" __global__ void __launch_bounds__(kFewThreads) solve_few_double(GroupArgs a) {
    solve<double, kFewThreads>(a);
}
extern "C" __global__ void __launch_bounds__(kManyThreads) solve_many_float(GroupArgs a) {
    solve<float, kManyThreads>(a);
}
extern "C" __global__ void __launch_bounds__(kManyThreads) solve_many_double(GroupArgs a) {
    solve<double, kManyThreads>(a);
}
