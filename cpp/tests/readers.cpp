// Text and rows from outside, most of it broken on purpose: a parser returns or throws invalid_argument, and never
// reads or writes out of bounds. What is parsed from good text, tests/data/test_parsers.py knows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "data/line_pieces.hpp"
#include "data/lines.hpp"
#include "data/localise.hpp"
#include "data/rows.hpp"
#include "tests/check.hpp"

using namespace topmix;
using std::string_literals::operator""s;

namespace {

/// Memory of exactly this size, so that the address sanitizer sees a read past its end.
template <class T>
struct Exact {
    size_t size;
    std::unique_ptr<T[]> data;
    explicit Exact(size_t n) : size(n), data(new T[n]) {}
    std::span<T> all() { return {data.get(), size}; }
};

Exact<uint8_t> bytes(const std::string& text) {
    Exact<uint8_t> out(text.size());
    std::copy(text.begin(), text.end(), out.data.get());
    return out;
}

/// The message of what fn throws, or nothing. Anything but invalid_argument ends the test.
template <class Fn>
std::string refused(Fn&& fn) {
    try {
        fn();
    } catch (const std::invalid_argument& e) {
        return std::string("refused: ") + e.what();
    }
    return {};
}

/// Arrays are as short as the bindings allow.
std::string triples(const std::string& text, bool has_value, bool whole) {
    Exact<uint8_t> in = bytes(text);
    const size_t room = text.size() / (has_value ? 6 : 4) + 1;
    Exact<int64_t> doc(room);
    Exact<int32_t> word(room);
    Exact<float> value(room);
    return refused([&] {
        const Parsed done =
            parse_triples(in.all(), 1, {1000, 1 << 30, has_value, whole}, doc.all(), word.all(), value.all());
        for (size_t i = 0; i < done.n_entries; ++i) {
            check(doc.data[i] >= 0 && doc.data[i] < 1000 && word.data[i] >= 0 && word.data[i] < 1 << 30);
            check(std::isfinite(value.data[i]) && value.data[i] >= (whole ? 1.f : 0.f));
        }
    });
}

std::string pairs(const std::string& text, bool counted) {
    Exact<uint8_t> in = bytes(text);
    Exact<int64_t> indptr(text.size() / 2 + 2);
    Exact<double> label(text.size() / 2 + 1);
    Exact<int32_t> word(text.size() / 4 + 1);
    Exact<float> value(text.size() / 4 + 1);
    return refused([&] {
        const Parsed done = parse_pairs(in.all(), 1, {counted, 0, std::numeric_limits<int32_t>::max()}, indptr.all(),
                                        label.all(), word.all(), value.all());
        check(indptr.data[0] == 0 && indptr.data[done.n_rows] == int64_t(done.n_entries));
        for (size_t n = 0; n < done.n_rows; ++n)
            check(indptr.data[n] <= indptr.data[n + 1] && std::isfinite(label.data[n]));
        for (size_t i = 0; i < done.n_entries; ++i) check(word.data[i] >= 0 && std::isfinite(value.data[i]));
    });
}

bool names_line(const std::string& message, int line) {
    return message.find("line " + std::to_string(line) + ":") != std::string::npos;
}

void good_text_is_read() {
    check(triples("", true, true).empty() && pairs("", true).empty() && pairs("", false).empty());
    check(triples("1 1 1\n", true, true).empty() && triples("\n \t\r\n 7\t8   9 \r\n\n", true, true).empty());
    check(triples("1 1\n2 2\n", false, false).empty() && triples("1 1 1e-3\n1 2 +.5\n1 3 0\n", true, false).empty());
    check(pairs("2 0:1 2147483647:3\n0\n", true).empty());
    check(pairs("# only a comment\n-1.5 qid:3 1:0.5 2:1e3 # and another\n+1\n", false).empty());
    check(pairs("0" + std::string(1 << 16, ' ') + "1:1\n", false).empty(), "a long line of blanks");
    std::string many = "100000";
    for (int i = 0; i < 100'000; ++i) many += " " + std::to_string(i) + ":1";
    check(pairs(many + "\n", true).empty(), "a long line of pairs");
}

void broken_text_is_refused_by_its_line() {
    const std::string digits(1 << 16, '9'), nul(1, '\0');
    for (const std::string& bad : {"1"s,
                                   "1 1"s,
                                   "1 1 1 1"s,
                                   "0 1 1"s,
                                   "-1 1 1"s,
                                   "1001 1 1"s,
                                   "1 1 -1"s,
                                   "1 1 0"s,
                                   "1 1 1.5"s,
                                   "1 1 nan"s,
                                   "1 1 inf"s,
                                   "1 1 1e999"s,
                                   "1 1 1e-999"s,
                                   "1 1 ++1"s,
                                   "1 1 +-1"s,
                                   "1 1 0x1"s,
                                   "1,1,1"s,
                                   "a b c"s,
                                   digits + " 1 1",
                                   "1 " + digits + " 1",
                                   "1 1 " + digits,
                                   nul,
                                   "1 1 1" + nul,
                                   nul + "1 1 1",
                                   "1 1" + nul + "1",
                                   "\xff\xfe 1 1"s,
                                   "1 1 \xc3\x28"s,
                                   "\xef\xbb\xbf" + "1 1 1"s,
                                   "1 1 " + std::string(1 << 16, '.')}) {
        check(names_line(triples("1 1 1\n\n" + bad + "\n", true, true), 3), bad.substr(0, 20).c_str());
        check(!triples(bad, true, true).empty(), "without a newline");
    }
    for (const std::string& bad : {"1"s,
                                   "1 0:1 1:1"s,
                                   "2 0:1"s,
                                   "-1"s,
                                   "1 0"s,
                                   "1 0:"s,
                                   "1 :1"s,
                                   "1 0:1:1"s,
                                   "1 0 :1"s,
                                   "1 -1:1"s,
                                   "1 0:0"s,
                                   "1 0:0.5"s,
                                   "1 2147483648:1"s,
                                   digits,
                                   "1 " + digits + ":1",
                                   "1 0:" + digits,
                                   "1 0:1" + nul,
                                   nul,
                                   "1 \xff:1"s,
                                   "1 0:1 # no comments here"s})
        check(names_line(pairs("1 0:1\n" + bad + "\n", true), 2), bad.substr(0, 20).c_str());
    for (const std::string& bad :
         {"x"s, "1 0:-1"s, "1 0:nan"s, "1 0:inf"s, "1 qid:x 0:1"s, "1 0:1 qid:3"s, "1 q"s, "1 qid"s, "1 qid:"s, nul,
          "nan 0:1"s, "1 0:1" + nul, "\xff 0:1"s, "1 0:" + digits + "e" + digits})
        check(names_line(pairs("1 0:1\n" + bad + "\n", false), 2), bad.substr(0, 20).c_str());
}

/// Random edits of good text. Several threads, because parsers share nothing.
void edited_text_is_read_or_refused() {
    const std::string good[] = {"1 1 1\n2 30 4\n\n1000 7 123456\n9 9 0.25\n", "2 0:1 5:3\n0\n1 7:12345678\n",
                                "-1 qid:2 1:0.5 3:1e-3 # x\n+1 2:1\n# y\n3\n"};
    const std::string odd = std::string("0123456789:+-.eE \t\r\n#qid\xff\xc3\x80") + '\0';
    parallel_for(6000, 100, 4, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; ++i) {
            Rng rng(1, 0, i);
            std::string text = good[i % 3];
            for (uint32_t edits = 1 + rng.below(6); edits > 0; --edits) {
                const size_t at = rng.below(uint32_t(text.size()));
                const char c = odd[rng.below(uint32_t(odd.size()))];
                switch (rng.below(5)) {
                    case 0:
                        text[at] = c;
                        break;
                    case 1:
                        text.insert(at, 1 + rng.below(40), c);
                        break;
                    case 2:
                        text.erase(at, 1 + rng.below(5));
                        break;
                    case 3:
                        text.resize(at + 1);
                        break;
                    default:
                        text += text.substr(at);
                }
                if (text.empty()) text = "\n";
            }
            if (rng.below(4)) text += '\n';
            triples(text, true, true), triples(text, true, false), triples(text, false, false);
            pairs(text, true), pairs(text, false);
        }
    });
}

/// Lines for several pieces, then one that cannot be read, here and there: the parser on threads says what the one
/// that reads line by line says.
void pieces_of_lines_are_one_text() {
    for (const size_t bad : {size_t(0), size_t(1), size_t(40'000), size_t(79'999), size_t(80'000)}) {
        std::string triples, pairs;
        for (size_t i = 0; i < 80'000; ++i) {
            Rng rng(i, 0, 0);
            const std::string word = std::to_string(1 + rng.below(9)), count = std::to_string(1 + rng.below(1000));
            triples += i == bad ? "1 1\n" : std::to_string(1 + i / 100) + " " + word + " " + count + "\n";
            pairs += i == bad ? "x\n" : i % 3 ? "2 1:" + count + " " + word + ":2\n" : "0\n\n";
        }
        Exact<uint8_t> t = bytes(triples), p = bytes(pairs);
        const Triples triple{1000, 9, true, true};
        const Pairs pair{true, 0, 9};
        struct Out {
            std::vector<int64_t> doc, indptr;
            std::vector<int32_t> word, words;
            std::vector<float> value, values;
            std::vector<double> label;
            Parsed of_triples{}, of_pairs{};
            std::string said{};
        };
        const auto run = [&](int threads) {
            const size_t n = triples.size() / 6 + 1, rows = pairs.size() / 2 + 1, m = pairs.size() / 4 + 1;
            Out o{std::vector<int64_t>(n),  std::vector<int64_t>(rows + 1), std::vector<int32_t>(n),
                  std::vector<int32_t>(m),  std::vector<float>(n),          std::vector<float>(m),
                  std::vector<double>(rows)};
            o.said = refused([&] {
                o.of_triples = threads ? parse_triples(t.all(), 5, triple, threads, o.doc, o.word, o.value)
                                       : parse_triples(t.all(), 5, triple, o.doc, o.word, o.value);
            });
            o.said += refused([&] {
                o.of_pairs = threads ? parse_pairs(p.all(), 5, pair, threads, o.indptr, o.label, o.words, o.values)
                                     : parse_pairs(p.all(), 5, pair, o.indptr, o.label, o.words, o.values);
            });
            o.doc.resize(o.of_triples.n_entries), o.word.resize(o.doc.size()), o.value.resize(o.doc.size());
            o.words.resize(o.of_pairs.n_entries), o.values.resize(o.words.size());
            o.label.resize(o.of_pairs.n_rows), o.indptr.resize(o.said.empty() ? o.label.size() + 1 : 0);
            return o;
        };
        const Out want = run(0);
        check(want.said.empty() == (bad == 80'000));
        for (const int threads : {1, 3}) {
            const Out got = run(threads);
            check(got.said == want.said && got.doc == want.doc && got.word == want.word && got.value == want.value);
            check(got.indptr == want.indptr && got.label == want.label && got.words == want.words);
            check(got.values == want.values && got.of_pairs.line == want.of_pairs.line);
            check(got.of_triples.line == want.of_triples.line);
        }
    }
}

struct RowsOfCounts {
    std::vector<int64_t> indptr;
    std::vector<int32_t> index;
    std::vector<float> value;
    Csr<float> view() const { return {indptr, index, value}; }
};

std::string tidied(const RowsOfCounts& x, std::vector<int64_t> remap, int64_t n_words, int threads = 2) {
    Exact<int64_t> indptr(x.indptr.size());
    Exact<int32_t> index(x.index.size());
    Exact<float> value(x.index.size());
    return refused([&] {
        const size_t n = tidy_rows(x.view(), {remap, n_words, 0}, threads, indptr.all(), index.all(), value.all());
        check(n <= x.index.size() && indptr.data[x.indptr.size() - 1] == int64_t(n));
        RowsOfCounts out{{indptr.data.get(), indptr.data.get() + indptr.size},
                         {index.data.get(), index.data.get() + n},
                         {value.data.get(), value.data.get() + n}};
        const RowsReport report = check_rows(out.view(), n_words);
        check(report.problem.empty() && report.n_zeros == 0, "tidy rows are those of a corpus");
    });
}

void rows_are_checked_and_tidied() {
    constexpr int32_t big = std::numeric_limits<int32_t>::max(), low = std::numeric_limits<int32_t>::min();
    constexpr float huge = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
    const RowsOfCounts good{{0, 2, 2, 4}, {0, 3, 1, 2}, {1, 2, 3, 4}};
    check(check_rows(good.view(), 4).problem.empty() && tidied(good, {}, 4).empty());
    check(tidied(good, {3, -1, 0, 0}, 4).empty() && tidied({{0}, {}, {}}, {}, 0).empty());
    check(tidied({{0, 4}, {3, 0, 3, 0}, {1, 0, 2, 5}}, {}, 4).empty(), "unsorted, twice, and a zero");

    for (const auto& indptr : std::vector<std::vector<int64_t>>{
             {0, 3, 2, 4}, {0, 2, 9, 4}, {0, -1, 2, 4}, {-5, 2, 2, 4}, {0, INT64_MAX, 2, 4}, {0, INT64_MIN, 2, 4}}) {
        RowsOfCounts x = good;
        x.indptr = indptr;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
    }
    for (const int32_t v : {4, big, -1, low}) {
        RowsOfCounts x = good;
        x.index[3] = v;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
        check(!tidied(x, {0, 1, 2, 3}, 4).empty(), "outside the words that are renamed");
    }
    for (const float c : {-1.f, inf, -inf, std::nanf("")}) {
        RowsOfCounts x = good;
        x.value[2] = c;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
    }
    for (const int64_t to : {int64_t(4), int64_t(-2), INT64_MAX, INT64_MIN})
        check(!tidied(good, {0, 1, to, 3}, 4).empty());
    check(!tidied({{0, 2}, {1, 1}, {huge, huge}}, {}, 4).empty(), "the sum does not fit");
    check(!check_rows({good.indptr, std::vector<int32_t>{0, 0, 1, 2}, good.value}, 4).problem.empty(), "twice");
}

void shards_without_words() {
    check(localise({}, 0).cols.empty() && localise({}, 5).starts.size() == 1);
    const Localised one = localise(std::vector<int32_t>(1000, 4), 5);
    check(one.cols == std::vector<int32_t>{4} && one.starts == std::vector<int64_t>{0, 1000});
}

}  // namespace

int main() {
    good_text_is_read();
    broken_text_is_refused_by_its_line();
    edited_text_is_read_or_refused();
    pieces_of_lines_are_one_text();
    rows_are_checked_and_tidied();
    shards_without_words();
}
