// TermCounter for Python: takes the bytes of strings without copying them, drops the GIL, counts.
#include "data/tokenize.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <numeric>

#include "bind/arrays.hpp"

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
    std::mutex busy;  // count() runs without the GIL

    PyTermCounter(nb::bytes chars, size_t min_length, bool whole_words, bool lowercase, nb::handle stop_words,
                  size_t min_n, size_t max_n, nb::handle vocabulary)
        : counter(rule(chars, min_length, whole_words, lowercase), strings(stop_words), min_n, max_n,
                  vocabulary.is_none() ? std::vector<std::string>{} : strings(vocabulary), !vocabulary.is_none()) {}

    static TokenRule rule(const nb::bytes& chars, size_t min_length, bool whole_words, bool lowercase) {
        require(chars.size() == 128, "chars must hold one byte for each ASCII character");
        TokenRule out{{}, min_length, whole_words, lowercase};
        for (size_t c = 0; c < 128; ++c) out.chars[c] = chars.c_str()[c] != 0;
        return out;
    }

    auto count(const nb::sequence& documents) {
        const nb::tuple kept(documents);  // our own references: the caller's list may change while the GIL is dropped
        Bytes bytes;
        std::vector<nb::tuple> lists;
        std::vector<std::pair<std::string_view, Tokens>> views;
        std::vector<bool> is_text;
        for (nb::handle document : kept) {
            is_text.push_back(PyUnicode_Check(document.ptr()));
            auto& [text, tokens] = views.emplace_back();
            if (is_text.back()) {
                text = bytes(document);
            } else {
                lists.emplace_back(nb::tuple(nb::borrow<nb::object>(document)));
                for (nb::handle token : lists.back()) {
                    if (!PyUnicode_Check(token.ptr())) throw nb::type_error("a token is not a string");
                    tokens.push_back(bytes(token));
                }
            }
        }

        CountBlock block;
        std::vector<float> value;
        {
            nb::gil_scoped_release nogil;
            const std::lock_guard hold(busy);
            for (size_t d = 0; d < views.size(); ++d)
                if (is_text[d])
                    counter.add_text(views[d].first, block);
                else
                    counter.add_tokens(views[d].second, block);
            value.assign(block.count.begin(), block.count.end());
        }
        return std::tuple(give(std::move(block.indptr)), give(std::move(block.index)), give(std::move(value)));
    }

    template <class Fn>
    auto statistic(Fn&& of) {
        const std::lock_guard hold(busy);
        std::vector<int64_t> out(counter.terms().size());
        for (size_t id = 0; id < out.size(); ++id) out[id] = of(id);
        return give(std::move(out));
    }

    void check(std::span<const int32_t> ids) const {
        for (int32_t id : ids) require(id >= 0 && size_t(id) < counter.terms().size(), "an id names no term");
    }
};

}  // namespace

void register_tokenize(nb::module_& m) {
    nb::class_<PyTermCounter>(m, "TermCounter", "Counts the terms of documents; the vocabulary grows as they are seen.")
        .def(nb::init<nb::bytes, size_t, bool, bool, nb::handle, size_t, size_t, nb::handle>(), "chars"_a,
             "min_length"_a, "whole_words"_a, "lowercase"_a, "stop_words"_a, "min_n"_a, "max_n"_a,
             "vocabulary"_a.none() = nb::none())
        .def("count", &PyTermCounter::count, "documents"_a,
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
            [](PyTermCounter& c, Vec<const int32_t> ids) {
                c.check(view(ids));
                std::vector<int32_t> out(ids.data(), ids.data() + ids.size());
                {
                    nb::gil_scoped_release nogil;
                    const std::lock_guard hold(c.busy);
                    // UTF-8 sorts byte by byte as code points do, which is Python's order of strings.
                    std::ranges::sort(out, {}, [&](int32_t id) { return c.counter.terms()[size_t(id)]; });
                }
                return give(std::move(out));
            },
            "ids"_a, "The ids in the order of their strings.")
        .def(
            "terms",
            [](PyTermCounter& c, Vec<const int32_t> ids) {
                c.check(view(ids));
                const std::lock_guard hold(c.busy);
                nb::list out;
                for (int32_t id : view(ids)) {
                    const std::string_view s = c.counter.terms()[size_t(id)];
                    nb::object term = nb::steal(PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "surrogatepass"));
                    if (!term.is_valid()) throw nb::python_error();
                    out.append(term);
                }
                return out;
            },
            "ids"_a);
}

}  // namespace topmix
