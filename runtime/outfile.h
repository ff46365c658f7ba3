// Files that appear whole or not at all: written under a temporary name in the
// same folder, synced, then renamed. What is no regular file (a pipe, a
// device) is written in place.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct OutFile {
    const char *name; // as the user gave it, for messages
    char *path;       // with links followed
    char *temp;       // NULL: written in place
    int fd;
    bool failed; // said once, to `message`; later calls do nothing
    FILE *message;
    bool is_summed; // set after the begin: the next two are kept
    int64_t bytes;
    uint32_t crc; // zlib's crc32
} OutFile;

// Says why a later outfile_begin would fail, as far as can be known.
bool outfile_probe(const char *path, FILE *message);

void outfile_begin(OutFile *f, const char *path, FILE *message);
void outfile_write(OutFile *f, const void *data, size_t bytes);
// Returns true if the file is there, complete. Frees all.
bool outfile_end(OutFile *f);
