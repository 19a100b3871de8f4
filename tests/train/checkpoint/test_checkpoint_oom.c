// SPDX-License-Identifier: Apache-2.0
// Every allocation of reading and writing checkpoints fails once.
#include "oom.h"

#include <stdio.h>
#include <unistd.h>

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/checkpoint/toy_engine.h"

static char dir[256];
static char path[300];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/checkpoint-oom-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/mlp-000000000007.safetensors", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir); // fails where a temporary file was left behind
}

static const struct checkpoint_place place = {.iteration = 7};

TEST(saving)
{
    struct engine_program program;
    toy_start(&program);
    OOM_EACH
    {
        struct err err = {0};
        int rc = checkpoint_save(path, &toy_subject, &program, &place, &err);
        OOM_EXPECT(rc, &err);
    }
}

TEST(opening)
{
    OOM_EACH
    {
        struct err err = {0};
        struct safetensors st;
        int rc = safetensors_open(&st, path, &err);
        if (rc == 0)
            safetensors_release(&st);
        OOM_EXPECT(rc, &err);
    }
}

TEST(restoring)
{
    struct checkpoint_subject elsewhere = toy_subject;
    elsewhere.options.threads = 96; // so that there is a note
    OOM_EACH
    {
        struct err err = {0};
        struct buf notes = {0};
        struct engine_program program;
        struct checkpoint_place back;
        toy_start(&program);
        int rc = checkpoint_restore(path, &elsewhere, &program, &back, &notes, &err);
        buf_release(&notes);
        OOM_EXPECT(rc, &err);
    }
}

TEST(loading_parameters)
{
    // Another classifier, two biases, one too many: every kind of note. Then with a shape that does
    // not fit, which is refused.
    static const int64_t two[][2] = {{3, 2}, {2, 3}}, three[] = {3}, four[] = {4};
    static const float values[20];
    for (int wrong = 0; wrong < 2; wrong++) {
        const struct safetensors_entry entries[] = {{"body.weight", 2, two[wrong]},
                                                    {"head.weight", 1, three},
                                                    {"rnn.bias_ih_l0", 1, four},
                                                    {"rnn.bias_hh_l0", 1, four},
                                                    {"more", 1, three}};
        struct err setup = {0};
        struct safetensors_writer w;
        assert_ok(safetensors_begin(&w, path, NULL, 0, entries, 5, &setup), &setup);
        assert_ok(safetensors_add(&w, values, 20, &setup), &setup);
        assert_ok(safetensors_commit(&w, &setup), &setup);
        OOM_EACH
        {
            struct err err = {0};
            struct buf notes = {0};
            int loaded;
            struct engine_program program;
            toy_start(&program);
            int rc =
                checkpoint_load_parameters(path, &toy_subject, &program, &loaded, &notes, &err);
            buf_release(&notes);
            OOM_EXPECT(wrong && rc == ERR_FORMAT ? 0 : rc, &err);
        }
    }
}

TEST(wrong_shape)
{
    struct safetensors st;
    struct err setup = {0};
    assert_ok(safetensors_open(&st, path, &setup), &setup);
    OOM_EACH
    {
        struct err err = {0};
        const struct safetensors_tensor *t;
        int rc = safetensors_want(&st, "more", 1, (int64_t[]){5}, &t, &err);
        OOM_EXPECT(rc == ERR_FORMAT ? 0 : rc, &err);
    }
    safetensors_release(&st);
}

TEST(folders)
{
    struct err setup = {0};
    struct engine_program program;
    toy_start(&program);
    assert_ok(checkpoint_save(path, &toy_subject, &program, &place, &setup), &setup);
    char damaged[300];
    snprintf(damaged, sizeof damaged, "%s/mlp-000000000009.safetensors", dir);
    assert_ok(fs_write(damaged, "x", 1, &setup), &setup);
    OOM_EACH
    {
        struct err err = {0};
        struct buf found = {0}, lines = {0};
        int rc = checkpoint_newest(dir, "mlp", &found, &lines, &err);
        if (rc == 1)
            rc = checkpoint_prune(dir, "mlp", 1, 9, &err);
        buf_release(&found);
        buf_release(&lines);
        OOM_EXPECT(rc, &err);
    }
    unlink(damaged);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    return run_all_tests(make_dir, remove_dir);
}
