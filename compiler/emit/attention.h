// Attention, block by block.
#pragma once

#include "ir/graph.h"

enum {
    QUERY_BLOCK = 48, // rows of queries, a multiple of every tile's
    KEY_BLOCK = 256,  // scores of a row in work, a multiple of every tile's
};

// Where things lie in an attention op's scratch, in bytes.
typedef struct AttentionScratch {
    int64_t segments;   // of the keys of one row
    int64_t keys;       // panels of one head
    int64_t values;     //
    int64_t queries;    // panels of one block
    int64_t scores;     // QUERY_BLOCK x KEY_BLOCK
    int64_t weights;    // the same, as panels
    int64_t sums;       // QUERY_BLOCK x sums_pitch
    int64_t sums_pitch; // in elements
    int64_t max, total; // of each row
    int64_t bytes;
} AttentionScratch;

AttentionScratch attention_layout(const Op *op);
int64_t attention_scratch(const Op *op);
