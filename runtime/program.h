// What the compiler hands to the runtime: a program as flat tables.
//
// Code generation writes these structs, as they are, into one constant blob of
// the object file (the target is the host, so the layout is the same), with
// kernel functions in a table beside it. Offsets are in bytes. Every device
// has two segments of memory: `priv`, which only it can reach, and `shared`,
// which holds what collectives read on other devices.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RT_MAX_RANK = 12,
    RT_MAX_ITEMS = 24,
    RT_MAX_ATOMS = 48,
    RT_MAX_NAME = 96,
};

// Runs on one device. iter: the iteration of the loop around it, or 0.
typedef void RtKernel(char *priv, char *shared, int64_t device, int64_t iter);

typedef enum RtDType { // the order of ir/dtypes.def
    RT_f32,
    RT_bf16,
    RT_i32,
    RT_bool,
} RtDType;

// An ordered list of items: >= 0 a mesh atom, < 0 a whole factor of that many.
// The same as Split in ir/sharding.h.
typedef struct RtSplit {
    int32_t n;
    int32_t item[RT_MAX_ITEMS];
} RtSplit;

// A place in a device's memory. In a loop, iteration i is at at + i * step.
typedef struct RtPlace {
    int32_t is_shared;
    int64_t at;
    int64_t step;
} RtPlace;

typedef enum RtClass {
    RT_PARAM,
    RT_INPUT,
    RT_OUTPUT,
    RT_STATE, // of the optimizer: enters a step and leaves it
} RtClass;

// How the first values of a parameter or of a state are made. A deviation or a
// number goes with it.
typedef enum RtInit {
    RT_INIT_ZEROS,
    RT_INIT_ONES,
    RT_INIT_CONSTANT,         // init_value
    RT_INIT_NORMAL,           // init_value: the deviation
    RT_INIT_TRUNCATED_NORMAL, // cut at two deviations, then scaled to
                              // init_value
} RtInit;

// A tensor that enters or leaves the program, by name, in global shape.
typedef struct RtTensor {
    char name[RT_MAX_NAME];
    int32_t class_;
    int32_t dtype;
    int32_t rank;
    int32_t has_limit;          // i32 inputs that index something:
    int64_t limit;              // values must be in [0, limit)
    int32_t init;               // RtInit, of RT_PARAM and RT_STATE
    int32_t donor;              // OUTPUT: the tensor whose memory it takes
    double init_value;          // over, as its next value; -1: none
    int64_t dim[RT_MAX_RANK];   // of the whole tensor
    int64_t local[RT_MAX_RANK]; // of one device, padding included
    RtSplit split[RT_MAX_RANK]; // how a device finds its part
    RtPlace place;
} RtTensor;

typedef enum RtCollectiveKind {
    RT_ALL_GATHER,     // result: `concat_dim` n times longer
    RT_REDUCE_SCATTER, // result: `split_dim` n times shorter
    RT_ALL_REDUCE,
    RT_ALL_TO_ALL,         // `split_dim` shorter, `concat_dim` longer
    RT_COLLECTIVE_PERMUTE, // piece k under `group` becomes piece k under `to`
} RtCollectiveKind;

typedef enum RtCombine {
    RT_SUM,
    RT_MAX,
    RT_MIN,
} RtCombine;

// The group of a device: the devices that differ from it in the atoms of
// `group` alone; a member's number is its coordinates read major first.
// Source and result are dense and row major. Reduction is in member order, in
// f32 for bf16 (rounded once).
typedef struct RtCollective {
    int32_t id; // c1, c2, ...
    int32_t kind;
    int32_t combine;
    int32_t dtype;
    int32_t rank;
    int32_t split_dim;
    int32_t concat_dim;
    int64_t dim[RT_MAX_RANK]; // of the source on one device
    RtSplit group;
    RtSplit to;     // COLLECTIVE_PERMUTE
    RtPlace source; // always in the shared segment
    RtPlace result;
    int64_t bytes; // per device and execution, by the report's convention
} RtCollective;

typedef enum RtStepKind {
    RT_KERNEL,     // index: of the kernel table
    RT_COLLECTIVE, // index: of the collective table
    RT_LOOP,       // run the next `index` steps `trip` times
} RtStepKind;

typedef struct RtStep {
    int32_t kind;
    int32_t index;
    int64_t trip;
} RtStep;

typedef struct RtAtom {
    int32_t size;
    int32_t reserved;
    int64_t stride; // device ids between neighbours
} RtAtom;

// What a kernel computes, to find the first NaN.
typedef struct RtProbe {
    int64_t what; // in the blob: "einsum %h at model.shard:12:5"
    RtPlace result;
    int64_t dims; // in the blob: a size and a stride, in elements, of each
    int32_t rank; // -1: not to be looked at
    int32_t dtype;
} RtProbe;

// Header of the blob; the tables follow at these offsets from its start.
typedef struct RtProgram {
    uint64_t magic; // RT_MAGIC
    int64_t ndevice;
    int64_t priv_bytes; // of each segment, per device
    int64_t shared_bytes;
    int32_t natom;
    RtAtom atom[RT_MAX_ATOMS];
    char mesh[128]; // "fsdp=2 tensor=2", for messages
    int32_t nkernel;
    int32_t nstep;
    int64_t steps; // RtStep[]
    int32_t ncollective;
    int32_t ntensor;
    int64_t collectives; // RtCollective[]
    int64_t tensors;     // RtTensor[]
    int32_t nconstant;
    int32_t reserved;
    int64_t constants; // RtConstant[]: copied into each device at start
    int64_t probes;    // RtProbe[nkernel]
} RtProgram;

typedef struct RtConstant {
    RtPlace place;
    int64_t bytes;
    int64_t data; // offset in the blob
} RtConstant;

#define RT_MAGIC 0x3163647261687331ull

// The symbols an object file defines.
// The forward pass, and the training step of a model that has one.
extern const char shardc_program[];
extern RtKernel *const shardc_kernels[];
extern const char shardc_step_program[] __attribute__((weak));
extern RtKernel *const shardc_step_kernels[] __attribute__((weak));
