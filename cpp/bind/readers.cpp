// Bindings of cpp/data: text into arrays, and arrays into clean rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "data/crc32.hpp"
#include "data/line_pieces.hpp"
#include "data/rows.hpp"

namespace topmix {

void register_readers(nb::module_& m) {
    m.def(
        "parse_triples",
        [](Vec<const uint8_t> text, int64_t line, int64_t n_docs, int64_t n_words, bool has_value, bool whole,
           Vec<int64_t> doc, Vec<int32_t> word, Vec<float> value, Threads threads) {
            require(doc.size() == word.size() && doc.size() == value.size(), "doc, word and value differ in length");
            require(doc.size() >= text.size() / (has_value ? 6 : 4) + 1, "doc, word and value are too short");
            require(n_words <= std::numeric_limits<int32_t>::max(), "n_words does not fit in 32 bits");
            const auto out = std::tuple(view(doc), view(word), view(value));
            const Triples kind{n_docs, n_words, has_value, whole};
            Parsed done;
            {
                nb::gil_scoped_release nogil;
                done = parse_triples(view(text), line, kind, threads, std::get<0>(out), std::get<1>(out),
                                     std::get<2>(out));
            }
            return std::tuple(done.line, done.n_entries);
        },
        "text"_a, "line"_a, "n_docs"_a, "n_words"_a, "has_value"_a, "whole"_a, "doc"_a.noconvert(),
        "word"_a.noconvert(), "value"_a.noconvert(), "threads"_a = 1,
        "Whole lines 'doc word count', ids from 1, into doc, word (both from 0) and value.\n"
        "Returns (next line number, entries). Raises ValueError naming the line.");

    m.def(
        "parse_pairs",
        [](Vec<const uint8_t> text, int64_t line, bool counted, int64_t first_id, int64_t last_id, Vec<int64_t> indptr,
           Vec<double> label, Vec<int32_t> word, Vec<float> value, Threads threads) {
            require(indptr.size() == label.size() + 1 && word.size() == value.size(), "the arrays differ in length");
            require(label.size() >= text.size() / 2 + 1 && word.size() >= text.size() / 4 + 1,
                    "the arrays are too short for the text");
            require(last_id <= std::numeric_limits<int32_t>::max(), "last_id does not fit in 32 bits");
            const auto rows = view(indptr);
            const auto labels = view(label);
            const auto words = view(word);
            const auto values = view(value);
            Parsed done;
            {
                nb::gil_scoped_release nogil;
                done =
                    parse_pairs(view(text), line, {counted, first_id, last_id}, threads, rows, labels, words, values);
            }
            return std::tuple(done.line, done.n_rows, done.n_entries);
        },
        "text"_a, "line"_a, "counted"_a, "first_id"_a, "last_id"_a, "indptr"_a.noconvert(), "label"_a.noconvert(),
        "word"_a.noconvert(), "value"_a.noconvert(), "threads"_a = 1,
        "Whole lines '[n | label] word:count ...' into rows; word ids are kept as written.\n"
        "Returns (next line number, rows, entries). Raises ValueError naming the line.");

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

    m.def("crc32_joined", &crc32_joined, "first"_a, "second"_a, "n_bytes"_a,
          "The checksum of two pieces one after another, from theirs; n_bytes is the length of the second.");

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
