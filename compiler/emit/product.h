// An einsum and its end as matrix products: C[m, n] (+)= A[m, k] B[k, n] in
// outer loops.
#pragma once

#include "emit/gemm_size.h"
#include "emit/plan.h"

enum {
    MAX_LETTERS = 2 * MAX_RANK,
};

typedef enum LetterKind {
    LETTER_batch, // in both operands and the result
    LETTER_m,     // in the first and the result
    LETTER_n,     // in the second and the result
    LETTER_k,     // summed
} LetterKind;

// A loop. Letters that everything steps through as one are one loop.
typedef struct Letter {
    LetterKind kind;
    int64_t size;
    int64_t a, b;
    int64_t end[MAX_NODES]; // of each node of the nest that reads memory
    int64_t out;
} Letter;

typedef struct Product {
    int a, b; // accesses
    Letter m, n, k;
    int nouter; // loops around; the summed ones come last
    int nouter_k;
    Letter outer[MAX_LETTERS];
} Product;

Product product_of(const Kernel *k);
GemmSums product_sums(const Kernel *k, const Product *p);
int64_t product_scratch(const Kernel *k);
