// TermCounter for Python: takes the bytes of strings without copying them, drops the GIL, counts.
#include "data/tokenize.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <mutex>

#include "bind/arrays.hpp"
#include "data/sort_terms.hpp"

namespace topmix {

namespace {

using Tokens = std::vector<std::string_view>;

/// UTF-8 of strings, valid while this lives. Lone surrogates pass as they are: a custom tokenizer may return them.
class Bytes {
  public:
    std::string_view operator()(nb::handle s) {
        Py_ssize_t size;
        if (const char* data = PyUnicode_AsUTF8AndSize(s.ptr(), &size)) return {data, size_t(size)};
        PyErr_Clear();
        nb::object encoded = nb::steal(PyUnicode_AsEncodedString(s.ptr(), "utf-8", "surrogatepass"));
        if (!encoded.is_valid()) throw nb::python_error();
        kept_.push_back(encoded);
        const auto bytes = nb::borrow<nb::bytes>(encoded);
        return {bytes.c_str(), bytes.size()};
    }

  private:
    std::vector<nb::object> kept_;
};

std::vector<std::string> strings(nb::handle sequence) {
    Bytes bytes;
    std::vector<std::string> out;
    for (nb::handle item : sequence) {
        if (!PyUnicode_Check(item.ptr())) throw nb::type_error("expected strings");
        out.emplace_back(bytes(item));
    }
    return out;
}

struct PyTermCounter {
    TermCounter counter;
    std::mutex busy;      // count() runs without the GIL
    bool failed = false;  // a count was abandoned: what it had added of terms and statistics may disagree

    PyTermCounter(nb::bytes chars, size_t min_length, bool whole_words, bool lowercase, nb::handle stop_words,
                  size_t min_n, size_t max_n, nb::handle vocabulary)
        : counter(TermCutter(rule(chars, min_length, whole_words, lowercase), strings(stop_words), min_n, max_n),
                  vocabulary.is_none() ? std::vector<std::string>{} : strings(vocabulary), !vocabulary.is_none()) {}

    static TokenRule rule(const nb::bytes& chars, size_t min_length, bool whole_words, bool lowercase) {
        require(chars.size() == 128, "chars must hold one byte for each ASCII character");
        TokenRule out{{}, min_length, whole_words, lowercase};
        for (size_t c = 0; c < 128; ++c) out.chars[c] = chars.c_str()[c] != 0;
        return out;
    }

    /// For one caller at a time. Nobody waits for it with the GIL, which a count needs to ask for interrupts.
    std::unique_lock<std::mutex> hold() {
        nb::gil_scoped_release nogil;
        std::unique_lock lock(busy);
        if (failed) throw std::logic_error("an earlier count failed: make a new counter");
        return lock;
    }

    auto count(const nb::sequence& documents, Threads threads) {
        const nb::tuple kept(documents);  // our own references: the caller's list may change while the GIL is dropped
        Bytes bytes;
        std::vector<nb::tuple> lists;
        std::deque<Tokens> tokens;  // never moves what it holds
        std::vector<TextDocument> views;
        views.reserve(kept.size());
        for (nb::handle document : kept) {
            if (PyUnicode_Check(document.ptr())) {
                views.push_back({bytes(document), {}, true});
                continue;
            }
            lists.emplace_back(nb::tuple(nb::borrow<nb::object>(document)));
            Tokens& list = tokens.emplace_back();
            for (nb::handle token : lists.back()) {
                if (!PyUnicode_Check(token.ptr())) throw nb::type_error("a token is not a string");
                list.push_back(bytes(token));
            }
            views.push_back({{}, list, false});
        }

        CountedRows rows;
        {
            const auto lock = hold();
            nb::gil_scoped_release nogil;
            failed = true;
            rows = counter.count(views, threads);
            failed = false;
        }
        return std::tuple(give(std::move(rows.indptr), rows.n_rows + 1), give(std::move(rows.index), rows.n_entries),
                          give(std::move(rows.value), rows.n_entries));
    }

    template <class Fn>
    auto statistic(Fn&& of) {
        const auto lock = hold();
        std::vector<int64_t> out(counter.terms().size());
        for (size_t id = 0; id < out.size(); ++id) out[id] = of(id);
        return give(std::move(out));
    }

    void check(std::span<const int32_t> ids) const {
        require(all_below(ids, counter.terms().size()), "an id names no term");
    }
};

}  // namespace

void register_tokenize(nb::module_& m) {
    nb::class_<PyTermCounter>(m, "TermCounter", "Counts the terms of documents; the vocabulary grows as they are seen.")
        .def(nb::init<nb::bytes, size_t, bool, bool, nb::handle, size_t, size_t, nb::handle>(), "chars"_a,
             "min_length"_a, "whole_words"_a, "lowercase"_a, "stop_words"_a, "min_n"_a, "max_n"_a,
             "vocabulary"_a.none() = nb::none())
        .def("count", &PyTermCounter::count, "documents"_a, "threads"_a = 1,
             "One row per document, ASCII text or a list of tokens: (indptr, index, value). Term ids are in order of "
             "first sight, both over documents and within a row.")
        .def_prop_ro("n_terms", [](PyTermCounter& c) { return c.counter.terms().size(); })
        .def_prop_ro("n_rows", [](PyTermCounter& c) { return c.counter.rows(); })
        .def_prop_ro(
            "n_unknown", [](PyTermCounter& c) { return c.counter.unknown(); },
            "Terms that a given vocabulary did not hold.")
        .def("document_frequency",
             [](PyTermCounter& c) { return c.statistic([&](size_t id) { return c.counter.document_frequency(id); }); })
        .def("term_frequency",
             [](PyTermCounter& c) { return c.statistic([&](size_t id) { return c.counter.term_frequency(id); }); })
        .def(
            "sort",
            [](PyTermCounter& c, Vec<const int32_t> ids, Threads threads) {
                std::vector<int32_t> out(ids.data(), ids.data() + ids.size());
                {
                    const auto lock = c.hold();
                    c.check(out);
                    nb::gil_scoped_release nogil;
                    sort_terms(c.counter.terms(), threads, out);
                }
                return give(std::move(out));
            },
            "ids"_a, "threads"_a = 1, "The ids in the order of their strings.")
        .def(
            "packed",
            [](PyTermCounter& c, Vec<const int32_t> ids) {
                const auto lock = c.hold();
                c.check(view(ids));
                std::vector<int64_t> offsets{0};
                std::vector<uint8_t> text;
                for (int32_t id : view(ids)) {
                    const std::string_view s = c.counter.terms()[size_t(id)];
                    text.insert(text.end(), s.begin(), s.end());
                    offsets.push_back(int64_t(text.size()));
                }
                return std::tuple(give(std::move(text)), give(std::move(offsets)));
            },
            "ids"_a, "The bytes of these terms, and where each of them starts.")
        .def(
            "terms",
            [](PyTermCounter& c, Vec<const int32_t> ids) {
                const auto lock = c.hold();
                c.check(view(ids));
                nb::object out = nb::steal(PyList_New(Py_ssize_t(ids.size())));
                if (!out.is_valid()) throw nb::python_error();
                for (size_t i = 0; i < ids.size(); ++i) {
                    const std::string_view s = c.counter.terms()[size_t(ids.data()[i])];
                    PyObject* term = PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "surrogatepass");
                    if (!term) throw nb::python_error();
                    PyList_SetItem(out.ptr(), Py_ssize_t(i), term);
                }
                return nb::borrow<nb::list>(out);
            },
            "ids"_a);
}

}  // namespace topmix
