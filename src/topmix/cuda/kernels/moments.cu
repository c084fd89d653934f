// Moments of rows, cluster by cluster, of pairs that are sorted by cluster (segments.cu). Unlike log weights they are
// no product of matrices: a row has L of K clusters, and a product would sum the other K - L too.
//
// A cluster's pairs are cut into parts. A block has a part and sums it about the cluster's centre, so that a small
// cluster far from the origin keeps its digits in float32; then each cluster adds its parts in order, in double, and
// puts the centre back. No order depends on which block was first.
#include "mixture_arguments.hpp"
#include "team.hpp"

constexpr int kSumThreads = 256;
constexpr int kSumWarps = kSumThreads / 32;
constexpr int kPerLane = 4;             // coordinates of a lane
constexpr int kAtOnce = 32 * kPerLane;  // of a warp
constexpr int kTile = 64;               // products are summed in squares of this size
constexpr int kTogether = 16;           // pairs in shared memory
constexpr int kPitch = kTile + 4;

struct Part {
    int k, begin, end;  // pairs in `order`
};

/// Which pairs part p has; k = K: there is no such part.
__device__ inline Part part_of(const MomentArgs& a, int p) {
    if (p >= a.part_start[a.K]) return {a.K, 0, 0};
    int low = 0, high = a.K;  // part_start[low] <= p < part_start[high]
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (a.part_start[middle] <= p ? low : high) = middle;
    }
    const int begin = a.start[low] + (p - a.part_start[low]) * a.part;
    return {low, begin, min(a.start[low + 1], begin + a.part)};
}

template <class T>
__device__ inline double weight_of(const MomentArgs& a, int pair) {
    const double r = double(static_cast<const T*>(a.r)[pair]);
    return a.weight ? r * a.weight[pair / a.L] : r;
}

/// Weights, first moments and squares of a part, in double. Warps take pairs in turn, lanes have coordinates.
template <class T>
__device__ void sums(const MomentArgs& a) {
    __shared__ double sum[kSumWarps][kAtOnce], square[kSumWarps][kAtOnce], total[kSumWarps];
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const Part part = part_of(a, int(blockIdx.x));
    if (part.k == a.K) return;
    double* out = a.part_sums + i64(blockIdx.x) * (1 + 2 * a.D);
    const T* centre = a.centre ? static_cast<const T*>(a.centre) + i64(part.k) * a.D : nullptr;
    for (int first = 0; first == 0 || first < a.D; first += kAtOnce) {
        double n = 0, s[kPerLane] = {}, q[kPerLane] = {};
        T m[kPerLane] = {};
        for (int i = 0; i < kPerLane; ++i) {
            const int d = first + i * 32 + lane;
            if (centre && d < a.D) m[i] = centre[d];
        }
        for (int begin = part.begin + warp * 32; begin < part.end; begin += kSumThreads) {
            const int mine = begin + lane < part.end ? a.order[begin + lane] : -1;  // each lane looks at one pair
            const double my_weight = mine < 0 ? 0.0 : weight_of<T>(a, mine);
            const int rows = min(32, part.end - begin);
#pragma unroll 4
            for (int p = 0; p < rows; ++p) {
                const int pair = __shfl_sync(kAll, mine, p);
                const double w = __shfl_sync(kAll, my_weight, p);
                n += w;
                const T* z = static_cast<const T*>(a.z) + i64(pair / a.L) * a.D;
#pragma unroll
                for (int i = 0; i < kPerLane; ++i) {
                    const int d = first + i * 32 + lane;
                    const double c = d < a.D ? double(z[d]) - double(m[i]) : 0.0;
                    s[i] += w * c, q[i] += w * c * c;
                }
            }
        }
        for (int i = 0; i < kPerLane; ++i) sum[warp][i * 32 + lane] = s[i], square[warp][i * 32 + lane] = q[i];
        if (lane == 0) total[warp] = n;
        __syncthreads();
        const int t = int(threadIdx.x);
        if (t < kAtOnce && first + t < a.D) {
            double x = 0, y = 0;
            for (int w = 0; w < kSumWarps; ++w) x += sum[w][t], y += square[w][t];
            out[1 + first + t] = x, out[1 + a.D + first + t] = y;
        }
        if (t == 0 && first == 0) {
            double x = 0;
            for (int w = 0; w < kSumWarps; ++w) x += total[w];
            out[0] = x;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(kSumThreads) sums_float(MomentArgs a) { sums<float>(a); }
extern "C" __global__ void __launch_bounds__(kSumThreads) sums_double(MomentArgs a) { sums<double>(a); }

/// Products of a part. A block has one square of them, of kTile by kTile coordinates, and a thread four by four.
template <class T>
__device__ void products(const MomentArgs& a) {
    __shared__ T left[kTogether][kPitch], right[kTogether][kPitch];
    const int n_tiles = (a.D + kTile - 1) / kTile, n_squares = n_tiles * (n_tiles + 1) / 2;
    const Part part = part_of(a, int(blockIdx.x) / n_squares);
    if (part.k == a.K) return;
    int row = 0, column = int(blockIdx.x) % n_squares;  // of squares, on or above the diagonal
    for (; column >= n_tiles - row; ++row) column -= n_tiles - row;
    column += row;
    const int t = int(threadIdx.x), i0 = row * kTile, j0 = column * kTile, y = t / 16 * 4, x = t % 16 * 4;
    const T* centre = a.centre ? static_cast<const T*>(a.centre) + i64(part.k) * a.D : nullptr;
    T sum[4][4] = {}, next_left[4], next_right[4];
    const int p = t / 16, d0 = t % 16;   // sixteen threads read a row
    const auto fetch = [&](int first) {  // the next rows, while these are multiplied
        const int pair = first + p < part.end ? a.order[first + p] : -1;
        const T w = pair < 0 ? T(0) : T(weight_of<T>(a, pair));
        const T* z = static_cast<const T*>(a.z) + i64(pair < 0 ? 0 : pair / a.L) * a.D;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int i = i0 + d0 + 16 * c, j = j0 + d0 + 16 * c;
            next_left[c] = pair >= 0 && i < a.D ? w * (z[i] - (centre ? centre[i] : T(0))) : T(0);
            next_right[c] = pair >= 0 && j < a.D ? z[j] - (centre ? centre[j] : T(0)) : T(0);
        }
    };
    fetch(part.begin);
    for (int first = part.begin; first < part.end; first += kTogether) {
#pragma unroll
        for (int c = 0; c < 4; ++c) left[p][d0 + 16 * c] = next_left[c], right[p][d0 + 16 * c] = next_right[c];
        __syncthreads();
        fetch(first + kTogether);
#pragma unroll
        for (int q = 0; q < kTogether; ++q) {
            T u[4], v[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) u[i] = left[q][y + i], v[i] = right[q][x + i];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    T* out = static_cast<T*>(a.part_products) + i64(int(blockIdx.x) / n_squares) * a.Q;
    for (int di = 0; di < 4; ++di)
        for (int dj = 0; dj < 4; ++dj) {
            const int i = i0 + y + di, j = j0 + x + dj;
            if (i <= j && j < a.D) out[i64(i) * a.D - i64(i) * (i - 1) / 2 + j - i] = sum[di][dj];
        }
}

extern "C" __global__ void __launch_bounds__(kSumThreads) products_float(MomentArgs a) { products<float>(a); }
extern "C" __global__ void __launch_bounds__(kSumThreads) products_double(MomentArgs a) { products<double>(a); }

/// Adds the parts of a cluster to its moments. A block has a cluster.
template <class T>
__device__ void gather(const MomentArgs& a) {
    DYNAMIC_SHARED(double, f);  // [1 + D] weight and first moments about the centre
    const int k = int(blockIdx.x), t = int(threadIdx.x), width = 1 + 2 * a.D;
    const int begin = a.part_start[k], end = a.part_start[k + 1];
    if (begin == end) return;
    const T* centre = a.centre ? static_cast<const T*>(a.centre) + i64(k) * a.D : nullptr;
    const auto m = [&](int d) { return centre ? double(centre[d]) : 0.0; };
    for (int i = t; i <= a.D; i += kSumThreads) {
        double x = 0;
        for (int p = begin; p < end; ++p) x += a.part_sums[i64(p) * width + i];
        f[i] = x;
    }
    __syncthreads();
    if (t == 0) a.N[k] += f[0];
    for (int d = t; d < a.D; d += kSumThreads) a.first[i64(k) * a.D + d] += f[1 + d] + f[0] * m(d);
    if (a.kind == kSquares || (a.kind == kNorm && t == 0))
        for (int d = a.kind == kNorm ? 0 : t; d < a.D; d += a.kind == kNorm ? 1 : kSumThreads) {
            double x = 0;
            for (int p = begin; p < end; ++p) x += a.part_sums[i64(p) * width + 1 + a.D + d];
            a.second[a.kind == kNorm ? i64(k) : i64(k) * a.D + d] += x + m(d) * (2 * f[1 + d] + f[0] * m(d));
        }
    if (a.kind != kProducts) return;
    const T* parts = static_cast<const T*>(a.part_products);
    for (int i = t / 32; i < a.D; i += kSumWarps)
        for (int j = i + t % 32; j < a.D; j += 32) {
            const i64 q = i64(i) * a.D - i64(i) * (i - 1) / 2 + j - i;
            double x = 0;
            for (int p = begin; p < end; ++p) x += double(parts[i64(p) * a.Q + q]);
            a.second[i64(k) * a.Q + q] += x + f[1 + i] * m(j) + m(i) * (f[1 + j] + f[0] * m(j));
        }
}

extern "C" __global__ void __launch_bounds__(kSumThreads) gather_float(MomentArgs a) { gather<float>(a); }
extern "C" __global__ void __launch_bounds__(kSumThreads) gather_double(MomentArgs a) { gather<double>(a); }

/// partial[block] += sum of weight times entropy, of the rows that the block has.
extern "C" __global__ void __launch_bounds__(kSumThreads) add_entropy(MomentArgs a) {
    const Team<kSumThreads> team;
    double sum = 0;
    for (i64 n = i64(blockIdx.x) * kSumThreads + team.lane; n < a.n; n += i64(gridDim.x) * kSumThreads)
        sum += a.weight ? a.weight[n] * a.entropy[n] : a.entropy[n];
    sum = team.over(sum, Sum());
    if (team.lane == 0) a.partial[blockIdx.x] += sum;
}

/// Statistics have + - and x on the device.
extern "C" __global__ void __launch_bounds__(kSumThreads) add_scaled(AddArgs a) {
    const i64 step = i64(gridDim.x) * kSumThreads;
    for (i64 i = i64(blockIdx.x) * kSumThreads + threadIdx.x; i < a.n; i += step) {
        const double x = a.factor * a.to[i];
        a.to[i] = a.from ? x + a.weight * a.from[i] : x;
    }
}
