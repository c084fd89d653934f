// The random streams of rng.hpp, for tests and for drawing whole arrays.
#include "base/rng.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "bind/arrays.hpp"

namespace topmix {

namespace {

constexpr size_t grain = 256;

/// Fills each row n from the stream (seed, pass, first_row + n) with draw(rng).
template <class T, class Draw>
void fill_rows(Mat<T>& out, uint64_t seed, uint32_t pass, uint64_t first_row, Threads threads, Draw draw) {
    const Rows<T> rows{view(out), out.shape(1)};
    nb::gil_scoped_release nogil;
    parallel_for(rows.rows(), grain, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t n = begin; n < end; ++n) {
            Rng rng(seed, pass, first_row + n);
            for (T& x : rows[n]) x = draw(rng);
        }
    });
}

}  // namespace

void register_rng(nb::module_& m) {
    m.def(
        "philox4x32",
        [](Vec<const uint32_t> counter, Vec<const uint32_t> key, Vec<uint32_t> out) {
            require(counter.size() == 4 && key.size() == 2 && out.size() == 4, "need counter[4], key[2] and out[4]");
            const auto* c = counter.data();
            const auto* k = key.data();
            const auto block = philox4x32({c[0], c[1], c[2], c[3]}, {k[0], k[1]});
            std::ranges::copy(block, out.data());
        },
        "counter"_a.noconvert(), "key"_a.noconvert(), "out"_a.noconvert(), "One block of Philox4x32-10.");

    m.def(
        "random_words",
        [](uint64_t seed, uint32_t pass, uint64_t first_row, Mat<uint32_t> out, Threads threads) {
            fill_rows(out, seed, pass, first_row, threads, [](Rng& rng) { return rng.next_u32(); });
        },
        "seed"_a, "pass_"_a, "first_row"_a, "out"_a.noconvert(), "threads"_a = 1,
        "out[n] = the first 32-bit words of the stream (seed, pass, first_row + n).");

    m.def(
        "random_uniform",
        [](uint64_t seed, uint32_t pass, uint64_t first_row, Mat<double> out, Threads threads) {
            fill_rows(out, seed, pass, first_row, threads, [](Rng& rng) { return rng.uniform(); });
        },
        "seed"_a, "pass_"_a, "first_row"_a, "out"_a.noconvert(), "threads"_a = 1, "Likewise, uniform in [0, 1).");

    m.def(
        "random_below",
        [](uint64_t seed, uint32_t pass, uint64_t first_row, uint32_t n, Mat<uint32_t> out, Threads threads) {
            require(n >= 1, "n must be at least 1");
            fill_rows(out, seed, pass, first_row, threads, [n](Rng& rng) { return rng.below(n); });
        },
        "seed"_a, "pass_"_a, "first_row"_a, "n"_a, "out"_a.noconvert(), "threads"_a = 1,
        "Likewise, integers in [0, n), each equally likely.");
}

}  // namespace topmix
