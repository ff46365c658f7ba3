// A mutation of texts that knows words: bytes alone hardly ever make another
// program of one.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Of libFuzzer, and the one it calls.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);
