// Eight places for topics without vectors: what the others compute, in the order of their sums.
#pragma once
#include "simd/line.hpp"

namespace topmix {

struct LineWeights {
    float x[kLine] = {};
};

inline LineWeights operator+(LineWeights a, const LineWeights& b) {
    for (size_t i = 0; i < kLine; ++i) a.x[i] += b.x[i];
    return a;
}

template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    LineWeights w;
    for (size_t i = 0; i < kLine; ++i) w.x[i] = line.id[i] == but ? 0.f : float(line.count[i]) * row[line.id[i]];
    return w;
}

inline float sum(const LineWeights& w) {
    return ((w.x[0] + w.x[4]) + (w.x[2] + w.x[6])) + ((w.x[1] + w.x[5]) + (w.x[3] + w.x[7]));
}

template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(line.id[i] == k && line.count[i] > 0) << i;
    return found;
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(!(line.count[i] > 0)) << i;
    return found;
}

inline size_t first_above(const LineWeights& w, float x) {
    float s = 0;
    for (size_t i = 0; i < kLine; ++i) {
        s += w.x[i];
        if (s > x && w.x[i] > 0) return i;
    }
    return kLine;
}

}  // namespace topmix
