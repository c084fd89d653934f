// Documents in, sparse rows of counts out, with a vocabulary that grows as words are seen.
//
//     text -> lower case -> runs of token characters -> minus stop words -> n-grams -> term ids -> counts
//
// The same steps, in the same order, as scikit-learn's CountVectorizer. Only ASCII text is cut here; what is lower case
// or a letter beyond ASCII is Python's to say, so other documents arrive as tokens already (`add_tokens`).
// Memory is the vocabulary plus the block of rows that the caller takes away. Twin: topmix/reference/tokenize.py.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace topmix {

/// Mixes eight bytes at a time; the tail is read as overlapping pieces, never past the end.
inline uint32_t hash_bytes(std::string_view s) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ s.size();
    const auto eat = [&h](uint64_t w) {
        h = (h ^ w) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    };
    const char* p = s.data();
    size_t n = s.size();
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t w;
        std::memcpy(&w, p, 8);
        eat(w);
    }
    if (n >= 4) {
        uint32_t a, b;
        std::memcpy(&a, p, 4);
        std::memcpy(&b, p + n - 4, 4);
        eat(uint64_t(a) << 32 | b);
    } else if (n > 0) {
        eat(uint64_t(uint8_t(p[0])) << 16 | uint64_t(uint8_t(p[n / 2])) << 8 | uint8_t(p[n - 1]));
    }
    return uint32_t(h ^ h >> 29);
}

/// Strings numbered in the order of first sight: an arena of bytes and an open-addressing index, at most half full.
class StringTable {
  public:
    size_t size() const { return begin_.size() - 1; }
    std::string_view operator[](size_t id) const {
        return {bytes_.data() + begin_[id], size_t(begin_[id + 1] - begin_[id])};
    }

    /// The string's id, or -1.
    int32_t find(std::string_view s, uint32_t hash) const { return slots_[probe(s, hash)].id; }

    int32_t find_or_add(std::string_view s, uint32_t hash) {
        size_t i = probe(s, hash);
        if (slots_[i].id >= 0) return slots_[i].id;
        if (size() == size_t(INT32_MAX)) throw std::length_error("more than 2^31 - 1 different terms");
        if (2 * (size() + 1) > slots_.size()) grow(), i = probe(s, hash);
        slots_[i] = {hash, int32_t(size())};
        bytes_.insert(bytes_.end(), s.begin(), s.end());
        begin_.push_back(int64_t(bytes_.size()));
        return slots_[i].id;
    }

  private:
    struct Slot {
        uint32_t hash = 0;
        int32_t id = -1;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
    std::vector<char> bytes_;
    std::vector<int64_t> begin_{0};  // [size + 1]

    size_t probe(std::string_view s, uint32_t hash) const {
        const size_t mask = slots_.size() - 1;
        size_t i = hash & mask;
        while (slots_[i].id >= 0 && !(slots_[i].hash == hash && (*this)[size_t(slots_[i].id)] == s)) i = (i + 1) & mask;
        return i;
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        const size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.id < 0) continue;
            size_t i = slot.hash & mask;
            while (slots_[i].id >= 0) i = (i + 1) & mask;
            slots_[i] = slot;
        }
    }
};

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
        tokens_.clear();
        line_.resize(text.size() + 1);  // a kept token and its space never outgrow the text that they came from
        char* to = line_.data();
        const char *p = text.data(), *const end = p + text.size();
        while (p != end) {
            if (!map_[uint8_t(*p)]) {
                ++p;
                continue;
            }
            const char* const begin = p;
            char* const token = to;
            for (char c; p != end && (c = map_[uint8_t(*p)]); ++p) *to++ = c;
            const bool torn = whole_words_ &&
                              ((begin != text.data() && word_[uint8_t(begin[-1])]) || (p != end && word_[uint8_t(*p)]));
            if (size_t(p - begin) < min_length_ || torn || !keep(token, to))
                to = token;
            else
                *to++ = ' ';
        }
        add_row(out);
    }

    /// One more row, from tokens that somebody else made.
    void add_tokens(std::span<const std::string_view> tokens, CountBlock& out) {
        size_t size = 0;
        for (const auto& token : tokens) size += token.size() + 1;
        tokens_.clear();
        line_.resize(size);
        char* to = line_.data();
        for (const auto& token : tokens) {
            char* const end = std::copy(token.begin(), token.end(), to);
            if (!keep(to, end)) continue;
            to = end;
            *to++ = ' ';
        }
        add_row(out);
    }

    const StringTable& terms() const { return terms_; }
    int64_t rows() const { return rows_; }
    int64_t unknown() const { return unknown_; }  // terms that a closed vocabulary dropped
    int64_t document_frequency(size_t id) const { return stats_[id].documents; }
    int64_t term_frequency(size_t id) const { return stats_[id].total; }

  private:
    struct Token {
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

    std::vector<char> line_;     // this document's kept tokens, a space after each: an n-gram is one slice of it
    std::vector<Token> tokens_;  // this document's kept tokens

    bool keep(const char* begin, const char* end) {
        if (end - line_.data() >= INT32_MAX) throw std::length_error("a document of more than 2^31 bytes");
        const std::string_view s(begin, size_t(end - begin));
        const uint32_t hash = hash_bytes(s);
        if (stop_words_.size() && stop_words_.find(s, hash) >= 0) return false;
        tokens_.push_back({uint32_t(begin - line_.data()), uint32_t(end - line_.data()), hash});
        return true;
    }

    void add_row(CountBlock& out) {
        ++rows_;  // first: after an exception no later row may be taken for this one
        for (size_t n = min_n_; n <= std::min(max_n_, tokens_.size()); ++n)
            for (size_t i = 0; i + n <= tokens_.size(); ++i) {
                const size_t begin = tokens_[i].begin, end = tokens_[i + n - 1].end;
                const std::string_view s(line_.data() + begin, end - begin);
                add_term(s, n == 1 ? tokens_[i].hash : hash_bytes(s), out);
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
