// The parsers of data/lines.hpp on all threads: a text is cut into pieces of whole lines.
//
// No line is shorter than some number of bytes, so the place of a piece in the text says where in the arrays it has
// room. Afterwards what was parsed moves together. Pieces depend on the text alone, and the error of the first line
// that cannot be read is the one that is thrown.
#pragma once
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/parallel.hpp"
#include "data/lines.hpp"

namespace topmix {

constexpr size_t kLinePiece = 1 << 17;  // bytes

struct LinePiece {
    size_t begin, end;  // bytes
    int64_t line;       // number of its first line
    Parsed parsed{};
    std::exception_ptr error{};
};

/// Where a piece has room in an array of things that are at least n bytes long each.
inline size_t room_at(size_t byte, size_t n) { return (byte + n - 1) / n; }

template <class T>
std::span<T> room_of(const LinePiece& piece, size_t n, std::span<T> all) {
    return all.subspan(room_at(piece.begin, n), room_at(piece.end, n) - room_at(piece.begin, n));
}

/// Calls parse(text, piece) for every piece; throws as a parser would that reads from the first line to the last.
template <class Fn>
std::vector<LinePiece> parse_pieces(std::span<const uint8_t> text, int64_t line, int threads, Fn&& parse) {
    Scanner(text, line);  // refuses a text without a newline at its end
    if (line < 0 || line > std::numeric_limits<int64_t>::max() / 2)
        throw std::invalid_argument("there is no such line");
    std::vector<LinePiece> pieces;
    for (size_t begin = 0; begin < text.size();) {
        const auto cut = text.begin() + ptrdiff_t(std::min(begin + kLinePiece, text.size()) - 1);
        const size_t end = size_t(std::find(cut, text.end(), '\n') - text.begin()) + 1;
        pieces.push_back({begin, end, 0});
        begin = end;
    }
    parallel_for(pieces.size(), 1, threads, [&](size_t p, size_t, size_t) {
        const auto piece = text.subspan(pieces[p].begin, pieces[p].end - pieces[p].begin);
        pieces[p].line = std::count(piece.begin(), piece.end(), '\n');
    });
    for (LinePiece& piece : pieces) line += std::exchange(piece.line, line);
    parallel_for(pieces.size(), 1, threads, [&](size_t p, size_t, size_t) {
        LinePiece& piece = pieces[p];
        try {
            piece.parsed = parse(text.subspan(piece.begin, piece.end - piece.begin), piece, p);
        } catch (...) {
            piece.error = std::current_exception();
        }
    });
    for (const LinePiece& piece : pieces)
        if (piece.error) std::rethrow_exception(piece.error);
    return pieces;
}

/// Moves the n values that a piece has in its room to `to`.
template <class T>
void move_to(size_t to, std::span<T> room, size_t n, std::span<T> all) {
    if (n > 0 && room.data() != all.data() + to) std::copy_n(room.begin(), n, all.begin() + ptrdiff_t(to));
}

inline Parsed parse_triples(std::span<const uint8_t> text, int64_t line, const Triples& kind, int threads,
                            std::span<int64_t> doc, std::span<int32_t> word, std::span<float> value) {
    const size_t least = kind.has_value ? 6 : 4;  // "1 1 1\n"
    const auto pieces =
        parse_pieces(text, line, threads, [&](std::span<const uint8_t> lines, const LinePiece& piece, size_t) {
            return parse_triples(lines, piece.line, kind, room_of(piece, least, doc), room_of(piece, least, word),
                                 room_of(piece, least, value));
        });
    Parsed out{line, 0, 0};
    for (const LinePiece& piece : pieces) {
        const size_t n = piece.parsed.n_entries;
        move_to(out.n_entries, room_of(piece, least, doc), n, doc);
        move_to(out.n_entries, room_of(piece, least, word), n, word);
        move_to(out.n_entries, room_of(piece, least, value), n, value);
        out.line = piece.parsed.line;
        out.n_entries += n;
    }
    return out;
}

inline Parsed parse_pairs(std::span<const uint8_t> text, int64_t line, const Pairs& kind, int threads,
                          std::span<int64_t> indptr, std::span<double> label, std::span<int32_t> word,
                          std::span<float> value) {
    constexpr size_t row = 2, entry = 4;                                           // "0\n", " 1:1"
    std::vector<std::unique_ptr<int64_t[]>> starts(text.size() / kLinePiece + 1);  // rooms of indptr would overlap
    const auto pieces =
        parse_pieces(text, line, threads, [&](std::span<const uint8_t> lines, const LinePiece& piece, size_t p) {
            const auto labels = room_of(piece, row, label);
            starts[p] = std::make_unique_for_overwrite<int64_t[]>(labels.size() + 1);
            return parse_pairs(lines, piece.line, kind, {starts[p].get(), labels.size() + 1}, labels,
                               room_of(piece, entry, word), room_of(piece, entry, value));
        });
    Parsed out{line, 0, 0};
    indptr[0] = 0;
    for (size_t p = 0; p < pieces.size(); ++p) {
        const LinePiece& piece = pieces[p];
        const auto& [next_line, n_rows, n_entries] = piece.parsed;
        for (size_t n = 0; n < n_rows; ++n) indptr[out.n_rows + n + 1] = int64_t(out.n_entries) + starts[p][n + 1];
        move_to(out.n_rows, room_of(piece, row, label), n_rows, label);
        move_to(out.n_entries, room_of(piece, entry, word), n_entries, word);
        move_to(out.n_entries, room_of(piece, entry, value), n_entries, value);
        out.line = next_line;
        out.n_rows += n_rows;
        out.n_entries += n_entries;
    }
    return out;
}

}  // namespace topmix
