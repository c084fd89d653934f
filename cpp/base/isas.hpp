// Which of the instruction sets that topmix is compiled for does this processor run? Asked when a source install
// chooses what to compile (CMakeLists.txt), and when the module is loaded (bind/cpu.cpp).
#pragma once
#include <string>
#include <vector>

namespace topmix {

/// Best first. Each level asks for all of what the compiler assumes for it (x86-64-v4 and x86-64-v3).
inline std::vector<std::string> supported_isas() {
    std::vector<std::string> found;
#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) found.emplace_back("avx512");
    if (v3) found.emplace_back("avx2");
#endif
    found.emplace_back("base");
    return found;
}

}  // namespace topmix
