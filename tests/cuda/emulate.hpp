// The words of CUDA that the kernels use, for a host compiler: a lane is a fibre, and lanes change at barriers.
//
// Blocks run one after another. Which lane goes first at a barrier is a setting, so a missing barrier shows as a result
// that changes with it; a barrier that some lanes never reach ends the program with a message.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>  // each header here is read for every program that is compiled

#define __device__
#define __host__
#define __global__ static
#define __shared__ static
#define __launch_bounds__(...)
#define NOINLINE __attribute__((noinline))
#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(emulated::dynamic_shared)

using std::fmax;
using std::max;
using std::min;

struct float4 {
    float x, y, z, w;
};

struct Dim {
    unsigned x = 0;
};
inline Dim threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {

inline void* dynamic_shared;
inline jmp_buf scheduler;

struct Barrier {
    int live = 0, arrived = 0;
    long generation = 0;
    unsigned long long slot[2][32];
};

struct Lane {
    jmp_buf place;
    char* stack = nullptr;  // kept for the next block, until the process ends
    bool begun = false;
    Barrier* waits_at = nullptr;
    long generation = 0;
    bool done = false;
};

inline std::vector<Lane> lanes;
inline std::vector<Barrier> warps;
inline Barrier block;
inline int order_seed = 0;  // 0: ascending; 1: descending; else a permutation

/// Back to the scheduler, until it comes back here. A jump, because swapcontext asks the kernel for its signals.
inline void pause(Lane& lane) {
    if (!_setjmp(lane.place)) _longjmp(scheduler, 1);
}

inline void arrive(Barrier& barrier) {
    Lane& lane = lanes[threadIdx.x];
    lane.generation = barrier.generation;
    if (++barrier.arrived == barrier.live) {
        barrier.arrived = 0, ++barrier.generation;
        return;
    }
    lane.waits_at = &barrier;
    pause(lane);
}

inline void leave(Barrier& barrier) {
    if (--barrier.live > 0 && barrier.arrived == barrier.live) barrier.arrived = 0, ++barrier.generation;
}

inline Barrier& warp() { return warps[threadIdx.x / 32]; }

/// What every lane of the warp has given, once all have.
inline const unsigned long long* exchanged(unsigned long long x) {
    Barrier& w = warp();
    unsigned long long* slot = w.slot[w.generation & 1];
    slot[threadIdx.x % 32] = x;
    arrive(w);
    return slot;
}

template <class T>
unsigned long long bits(T x) {
    unsigned long long b = 0;
    std::memcpy(&b, &x, sizeof x);
    return b;
}

template <class T>
T from_bits(unsigned long long b) {
    T x;
    std::memcpy(&x, &b, sizeof x);
    return x;
}

inline void (*entry)();

/// A fibre runs one lane of one block after another: to make one asks the kernel of the system for its signals.
inline void start() {
    for (;;) {
        entry();
        lanes[threadIdx.x].done = true;
        leave(warp());
        leave(block);
        pause(lanes[threadIdx.x]);
    }
}

inline void resume(Lane& lane) {
    if (_setjmp(scheduler)) return;
    if (lane.begun) _longjmp(lane.place, 1);
    lane.begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = lane.stack;
    context.uc_stack.ss_size = 1 << 16;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
    setcontext(&context);
}

inline void run_block(int n) {
    if (lanes.size() < size_t(n)) lanes.resize(size_t(n));
    warps.assign(size_t(n + 31) / 32, Barrier());
    block = Barrier();
    block.live = n;
    for (int i = 0; i < n; ++i) {
        Lane& lane = lanes[size_t(i)];
        if (!lane.stack) lane.stack = new char[1 << 16];
        lane.done = false, lane.waits_at = nullptr;
        ++warps[size_t(i) / 32].live;
    }
    std::vector<int> order(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) order[size_t(i)] = order_seed == 1 ? n - 1 - i : i;
    unsigned random = unsigned(order_seed);
    for (int i = n - 1; i > 0 && order_seed > 1; --i) {
        random = random * 1664525u + 1013904223u;
        std::swap(order[size_t(i)], order[(random >> 16) % unsigned(i + 1)]);
    }
    for (int left = n; left > 0;) {
        bool moved = false;
        for (const int i : order) {
            Lane& lane = lanes[size_t(i)];
            if (lane.done || (lane.waits_at && lane.waits_at->generation == lane.generation)) continue;
            lane.waits_at = nullptr, moved = true;
            threadIdx.x = unsigned(i);
            resume(lane);
            left -= lane.done;
        }
        if (moved) continue;
        std::fprintf(stderr, "a barrier that some lanes never reach\n");
        std::abort();
    }
}

template <class Args, void (*kernel)(Args)>
void launch(int blocks, int threads, size_t shared_bytes, const void* args) {
    static Args given;
    given = *static_cast<const Args*>(args);
    entry = [] { kernel(given); };
    std::vector<double> memory(shared_bytes / sizeof(double) + 1, -7.0);  // what nobody wrote is no zero
    dynamic_shared = memory.data();
    blockDim.x = unsigned(threads), gridDim.x = unsigned(blocks);
    for (int b = 0; b < blocks; ++b) {
        blockIdx.x = unsigned(b);
        run_block(threads);
    }
}

}  // namespace emulated

inline void __syncwarp() { emulated::arrive(emulated::warp()); }
inline void __syncthreads() { emulated::arrive(emulated::block); }

template <class T>
T __shfl_sync(unsigned, T x, int from) {
    return emulated::from_bits<T>(emulated::exchanged(emulated::bits(x))[from & 31]);
}

template <class T>
T __shfl_xor_sync(unsigned, T x, int far) {
    const int from = int(threadIdx.x % 32) ^ far;
    return emulated::from_bits<T>(emulated::exchanged(emulated::bits(x))[from]);
}

inline unsigned __ballot_sync(unsigned, bool x) {
    const unsigned long long* all = emulated::exchanged(x);
    unsigned mask = 0;
    for (int i = 0; i < 32; ++i) mask |= unsigned(all[i] != 0) << i;
    return mask;
}

inline unsigned __match_any_sync(unsigned, int x) {
    const unsigned long long* all = emulated::exchanged(emulated::bits(x));
    unsigned mask = 0;
    for (int i = 0; i < 32; ++i) mask |= unsigned(all[i] == emulated::bits(x)) << i;
    return mask;
}

inline unsigned __reduce_add_sync(unsigned, unsigned x) {
    const unsigned long long* all = emulated::exchanged(x);
    unsigned sum = 0;
    for (int i = 0; i < 32; ++i) sum += unsigned(all[i]);
    return sum;
}

template <class T, class U>
T atomicAdd(T* at, U x) {
    const T before = *at;
    *at = T(before + T(x));
    return before;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
#if defined(__aarch64__)
using half_number = __fp16;  // which GCC 12 knows there, and _Float16 not yet
#else
using half_number = _Float16;
#endif
inline unsigned half_bits(float x) { return unsigned(emulated::bits(half_number(x))); }
inline float half_value(unsigned x) { return float(emulated::from_bits<half_number>(x)); }
inline unsigned __float_as_uint(float x) { return emulated::from_bits<unsigned>(emulated::bits(x)); }
inline float __uint_as_float(unsigned x) { return emulated::from_bits<float>(x); }
