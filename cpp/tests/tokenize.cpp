// The tokenizer on any bytes at all, against a plain loop: the same terms and counts, nothing read or written out of
// bounds. What CountVectorizer says of the same text, tests/data/test_tokenize.py knows.
#include "data/tokenize.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

TokenRule letters(size_t min_length, bool whole_words) {
    TokenRule rule;
    for (char c = 'a'; c <= 'z'; ++c) rule.chars[size_t(c)] = true;
    rule.min_length = min_length, rule.whole_words = whole_words;
    return rule;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Runs of letters, in lower case, by a loop over characters.
std::vector<std::string> tokens_of(const std::string& text, size_t min_length, bool whole_words) {
    std::vector<std::string> out;
    for (size_t i = 0; i < text.size();) {
        size_t j = i;
        std::string token;
        for (; j < text.size() && ((text[j] >= 'a' && text[j] <= 'z') || (text[j] >= 'A' && text[j] <= 'Z')); ++j)
            token += char(text[j] | 32);
        const bool touched = (i > 0 && is_word(text[i - 1])) || (j < text.size() && is_word(text[j]));
        if (token.size() >= min_length && !(whole_words && touched)) out.push_back(token);
        i = std::max(j, i + 1);
    }
    return out;
}

std::map<std::string, int> grams(const std::vector<std::string>& tokens, const std::vector<std::string>& stop,
                                 size_t min_n, size_t max_n) {
    std::vector<std::string> kept;
    for (const auto& token : tokens)
        if (std::ranges::find(stop, token) == stop.end()) kept.push_back(token);
    std::map<std::string, int> out;
    for (size_t n = min_n; n <= max_n; ++n)
        for (size_t i = 0; i + n <= kept.size(); ++i) {
            std::string gram = kept[i];
            for (size_t j = 1; j < n; ++j) gram += " " + kept[i + j];
            ++out[gram];
        }
    return out;
}

std::map<std::string, int> row(const TermCounter& counter, const CountBlock& block, size_t d) {
    std::map<std::string, int> out;
    for (int64_t i = block.indptr[d]; i < block.indptr[d + 1]; ++i)
        check(out.emplace(counter.terms()[size_t(block.index[size_t(i)])], block.count[size_t(i)]).second,
              "once a row");
    return out;
}

void any_bytes_are_counted_as_by_a_plain_loop() {
    const std::string some = std::string("aabcdzAZ09_ .,-\n\xff\xc3\x80\xe2") + '\0';
    const std::vector<std::string> stop{"a", "bc", ""};
    parallel_for(48, 1, 4, [&](size_t begin, size_t end, size_t) {
        for (size_t seed = begin; seed < end; ++seed) {
            Rng rng(seed, 0, 0);
            const size_t min_length = 1 + rng.below(3), min_n = 1 + rng.below(2), max_n = min_n + rng.below(3);
            const bool whole_words = rng.below(2);
            TermCounter counter(letters(min_length, whole_words), stop, min_n, max_n, {}, false);
            CountBlock block;
            std::vector<std::map<std::string, int>> want;
            for (const size_t length : {0, 1, 2, 63, 64, 65, 127, 128, 129, 640, 1000}) {
                std::string text(length, 'a');
                for (char& c : text) c = rng.below(20) ? some[rng.below(uint32_t(some.size()))] : char(rng.below(256));
                const std::unique_ptr<char[]> exact(new char[length]);  // no byte more, for the address sanitizer
                std::copy(text.begin(), text.end(), exact.get());
                const auto tokens = tokens_of(text, min_length, whole_words);
                counter.add_text({exact.get(), length}, block);
                want.push_back(grams(tokens, stop, min_n, max_n));
                const std::vector<std::string_view> views(tokens.begin(), tokens.end());
                counter.add_tokens(views, block);
                want.push_back(want.back());
            }
            check(size_t(counter.rows()) == want.size() && block.indptr.size() == want.size() + 1);
            for (size_t d = 0; d < want.size(); ++d) check(row(counter, block, d) == want[d]);
        }
    });
}

void tokens_of_others_may_hold_anything() {
    TermCounter counter(letters(2, false), {}, 1, 2, {}, false);
    CountBlock block;
    const std::string nul("\0", 1), broken("\xff\xc3"), blank(" "), long_one(1 << 20, 'x');
    const std::vector<std::string_view> tokens{"", nul, broken, blank, "", long_one, nul};
    counter.add_tokens(tokens, block);
    counter.add_tokens({}, block);
    const auto first = row(counter, block, 0);
    check(first.at("") == 2 && first.at(nul) == 2 && first.at(broken) == 1 && first.at(long_one) == 1);
    check(first.at(nul + " " + broken) == 1 && row(counter, block, 1).empty());
}

void very_long_lines() {
    constexpr size_t n = 3 << 20;
    for (const char c : {'a', ' ', '\0', '\xff'}) {
        TermCounter counter(letters(1, true), {}, 1, 3, {}, false);
        CountBlock block;
        counter.add_text(std::string(n, c), block);
        check(block.index.size() == (c == 'a') && (c != 'a' || counter.terms()[0].size() == n));
    }
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += i % 2 ? "b " : "a,";
    TermCounter counter(letters(1, false), {}, 1, 2, {}, false);
    CountBlock block;
    counter.add_text(text, block);
    check(row(counter, block, 0).at("a b") == 150'000 && counter.term_frequency(0) == 150'000);
}

void a_closed_vocabulary_drops_what_it_does_not_hold() {
    const std::vector<std::string> terms{"b", "a b", "\xff"};
    TermCounter counter(letters(1, false), {}, 1, 2, terms, true);
    CountBlock block;
    counter.add_text("a b c b", block);
    check(row(counter, block, 0) == std::map<std::string, int>{{"b", 2}, {"a b", 1}});
    check(counter.unknown() == 4 && counter.terms().size() == 3);
    for (const auto& wrong : {std::vector<std::string>{"x", "x"}, {"", ""}}) try {
            TermCounter(letters(1, false), {}, 1, 1, wrong, true);
            check(false, "a term twice");
        } catch (const std::invalid_argument&) {
        }
}

/// More strings than the table starts with, of all lengths that the hash reads in different ways.
void a_table_of_strings_grows() {
    StringTable table;
    std::vector<std::string> all;
    for (size_t length = 0; length < 40; ++length)
        for (int i = 0; i < (length ? 50 : 1); ++i) {
            std::string s(length, '\0');
            for (size_t j = 0; j < length; ++j) s[j] = char((i * 7 + int(j) * i) & 255);
            if (std::ranges::find(all, s) == all.end()) all.push_back(s);
        }
    for (size_t i = 0; i < all.size(); ++i) check(table.find_or_add(all[i], hash_bytes(all[i])) == int32_t(i));
    for (size_t i = 0; i < all.size(); ++i)
        check(table.find(all[i], hash_bytes(all[i])) == int32_t(i) && table[i] == all[i]);
    check(table.find("not there", hash_bytes("not there")) == -1 && table.size() == all.size());
}

}  // namespace

int main() {
    any_bytes_are_counted_as_by_a_plain_loop();
    tokens_of_others_may_hold_anything();
    very_long_lines();
    a_closed_vocabulary_drops_what_it_does_not_hold();
    a_table_of_strings_grows();
}
