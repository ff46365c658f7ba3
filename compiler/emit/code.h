#pragma once

#include "emit/emit.h"
#include "emit/gen.h"

struct Code {
    Gen gen;
    const Plan *plan;
    const char *prefix; // of its two symbols
};

// Code of the module for a file type, in memory; NULL and a message on failure.
LLVMMemoryBufferRef code_buffer(Code *c, LLVMCodeGenFileType type,
                                char **error);
