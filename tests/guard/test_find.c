// SPDX-License-Identifier: Apache-2.0
// Complete and cut checkpoints, as PyTorch and others write them (make_checkpoints.py).
#include "guard/find.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "command.h"
#include "guard/whole.h"
#include "test.h"

static char folder[64];
static char made[4096]; // names, a line each

static int set_up(void **state)
{
    (void)state;
    struct err err = {0};
    struct proc_result result;
    snprintf(folder, sizeof folder, "/tmp/fare-find-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    const char *argv[] = {"/usr/bin/python3", TESTS_DIR "/guard/make_checkpoints.py", folder, NULL};
    int rc = command_run(argv, NULL, &result, &err);
    snprintf(made, sizeof made, "%s", buf_str(&result.out));
    rc = rc == 0 && result.exited && result.exit_code == 0 ? 0 : -1;
    if (rc != 0)
        print_error("%s\n", buf_str(&result.err_text));
    proc_result_release(&result);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char path[4][256];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, 256, "%s/%s", folder, name);
    return out;
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    struct err err = {0};
    assert_ok(fs_write(path, bytes, len, &err), &err);
}

// Every file that was cut anywhere is incomplete; whole, it is complete.
static void test_every_cut(void **state)
{
    (void)state;
    char *cursor = made, *name;
    int files = 0;
    while ((name = strsep(&cursor, "\n")) && *name) {
        struct buf bytes = {0};
        struct err err = {0};
        assert_ok(fs_read(path_of(name), 1 << 20, &bytes, &err), &err);
        assert_int_equal(whole_file(path_of(name)), WHOLE_YES);
        const char *cut = path_of("cut");
        for (size_t len = 9; len < bytes.len; len++) {
            FILE *out = fopen(cut, "wb");
            assert_non_null(out);
            fwrite(bytes.data, 1, len, out);
            fclose(out);
            if (whole_file(cut) != WHOLE_NO)
                fail_msg("%s cut after %zu of %zu bytes counts as %d", name, len, bytes.len,
                         whole_file(cut));
        }
        unlink(cut);
        buf_release(&bytes);
        files++;
    }
    assert_true(files >= 4);
}

static void test_other_files(void **state)
{
    (void)state;
    if (access(path_of("old.pth"), R_OK) == 0) // torch.save() before 1.6: pickles, then bytes
        assert_in_range(whole_file(path_of("old.pth")), WHOLE_UNKNOWN, WHOLE_LIKELY);
    assert_int_equal(whole_file(path_of("nothing")), WHOLE_NO);
    assert_int_equal(whole_file(folder), WHOLE_NO);
    if (access(path_of("net.h5"), R_OK) == 0) {
        assert_int_equal(whole_file(path_of("net.h5")), WHOLE_LIKELY);
        assert_int_equal(truncate(path_of("net.h5"), 3000), 0);
        assert_int_equal(whole_file(path_of("net.h5")), WHOLE_NO);
    }
    // A superblock by the HDF5 file format specification, version 2: address of the end 48.
    unsigned char block[48] = "\x89HDF\r\n\x1a\n\2\10\10";
    block[28] = sizeof block;
    write_file(path_of("tiny.h5"), (char *)block, sizeof block);
    assert_int_equal(whole_file(path_of("tiny.h5")), WHOLE_NO); // shorter than any real one
    write_file(path_of("text"), "hello, world", 12);
    assert_in_range(whole_file(path_of("text")), WHOLE_UNKNOWN, WHOLE_LIKELY);
    FILE *writer = fopen(path_of("text"), "a"); // open for writing: likely no more
    assert_in_range(whole_file(path_of("text")), WHOLE_NO, WHOLE_UNKNOWN);
    fclose(writer);
    write_file(path_of("empty.pt"), "", 0);
    assert_int_equal(whole_file(path_of("empty.pt")), WHOLE_NO);
    unlink(path_of("text"));
    unlink(path_of("empty.pt"));
    unlink(path_of("tiny.h5"));
}

static void test_folder(void **state)
{
    (void)state;
    const char *whole = path_of("checkpoint-500");
    assert_int_equal(whole_folder(whole), WHOLE_LIKELY);
    static const char *const needed[] = {"model-00002-of-00002.safetensors", "trainer_state.json"};
    for (size_t i = 0; i < 2; i++) { // one that is not there yet
        char from[256], to[256];
        snprintf(from, sizeof from, "%s/%s", whole, needed[i]);
        snprintf(to, sizeof to, "%s/away", folder);
        assert_int_equal(rename(from, to), 0);
        assert_int_equal(whole_folder(whole), i == 0 ? WHOLE_NO : WHOLE_UNKNOWN);
        assert_int_equal(rename(to, from), 0);
    }
    char optimizer[256];
    snprintf(optimizer, sizeof optimizer, "%s/optimizer.pt", whole);
    struct stat st;
    assert_int_equal(stat(optimizer, &st), 0);
    assert_int_equal(truncate(optimizer, st.st_size - 1), 0);
    assert_int_equal(whole_folder(whole), WHOLE_NO);
    mkdir(path_of("empty"), 0700);
    assert_int_equal(whole_folder(path_of("empty")), WHOLE_NO);
    rmdir(path_of("empty"));
    assert_true(whole_is_temporary("tmp-checkpoint-500"));
    assert_true(whole_is_temporary("model.pt.tmp"));
    assert_false(whole_is_temporary("model.pt"));
}

static void test_steps(void **state)
{
    (void)state;
    assert_int_equal(find_step("checkpoint-500"), 500);
    assert_int_equal(find_step("epoch=3-step=1000.ckpt"), 1000);
    assert_int_equal(find_step("mlp-000000001234.safetensors"), 1234);
    assert_int_equal(find_step("global_step77"), 77);
    assert_int_equal(find_step("ckpt.pt"), -1);
    assert_int_equal(find_step("999999999999999999999"), -1);
}

static bool look_for(struct finder *f, const char *name, struct find_item *item)
{
    bool writing;
    bool found = finder_look(f, 100 * NS_PER_MS, 0, item, &writing);
    if (!name)
        return !found;
    return found && strcmp(strrchr(item->path, '/') + 1, name) == 0;
}

static void copy(const char *from, const char *to, size_t len)
{
    struct buf bytes = {0};
    struct err err = {0};
    assert_ok(fs_read(from, 1 << 20, &bytes, &err), &err);
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    fwrite(bytes.data, 1, len && len < bytes.len ? len : bytes.len, out);
    fclose(out);
    buf_release(&bytes);
}

static void test_finder(void **state)
{
    (void)state;
    struct err err = {0};
    struct finder *f;
    struct find_item item;
    char dir[128], a[192], b[192];
    snprintf(dir, sizeof dir, "%s/job", folder);
    snprintf(a, sizeof a, "%s/model-7.safetensors", dir);
    snprintf(b, sizeof b, "%s/logs", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    copy(path_of("model.safetensors"), a, 0);
    assert_ok(finder_open(&f, dir, &err), &err);
    assert_true(look_for(f, NULL, &item)); // was there before
    snprintf(b, sizeof b, "%s/train.log", dir);
    write_file(b, "hello", 5);
    assert_true(look_for(f, NULL, &item)); // a log is none
    snprintf(b, sizeof b, "%s/model-8.safetensors", dir);
    copy(path_of("model.safetensors"), b, 100);
    assert_true(look_for(f, NULL, &item)); // a part of it
    clock_sleep_ns(500 * NS_PER_MS);
    assert_true(look_for(f, NULL, &item)); // quiet, but of a format that tells
    copy(path_of("model.safetensors"), b, 0);
    assert_true(look_for(f, "model-8.safetensors", &item));
    assert_int_equal(item.step, 8);
    finder_took(f, &item);
    assert_true(look_for(f, NULL, &item));
    snprintf(b, sizeof b, "%s/lightning_logs", dir); // below a folder
    mkdir(b, 0700);
    snprintf(b, sizeof b, "%s/lightning_logs/epoch=1-step=20.ckpt", dir);
    copy(path_of("net.keras"), b, 0);
    assert_true(look_for(f, "epoch=1-step=20.ckpt", &item));
    assert_int_equal(item.step, 20);
    finder_took(f, &item);
    copy(path_of("net.keras"), b, 0); // written again: counts again
    assert_true(look_for(f, "epoch=1-step=20.ckpt", &item));
    finder_took(f, &item);
    snprintf(b, sizeof b, "%s/state-9.npy", dir); // says nothing about itself
    write_file(b, "0123456789", 10);
    assert_true(look_for(f, NULL, &item));
    clock_sleep_ns(700 * NS_PER_MS);
    assert_true(look_for(f, "state-9.npy", &item));
    finder_took(f, &item);
    snprintf(b, sizeof b, "%s/weights.dat", dir); // no name of a checkpoint: the program says so
    write_file(b, "0123456789", 10);
    assert_true(look_for(f, NULL, &item));
    assert_ok(finder_told(f, b, &err), &err);
    assert_true(look_for(f, "weights.dat", &item));
    finder_free(f);
    assert_ok(finder_open(&f, path_of("not/there/yet"), &err), &err);
    assert_true(look_for(f, NULL, &item));
    finder_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cut), cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_folder),    cmocka_unit_test(test_steps),
        cmocka_unit_test(test_finder),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
