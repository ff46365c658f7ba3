// The command line of an executable.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/runtime.h"

static const char usage[] =
    "usage: %s [--load FILE] [--feed FILE] [--dump FILE] [OPTION...]\n";

static const char help[] =
    "  --load FILE|DIR     parameters, a .safetensors file or a checkpoint\n"
    "  --feed FILE         inputs, a .safetensors file\n"
    "  --dump FILE         write all outputs, in global shape\n"
    "  --stats FILE        write executions and bytes of each collective\n"
    "  --memory FILE       write bytes by class, and how far memory was used\n"
    "  --isolate           one process a device, sharing only what "
    "collectives\n"
    "                      read\n"
    "  --workers N         threads; default: devices or cores, if fewer\n"
    "  --deadline SECONDS  the longest that a device waits for another; 60\n"
    "  --repeat N          run N times and print the time of a run\n"
    "  --help, --version\n"
    "training\n"
    "  --steps N           train N steps\n"
    "  --data FILE         token ids; without it and --feed: made-up ones\n"
    "  --data-type TYPE    u16 (default) or u32\n"
    "  --seed S            of first values and of the order of data; 0\n"
    "  --save DIR          a checkpoint at the end, and on Ctrl-C\n"
    "  --save-every K      and every K steps\n"
    "  --keep K            only the newest K of them\n"
    "  --metrics FILE      a JSON object a step\n"
    "  --debug-nan         find the first operation that makes a NaN; slow\n";

static const struct option options[] = {
    {"load", required_argument, NULL, 'l'},
    {"feed", required_argument, NULL, 'f'},
    {"dump", required_argument, NULL, 'd'},
    {"stats", required_argument, NULL, 's'},
    {"memory", required_argument, NULL, 'm'},
    {"isolate", no_argument, NULL, 'i'},
    {"workers", required_argument, NULL, 'w'},
    {"deadline", required_argument, NULL, 't'},
    {"repeat", required_argument, NULL, 'r'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"steps", required_argument, NULL, 'n'},
    {"data", required_argument, NULL, 'D'},
    {"data-type", required_argument, NULL, 'T'},
    {"seed", required_argument, NULL, 'S'},
    {"save", required_argument, NULL, 'C'},
    {"save-every", required_argument, NULL, 'E'},
    {"keep", required_argument, NULL, 'K'},
    {"metrics", required_argument, NULL, 'M'},
    {"debug-nan", no_argument, NULL, 'N'},
    {0},
};

// A positive number below `most`, or -1 after saying what is wrong.
static double number(const char *option, const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && value > 0 && value <= most)
        return value;
    fprintf(stderr, "--%s: not a number above 0 and up to %g: %s\n", option,
            most, text);
    return -1;
}

static int count(const char *option, const char *text)
{
    double value = number(option, text, 1e6);
    if (value < 0 || value == floor(value))
        return (int)value;
    fprintf(stderr, "--%s: not a whole number: %s\n", option, text);
    return -1;
}

typedef enum Parsed {
    RUN,
    HELP,
    VERSION,
    WRONG,
} Parsed;

static Parsed parse(int argc, char *argv[], RtOptions *o)
{
    optind = 0; // a caller may have parsed before
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'l': o->load = optarg; break;
        case 'f': o->feed = optarg; break;
        case 'd': o->dump = optarg; break;
        case 's': o->stats = optarg; break;
        case 'i': o->isolate = true; break;
        case 'w': o->workers = count("workers", optarg); break;
        case 't': o->deadline = number("deadline", optarg, 1e9); break;
        case 'r': o->repeat = count("repeat", optarg); break;
        case 'm': o->memory = optarg; break;
        case 'n': o->steps = count("steps", optarg); break;
        case 'D': o->data = optarg; break;
        case 'T': o->data_type = optarg; break;
        case 'S': o->seed = optarg; break;
        case 'C': o->save = optarg; break;
        case 'E': o->save_every = count("save-every", optarg); break;
        case 'K': o->keep = count("keep", optarg); break;
        case 'M': o->metrics = optarg; break;
        case 'N': o->debug_nan = true; break;
        case 'h': return HELP;
        case 'v': return VERSION;
        default: return WRONG;
        }
    }
    if (optind < argc)
        fprintf(stderr, "unexpected argument: %s\n", argv[optind]);
    bool ok = optind == argc && o->workers >= 0 && o->deadline >= 0 &&
              o->repeat >= 0 && o->steps >= 0 && o->save_every >= 0 &&
              o->keep >= 0;
    return ok ? RUN : WRONG;
}

int rt_main(int argc, char *argv[], const RtPrograms *p)
{
    RtOptions o = {0};
    const RtProgram *forward = (const RtProgram *)p->forward;
    switch (parse(argc, argv, &o)) {
    case HELP:
        printf(usage, argv[0]);
        fputs(help, stdout);
        return RT_EXIT_OK;
    case VERSION:
        printf("shardc %s, mesh %s, %ld devices\n", SHARDC_VERSION, forward->mesh,
               (long)forward->ndevice);
        return RT_EXIT_OK;
    case WRONG: fprintf(stderr, usage, argv[0]); return RT_EXIT_USAGE;
    case RUN: break;
    }
    signal(SIGXFSZ, SIG_IGN); // a limit on file size is an error of write
    return rt_run_programs(p, &o, stdout, stderr);
}
