// Numbers out of text, for every corpus format that is lines of numbers: UCI docword, Matrix Market, LDA-C, svmlight.
//
// The caller hands over whole lines, each with its newline. The newline stops every loop below, so no loop needs to
// ask where the text ends. What cannot be read is thrown with the number of its line, counted from 1.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace topmix {

/// Reads left to right through lines of numbers. Blanks are spaces, tabs and carriage returns.
class Scanner {
  public:
    Scanner(std::span<const uint8_t> text, int64_t line)
        : p_(reinterpret_cast<const char*>(text.data())), end_(p_ + text.size()), line_(line) {
        if (!text.empty() && end_[-1] != '\n') throw std::invalid_argument("the text must end with a newline");
    }

    int64_t line() const { return line_; }

    /// Moves to the next line that holds something; false at the end of the text.
    bool at_line() {
        for (; p_ < end_; ++p_, ++line_) {
            skip_blanks();
            if (*p_ != '\n') return true;
        }
        return false;
    }

    /// Nothing but blanks may be left on this line.
    void end_line() {
        skip_blanks();
        if (*p_ != '\n') fail("the end of the line");
        ++p_, ++line_;
    }

    bool line_is_over() {
        skip_blanks();
        return *p_ == '\n';
    }
    bool next_is(char c) const { return *p_ == c; }
    void skip_line() {
        while (*p_ != '\n') ++p_;
    }
    bool skip(std::string_view word) {
        // Shorter than what is left of the text, because a newline is still to come and no word holds one.
        for (size_t i = 0; i < word.size(); ++i)
            if (p_[i] != word[i]) return false;
        p_ += word.size();
        return true;
    }

    /// An integer from `low` to `high`, then a blank, a newline or `stop`.
    int64_t integer(const char* what, int64_t low, int64_t high, char stop = ' ') {
        skip_blanks();
        const char* start = p_;
        int64_t x = 0;
        for (; *p_ >= '0' && *p_ <= '9'; ++p_) {
            if (p_ - start == 18) fail_range(start, what, low, high);
            x = 10 * x + (*p_ - '0');
        }
        if (p_ == start || !(is_gap(*p_) || *p_ == stop)) {
            p_ = start;
            fail(what);
        }
        if (x < low || x > high) fail_range(start, what, low, high);
        return x;
    }

    /// A finite number. Plain digits, nearly every count there is, take the short way.
    double number(const char* what) {
        skip_blanks();
        const char* start = p_;
        int64_t x = 0;
        while (*p_ >= '0' && *p_ <= '9' && p_ - start < 18) x = 10 * x + (*p_++ - '0');
        if (p_ > start && is_gap(*p_)) return double(x);

        while (!is_gap(*p_)) ++p_;
        double value = 0;
        if (!to_double(std::string_view(start, size_t(p_ - start)), value)) {
            p_ = start;
            fail(what);
        }
        return value;
    }

    /// A number that a corpus can hold: not negative, finite in single precision.
    float weight(const char* what, bool whole) {
        skip_blanks();
        const char* start = p_;
        const double x = number(what);
        if (!(x >= 0 && x <= std::numeric_limits<float>::max()) || (whole && (x < 1 || x != std::floor(x)))) {
            p_ = start;
            fail(what);
        }
        return float(x);
    }

    [[noreturn]] void fail(const std::string& expected) const {
        throw std::invalid_argument("line " + std::to_string(line_) + ": expected " + expected + ", found " + found());
    }

  private:
    static bool is_gap(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
    void skip_blanks() {
        while (*p_ == ' ' || *p_ == '\t' || *p_ == '\r') ++p_;
    }

    static bool to_double(std::string_view token, double& value) {
        const bool plus = !token.empty() && token[0] == '+';
        if (plus) token.remove_prefix(1);
        if (token.empty() || (plus && (token[0] == '+' || token[0] == '-'))) return false;
#if defined(__cpp_lib_to_chars)
        const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
        return error == std::errc() && stop == token.data() + token.size() && std::isfinite(value);
#else  // some standard libraries still lack from_chars for double
        const std::string copy(token);
        char* stop = nullptr;
        value = std::strtod(copy.c_str(), &stop);
        return stop == copy.c_str() + copy.size() && std::isfinite(value);
#endif
    }

    [[noreturn]] void fail_range(const char* start, const char* what, int64_t low, int64_t high) {
        p_ = start;
        const bool open = high == std::numeric_limits<int64_t>::max();
        fail(std::string(what) + (open ? " of at least " + std::to_string(low)
                                       : " from " + std::to_string(low) + " to " + std::to_string(high)));
    }

    /// What stands here, short enough for a message and without control characters.
    std::string found() const {
        if (*p_ == '\n') return "the end of the line";
        std::string s;
        for (const char* q = p_; !is_gap(*q) && s.size() < 24; ++q) {
            const bool printable = uint8_t(*q) >= 32 && uint8_t(*q) < 127;
            s += printable ? *q : '?';
        }
        return "'" + s + "'";
    }

    const char* p_;
    const char* end_;
    int64_t line_;
};

}  // namespace topmix
