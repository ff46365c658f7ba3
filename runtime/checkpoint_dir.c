#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint.h"

#define UNFINISHED ".tmp"

char *checkpoint_path(const char *dir, int64_t step, const char *suffix)
{
    char *path;
    if (asprintf(&path, "%s/step-%08ld%s", dir, (long)step, suffix) < 0)
        return NULL;
    return path;
}

// The step in a name "step-00000010" with this suffix, or -1.
static int64_t step_of(const char *name, const char *suffix)
{
    static const char prefix[] = "step-";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return -1;
    const char *digits = name + sizeof prefix - 1;
    size_t n = strspn(digits, "0123456789");
    if (n < 8 || n > 18 || strcmp(digits + n, suffix) != 0)
        return -1;
    return strtol(digits, NULL, 10);
}

static bool is_complete(const char *dir, int64_t step)
{
    char *index = checkpoint_path(dir, step, "/index.json");
    bool ok = index && access(index, F_OK) == 0;
    free(index);
    return ok;
}

int64_t checkpoint_newest(const char *dir)
{
    int64_t newest = -1;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t step = step_of(e->d_name, "");
        if (step > newest && is_complete(dir, step))
            newest = step;
    }
    if (d)
        closedir(d);
    return newest;
}

// The index goes first: a checkpoint that is half removed is none.
bool checkpoint_remove(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    unlinkat(fd, "index.json", 0);
    DIR *d = fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlinkat(fd, e->d_name, 0);
    if (d)
        closedir(d);
    else
        close(fd);
    return rmdir(path) == 0;
}

void checkpoint_clean(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t step = step_of(e->d_name, UNFINISHED);
        if (step < 0)
            continue;
        char *path = checkpoint_path(dir, step, UNFINISHED);
        if (path)
            checkpoint_remove(path);
        free(path);
    }
    if (d)
        closedir(d);
}

// The oldest complete one and how many there are.
static int64_t oldest(const char *dir, int *count)
{
    int64_t first = -1;
    *count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t step = step_of(e->d_name, "");
        if (step < 0 || !is_complete(dir, step))
            continue;
        ++*count;
        if (first < 0 || step < first)
            first = step;
    }
    if (d)
        closedir(d);
    return first;
}

void checkpoint_prune(const char *dir, int keep)
{
    int count;
    for (int64_t step = oldest(dir, &count); keep && count > keep;
         step = oldest(dir, &count)) {
        char *path = checkpoint_path(dir, step, "");
        bool ok = path && checkpoint_remove(path);
        free(path);
        if (!ok)
            return;
    }
}

bool checkpoint_sync(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (fd >= 0)
        close(fd);
    return ok;
}
