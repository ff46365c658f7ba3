// Linking an executable: the object, the runtime, and what that needs, by cc.
// SHARDC_LINK_FLAG is what the runtime was built with: a sanitizer, if any.
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "emit/emit.h"

extern char **environ;

bool link_program(Arena *a, const char *object, const char *other,
                  const char *runtime_dir,
                  const char *out, char **error)
{
    pid_t pid;
    int status = 0;
    char *start = arena_printf(a, "%s/libshardc_start.a", runtime_dir);
    char *runtime = arena_printf(a, "%s/libshardc_rt.a", runtime_dir);
    char *argv[] = {"cc",
                    "-o",
                    (char *)out,
                    (char *)object,
                    "-Wl,--whole-archive",
                    start,
                    "-Wl,--no-whole-archive",
                    runtime,
                    "-ljansson",
                    "-lz",
                    "-lm",
                    "-pthread",
                    SHARDC_LINK_FLAG,
                    (char *)other, // or the end
                    NULL};
    int failure = posix_spawnp(&pid, "cc", NULL, NULL, argv, environ);
    if (failure) {
        *error = arena_printf(a, "cannot run cc: %s", strerror(failure));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    *error = arena_printf(a, "cc failed to link %s", out);
    return false;
}
