// Bindings of cpp/data: text into arrays, and arrays into clean rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "data/crc32.hpp"
#include "data/rows.hpp"

namespace topmix {

void register_readers(nb::module_& m) {
    m.def(
        "check_rows",
        [](Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value, int64_t n_words) {
            const Csr<float> X = unchecked_csr(indptr, index, value);
            RowsReport report;
            {
                nb::gil_scoped_release nogil;
                report = check_rows(X, n_words);
            }
            return std::tuple(report.problem, report.n_zeros, report.n_tokens);
        },
        "indptr"_a, "index"_a, "value"_a, "n_words"_a,
        "Are these the rows of a corpus? Returns (problem or '', explicit zeros, sum of counts).");

    m.def(
        "check_saved_rows",
        [](Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value, int64_t n_words,
           int64_t first_row, Threads threads) {
            const Csr<float> X = unchecked_csr(indptr, index, value);
            SavedRowsReport report;
            {
                nb::gil_scoped_release nogil;
                report = check_saved_rows(X, n_words, first_row, threads);
            }
            return std::tuple(report.problem, report.n_tokens);
        },
        "indptr"_a, "index"_a, "value"_a, "n_words"_a, "first_row"_a, "threads"_a,
        "Are these rows of a file the rows of a corpus, without zeros? Returns (problem or '', sum of counts).");

    m.def(
        "all_below",
        [](nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu> ids, size_t n) {
            const auto check = [&]<class Id>(Id) {
                const std::span<const Id> all(static_cast<const Id*>(ids.data()), ids.size());
                nb::gil_scoped_release nogil;
                return all_below(all, n);
            };
            if (ids.dtype() == nb::dtype<int32_t>()) return check(int32_t());
            require(ids.dtype() == nb::dtype<int64_t>(), "ids must be int32 or int64");
            return check(int64_t());
        },
        "ids"_a.noconvert(), "n"_a, "Whether all ids, int32 or int64, are from 0 to n - 1.");

    m.def(
        "crc32",
        [](Vec<const uint8_t> data, uint32_t crc, Threads threads) {
            nb::gil_scoped_release nogil;
            return crc32(view(data), crc, threads);
        },
        "data"_a.noconvert(), "crc"_a = 0, "threads"_a = 1, "As zlib.crc32, on several threads.");

    m.def(
        "tidy_rows",
        [](Vec<const int64_t> indptr, Vec<const int32_t> index, Vec<const float> value,
           std::optional<Vec<const int64_t>> remap, int64_t n_words, int64_t first_row, Threads threads,
           Vec<int64_t> out_indptr, Vec<int32_t> out_index, Vec<float> out_value) {
            const Csr<float> X = unchecked_csr(indptr, index, value);
            require(out_indptr.size() == indptr.size(), "out_indptr and indptr differ in length");
            require(out_index.size() >= index.size() && out_value.size() >= index.size(), "the output is too short");
            require(!remap || remap->size() > 0 || index.size() == 0, "remap is empty");
            const auto ids = remap ? view(*remap) : std::span<const int64_t>();
            const auto rows = view(out_indptr);
            const auto words = view(out_index);
            const auto values = view(out_value);
            nb::gil_scoped_release nogil;
            return tidy_rows(X, {ids, n_words, first_row}, threads, rows, words, values);
        },
        "indptr"_a, "index"_a, "value"_a, "remap"_a.none(), "n_words"_a, "first_row"_a, "threads"_a,
        "out_indptr"_a.noconvert(), "out_index"_a.noconvert(), "out_value"_a.noconvert(),
        "Rename columns (remap[v], -1 drops), sort, sum duplicates, drop zeros. Returns the new nnz.\n"
        "Raises ValueError naming row and column.");
}

}  // namespace topmix
