// What a draw asks of eight topics: weights, their sum, and where a running sum passes a number; for the instruction
// set that this file is compiled for.
#pragma once
#if defined(__AVX2__)
#include "simd/topic_line_avx2.hpp"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include "simd/topic_line_neon.hpp"
#else
#include "simd/topic_line_plain.hpp"
#endif
