// Checkpoints: a directory step-00000010 with the pieces of all parameters and
// states in files of the devices that hold them, and index.json, which says
// where each piece lies in its tensor.
//
// A checkpoint is there whole or not at all: it is written under another name,
// every file is synced, then the directory, then it is renamed. Pieces are
// boxes of the whole tensor without padding, so any mesh can read them.
#pragma once

#include "runtime/box.h"
#include "runtime/memory.h"
#include "runtime/safetensors.h"

// How far a run has come.
typedef struct RtProgress {
    int64_t step;     // steps done
    int64_t position; // windows of data taken
    uint64_t seed;
} RtProgress;

// What was written of a file.
typedef struct ShardSum {
    int64_t bytes;
    uint32_t crc; // zlib's crc32
} ShardSum;

// The state of a program, to be written.
typedef struct RtSaver {
    const RtProgram *program;
    const char *dir;
    int keep; // 0: all
    int nshard;
    int *shard_of; // of each device; -1: it holds only copies
} RtSaver;

// dir: made if it is not there. Refuses one with checkpoints of later steps,
// and removes what a killed run left half written.
bool rt_saver_open(const RtProgram *p, const char *dir, int keep, int64_t step,
                   FILE *message, RtSaver *s);
void rt_saver_close(RtSaver *s);
// An empty directory for the files of a step.
bool rt_saver_begin(const RtSaver *s, int64_t step, FILE *message);
// The file of one device, if it has one.
bool rt_saver_write(const RtSaver *s, const RtMemory *m, int64_t device,
                    int64_t step, FILE *message, ShardSum *sum);
// The index, with what was written of each file; then the checkpoint appears,
// and older ones go.
bool rt_saver_commit(const RtSaver *s, const RtProgress *at,
                     const ShardSum sum[], FILE *message);

typedef struct RtPiece {
    const char *data;
    RtBox box; // in the whole tensor; `local` is not used
} RtPiece;

typedef struct RtCheckpoint {
    char *path;
    RtProgress at;
    int nshard;
    SafeFile *shard;
    char **shard_path;
    int ntensor;
    RtPiece **piece; // of each tensor of the program
    int *npiece;
} RtCheckpoint;

// path: a checkpoint, or a directory of them, of which the newest is taken.
// with_states: those are loaded, too; else they are passed over. Tells all that
// does not fit the program, and every file that is not as it was written.
bool rt_checkpoint_open(const RtProgram *p, const char *path, bool with_states,
                        FILE *message, RtCheckpoint *c);
void rt_checkpoint_close(RtCheckpoint *c); // the program may be gone
void rt_checkpoint_load(const RtCheckpoint *c, const RtProgram *p, int tensor,
                        int64_t device, char *local);

// The directory of checkpoints, checkpoint_dir.c.

// "DIR/step-00000010SUFFIX"; the caller frees.
char *checkpoint_path(const char *dir, int64_t step, const char *suffix);
// The newest complete one's step, or -1.
int64_t checkpoint_newest(const char *dir);
bool checkpoint_remove(const char *path);
// Removes half-written ones.
void checkpoint_clean(const char *dir);
// Removes all but the newest `keep`.
void checkpoint_prune(const char *dir, int keep);
bool checkpoint_sync(const char *dir);
