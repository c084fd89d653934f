// Eight places for topics.
#pragma once
#include <cstddef>
#include <cstdint>

namespace topmix {

constexpr size_t kLine = 8;
constexpr size_t kNoTopic = size_t(-1);

/// One with a count of 0 is free, and its id still names a topic.
template <class Count>
struct alignas(kLine * sizeof(uint32_t)) TopicLine {
    uint16_t id[kLine] = {};
    Count count[kLine] = {};
};

}  // namespace topmix
