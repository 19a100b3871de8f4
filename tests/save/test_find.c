// SPDX-License-Identifier: Apache-2.0
// Complete and cut checkpoints, as PyTorch and others write them (make_checkpoints.py).
#include "save/find.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "command.h"
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
    const char *argv[] = {"/usr/bin/python3", TESTS_DIR "/save/make_checkpoints.py", folder, NULL};
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
TEST(test_every_cut)
{
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

TEST(test_other_files)
{
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

TEST(test_folder)
{
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

TEST(test_steps)
{
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
    bool found = finder_look(f, 100 * NS_PER_MS, 500 * NS_PER_MS, 0, item, &writing);
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

TEST(test_finder)
{
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

static void write_in(const char *dir, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    write_file(path, text, strlen(text));
}

static void put_in(const char *dir, const char *below, const char *name, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, below);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", dir, below, name);
    copy(path_of("model.safetensors"), path, len);
}

static struct finder *open_in(const char *dir)
{
    struct err err = {0};
    struct finder *f;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_ok(finder_open(&f, dir, &err), &err);
    return f;
}

// A trainer deletes an older one, file by file: between two files it must not pass for a new one.
TEST(test_being_deleted)
{
    char dir[128], path[256];
    struct find_item item;
    snprintf(dir, sizeof dir, "%s/deleted", folder);
    struct finder *f = open_in(dir);
    assert_true(look_for(f, NULL, &item));
    put_in(dir, "checkpoint-20", "model.safetensors", 0);
    put_in(dir, "checkpoint-20", "optimizer.safetensors", 0);
    write_in(dir, "checkpoint-20/trainer_state.json", "{\"global_step\": 20}");
    assert_true(look_for(f, NULL, &item));
    clock_sleep_ns(120 * NS_PER_MS);
    assert_true(look_for(f, "checkpoint-20", &item));
    finder_took(f, &item);
    snprintf(path, sizeof path, "%s/checkpoint-20/optimizer.safetensors", dir);
    assert_int_equal(unlink(path), 0);
    assert_false(finder_look(f, 10 * NS_PER_S, 50 * NS_PER_S, 0, &item, NULL));
    put_in(dir, "checkpoint-30", "model.safetensors", 0); // its follower is begun
    assert_false(finder_look(f, 10 * NS_PER_S, 50 * NS_PER_S, 0, &item, NULL));
    finder_free(f);
}

static void put_trainers(const char *dir, const char *name)
{
    char file[64];
    put_in(dir, name, "model.safetensors", 0);
    snprintf(file, sizeof file, "%s/trainer_state.json", name);
    write_in(dir, file, "{}");
}

// The same machine again: what it wrote and could not save is written anew, and is a follower.
TEST(test_left_behind)
{
    char dir[128];
    struct find_item item;
    struct err err = {0};
    snprintf(dir, sizeof dir, "%s/left", folder);
    finder_free(open_in(dir));
    put_trainers(dir, "checkpoint-20");
    put_trainers(dir, "checkpoint-30");
    struct finder *f;
    assert_ok(finder_open(&f, dir, &err), &err);
    clock_sleep_ns(20 * NS_PER_MS);
    put_trainers(dir, "checkpoint-20");
    assert_false(finder_look(f, 10 * NS_PER_S, 50 * NS_PER_S, 0, &item, NULL));
    clock_sleep_ns(20 * NS_PER_MS);
    put_in(dir, "checkpoint-30", "model.safetensors", 0);
    assert_true(finder_look(f, 10 * NS_PER_S, 50 * NS_PER_S, 0, &item, NULL));
    assert_int_equal(item.step, 20);
    finder_free(f);
}

// save_checkpoint() of DeepSpeed 0.14: the folder, then `latest`.
TEST(test_between_two_files)
{
    char dir[128];
    struct find_item item;
    snprintf(dir, sizeof dir, "%s/slow", folder);
    struct finder *f = open_in(dir);
    assert_true(look_for(f, NULL, &item));
    put_in(dir, "checkpoint-20", "model.safetensors", 0); // the optimizer and the state follow
    assert_false(finder_look(f, 0, 10 * NS_PER_S, 0, &item, NULL)); // in a hurry
    assert_true(finder_look(f, 0, 0, 0, &item, NULL));              // the program ended by itself
    finder_free(f);
}

TEST(test_deepspeed)
{
    struct find_item item;
    char dir[128];
    snprintf(dir, sizeof dir, "%s/deepspeed", folder);
    struct finder *f = open_in(dir);
    put_in(dir, "global_step10", "mp_rank_00_model_states.pt", 0);
    put_in(dir, "global_step10", "zero_pp_rank_0_mp_rank_00_optim_states.pt", 0);
    assert_true(look_for(f, NULL, &item)); // more ranks may follow
    write_in(dir, "zero_to_fp32.py", "print()");
    write_in(dir, "latest", "global_step10");
    assert_true(look_for(f, "global_step10", &item));
    assert_int_equal(item.step, 10);
    assert_string_equal(item.beside->name, "latest");
    assert_string_equal(item.beside->text, "global_step10");
    struct buf place = {0};
    assert_string_equal(finder_place(f, &item, &place), "");
    assert_true(finder_same(f, &item));
    put_in(dir, "best", "mp_rank_00_model_states.pt", 0); // a tag of the user's own
    clock_sleep_ns(700 * NS_PER_MS);
    write_in(dir, "latest", "best");
    assert_false(finder_same(f, &item));
    assert_true(look_for(f, "best", &item));
    finder_took(f, &item);
    clock_sleep_ns(20 * NS_PER_MS);
    put_in(dir, "best", "mp_rank_00_model_states.pt", 0); // written again: `latest` is older
    assert_true(look_for(f, NULL, &item));
    clock_sleep_ns(700 * NS_PER_MS);
    assert_true(look_for(f, NULL, &item));
    write_in(dir, "latest", "best");
    assert_true(look_for(f, "best", &item));
    finder_took(f, &item);
    finder_free(f);
    buf_release(&place);
}

// Lightning with DeepSpeed: a folder x.ckpt with `latest` and the folder `checkpoint`.
TEST(test_lightning_deepspeed)
{
    struct find_item item;
    char dir[128], inner[192];
    snprintf(dir, sizeof dir, "%s/lightning", folder);
    struct finder *f = open_in(dir);
    snprintf(inner, sizeof inner, "%s/last.ckpt", dir);
    mkdir(inner, 0700);
    put_in(inner, "checkpoint", "mp_rank_00_model_states.pt", 0);
    assert_true(look_for(f, NULL, &item));
    write_in(inner, "latest", "checkpoint");
    clock_sleep_ns(200 * NS_PER_MS);
    assert_true(look_for(f, NULL, &item)); // changed just now
    clock_sleep_ns(200 * NS_PER_MS);
    assert_true(look_for(f, "last.ckpt", &item));
    assert_null(item.beside);
    finder_free(f);
}

// Megatron-LM and verl: the number in latest_checkpointed_iteration.txt.
TEST(test_megatron)
{
    struct find_item item;
    char dir[128];
    static const char *const names[] = {"iter_0000100", "global_step_200", "release"};
    static const char *const texts[] = {"100", "200\n", "release"};
    snprintf(dir, sizeof dir, "%s/megatron", folder);
    struct finder *f = open_in(dir);
    for (size_t i = 0; i < 3; i++) {
        put_in(dir, names[i], "__0_0.distcp", 0);
        put_in(dir, names[i], ".metadata", 0);
        assert_true(look_for(f, NULL, &item));
        write_in(dir, "latest_checkpointed_iteration.txt", texts[i]);
        assert_true(look_for(f, names[i], &item));
        assert_string_equal(item.beside->text, texts[i]);
        finder_took(f, &item);
    }
    write_in(dir, "latest_checkpointed_iteration.txt", "../../etc");
    assert_true(look_for(f, NULL, &item) || !item.beside);
    finder_free(f);
}

// BackupAndRestore of Keras 3: two files in a folder of the user's.
TEST(test_keras_backup)
{
    struct find_item item;
    struct buf place = {0};
    char dir[128], inner[192];
    snprintf(dir, sizeof dir, "%s/keras", folder);
    struct finder *f = open_in(dir);
    snprintf(inner, sizeof inner, "%s/backup", dir);
    put_in(dir, "backup", "latest.weights.h5", 0);
    write_in(inner, "training_metadata.json", "{\"epoch\": 1, \"batch\": 0}");
    assert_true(look_for(f, "latest.weights.h5", &item));
    assert_string_equal(finder_place(f, &item, &place), "backup");
    finder_took(f, &item);
    clock_sleep_ns(20 * NS_PER_MS);
    put_in(dir, "backup", "latest.weights.h5", 0); // the next epoch, whose number is not there yet
    assert_true(look_for(f, NULL, &item));
    write_in(inner, "training_metadata.json", "{\"epoch\": 2, \"batch\": 0}");
    assert_true(look_for(f, "latest.weights.h5", &item));
    assert_string_equal(item.beside->text, "{\"epoch\": 2, \"batch\": 0}");
    finder_free(f);
    buf_release(&place);
}

// `last` leads to a checkpoint that is found by its own name.
TEST(test_links)
{
    struct find_item item;
    char dir[128], from[192], to[192];
    snprintf(dir, sizeof dir, "%s/links", folder);
    struct finder *f = open_in(dir);
    snprintf(from, sizeof from, "%s/last.ckpt", dir);
    snprintf(to, sizeof to, "%s/epoch=1-step=5.ckpt", dir);
    copy(path_of("model.safetensors"), to, 0);
    assert_int_equal(symlink("epoch=1-step=5.ckpt", from), 0);
    assert_true(look_for(f, "epoch=1-step=5.ckpt", &item));
    finder_took(f, &item);
    assert_true(look_for(f, NULL, &item));
    snprintf(from, sizeof from, "%s/latest", dir);
    put_in(dir, "checkpoint-9", "model.safetensors", 0);
    put_in(dir, "checkpoint-9", "trainer_state.json", 0);
    assert_int_equal(symlink("checkpoint-9", from), 0);
    assert_true(look_for(f, NULL, &item)); // not the file in it, by another name
    clock_sleep_ns(200 * NS_PER_MS);
    assert_true(look_for(f, "checkpoint-9", &item));
    finder_free(f);
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
