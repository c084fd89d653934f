// Documents in, sparse rows of counts out, with a vocabulary that grows as words are seen.
//
//     text -> lower case -> runs of token characters -> minus stop words -> n-grams -> term ids -> counts
//
// The same steps, in the same order, as scikit-learn's CountVectorizer. Only ASCII text is cut here; Python
// decides what is a letter or lower case beyond ASCII, so other documents arrive as tokens already (`add_tokens`).
// Memory is the vocabulary plus the block of rows that the caller takes away. Twin: topmix/reference/tokenize.py.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/string_table.hpp"

namespace topmix {

/// What a token is in ASCII text: a longest run of the characters in `chars`, of at least `min_length`.
struct TokenRule {
    std::array<bool, 128> chars{};  // judged after lower-casing
    size_t min_length = 2;
    bool whole_words = false;  // no letter, digit or underscore may touch the run: \b on both sides
    bool lowercase = true;
};

/// Rows of counts: row d holds (index[i], count[i]) for indptr[d] <= i < indptr[d + 1], in order of first sight.
struct CountBlock {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> index, count;
};

class TermCounter {
  public:
    /// n-grams of min_n to max_n tokens. A closed vocabulary starts with `terms` and drops what it does not hold.
    TermCounter(const TokenRule& rule, std::span<const std::string> stop_words, size_t min_n, size_t max_n,
                std::span<const std::string> terms, bool closed)
        : min_length_(rule.min_length), whole_words_(rule.whole_words), min_n_(min_n), max_n_(max_n), closed_(closed) {
        if (min_n < 1 || max_n < min_n) throw std::invalid_argument("need 1 <= min_n <= max_n");
        if (rule.min_length < 1) throw std::invalid_argument("a token has at least one character");
        if (rule.chars[0]) throw std::invalid_argument("NUL cannot be a token character");
        for (size_t c = 0; c < 128; ++c) {
            const bool upper = c >= 'A' && c <= 'Z';
            const size_t lower = rule.lowercase && upper ? c + 32 : c;
            if (rule.chars[lower]) map_[c] = char(lower);
            word_[c] = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        }
        for (const std::string& s : stop_words) stop_words_.find_or_add(s, hash_bytes(s));
        for (const std::string& s : terms)
            if (size_t(terms_.find_or_add(s, hash_bytes(s))) != stats_.size())
                throw std::invalid_argument("the vocabulary holds '" + s + "' twice");
            else
                stats_.emplace_back();
    }

    /// One more row, from ASCII text. Bytes beyond ASCII separate tokens here; callers send such text elsewhere.
    void add_text(std::string_view text, CountBlock& out) {
        terms_of_row_.clear();
        line_.resize(text.size() / 64 * 64 + 64);  // at least one zero at the end closes the last run
        for (size_t i = 0; i < text.size(); ++i) line_[i] = map_[uint8_t(text[i])];
        std::fill(line_.begin() + ptrdiff_t(text.size()), line_.end(), '\0');

        // The edges of runs, 64 bytes at a time: no branch per character, and one unpredictable branch per token.
        size_t to = 0, begin = 0;
        uint64_t inside = 0;
        for (size_t base = 0; base < line_.size(); base += 64) {
            const uint64_t mask = nonzero_bytes(line_.data() + base);
            for (uint64_t edges = mask ^ (mask << 1 | inside); edges; edges &= edges - 1) {
                const size_t at = base + size_t(std::countr_zero(edges));
                if (mask >> (at - base) & 1)
                    begin = at;
                else
                    to = add_run(text, begin, at, to);
            }
            inside = mask >> 63;
        }
        add_row(out);
    }

    /// One more row, from tokens that somebody else made.
    void add_tokens(std::span<const std::string_view> tokens, CountBlock& out) {
        size_t size = 0;
        for (const auto& token : tokens) size += token.size() + 1;
        terms_of_row_.clear();
        line_.resize(size);
        size_t to = 0;
        for (const auto& token : tokens) {
            std::ranges::copy(token, line_.begin() + ptrdiff_t(to));
            if (!keep(to, to + token.size())) continue;
            to += token.size();
            line_[to++] = ' ';
        }
        add_row(out);
    }

    const StringTable& terms() const { return terms_; }
    int64_t rows() const { return rows_; }
    int64_t unknown() const { return unknown_; }  // terms that a closed vocabulary dropped
    int64_t document_frequency(size_t id) const { return stats_[id].documents; }
    int64_t term_frequency(size_t id) const { return stats_[id].total; }

  private:
    struct Term {
        uint32_t begin, end, hash;  // bytes of line_
    };
    struct Stat {
        int64_t documents = 0, total = 0;
        int64_t row = 0;  // the last row that held the term, from one, and where in the block it stands
        int64_t at = 0;
    };

    std::array<char, 256> map_{};   // what a byte becomes inside a token; 0 ends the token
    std::array<bool, 256> word_{};  // \w
    size_t min_length_;
    bool whole_words_;
    size_t min_n_, max_n_;
    bool closed_;
    StringTable stop_words_, terms_;
    std::vector<Stat> stats_;  // [terms]
    int64_t rows_ = 0, unknown_ = 0;

    std::vector<char> line_;          // this document's kept tokens, a space after each: an n-gram is one slice of it
    std::vector<Term> terms_of_row_;  // its tokens, then its n-grams

    /// Bit i is set where p[i] is not zero; bytes are under 128, so adding 127 to each carries into no other.
    static uint64_t nonzero_bytes(const char* p) {
        uint64_t mask = 0;
        if constexpr (std::endian::native == std::endian::little) {
            for (size_t i = 0; i < 64; i += 8) {
                uint64_t w;
                std::memcpy(&w, p + i, 8);
                w = (w + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
                mask |= (w * 0x0102040810204080u >> 56) << i;  // gathers the eight low bits
            }
        } else {
            for (size_t i = 0; i < 64; ++i) mask |= uint64_t(p[i] != 0) << i;
        }
        return mask;
    }

    /// A run of token characters at line_[begin, end). Returns where the next kept token may go.
    size_t add_run(std::string_view text, size_t begin, size_t end, size_t to) {
        if (end - begin < min_length_) return to;
        if (whole_words_ &&
            ((begin > 0 && word_[uint8_t(text[begin - 1])]) || (end < text.size() && word_[uint8_t(text[end])])))
            return to;
        if (max_n_ == 1) {
            keep(begin, end);
            return to;
        }
        // Only n-grams need the tokens side by side. This writes behind `end`, which has been read already.
        std::memmove(line_.data() + to, line_.data() + begin, end - begin);
        if (!keep(to, to + end - begin)) return to;
        to += end - begin;
        line_[to++] = ' ';
        return to;
    }

    /// Takes the token at line_[begin, end) unless it is a stop word.
    bool keep(size_t begin, size_t end) {
        if (end > size_t(INT32_MAX)) throw std::length_error("a document of more than 2^31 bytes");
        const std::string_view s(line_.data() + begin, end - begin);
        const uint32_t hash = hash_bytes(s);
        if (stop_words_.size() && stop_words_.find(s, hash) >= 0) return false;
        terms_of_row_.push_back({uint32_t(begin), uint32_t(end), hash});
        return true;
    }

    void add_row(CountBlock& out) {
        ++rows_;  // first: after an exception no later row may be taken for this one
        const size_t n_tokens = terms_of_row_.size();
        for (size_t n = std::max<size_t>(min_n_, 2); n <= std::min(max_n_, n_tokens); ++n)
            for (size_t i = 0; i + n <= n_tokens; ++i) {
                const uint32_t begin = terms_of_row_[i].begin, end = terms_of_row_[i + n - 1].end;
                terms_of_row_.push_back({begin, end, hash_bytes({line_.data() + begin, end - begin})});
            }
        const std::span row = std::span(terms_of_row_).subspan(min_n_ == 1 ? 0 : n_tokens);
        for (size_t i = 0; i < row.size(); ++i) {
            terms_.prefetch(row[std::min(i + 8, row.size() - 1)].hash);
            add_term({line_.data() + row[i].begin, row[i].end - row[i].begin}, row[i].hash, out);
        }
        out.indptr.push_back(int64_t(out.index.size()));
    }

    void add_term(std::string_view s, uint32_t hash, CountBlock& out) {
        const int32_t id = closed_ ? terms_.find(s, hash) : terms_.find_or_add(s, hash);
        if (id < 0) {
            ++unknown_;
            return;
        }
        if (size_t(id) == stats_.size()) stats_.emplace_back();
        Stat& stat = stats_[size_t(id)];
        ++stat.total;
        if (stat.row == rows_) {
            ++out.count[size_t(stat.at)];
            return;
        }
        stat.row = rows_;
        stat.at = int64_t(out.index.size());
        ++stat.documents;
        out.index.push_back(id);
        out.count.push_back(1);
    }
};

}  // namespace topmix
