// Names that every kernel uses. Compiled by NVRTC without headers, and by a host compiler in tests.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned short TopicId;

#ifndef TOPMIX_L
#define TOPMIX_L 16  // topics kept per word; part of the module, because lists of L topics are kept in registers
#endif
constexpr int kL = TOPMIX_L;

constexpr float kTiny = 1e-36f;              // the least sum of weights
constexpr float kLeast = 1e-30f;             // the least weight of a word in a topic, of the row's largest
constexpr double kSums = 16777216.0;         // sums over documents are integers of 2^-24
constexpr double kTopicSums = 1073741824.0;  // sums over documents for each topic: 2^-30

/// Sums of integers have the same bits in any order; sums of floats do not.
__device__ inline void add(i64* sum, i64 x) { atomicAdd(reinterpret_cast<u64*>(sum), u64(x)); }
