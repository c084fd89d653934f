// What the kernels of mixtures are given; see arguments.hpp. T is float or double, as the kernel's name says.
#pragma once
#include "types.hpp"

struct FeatureArgs {
    const void* z;     // [n, D] of T
    const u32* pairs;  // [F] which two coordinates a feature is the product of
    u32* split;        // [n, F] two halves each: a row is F low parts, then F high parts
    double* wide;      // [n, F]
    float* scale;      // [n] powers of two that the products of a row are to be multiplied by
    i64 n;
    int D;
    int F;     // even
    int rows;  // of a block at a time, at most 8
    int has_norm;
};

struct WeightArgs {
    const double* P;       // [K, Q] packed upper triangles
    const double* linear;  // [K, D] or null
    const double* m;       // [K, D]
    void* W;               // [K, F] of T
    void* centre;          // [K, D] of T
    u32* split;            // [K, F] two halves each: a cluster is F high parts, then F low parts
    float* scale;          // [K]
    int D;
    int F;
};

struct TopArgs {
    const void* scores;          // [n, pitch] of T
    const float* row_scale;      // [n] and [K] powers of two that scores are to be multiplied by; null: none
    const float* cluster_scale;  // [K]
    const void* constant;        // [K] of T
    const int* indptr;           // [n + 1] bags of words
    const int* index;            // [entries]
    const float* value;          // [entries]
    const float* table;          // [words, K]
    const double* offset;        // [words]
    int* cluster;                // [n, L] ascending; null: L is K, or nobody needs them
    void* r;                     // [n, L] of T; null: nobody needs them
    double* entropy;             // [n]
    double* likelihood;          // [n] log of the summed weights of the chosen clusters
    double least;                // a smaller share counts as none
    i64 n;
    int pitch;
    int K;
    int L;
    int C;  // scores of a lane, odd
};

struct GroupArgs {
    const void* scores;          // [n, pitch] of T, and their scales: see TopArgs
    const float* row_scale;      // [n]
    const float* cluster_scale;  // [K]
    const double* constant;      // [K] of scores
    const i64* starts;           // [groups + 1] where the rows of each begin, counted from `base` rows before the piece
    const int* group;            // [rows] counted from first_group
    const double* weight;        // [rows] or null
    const double* alpha;         // [K]
    const double* unit;          // [groups] a power of two: counts are integers of 1 / unit
    double* N;                   // [groups, K]
    double* absent;              // [groups, K] log of the probability that no row is in a cluster; null: not needed
    double* log_p;               // [groups, K]
    void* s;                     // [C, rows] of T: candidates, ascending by cluster
    TopicId* id;                 // [C, rows]
    int* cluster;                // [rows, L] ascending
    void* r;                     // [rows, L] of T
    double* entropy;             // [rows]
    double* likelihood;          // [rows]
    int* iterations;             // [groups]
    double least;                // a smaller share counts as none
    double tol;                  // a group is done when its counts change by less, as a part of its rows
    i64 first;                   // row of the piece, whose scores are the first
    i64 n;                       // rows with scores
    i64 n_rows;                  // of the piece
    i64 base;
    int n_groups;
    int first_group;
    int pitch;
    int K;
    int L;
    int C;        // candidates
    int of_lane;  // scores of a lane, odd
    int collapsed;
    int max_iter;
    int padding;
};

struct SegmentArgs {
    const int* cluster;  // [pairs] null: the cluster of pair p is p % K
    const void* r;       // [pairs] of T
    int* counts;         // [tiles, K]
    int* start;          // [K + 1] where the pairs of each cluster begin in `order`
    int* part_start;     // [K + 1] the same in parts of at most `part` pairs
    int* order;          // [pairs] cluster by cluster
    int n_pairs;
    int K;
    int tile;  // pairs
    int n_tiles;
    int part;
    int padding;
};

struct MomentArgs {
    const void* z;          // [n, D] of T
    const void* r;          // [n, L] of T
    const double* weight;   // [n] or null
    const void* centre;     // [K, D] of T, or null: zero
    const int* order;       // [pairs], start and part_start: see SegmentArgs
    const int* start;       // [K + 1]
    const int* part_start;  // [K + 1]
    double* part_sums;      // [parts, 1 + 2 D] weight, first and squared moments about the centre
    void* part_products;    // [parts, Q] of T
    double* N;              // [K] these three are added to
    double* first;          // [K, D]
    double* second;         // [K, Q]
    const double* entropy;  // [n]
    double* partial;        // [blocks] sums of weighted entropy, which are added to
    i64 n;
    int L;
    int D;
    int Q;
    int K;
    int part;  // pairs, at most
    int kind;  // see the enum Quadratic
};

enum Quadratic { kNone, kNorm, kSquares, kProducts };

struct AddArgs {
    double* to;
    const double* from;  // to = factor to + weight from
    double factor;
    double weight;
    i64 n;
};

struct GaussianArgs {
    const double* N;            // [K]
    const double* beta;         // [K]
    const double* nu;           // [K]
    const double* first;        // [K, D]
    const double* second;       // [K, Q] packed upper triangles
    const double* base;         // [Q] of the prior
    const double* reg;          // [Q]
    const double* prior_first;  // [D] beta m
    double* P;                  // [K, Q] E[Lambda]
    double* m;                  // [K, D]
    double* Pm;                 // [K, D]
    double* about;              // [K, kAbouts] see the enum About
    double* room;               // [blocks, D, D] where a matrix does not fit into shared memory; else null
    int K;
    int D;
    int zero_mean;
    int padding;
};

enum About {
    kLogDet,   // of B
    kForm,     // m' P m
    kLargest,  // diagonal entry of P
    kRounding,
    kOfSecond,  // P : S, and the same of reg and base
    kOfReg,
    kOfBase,
    kOfFirst,  // (P m)' first, and prior_first
    kOfPriorFirst,
    kPsi,  // sum_j psi((nu - j) / 2), and of log Gamma
    kLogGamma,
    kAbouts
};

struct RowWordArgs {
    const int* row;        // [entries]
    const int* index;      // [entries]
    const float* value;    // [entries]
    const int* cols;       // [words]
    const int* cluster;    // [rows, L] null: L is K
    const float* r;        // [rows, L]
    const double* weight;  // [rows] or null
    i64* counts;           // [V, K]
    i64* totals;           // [K]
    double unit;
    double factor;  // of what is added
    i64 n_entries;
    int L;
    int K;
    int is_whole;  // the factor is 1 or -1
    int padding;
};
