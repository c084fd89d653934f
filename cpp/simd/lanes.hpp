// The loops under top-L selection, for the instruction set that this file is compiled for.
#pragma once
#include "simd/plain_lanes.hpp"

#if defined(__AVX512F__) && defined(__BMI2__)
#include "simd/lanes_avx512.hpp"
#elif defined(__AVX2__) && defined(__BMI2__)
#include "simd/lanes_avx2.hpp"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include "simd/lanes_neon.hpp"
#endif
