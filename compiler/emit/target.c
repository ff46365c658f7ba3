// Opening and closing a module for the host's CPU.
//
// The width of vectors and the tile of the GEMM kernel follow from the CPU's
// features: with 16 registers of 8 lanes 6x2 vectors of sums leave 4 for the
// operands, with 32 of 16 lanes it is 12x2.
#include <llvm-c/Target.h>
#include <string.h>

#include "emit/gen.h"

static bool make_machine(Gen *g, char **error)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    LLVMTargetRef target;
    bool ok = !LLVMGetTargetFromTriple(triple, &target, error);
    if (ok) {
        bool wide = strstr(features, "+avx512f") != NULL;
        g->lanes = wide ? 16 : strstr(features, "+avx2") ? 8 : 4;
        g->rows = wide ? 12 : 6;
        g->machine = LLVMCreateTargetMachine(target, triple, cpu, features,
                                             LLVMCodeGenLevelLess, LLVMRelocPIC,
                                             LLVMCodeModelDefault);
    }
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return ok;
}

static void set_target(Gen *g)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(g->machine);
    char *triple = LLVMGetTargetMachineTriple(g->machine);
    LLVMSetModuleDataLayout(g->module, layout);
    LLVMSetTarget(g->module, triple);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

bool gen_open(Gen *g, Arena *a, const char *name, char **error)
{
    *g = (Gen){.arena = a};
    if (!make_machine(g, error))
        return false;
    g->context = LLVMContextCreate();
    g->module = LLVMModuleCreateWithNameInContext(name, g->context);
    g->b = LLVMCreateBuilderInContext(g->context);
    set_target(g);
    g->none = LLVMVoidTypeInContext(g->context);
    g->i1 = LLVMInt1TypeInContext(g->context);
    g->i8 = LLVMInt8TypeInContext(g->context);
    g->i16 = LLVMInt16TypeInContext(g->context);
    g->i32 = LLVMInt32TypeInContext(g->context);
    g->i64 = LLVMInt64TypeInContext(g->context);
    g->f32 = LLVMFloatTypeInContext(g->context);
    g->f64 = LLVMDoubleTypeInContext(g->context);
    g->ptr = LLVMPointerTypeInContext(g->context, 0);
    return true;
}

void gen_close(Gen *g)
{
    LLVMDisposeBuilder(g->b);
    LLVMDisposeModule(g->module);
    LLVMContextDispose(g->context);
    LLVMDisposeTargetMachine(g->machine);
}
