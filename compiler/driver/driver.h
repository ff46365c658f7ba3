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
    const char *entry; // forward, today's only one
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
    const char *load, *feed, *dump, *stats;
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
} Built;

bool build_options(Driver *d, const Program *p, BuildOptions *out);
bool build_forms(Driver *d, Form last, Built *out);
