#include "emit/emit.h"

#include <errno.h>
#include <llvm-c/Analysis.h>
#include <string.h>

#include "emit/blob.h"
#include "emit/code.h"
#include "emit/kernel.h"

static void add_global(Gen *g, const char *name, LLVMValueRef value)
{
    LLVMValueRef x = LLVMAddGlobal(g->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(x, value);
    LLVMSetGlobalConstant(x, true);
    LLVMSetAlignment(x, 64);
}

static void add_tables(Gen *g, const Plan *p, const char *prefix)
{
    Bodies bodies = {0};
    Blob blob = {.arena = g->arena};
    unsigned n = (unsigned)p->kernels.n;
    LLVMValueRef *kernel = arena_new(g->arena, LLVMValueRef, (size_t)n + 1);
    for (unsigned i = 0; i < n; i++)
        kernel[i] = kernel_function(g, &bodies, p, (int)i);
    kernel[n] = LLVMConstNull(g->ptr);
    add_global(g, arena_printf(g->arena, "%s_kernels", prefix),
               LLVMConstArray2(g->ptr, kernel, n + 1));
    blob_write(&blob, p);
    add_global(g, arena_printf(g->arena, "%s_program", prefix),
               LLVMConstStringInContext(g->context, blob.bytes.at,
                                        (unsigned)blob.bytes.n, true));
}

static char *take_message(Arena *a, char *message)
{
    char *copy = arena_strndup(a, message, strlen(message));
    LLVMDisposeMessage(message);
    return copy;
}

Code *emit_code(Arena *a, const Plan *p, const char *prefix, char **error)
{
    char *message = NULL;
    Code *c = arena_new(a, Code, 1);
    c->plan = p;
    c->prefix = prefix;
    if (!gen_open(&c->gen, a, "shardc", &message)) {
        *error = take_message(a, message);
        return NULL;
    }
    add_tables(&c->gen, p, prefix);
    if (LLVMVerifyModule(c->gen.module, LLVMReturnStatusAction, &message)) {
        *error = take_message(a, message);
        gen_close(&c->gen);
        return NULL;
    }
    LLVMDisposeMessage(message);
    return c;
}

void emit_free(Code *c)
{
    gen_close(&c->gen);
}

void emit_llvm(const Code *c, FILE *f)
{
    char *text = LLVMPrintModuleToString(c->gen.module);
    fputs(text, f);
    LLVMDisposeMessage(text);
}

LLVMMemoryBufferRef code_buffer(Code *c, LLVMCodeGenFileType type, char **error)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer;
    if (!LLVMTargetMachineEmitToMemoryBuffer(c->gen.machine, c->gen.module,
                                             type, &message, &buffer))
        return buffer;
    *error = take_message(c->gen.arena, message);
    return NULL;
}

bool emit_asm(Code *c, FILE *f, char **error)
{
    LLVMMemoryBufferRef b = code_buffer(c, LLVMAssemblyFile, error);
    if (!b)
        return false;
    fwrite(LLVMGetBufferStart(b), 1, LLVMGetBufferSize(b), f);
    LLVMDisposeMemoryBuffer(b);
    return true;
}

bool emit_object(Code *c, const char *path, char **error)
{
    LLVMMemoryBufferRef b = code_buffer(c, LLVMObjectFile, error);
    if (!b)
        return false;
    FILE *f = fopen(path, "wb");
    size_t n = LLVMGetBufferSize(b);
    bool ok = f && fwrite(LLVMGetBufferStart(b), 1, n, f) == n;
    ok = f && fclose(f) == 0 && ok;
    if (!ok)
        *error = arena_printf(c->gen.arena, "%s: %s", path, strerror(errno));
    LLVMDisposeMemoryBuffer(b);
    return ok;
}
