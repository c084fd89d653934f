// SCVB0 on one shard, as cpp/steps/scvb0.hpp: each token moves the online average N of its document; the last pass over
// a document is what counts. The order of its words is the one that the processor draws.
#include "random.hpp"
#include "tokens.hpp"

__device__ NOINLINE static double power(double x, double y) { return pow(x, y); }

struct Average {
    const TokenArgs& a;
    TokenDocument& document;
    float* const N;  // [K]
    const int lane;

    /// Fisher-Yates, from the end, by one lane: each number decides where the next one goes.
    __device__ void shuffle(Philox& random) {
        int* order = a.order + document.at;
        if (lane == 0)
            for (u32 i = u32(document.U); i > 1; --i) {
                const u32 j = random.below(i);
                const int last = order[i - 1];
                order[i - 1] = order[j], order[j] = last;
            }
        __syncwarp();
    }

    /// What a token of the document's first t leaves of N, m times over.
    __device__ double left(double t, double m) const {
        const double step = a.scale / power(a.offset + t, a.decay);
        return step >= 1 ? 0.0 : m == 1 ? 1 - step : power(1 - step, m);
    }

    /// Returns sum_u c_u H[gamma_u] of the last pass.
    __device__ double visit(int d) {
        const float* count = a.value + document.at;
        float length = 0;
        for (int u = lane; u < document.U; u += 32) a.order[document.at + u] = u, length += count[u];
        length = over_warp(length, Sum());
        for (int k = lane; k < a.K; k += 32) N[k] = float(double(length) * a.alpha[k] / a.alpha_total);
        __syncwarp();
        Philox random(a.seed, a.visit, u64(d));
        double t = 0, entropy = 0;
        for (int pass = 0; pass <= a.burn_in; ++pass) {
            shuffle(random);
            for (int first = 0; first < document.U; first += 32) {  // lanes find the steps of 32 words at once
                const int i = first + lane, u_here = i < document.U ? a.order[document.at + i] : 0;
                const double m = i < document.U ? double(count[u_here]) : 0.0, upto = t + running(m);
                const double left_here = left(upto - m, m);
                for (int j = 0; j < min(32, document.U - first); ++j)
                    entropy +=
                        read(__shfl_sync(kAll, u_here, j), __shfl_sync(kAll, left_here, j), length, pass == a.burn_in);
                t = __shfl_sync(kAll, upto, 31);
            }
        }
        return entropy;
    }

    __device__ double running(double x) const {
        for (int far = 1; far < 32; far <<= 1) {
            const double below = __shfl_sync(kAll, x, lane - far);
            if (lane >= far) x += below;
        }
        return x;
    }

    __device__ double read(int u, double left, float length, bool counts) {
        const float* e = a.table + i64(a.index[document.at + u]) * a.K;
        for (int k = lane; k < a.K; k += 32) {
            document.row.s[k] = e[k] * (N[k] + float(a.alpha[k]));
            N[k] *= float(left);
        }
        document.choose();
        if (lane < kL) N[document.k] += float(double(length) * (1 - left)) * (document.w / document.sum);
        __syncwarp();
        if (!counts) return 0;
        const float count = a.value[document.at + u];
        const double entropy = double(count) * double(document.entropy());
        document.keep(u, document.share(count));
        return entropy;
    }
};

extern "C" __global__ void __launch_bounds__(32 * kTokenWarps) scvb0_documents(TokenArgs a) {
    DYNAMIC_SHARED(float, memory);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const int room = TokenDocument::room(a.K, a.chunk), each = room + a.K + a.K % 2;
    TokenDocument document(a, memory + warp * each, lane);
    Average average{a, document, memory + warp * each + room, lane};
    TeamSums sums;
    each_document(a, lane, [&](int d) {
        document.open(d);
        if (document.U > 0) sums.entropy += fixed(average.visit(d), kSums);
        sums.iterations += i64(document.U) * (a.burn_in + 1);
        document.close(sums);
    });
    if (lane == 0) sums.add_to(a.sums);
}
