// What kernels of topic models are given. Python reads the layout of these structs (cuda/sources.py) and fills them by
// the names of their fields.
#pragma once
#include "document_options.hpp"
#include "types.hpp"

struct SolveArgs : DocumentOptions {
    const int* indptr;   // [documents + 1]
    const int* index;    // [entries] words of the shard
    const float* value;  // [entries]
    const int* rows;     // [n_rows] documents to solve, longest first
    const int* more;     // [*n_more] and those that did not fit before; null: none
    const int* n_more;
    int* overflow;  // documents that do not fit here
    int* n_overflow;
    int* next;                   // how many documents have been taken
    const float* table;          // [words, K]
    const double* log_scale;     // [words]
    const TopicId* first_topic;  // [words, L] the words' own topics, where documents start cold; else null
    const float* first_share;    // [words, L]
    const double* alpha;         // [K]
    const float* own_alpha;      // [priors, K] where documents have their own; else null
    const int* own_row;          // [documents] which of them
    const float* by_topic;       // [K] 1 / norm, where own tokens are discounted
    const i64* places;           // [documents + 1] where a document's topics are kept
    const i64* last_places;      // and where those of the last visit are
    const TopicId* last_topic;   // the last visit; null: there was none, or nobody needs it
    const float* last_count;
    const int* last_n;   // [documents]
    TopicId* doc_topic;  // this visit
    float* doc_count;
    int* doc_n;
    TopicId* memo_topic;    // [L, entries] topics of each word and its tokens in them; null: nobody needs them
    u32* memo_share;        // [L, entries] of 1 / unit tokens
    unsigned char* memo_n;  // [entries]
    i64* topic_sums;        // [3, K] tokens; log((N + alpha) / alpha); alpha (psi(N + alpha) - psi(alpha))
    i64* sums;              // [10] see the enum Sums
    float* slots;           // [blocks, slot_size] for documents that are too large for shared memory; else null
    i64 slot_size;          // floats
    i64 n_entries;
    double alpha_total;  // sum of alpha
    int n_rows;
    int K;
    int most;     // topics that a document may start with here
    int room;     // floats of a document's part of the table and the like
    float least;  // the smallest prior count of a word
    float unit;   // 2^20, or less where a word has very many tokens in a document
    int variational;
    int starts_cold;
    int learns_alpha;
    int wants_bound;
};

enum Sums {
    kIterations,
    kEntropy,
    kWithin,
    kLengths,
    kGammas,
    kLengthGammas,
    kBound,
    kLost,
    kTried,
    kAccepted,
};

struct TableArgs {
    const i64* counts;  // [V, K] of 1 / unit tokens
    const double* eta;
    const i64* extra_indptr;  // [V + 1] sparse rows that eta has besides; null: none
    const TopicId* extra_topic;
    const double* extra_value;
    const double* common;      // [V] pseudo-counts; null: the sparse rows are all there is
    const double* share;       // [K]
    const i64* pseudo_indptr;  // [V + 1] null: there are no pseudo-counts
    const TopicId* pseudo_topic;
    const double* pseudo_value;
    const double* by_topic;  // [K] 1 / norm, or psi(norm)
    const int* cols;         // [n_words] or null: all words
    float* table;            // [n_words, K]
    double* log_scale;       // [n_words]
    TopicId* first_topic;    // [n_words, L]
    float* first_share;
    double* partial;  // [blocks] sums of the bound
    double factor;    // of the counts
    double pseudo_weight;
    int word_step;  // of eta: 0 where it repeats
    int topic_step;
    int n_words;
    int K;
    int variational;
    int function;  // of the bound: 0 x log x, 1 log Gamma(x), 2 psi(x)
};

struct MemoArgs {
    const int* index;  // [entries]
    const int* cols;   // [words]
    const TopicId* new_topic;
    const u32* new_share;
    const unsigned char* new_n;
    const TopicId* old_topic;
    const u32* old_share;
    const unsigned char* old_n;  // null: nothing is taken out
    const int* word;             // [tokens] words of the shard, where every token has one topic
    const TopicId* new_z;        // [tokens]
    const TopicId* old_z;        // null: nothing is taken out
    i64* counts;                 // [V, K]
    double weight;
    double unit;  // parts of a token
    i64 n_entries;
    int K;
    int is_whole;  // weight is 1
};

struct MergeArgs {
    const TopicId* topic;    // [L, entries]
    const u32* share;        // [L, entries]
    const unsigned char* n;  // [entries]
    const int* partner;      // [K] the other topic of a pair, or negative
    i64* lost;               // [K] at the lower topic of each pair
    double unit;             // parts of a token
    i64 n_entries;
};

struct SampleArgs {
    const i64* first;         // [documents + 1] tokens
    const int* word;          // [tokens] words of the shard
    const TopicId* z;         // [tokens] their topics; null: they have none yet
    TopicId* new_z;           // [tokens]
    const int* rows;          // [n_rows] documents, longest first
    int* next;                // how many documents have been taken
    const float* table;       // [words, K]
    const double* log_scale;  // [words]
    float* mass;              // [words, blocks] running sums of concentration_k e_vk over blocks of 32 topics
    float* by_word;           // [words] exp(-log_scale)
    const float* weights;     // [K] of the prior while this sweep lasts
    const float* by_topic;    // [K] 1 / norm
    const double* alpha;      // [K] of the model
    const float* own_alpha;   // [priors, K] where documents have their own, and weights are a proposal; else null
    const int* own_row;       // [documents] which of them
    const i64* last_places;   // [documents + 1] the proportions of documents whose tokens have no topics yet; or null
    const TopicId* last_topic;
    const float* last_count;
    const int* last_n;  // [documents]
    const i64* places;  // [documents + 1] where a document's topics are kept
    TopicId* doc_topic;
    float* doc_count;
    int* doc_n;
    i64* topic_sums;  // [3, K] as in SolveArgs
    i64* sums;        // [10] see the enum Sums; kIterations are tokens with another topic than before
    u64 seed;
    u64 sweep;
    double alpha_total;
    float own_scale;  // of own_alpha, while this sweep lasts
    float unit;
    float least;  // the smallest prior count of a word
    int n_rows;
    int n_words;
    int K;
    int most;    // topics that a document can have
    int blocks;  // of 32 topics
    int variational;
    int learns_alpha;
};

struct OwnArgs {
    const double* x;             // [priors, P] rows of the design
    const double* coefficients;  // [P, K]
    float* alpha;                // [priors, K]
    double* total;               // [priors] sums of alpha
    double* normaliser;          // [priors] collapsed: log Gamma(total) + sum_k alpha log alpha - log Gamma(alpha)
    const int* row;              // [documents] which of the priors each has
    const double* lengths;       // [documents] tokens
    const i64* places;           // [documents + 1] where a document's topics are kept
    const TopicId* doc_topic;
    const float* doc_count;
    const int* doc_n;  // [documents]
    i64* sums;         // [3] G, A and T of 2^-24
    i64* first;        // [K, P] M
    i64* second;       // [K, P, P] the lower half of Q; null: nobody needs it
    double first_scale;
    double second_scale;
    double low;  // of log alpha
    double high;
    int n_priors;
    int n_rows;
    int K;
    int P;
    int variational;
    int padding;
};

struct GibbsArgs {
    const i64* first;         // [documents + 1] tokens
    const int* word;          // [tokens]
    TopicId* z;               // [tokens]
    const int* rows;          // [n_rows] documents to sample, longest first
    int* next;                // how many documents have been taken
    i64* counts;              // [V, K]
    const i64* total;         // [K]
    i64* next_total;          // [K] zero before column_sums
    const double* eta_total;  // [K]
    const double* eta;
    float* e;            // [V, K]
    float* mass;         // [V, blocks] running sums of alpha_k e_vk over blocks of 32 topics
    const float* alpha;  // [K]
    float* inverse;      // [K] 1 / (n_k + eta_k), which gibbs_table fills
    i64* sums;           // [1] sum_dk log Gamma(n_dk + alpha_k) - log Gamma(alpha_k)
    u64 seed;
    u64 sweep;
    float least;    // the smallest eta
    int word_step;  // of eta: 0 where it repeats
    int topic_step;
    int n_rows;
    int n_words;
    int K;
    int most;    // topics that a document can have
    int blocks;  // of 32 topics
};

struct GatherArgs {
    const i64* indptr;  // [documents of the corpus + 1]
    const int* index;
    const float* value;
    const int* rows;   // [n_rows] of the corpus
    int* used;         // [V] whether a row has the word
    double* lengths;   // [n_rows] tokens
    const int* local;  // [V] numbers of words in the shard
    const i64* new_indptr;
    int* new_index;
    float* new_value;
    int n_rows;
    int padding;
};
