#include "driver/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind {
    OPTION_flag,
    OPTION_string,
    OPTION_int,
    OPTION_double,
    OPTION_set,     // NAME=VALUE, repeatable
    OPTION_choice,  // one of `value`, which has | between
    OPTION_passes,  // names of passes, comma between
    OPTION_uneven,  // only `pad`
    OPTION_warning, // -Wfoo
    OPTION_rules,   // a name; for explain also alone
    OPTION_mesh,    // repeatable: joined by commas
} Kind;

typedef struct Option {
    const char *name; // "--mesh"; short ones "-o"
    Kind kind;
    size_t at;            // in Options
    const char *commands; // those that take it; NULL: all
    const char *value, *summary;
} Option;

static const char *const models = "check build run explain";
static const char *const runs = "run";

static const Option options[] = {
    {"--config", OPTION_string, offsetof(Options, config), models, "NAME",
     "the config of the model"},
    {"--rules", OPTION_rules, offsetof(Options, rules), models, "NAME",
     "the rule set (default maxtext)"},
    {"--mesh", OPTION_mesh, offsetof(Options, mesh), models, "A=N,..",
     "the mesh, or the name of one"},
    {"--set", OPTION_set, 0, models, "NAME=VALUE",
     "another value for a size or option"},
    {"--uneven", OPTION_uneven, 0, "check build run explain opt", "pad",
     "pad dimensions that do not divide"},
    {"--entry", OPTION_choice, offsetof(Options, entry), models,
     "forward|step",
     "the entry to compile"},
    {"--emit", OPTION_string, offsetof(Options, emit), "build", "WHAT",
     "graph sharded local plan collectives memory llvm asm obj dot"},
    {"-o", OPTION_string, offsetof(Options, output), "build opt explain fmt",
     "FILE", "where to write; - is standard output"},
    {"-p", OPTION_passes, offsetof(Options, passes), "opt", "PASS,..",
     "the passes to run"},
    {"-i", OPTION_flag, offsetof(Options, in_place), "fmt", NULL,
     "change the file itself"},
    {"--load", OPTION_string, offsetof(Options, load), runs, "FILE",
     "parameters (.safetensors)"},
    {"--feed", OPTION_string, offsetof(Options, feed), runs, "FILE",
     "inputs (.safetensors)"},
    {"--dump", OPTION_string, offsetof(Options, dump), runs, "FILE",
     "write the outputs"},
    {"--stats", OPTION_string, offsetof(Options, stats), runs, "FILE",
     "write counters of the collectives"},
    {"--memory", OPTION_string, offsetof(Options, memory), runs, "FILE",
     "write what memory was used"},
    {"--steps", OPTION_int, offsetof(Options, steps), runs, "N",
     "train N steps"},
    {"--data", OPTION_string, offsetof(Options, data), runs, "FILE",
     "token ids to train on"},
    {"--data-type", OPTION_choice, offsetof(Options, data_type), runs,
     "u16|u32", "of the token ids (default u16)"},
    {"--seed", OPTION_string, offsetof(Options, seed), runs, "N",
     "of first weights and of the order of the data"},
    {"--save", OPTION_string, offsetof(Options, save), runs, "DIR",
     "write checkpoints"},
    {"--save-every", OPTION_int, offsetof(Options, save_every), runs, "N",
     "a checkpoint every N steps"},
    {"--keep", OPTION_int, offsetof(Options, keep), runs, "N",
     "keep the newest N checkpoints"},
    {"--metrics", OPTION_string, offsetof(Options, metrics), runs, "FILE",
     "write a JSON object for each step"},
    {"--debug-nan", OPTION_flag, offsetof(Options, debug_nan), runs, NULL,
     "find the op that made the first NaN"},
    {"--isolate", OPTION_flag, offsetof(Options, isolate), runs, NULL,
     "a process a device, only collectives' buffers shared"},
    {"--workers", OPTION_int, offsetof(Options, workers), runs, "N",
     "threads (default: one a core)"},
    {"--repeat", OPTION_int, offsetof(Options, repeat), runs, "N",
     "run N times and say how long it took"},
    {"--deadline", OPTION_double, offsetof(Options, deadline), runs, "SECONDS",
     "the longest a device may wait"},
    {"--interpret", OPTION_choice, offsetof(Options, interpret), runs,
     "global|sharded|local", "run this form by the interpreter"},
    {"--print-after", OPTION_passes, offsetof(Options, pass.print_after),
     "check build run explain opt", "PASS|all",
     "print the module after a pass"},
    {"--round-trip", OPTION_flag, offsetof(Options, pass.round_trip),
     "check build run explain opt", NULL, "print and reparse after each pass"},
    {"--time-passes", OPTION_flag, offsetof(Options, pass.time),
     "check build run explain opt", NULL, "say what each pass took"},
    {"-W", OPTION_warning, 0, NULL, "error|[no-|error=]NAME",
     "warnings: make errors; show, hide"},
};

enum {
    NOPTION = sizeof options / sizeof options[0],
};

typedef struct CommandInfo {
    const char *name, *arguments, *summary;
} CommandInfo;

static const CommandInfo commands[] = {
#define COMMAND(name, arguments, summary) {#name, arguments, summary},
#include "driver/commands.def"
};

// Whether `word` is one of those that stand in `list` with `between` between.
static bool is_among(const char *list, char between, const char *word)
{
    const char ends[] = {between, '\0'};
    size_t len = strlen(word);
    for (const char *s = list; *s; s += strcspn(s, ends), s += *s == between)
        if (strcspn(s, ends) == len && memcmp(s, word, len) == 0)
            return true;
    return false;
}

static bool takes(const Option *o, const char *command)
{
    if (!o->commands)
        return true;
    return is_among(o->commands, ' ', command);
}

static void print_names(const char *command)
{
    if (strcmp(command, "opt") == 0) {
        puts("\npasses");
#define PASS(name, summary) printf("  %-21s %s\n", #name, summary);
#include "pass/passes.def"
    }
    puts("\nwarnings");
#define WARNING(id, name, summary) printf("  %-21s %s\n", name, summary);
#include "base/warnings.def"
}

static void print_help(const char *command)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!command || strcmp(command, commands[i].name) == 0)
            printf("%s shardc %-8s%-42s %s\n",
                   i && !command ? "      " : "usage:", commands[i].name,
                   commands[i].arguments, commands[i].summary);
    if (!command) {
        puts("\n`shardc COMMAND --help` lists the options of a command.");
        return;
    }
    puts("");
    for (int i = 0; i < NOPTION; i++)
        if (takes(&options[i], command))
            printf("  %-14s %-22s %s\n", options[i].name,
                   options[i].value ? options[i].value : "",
                   options[i].summary);
    print_names(command);
}

static int usage(const char *command, const char *what, const char *arg)
{
    fprintf(stderr, "shardc: %s%s\ntry: shardc %s%s--help\n", what, arg,
            command ? command : "", command ? " " : "");
    return EXIT_USAGE;
}

static int bad_value(const char *command, const Option *opt, const char *value)
{
    fprintf(stderr,
            "shardc: bad value for %s, which takes %s: %s\n"
            "try: shardc %s --help\n",
            opt->name, opt->value, value, command);
    return EXIT_USAGE;
}

static void add_set(Driver *d, const char *set)
{
    Options *o = &d->o;
    const char **sets = arena_new(&d->arena, const char *, (size_t)o->nset + 2);
    for (int i = 0; i < o->nset; i++)
        sets[i] = o->sets[i];
    sets[o->nset++] = set;
    o->sets = sets;
}

// Stores an option's value; false if it is not of its kind.
static bool store(Driver *d, const Option *opt, const char *value)
{
    void *at = (char *)&d->o + opt->at;
    char *end = NULL;
    switch (opt->kind) {
    case OPTION_flag: *(bool *)at = true; return true;
    case OPTION_string:
    case OPTION_rules: *(const char **)at = value; return true;
    case OPTION_mesh:
        *(const char **)at =
            *(const char **)at
                ? arena_printf(&d->arena, "%s,%s", *(const char **)at, value)
                : value;
        return true;
    case OPTION_int: {
        long n = strtol(value, &end, 10);
        *(int *)at = (int)n;
        return *value && !*end && n > 0 && n < 1000000;
    }
    case OPTION_double:
        *(double *)at = strtod(value, &end);
        return *value && !*end && *(double *)at > 0;
    case OPTION_set: add_set(d, value); return strchr(value, '=') != NULL;
    case OPTION_choice:
        *(const char **)at = value;
        return is_among(opt->value, '|', value);
    case OPTION_passes:
        *(const char **)at = value;
        return passes_are_known(value) ||
               (opt->at == offsetof(Options, pass.print_after) &&
                strcmp(value, "all") == 0);
    case OPTION_uneven:
        d->o.uneven_pad = true;
        return strcmp(value, "pad") == 0;
    case OPTION_warning: return diag_set_warning(&d->diag, value);
    }
    return false;
}

static const Option *find_option(const char *arg, size_t len)
{
    if (strncmp(arg, "-W", 2) == 0)
        len = 2;
    for (int i = 0; i < NOPTION; i++)
        if (strlen(options[i].name) == len &&
            memcmp(options[i].name, arg, len) == 0)
            return &options[i];
    return NULL;
}

// Reads the option at argv[*i]; -1 or an exit code.
static int read_option(Driver *d, int argc, char *argv[], int *i)
{
    const char *arg = argv[*i], *command = d->o.command;
    size_t len = strcspn(arg, "=");
    const Option *opt = find_option(arg, len);
    const char *value = arg[len] ? arg + len + 1 : NULL;
    if (!opt || !takes(opt, command))
        return usage(command, "no such option: ", arg);
    if (opt->kind == OPTION_warning)
        value = arg + 2;
    bool is_last = *i + 1 >= argc || argv[*i + 1][0] == '-';
    if (opt->kind == OPTION_rules && !value && is_last &&
        strcmp(command, "explain") == 0) {
        d->o.explain_rules = true;
        return -1;
    }
    if (opt->kind == OPTION_flag && value)
        return usage(command, "takes no value: ", arg);
    if (opt->kind != OPTION_flag && !value) {
        if (*i + 1 >= argc)
            return usage(command, "a value is missing after ", arg);
        value = argv[++*i];
    }
    if (!store(d, opt, value))
        return bad_value(command, opt, value);
    return -1;
}

int options_read(Driver *d, int argc, char *argv[])
{
    Options *o = &d->o;
    o->rules = "maxtext";
    o->sets = arena_new(&d->arena, const char *, 1);
    if (argc < 2)
        return usage(NULL, "no command", "");
    o->command = argv[1];
    bool known = false;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        known |= strcmp(commands[i].name, o->command) == 0;
    if (strcmp(o->command, "--help") == 0 || strcmp(o->command, "-h") == 0) {
        print_help(NULL);
        return EXIT_SUCCESS;
    }
    if (strcmp(o->command, "--version") == 0) {
        puts("shardc " SHARDC_VERSION);
        return EXIT_SUCCESS;
    }
    if (!known)
        return usage(NULL, "no such command: ", o->command);
    for (int i = 2; i < argc; i++) {
        int code = -1;
        if (strcmp(argv[i], "--help") == 0) {
            print_help(o->command);
            return EXIT_SUCCESS;
        }
        if (argv[i][0] == '-' && argv[i][1])
            code = read_option(d, argc, argv, &i);
        else if (!o->input)
            o->input = argv[i];
        else if (!o->name && strcmp(o->command, "explain") == 0)
            o->name = argv[i];
        else
            code = usage(o->command, "unexpected argument: ", argv[i]);
        if (code >= 0)
            return code;
    }
    if (!o->input)
        return usage(o->command, "no input file", "");
    return -1;
}
