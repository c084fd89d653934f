// The two shapes that lines of numbers come in, both parsed straight into arrays.
//
//     triples:  doc word count                      UCI docword, Matrix Market
//     pairs:    [n | label] word:count word:count   LDA-C, svmlight
#pragma once
#include "data/numbers.hpp"

namespace topmix {

struct Triples {
    int64_t n_docs, n_words;  // ids run from 1 to these
    bool has_value;           // false: two columns, each entry counts 1 (Matrix Market "pattern")
    bool whole;               // counts are integers of at least 1
};

struct Parsed {
    int64_t line;   // the line after the last one read
    size_t n_rows;  // pairs only
    size_t n_entries;
};

/// Fills doc, word (from 0) and value, in the order of the file.
inline Parsed parse_triples(std::span<const uint8_t> text, int64_t line, const Triples& kind, std::span<int64_t> doc,
                            std::span<int32_t> word, std::span<float> value) {
    Scanner in(text, line);
    const char* count = kind.whole ? "a count, an integer of at least 1" : "a count, a finite number not below 0";
    size_t i = 0;
    for (; in.at_line(); ++i) {
        if (i == doc.size()) throw std::logic_error("parse_triples: no room left");
        doc[i] = in.integer("a document id", 1, kind.n_docs) - 1;
        word[i] = int32_t(in.integer("a word id", 1, kind.n_words) - 1);
        value[i] = kind.has_value ? in.weight(count, kind.whole) : 1.0f;
        in.end_line();
    }
    return {in.line(), 0, i};
}

struct Pairs {
    bool counted;      // LDA-C: a line opens with how many pairs follow. svmlight: with a label
    int64_t first_id;  // ids run from this
    int64_t last_id;   // to this
};

/// Fills indptr[1..rows], label[rows] (zero where lines are counted), word (as written) and value.
inline Parsed parse_pairs(std::span<const uint8_t> text, int64_t line, const Pairs& kind, std::span<int64_t> indptr,
                          std::span<double> label, std::span<int32_t> word, std::span<float> value) {
    Scanner in(text, line);
    constexpr int64_t many = std::numeric_limits<int64_t>::max();
    const char* count = kind.counted ? "a count, an integer of at least 1" : "a value, a finite number not below 0";
    size_t n = 0, i = 0;
    indptr[0] = 0;
    while (in.at_line()) {
        if (!kind.counted && in.next_is('#')) {
            in.skip_line();
            in.end_line();
            continue;
        }
        if (n == label.size()) throw std::logic_error("parse_pairs: no room left");
        int64_t expected = many;
        if (kind.counted)
            expected = in.integer("a number of pairs", 0, many), label[n] = 0;
        else
            label[n] = in.number("a label, one finite number");

        const size_t begin = i;
        while (!in.line_is_over()) {
            if (!kind.counted && in.next_is('#')) {
                in.skip_line();
                break;
            }
            if (!kind.counted && i == begin && in.skip("qid:")) {
                in.number("a query id");
                continue;
            }
            if (int64_t(i - begin) == expected)
                in.fail(std::to_string(expected) + " pairs word:count, as the line says");
            if (i == word.size()) throw std::logic_error("parse_pairs: no room left");
            word[i] = int32_t(in.integer("a pair word:count with a word id", kind.first_id, kind.last_id, ':'));
            if (!in.skip(":")) in.fail("':' after a word id");
            value[i++] = in.weight(count, kind.counted);
        }
        if (kind.counted && int64_t(i - begin) != expected)
            in.fail(std::to_string(expected) + " pairs word:count (there are " + std::to_string(i - begin) + ")");
        in.end_line();
        indptr[++n] = int64_t(i);
    }
    return {in.line(), n, i};
}

}  // namespace topmix
