// The command line: options shared by all subcommands, one file a subcommand.
#pragma once

#include "pass/pass.h"

typedef struct Program Program; // frontend/frontend.h
typedef struct BuildOptions BuildOptions;

enum {
    EXIT_DIAGNOSTICS = 1,
    EXIT_USAGE = 2,
    EXIT_INTERNAL = 70,
};

typedef struct Options {
    const char *command;
    const char *input; // the file; "-" is standard input
    const char *config;
    const char *rules; // default: maxtext
    const char *mesh;  // NULL: one device
    const char *entry; // forward or step; NULL: as the command has it
    const char **sets; // NAME=VALUE, ended by NULL
    int nset;
    const char *passes; // opt
    const char *emit;   // build
    const char *output; // -o
    const char *name;   // explain: a value, or NULL
    bool explain_rules;
    bool uneven_pad;
    bool in_place;         // fmt -i
    const char *interpret; // run: by the interpreter, in this form
    const char *load, *feed, *dump, *stats, *memory;
    const char *data, *data_type, *seed, *save, *metrics;
    int steps, save_every, keep;
    bool debug_nan;
    bool isolate;
    int workers, repeat;
    double deadline;
    PassOptions pass;
} Options;

typedef struct Driver {
    Arena arena;
    Diag diag;
    Options o;
} Driver;

typedef int Command(Driver *d);

#define COMMAND(name, arguments, summary) Command command_##name;
#include "driver/commands.def"

// The whole of a file as a source; NULL and an error if it cannot be read.
const Source *read_source(Driver *d, const char *path);

// -o FILE, or standard output. close_output reports a failed write and returns
// the exit code.
FILE *open_output(Driver *d);
int close_output(Driver *d, FILE *f);

// A model, as far as the named form: GLOBAL, SHARDED or LOCAL.
typedef struct Built {
    Program *program;
    Module *global;  // folded
    Module *sharded; // with collectives
    Module *local;
    PassContext context;
    bool is_step; // the entry
    bool trains;  // the program has a step
} Built;

bool build_options(Driver *d, const Program *p, BuildOptions *out);
// entry: "forward", "step", or "best": step if the program trains.
bool build_forms(Driver *d, const char *entry, Form last, Built *out);
// What --entry says, or otherwise.
const char *entry_or(const Driver *d, const char *otherwise);
