// The random streams of rng.hpp, for tests of what draws from them.
#include "base/rng.hpp"

#include "bind/arrays.hpp"

namespace topmix {

void register_rng(nb::module_& m) {
    m.def(
        "random_words",
        [](uint64_t seed, uint32_t pass, uint64_t first_row, Mat<uint32_t> out) {
            const Rows<uint32_t> rows{view(out), out.shape(1)};
            for (size_t n = 0; n < rows.rows(); ++n) {
                Rng rng(seed, pass, first_row + n);
                for (uint32_t& x : rows[n]) x = rng.next_u32();
            }
        },
        "seed"_a, "pass_"_a, "first_row"_a, "out"_a.noconvert(),
        "out[n] = the first 32-bit words of the stream (seed, pass, first_row + n).");
}

}  // namespace topmix
