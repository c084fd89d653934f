// Which of the instruction sets that topmix is compiled for does this processor run?
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace topmix {

namespace {

/// Best first. Each level asks for all of what the compiler assumes for it (x86-64-v4 and x86-64-v3).
std::vector<std::string> supported_isas() {
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

}  // namespace

void register_cpu(nb::module_& m) {
    m.def("supported_isas", &supported_isas, "Instruction sets that this processor runs, best first.");
}

}  // namespace topmix
