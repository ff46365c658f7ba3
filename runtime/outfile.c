#define _GNU_SOURCE
#include "runtime/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

// The first failure is the one that is told; what follows from it is not.
static void fail(OutFile *f)
{
    if (!f->failed)
        fprintf(f->message, "%s: cannot write: %s\n", f->name, strerror(errno));
    f->failed = true;
}

// With a dot behind it, so that a file in its place is ENOTDIR.
static char *folder_of(const char *path)
{
    char *copy = strdup(path), *folder = NULL;
    if (copy && asprintf(&folder, "%s/.", dirname(copy)) < 0)
        folder = NULL;
    free(copy);
    return folder;
}

bool outfile_probe(const char *path, FILE *message)
{
    struct stat st;
    char *folder = folder_of(path);
    bool exists = stat(path, &st) == 0;
    bool ok = folder != NULL;
    if (exists && S_ISDIR(st.st_mode)) {
        ok = false;
        errno = EISDIR;
    } else if (exists && !S_ISREG(st.st_mode)) {
        ok = access(path, W_OK) == 0;
    } else if (ok) {
        ok = access(folder, W_OK | X_OK) == 0;
    }
    if (!ok)
        fprintf(message, "%s: cannot write: %s\n", path, strerror(errno));
    free(folder);
    return ok;
}

// Opens a new file beside `path`, with the mode a plain open would give it.
static int open_temp(OutFile *f)
{
    if (asprintf(&f->temp, "%s.XXXXXX.tmp", f->path) < 0) {
        f->temp = NULL;
        return -1;
    }
    int fd = mkostemps(f->temp, 4, O_CLOEXEC);
    if (fd < 0) {
        free(f->temp);
        f->temp = NULL;
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    struct stat st;
    mode_t mode = stat(f->path, &st) == 0 ? st.st_mode & 07777 : 0666 & ~mask;
    if (fchmod(fd, mode) != 0)
        fail(f);
    return fd;
}

void outfile_begin(OutFile *f, const char *path, FILE *message)
{
    // A link is followed, so that it stays one.
    char *real = realpath(path, NULL);
    *f = (OutFile){.name = path, .path = real, .message = message};
    if (!real)
        f->path = strdup(path);
    struct stat st;
    if (stat(f->path, &st) == 0 && !S_ISREG(st.st_mode))
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
    else
        f->fd = open_temp(f);
    if (f->fd < 0)
        fail(f);
}

void outfile_write(OutFile *f, const void *data, size_t bytes)
{
    const char *at = data;
    if (f->is_summed) {
        f->bytes += (int64_t)bytes;
        f->crc = (uint32_t)crc32_z(f->crc, data, bytes);
    }
    while (bytes && !f->failed) {
        ssize_t n = write(f->fd, at, bytes);
        if (n < 0 && errno != EINTR)
            fail(f);
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
}

// The new name must survive a crash as the data does. Best effort: not every
// file system can sync a folder.
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

bool outfile_end(OutFile *f)
{
    if (!f->failed && f->temp && fsync(f->fd) != 0)
        fail(f);
    if (f->fd >= 0 && close(f->fd) != 0)
        fail(f);
    if (!f->failed && f->temp && rename(f->temp, f->path) != 0)
        fail(f);
    if (f->failed && f->temp)
        unlink(f->temp);
    if (!f->failed && f->temp)
        sync_folder(f->path);
    bool ok = !f->failed;
    free(f->temp);
    free(f->path);
    *f = (OutFile){.fd = -1, .failed = true};
    return ok;
}
