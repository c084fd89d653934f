// Sixteen numbers side by side, on every instruction set.
#pragma once
#include <cstddef>

namespace topmix {

constexpr size_t kBlock = 16;
using Block = float __attribute__((vector_size(kBlock * sizeof(float))));

}  // namespace topmix
