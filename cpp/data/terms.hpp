// One document into terms.
//
//     text -> lower case -> runs of token characters -> minus stop words -> n-grams
//
// The same steps, in the same order, as scikit-learn's CountVectorizer. Only ASCII text is cut here; Python
// decides what is a letter or lower case beyond ASCII, so other documents arrive as tokens already (`cut_tokens`).
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
#include <vector>

#include "data/string_table.hpp"
#include "simd/bytes.hpp"

namespace topmix {

/// What a token is in ASCII text: a longest run of the characters in `chars`, of at least `min_length`.
struct TokenRule {
    std::array<bool, 128> chars{};  // judged after lower-casing
    size_t min_length = 2;
    bool whole_words = false;  // no letter, digit or underscore may touch the run: \b on both sides
    bool lowercase = true;
};

/// The terms of one document, and the memory to make them in: one for each thread.
class DocumentTerms {
  public:
    size_t size() const { return terms_.size() - first_; }
    StringKey operator[](size_t i) const { return key(terms_[first_ + i].begin, terms_[first_ + i].end); }

  private:
    friend class TermCutter;
    struct Term {
        uint32_t begin, end;  // bytes of line_
    };
    std::vector<char> line_;   // the kept tokens, a space after each: an n-gram is one slice of it
    std::vector<Term> terms_;  // tokens, then n-grams
    size_t first_ = 0;         // tokens in front that are no terms, because n-grams start at two

    StringKey key(size_t begin, size_t end) const {
        return StringKey::of_padded({line_.data() + begin, end - begin});  // cut_text and cut_tokens pad the line
    }
};

/// The settings. Constant once made, so that all threads share one.
class TermCutter {
  public:
    /// n-grams of min_n to max_n tokens.
    TermCutter(const TokenRule& rule, std::span<const std::string> stop_words, size_t min_n, size_t max_n)
        : min_length_(rule.min_length), whole_words_(rule.whole_words), min_n_(min_n), max_n_(max_n) {
        if (min_n < 1 || max_n < min_n) throw std::invalid_argument("need 1 <= min_n <= max_n");
        if (rule.min_length < 1) throw std::invalid_argument("a token has at least one character");
        if (rule.chars[0]) throw std::invalid_argument("NUL cannot be a token character");
        for (size_t c = 0; c < 128; ++c) {
            const bool upper = c >= 'A' && c <= 'Z';
            const size_t lower = rule.lowercase && upper ? c + 32 : c;
            if (rule.chars[lower]) map_[c] = char(lower);
            word_[c] = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        }
        for (const std::string& s : stop_words) stop_words_.find_or_add(StringKey::of(s));
    }

    /// ASCII text. Bytes beyond ASCII separate tokens here; callers send such text elsewhere.
    void cut_text(std::string_view text, DocumentTerms& out) const {
        out.terms_.clear();
        const size_t size = text.size() / 64 * 64 + 64;  // at least one zero at the end closes the last run
        out.line_.resize(size + StringKey::kHead);
        char* const line = out.line_.data();
        translate_bytes(map_, text, line);
        std::fill(line + text.size(), line + size, '\0');

        // The edges of runs, 64 bytes at a time: no branch per character, and one unpredictable branch per token.
        size_t to = 0, begin = 0;
        uint64_t inside = 0;
        for (size_t base = 0; base < size; base += 64) {
            const uint64_t mask = nonzero_bytes(line + base);
            for (uint64_t edges = mask ^ (mask << 1 | inside); edges; edges &= edges - 1) {
                const size_t at = base + size_t(std::countr_zero(edges));
                if (mask >> (at - base) & 1)
                    begin = at;
                else
                    to = add_run(text, begin, at, to, out);
            }
            inside = mask >> 63;
        }
        add_ngrams(out);
    }

    /// Tokens that somebody else made.
    void cut_tokens(std::span<const std::string_view> tokens, DocumentTerms& out) const {
        size_t size = 0;
        for (const auto& token : tokens) size += token.size() + 1;
        out.terms_.clear();
        out.line_.resize(size + StringKey::kHead);
        size_t to = 0;
        for (const auto& token : tokens) {
            std::ranges::copy(token, out.line_.begin() + ptrdiff_t(to));
            if (!keep(to, to + token.size(), out)) continue;
            to += token.size();
            out.line_[to++] = ' ';
        }
        add_ngrams(out);
    }

  private:
    std::array<char, 256> map_{};   // what a byte becomes inside a token; 0 ends the token
    std::array<bool, 256> word_{};  // \w
    size_t min_length_;
    bool whole_words_;
    size_t min_n_, max_n_;
    StringTable stop_words_;

    /// A run of token characters at line_[begin, end). Returns where the next kept token may go.
    size_t add_run(std::string_view text, size_t begin, size_t end, size_t to, DocumentTerms& out) const {
        if (end - begin < min_length_) return to;
        if (whole_words_ &&
            ((begin > 0 && word_[uint8_t(text[begin - 1])]) || (end < text.size() && word_[uint8_t(text[end])])))
            return to;
        if (max_n_ == 1) {
            keep(begin, end, out);
            return to;
        }
        // Only n-grams need the tokens side by side. This writes behind `end`, which has been read already.
        std::memmove(out.line_.data() + to, out.line_.data() + begin, end - begin);
        if (!keep(to, to + end - begin, out)) return to;
        to += end - begin;
        out.line_[to++] = ' ';
        return to;
    }

    /// Takes the token at line_[begin, end) unless it is a stop word.
    bool keep(size_t begin, size_t end, DocumentTerms& out) const {
        if (end > size_t(INT32_MAX)) throw std::length_error("a document of more than 2^31 bytes");
        if (stop_words_.size() && stop_words_.find(out.key(begin, end)) >= 0) return false;
        out.terms_.push_back({uint32_t(begin), uint32_t(end)});
        return true;
    }

    void add_ngrams(DocumentTerms& out) const {
        const size_t n_tokens = out.terms_.size();
        for (size_t n = std::max<size_t>(min_n_, 2); n <= std::min(max_n_, n_tokens); ++n)
            for (size_t i = 0; i + n <= n_tokens; ++i)
                out.terms_.push_back({out.terms_[i].begin, out.terms_[i + n - 1].end});
        out.first_ = min_n_ == 1 ? 0 : n_tokens;
    }
};

}  // namespace topmix
