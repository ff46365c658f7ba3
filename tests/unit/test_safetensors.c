// Files that lie, each kind with its message; files that cannot be written.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/safetensors.h"

static char folder[] = P_tmpdir "/shardc-safetensors-XXXXXX";
static char text[8192]; // what the last call said

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

// A file in memory: length, header, then `data` bytes of data.
static size_t make_file(char *file, const char *header, size_t data)
{
    uint64_t length = strlen(header);
    memcpy(file, &length, sizeof length);
    memcpy(file + 8, header, length);
    memset(file + 8 + length, 1, data);
    return 8 + length + data;
}

static bool parse(const char *file, size_t size, SafeFile *f)
{
    memset(text, 0, sizeof text);
    FILE *message = fmemopen(text, sizeof text - 1, "w");
    bool ok = safetensors_parse("f", file, size, message, f);
    fclose(message);
    return ok;
}

typedef struct Lie {
    const char *header;
    size_t data;
    const char *want;
} Lie;

#define A(dtype, shape, offsets)                                               \
    "\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets \
    "}"
#define B(offsets)                                                             \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" offsets "}"

static const Lie lies[] = {
    {"", 0, "f: header length is 0\n"},
    {"hello", 0, "f: bad header: "},
    {"[1]", 0, "f: bad header: not an object\n"},
    {"{\"a\":", 0, "f: bad header: "},
    {"{\"a\":1}", 0, "f: tensor a: is no object\n"},
    {"{\"__metadata__\":1}", 0, "f: __metadata__ is no object\n"},
    {"{" A("\"F32\"", "[1]", "[0,4]") "," A("\"F32\"", "[1]", "[0,4]") "}", 4,
     "f: bad header: duplicate object key near '\"a\"'\n"},
    {"{\"a\":{}}", 0,
     "f: tensor a: no dtype\nf: tensor a: no shape\n"
     "f: tensor a: no data_offsets\n"},
    {"{" A("\"F33\"", "[1]", "[0,4]") "}", 4, "f: tensor a: unknown dtype\n"},
    {"{" A("7", "[1]", "[0,4]") "}", 4, "f: tensor a: no dtype\n"},
    {"{" A("\"F32\"", "[-1]", "[0,4]") "}", 4,
     "f: tensor a: dimension 0 is no size\n"},
    {"{" A("\"F32\"", "[1.5]", "[0,4]") "}", 4,
     "f: tensor a: dimension 0 is no size\n"},
    {"{" A("\"F32\"", "[99999999999999999999]", "[0,4]") "}", 4,
     "f: bad header: too big integer"},
    {"{" A("\"F32\"", "[4611686018427387904,4]", "[0,4]") "}", 4,
     "f: tensor a: the shape overflows\n"},
    {"{" A("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
     "f: tensor a: 13 dimensions; at most 12 can be read\n"},
    {"{" A("\"F32\"", "[1]", "[0]") "}", 4, "f: tensor a: no data_offsets\n"},
    {"{" A("\"F32\"", "[1]", "[0,\"4\"]") "}", 4,
     "f: tensor a: no data_offsets\n"},
    {"{" A("\"F32\"", "[1]", "[-4,0]") "}", 4,
     "f: tensor a: data_offsets [-4, 0] are no range\n"},
    {"{" A("\"F32\"", "[1]", "[4,0]") "}", 4,
     "f: tensor a: data_offsets [4, 0] are no range\n"},
    {"{" A("\"F32\"", "[2]", "[0,8]") "}", 4,
     "f: tensor a: data ends at 8, past the end of the file at 4\n"},
    {"{" A("\"F32\"", "[2]", "[0,4]") "}", 4,
     "f: tensor a: shape and dtype want 8 bytes, data_offsets give 4\n"},
    {"{" A("\"U8\"", "[4]", "[0,4]") "," B("[2,6]") "}", 6,
     "f: tensor b: its data at 2 overlaps the tensor before it\n"},
    {"{" A("\"U8\"", "[4]", "[0,4]") "," B("[0,4]") "}", 4,
     "f: tensor b: its data at 0 overlaps the tensor before it\n"},
    {"{" A("\"U8\"", "[4]", "[0,4]") "," B("[6,10]") "}", 10,
     "f: tensor b: a hole of 2 bytes before its data\n"},
    {"{" A("\"U8\"", "[4]", "[1,5]") "}", 5,
     "f: tensor a: a hole of 1 bytes before its data\n"},
    {"{" A("\"U8\"", "[4]", "[0,4]") "}", 7,
     "f: the last 3 bytes belong to no tensor\n"},
    {"{}", 1, "f: the last 1 bytes belong to no tensor\n"},
    {"{\"\\u001b[31m\":1}", 0, "f: tensor \\x1b[31m: is no object\n"},
};

static void test_lies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        // On the heap, so that a sanitizer sees a step too far.
        char *file = malloc(8 + strlen(lies[i].header) + lies[i].data);
        size_t size = make_file(file, lies[i].header, lies[i].data);
        SafeFile f;
        assert_false(parse(file, size, &f));
        free(file);
        if (strncmp(text, lies[i].want, strlen(lies[i].want)) != 0)
            fail_msg("%s: %s", lies[i].header, text);
    }
}

static void test_lying_length(void **state)
{
    (void)state;
    SafeFile f;
    assert_false(parse("1234567", 7, &f));
    assert_string_equal(text,
                        "f: 7 bytes are too few for a safetensors file\n");
    assert_false(parse("\377\377\377\377\377\377\377\377{}", 10, &f));
    assert_string_equal(text, "f: header length 18446744073709551615 is above "
                              "100000000 bytes: not a safetensors file?\n");
    assert_false(parse("\3\0\0\0\0\0\0\0{}", 10, &f));
    assert_string_equal(text, "f: header length 3 runs past the end of the "
                              "file, which has 10 bytes\n");
}

static void test_many_faults(void **state)
{
    (void)state;
    char header[2048] = "{", file[4096];
    for (int i = 0; i < 50; i++)
        snprintf(header + strlen(header), 16, "%s\"%d\":0", i ? "," : "", i);
    strcat(header, "}");
    SafeFile f;
    assert_false(parse(file, make_file(file, header, 0), &f));
    assert_non_null(strstr(text, "f: 30 more faults\n"));
}

static void test_good_file(void **state)
{
    (void)state;
    char file[512];
    SafeFile f;
    size_t size =
        make_file(file,
                  "{\"__metadata__\":{\"by\":\"test\"}," B("[6,10]") "," A(
                      "\"BF16\"", "[3, 1]",
                      "[0,6]") ",\"z\":{\"dtype\":\"F64\",\"shape\":[0,7],"
                               "\"data_offsets\":[6,6]}}   ",
                  10);
    assert_true(parse(file, size, &f));
    assert_string_equal(text, "");
    assert_int_equal(f.ntensor, 3);
    const SafeTensor *a = safetensors_find(&f, "a");
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dim[0], 3);
    assert_true(safetensors_is(a, RT_bf16));
    assert_false(safetensors_is(a, RT_f32));
    assert_true(safetensors_is(safetensors_find(&f, "b"), RT_bool));
    assert_false(safetensors_is(safetensors_find(&f, "z"), RT_f32));
    assert_null(safetensors_find(&f, "c"));
    safetensors_close(&f);
}

static bool open_file(const char *path)
{
    SafeFile f;
    memset(text, 0, sizeof text);
    FILE *message = fmemopen(text, sizeof text - 1, "w");
    bool ok = safetensors_open(path, message, &f);
    fclose(message);
    if (ok)
        safetensors_close(&f);
    return ok;
}

static void test_unreadable(void **state)
{
    (void)state;
    assert_false(open_file("/nonexistent/x"));
    assert_string_equal(text, "/nonexistent/x: cannot read: "
                              "No such file or directory\n");
    assert_false(open_file("/"));
    assert_string_equal(text, "/: cannot read: Is a directory\n");
    assert_false(open_file("/dev/null"));
    assert_string_equal(text, "/dev/null: cannot read: not a regular file\n");
    fclose(fopen(path_of("empty"), "w"));
    assert_false(open_file(path_of("empty")));
    assert_non_null(strstr(text, "0 bytes are too few"));
    unlink(path_of("empty"));
}

// Writes one tensor "a" of n bytes.
static bool write_file(const char *path, size_t n)
{
    memset(text, 0, sizeof text);
    FILE *message = fmemopen(text, sizeof text - 1, "w");
    char *data = calloc(n, 1);
    SafeTensor t = {.name = "a",
                    .dtype = "U8",
                    .rank = 1,
                    .dim = {(int64_t)n},
                    .end = (int64_t)n};
    OutFile f;
    outfile_begin(&f, path, message);
    safetensors_begin(&f, &t, 1);
    outfile_write(&f, data, n);
    bool ok = outfile_end(&f);
    free(data);
    fclose(message);
    return ok;
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void test_writer(void **state)
{
    (void)state;
    const char *path = path_of("out");
    assert_true(write_file(path, 100));
    int64_t small = size_of(path);
    assert_true(open_file(path));
    assert_true(write_file(path, 200));
    assert_int_equal(size_of(path), small + 100);
    assert_int_equal(small % 4, 0);
    struct stat st;
    stat(path, &st);
    assert_int_equal(st.st_mode & 0600, 0600);
    unlink(path);
}

static void test_link_stays_one(void **state)
{
    (void)state;
    char target[256];
    snprintf(target, sizeof target, "%s", path_of("out"));
    assert_true(write_file(target, 1));
    assert_int_equal(symlink(target, path_of("link")), 0);
    assert_true(write_file(path_of("link"), 9));
    struct stat st;
    assert_int_equal(lstat(path_of("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(open_file(target));
    unlink(path_of("link"));
    unlink(target);
}

// A device is written in place and stays a device.
static void test_full_disk(void **state)
{
    (void)state;
    assert_false(write_file("/dev/full", 100));
    assert_string_equal(text,
                        "/dev/full: cannot write: No space left on device\n");
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_true(write_file("/dev/null", 100));
}

static void test_no_folder(void **state)
{
    (void)state;
    assert_false(write_file("/nonexistent/x", 1));
    assert_string_equal(text, "/nonexistent/x: cannot write: "
                              "No such file or directory\n");
    assert_false(write_file(folder, 1));
    assert_non_null(strstr(text, "cannot write: Is a directory"));
}

// A write that fails midway leaves the old file and no other. (The folder is
// removed at the end, which fails if something is in it.)
static void test_old_file_survives(void **state)
{
    (void)state;
    const char *path = path_of("out");
    assert_true(write_file(path, 10));
    int64_t size = size_of(path);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    assert_false(write_file(path, 10000));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_non_null(strstr(text, "cannot write: File too large"));
    assert_int_equal(size_of(path), size);
    unlink(path);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_lying_length),
        cmocka_unit_test(test_many_faults),
        cmocka_unit_test(test_good_file),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_link_stays_one),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_old_file_survives),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
