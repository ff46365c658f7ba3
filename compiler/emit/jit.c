// Loading a program into this process: the object is linked in memory.
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <string.h>

#include "emit/code.h"

static bool failed(Code *c, LLVMErrorRef e, char **error)
{
    if (!e)
        return false;
    char *message = LLVMGetErrorMessage(e);
    *error = arena_strndup(c->gen.arena, message, strlen(message));
    LLVMDisposeErrorMessage(message);
    return true;
}

static bool look_up(Code *c, LLVMOrcLLJITRef jit, const char *name,
                    LLVMOrcExecutorAddress *at, char **error)
{
    return !failed(c, LLVMOrcLLJITLookup(jit, at, name), error);
}

// libm is in this process already.
static bool use_process_symbols(Code *c, LLVMOrcLLJITRef jit, char **error)
{
    LLVMOrcDefinitionGeneratorRef symbols;
    LLVMErrorRef e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &symbols, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
    if (failed(c, e, error))
        return false;
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), symbols);
    return true;
}

bool jit_load(Code *c, Jit *j, char **error)
{
    LLVMOrcLLJITRef jit;
    LLVMOrcExecutorAddress blob, kernels;
    LLVMMemoryBufferRef object = code_buffer(c, LLVMObjectFile, error);
    if (!object || failed(c, LLVMOrcCreateLLJIT(&jit, NULL), error))
        return false;
    LLVMErrorRef e = LLVMOrcLLJITAddObjectFile(
        jit, LLVMOrcLLJITGetMainJITDylib(jit), object);
    if (failed(c, e, error) || !use_process_symbols(c, jit, error) ||
        !look_up(c, jit, arena_printf(c->gen.arena, "%s_program", c->prefix),
                 &blob, error) ||
        !look_up(c, jit, arena_printf(c->gen.arena, "%s_kernels", c->prefix),
                 &kernels, error)) {
        LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
        return false;
    }
    *j = (Jit){jit, (const char *)(uintptr_t)blob,
               (RtKernel *const *)(uintptr_t)kernels};
    return true;
}

void jit_free(Jit *j)
{
    LLVMConsumeError(LLVMOrcDisposeLLJIT(j->engine));
}
