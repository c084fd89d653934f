// Templates that many bindings call and none inlines, compiled here only (precompiled.hpp).
#include "base/parallel.hpp"
#include "simd/top_l.hpp"

namespace topmix {

template void run_chunks(size_t, size_t, int, Chunk);
template size_t select_top_l(std::span<const float>, size_t, int32_t*, float*);
template size_t select_top_l(std::span<const double>, size_t, int32_t*, double*);
template double softmax(std::span<float>);
template double softmax(std::span<double>);
template double normalise(std::span<float>);

}  // namespace topmix
