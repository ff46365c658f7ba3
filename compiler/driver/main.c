#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/options.h"

typedef struct CommandEntry {
    const char *name;
    Command *run;
} CommandEntry;

static const CommandEntry commands[] = {
#define COMMAND(name, arguments, summary) {#name, command_##name},
#include "driver/commands.def"
};

int main(int argc, char *argv[])
{
    Driver d = {.diag = {.out = stderr, .colour = isatty(STDERR_FILENO)}};
    signal(SIGXFSZ, SIG_IGN); // a limit on file size is an error of write
    int code = options_read(&d, argc, argv);
    if (code == EXIT_SUCCESS) // --help, --version
        code = close_output(&d, stdout);
    for (size_t i = 0; code < 0; i++)
        if (strcmp(commands[i].name, d.o.command) == 0)
            code = commands[i].run(&d);
    arena_free(&d.arena);
    return code;
}
