// The tokenizer on any bytes at all, against a plain loop: the same terms and counts, nothing read or written out of
// bounds. What CountVectorizer says of the same text, tests/data/test_tokenize.py knows.
#include "data/tokenize.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "data/sort_terms.hpp"
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

TermCounter counter_of(const TokenRule& rule, std::span<const std::string> stop, size_t min_n, size_t max_n) {
    return TermCounter(TermCutter(rule, stop, min_n, max_n), {}, false);
}

CountedRows count_text(TermCounter& counter, const std::string& text) {
    return counter.count(std::vector<TextDocument>{{text, {}, true}}, 1);
}

std::map<std::string, int> row(const TermCounter& counter, const CountedRows& rows, size_t d) {
    std::map<std::string, int> out;
    for (int64_t i = rows.indptr[d]; i < rows.indptr[d + 1]; ++i)
        check(out.emplace(counter.terms()[size_t(rows.index[i])], int(rows.value[i])).second, "once a row");
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
            TermCounter counter = counter_of(letters(min_length, whole_words), stop, min_n, max_n);
            std::vector<std::map<std::string, int>> want;
            std::vector<std::unique_ptr<char[]>> texts;
            std::deque<std::vector<std::string>> tokens;
            std::deque<std::vector<std::string_view>> views;
            std::vector<TextDocument> documents;
            for (const size_t length : {0, 1, 2, 63, 64, 65, 127, 128, 129, 640, 1000}) {
                std::string text(length, 'a');
                for (char& c : text) c = rng.below(20) ? some[rng.below(uint32_t(some.size()))] : char(rng.below(256));
                texts.emplace_back(new char[length]);  // no byte more, for the address sanitizer
                std::copy(text.begin(), text.end(), texts.back().get());
                tokens.push_back(tokens_of(text, min_length, whole_words));
                views.emplace_back(tokens.back().begin(), tokens.back().end());
                documents.push_back({{texts.back().get(), length}, {}, true});
                documents.push_back({{}, views.back(), false});
                want.push_back(grams(tokens.back(), stop, min_n, max_n));
                want.push_back(want.back());
            }
            const CountedRows rows = counter.count(documents, 1);
            check(size_t(counter.rows()) == want.size() && rows.n_rows == want.size());
            for (size_t d = 0; d < want.size(); ++d) check(row(counter, rows, d) == want[d]);
        }
    });
}

void tokens_of_others_may_hold_anything() {
    TermCounter counter = counter_of(letters(2, false), {}, 1, 2);
    const std::string nul("\0", 1), broken("\xff\xc3"), blank(" "), long_one(1 << 20, 'x');
    const std::vector<std::string_view> tokens{"", nul, broken, blank, "", long_one, nul};
    const CountedRows rows = counter.count(std::vector<TextDocument>{{{}, tokens, false}, {{}, {}, false}}, 2);
    const auto first = row(counter, rows, 0);
    check(first.at("") == 2 && first.at(nul) == 2 && first.at(broken) == 1 && first.at(long_one) == 1);
    check(first.at(nul + " " + broken) == 1 && row(counter, rows, 1).empty());
}

void very_long_lines() {
    constexpr size_t n = 3 << 20;
    for (const char c : {'a', ' ', '\0', '\xff'}) {
        TermCounter counter = counter_of(letters(1, true), {}, 1, 3);
        const CountedRows rows = count_text(counter, std::string(n, c));
        check(rows.n_entries == (c == 'a') && (c != 'a' || counter.terms()[0].size() == n));
    }
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += i % 2 ? "b " : "a,";
    TermCounter counter = counter_of(letters(1, false), {}, 1, 2);
    check(row(counter, count_text(counter, text), 0).at("a b") == 150'000 && counter.term_frequency(0) == 150'000);
}

/// Words of many lengths, common and rare, in enough documents for several rounds of several blocks: threads share the
/// vocabulary there, which the thread sanitizer watches.
void any_number_of_threads_counts_the_same() {
    Rng rng(7, 0, 0);
    std::vector<std::string> texts(3000);
    for (std::string& text : texts)
        for (size_t n = rng.below(120); n > 0; --n) {
            const uint32_t word = rng.below(1 + rng.below(1 + rng.below(60'000)));
            for (uint32_t w = word; w > 0; w /= 13) text += char('a' + w % 13);
            text += word % 97 == 5 ? std::string(20, 'x') + " " : " ";
        }
    std::vector<TextDocument> documents;
    for (const std::string& text : texts) documents.push_back({text, {}, true});
    const auto all = std::span(documents);
    TermCounter alone = counter_of(letters(1, false), {}, 1, 1);
    const CountedRows want = alone.count(all, 1);
    for (const int threads : {2, 5}) {
        TermCounter counter = counter_of(letters(1, false), {}, 1, 1);
        const CountedRows first = counter.count(all.first(1000), threads), last = counter.count(all.subspan(1000), 1);
        check(first.n_entries + last.n_entries == want.n_entries && counter.terms().size() == alone.terms().size());
        check(std::equal(first.index.get(), first.index.get() + first.n_entries, want.index.get()));
        check(std::equal(last.index.get(), last.index.get() + last.n_entries, want.index.get() + first.n_entries));
        check(std::equal(last.value.get(), last.value.get() + last.n_entries, want.value.get() + first.n_entries));
        std::vector<int32_t> ids(alone.terms().size()), sorted(ids.size());
        for (size_t i = 0; i < ids.size(); ++i) {
            ids[i] = sorted[i] = int32_t(i);
            check(alone.terms()[i] == counter.terms()[i]);
            check(alone.document_frequency(i) == counter.document_frequency(i));
            check(alone.term_frequency(i) == counter.term_frequency(i));
        }
        sort_terms(counter.terms(), threads, ids);
        std::ranges::sort(sorted, {}, [&](int32_t id) { return alone.terms()[size_t(id)]; });
        check(ids == sorted);
    }
}

void a_closed_vocabulary_drops_what_it_does_not_hold() {
    const std::vector<std::string> terms{"b", "a b", "\xff"};
    TermCounter counter(TermCutter(letters(1, false), {}, 1, 2), terms, true);
    check(row(counter, count_text(counter, "a b c b"), 0) == std::map<std::string, int>{{"b", 2}, {"a b", 1}});
    check(counter.unknown() == 4 && counter.terms().size() == 3);
    for (const auto& wrong : {std::vector<std::string>{"x", "x"}, {"", ""}}) try {
            TermCounter(TermCutter(letters(1, false), {}, 1, 1), wrong, true);
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
    for (size_t i = 0; i < all.size(); ++i) check(table.find_or_add(StringKey::of(all[i])) == int32_t(i));
    for (size_t i = 0; i < all.size(); ++i)
        check(table.find(StringKey::of(all[i])) == int32_t(i) && table[i] == all[i]);
    check(table.find(StringKey::of("not there")) == -1 && table.size() == all.size());
    for (const std::string& s : all) {
        const std::string padded = s + std::string(16, '?');
        check(StringKey::of_padded({padded.data(), s.size()}) == StringKey::of(s), "what follows is not read");
    }
}

}  // namespace

int main() {
    any_bytes_are_counted_as_by_a_plain_loop();
    tokens_of_others_may_hold_anything();
    very_long_lines();
    any_number_of_threads_counts_the_same();
    a_closed_vocabulary_drops_what_it_does_not_hold();
    a_table_of_strings_grows();
}
