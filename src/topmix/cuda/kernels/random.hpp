// Random numbers as cpp/base/rng.hpp has them: Philox4x32-10, the stream of (seed, pass, row).
#pragma once
#include "types.hpp"

struct Philox {
    const u64 seed, row;
    const u32 pass;
    u32 block = 0, word[4];
    int used = 4;

    __device__ Philox(u64 key, u32 which, u64 of_row) : seed(key), row(of_row), pass(which) {}

    __device__ u32 next() {
        if (used == 4) fill();
        const u32 x = used == 0 ? word[0] : used == 1 ? word[1] : used == 2 ? word[2] : word[3];
        ++used;
        return x;
    }

    /// An integer in [0, n), without bias.
    __device__ u32 below(u32 n) {
        for (const u32 least = (0u - n) % n;;) {
            const u64 product = u64(next()) * n;
            if (u32(product) >= least) return u32(product >> 32);
        }
    }

  private:
    __device__ void fill() {
        u32 c0 = block++, c1 = pass, c2 = u32(row), c3 = u32(row >> 32), k0 = u32(seed), k1 = u32(seed >> 32);
#pragma unroll 1
        for (int i = 0; i < 10; ++i, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
            const u64 x = u64(0xD2511F53u) * c0, y = u64(0xCD9E8D57u) * c2;
            c0 = u32(y >> 32) ^ c1 ^ k0, c1 = u32(y);
            c2 = u32(x >> 32) ^ c3 ^ k1, c3 = u32(x);
        }
        word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
        used = 0;
    }
};
