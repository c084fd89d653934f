// Made by tools/options.py from src/topmix/models/topics.py; do not edit.
#pragma once

// clang-format off
struct DocumentOptions {
    float eps;           // a topic with no more than this many tokens leaves the document
    int max_iter;        // iterations, at most
    float tol;           // tokens
    int mean_change;     // compare the mean change with tol, not the largest
    int select_often;    // choose the n_active best in early iterations too, not only at the end
    int exclude;         // leave a token out of the counts that judge it
    int restarts;        // smallest topics that a document is tried without
    int restart_iter;    // iterations before a restart is judged
    float own_discount;  // part of a document's own tokens that it does not see in the topics' counts
};
// clang-format on
