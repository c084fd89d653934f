// What most of the bindings include, read by the compiler once (CMakeLists.txt): half of the time of a short file is
// spent on these. Files still include what they use. And templates that many of them call: instances.cpp has them.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "simd/top_l.hpp"

namespace topmix {

extern template void run_chunks(size_t, size_t, int, Chunk);
extern template size_t select_top_l(std::span<const float>, size_t, int32_t*, float*);
extern template size_t select_top_l(std::span<const double>, size_t, int32_t*, double*);
extern template double softmax(std::span<float>);
extern template double softmax(std::span<double>);
extern template double normalise(std::span<float>);

}  // namespace topmix
