// SPDX-License-Identifier: Apache-2.0
// A command that is saved, with every allocation of its preparation failing in turn.
#include "measure/saving.h"

#include "oom.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

// Opened, asked for what a command needs, and closed; nothing runs.
static int prepare(const char *store, struct err *err)
{
    char python[] = "python", output[] = "--output_dir={checkpoints}", option[] = "--resume",
         resume[] = "{resume}";
    char *argv[] = {python, output, option, resume, NULL}, *own[SAVING_VARIABLES];
    // Its thread must not beat: allocations are counted in all.
    const struct measure_options o = {.save = store,
                                      .notice = "none",
                                      .checkpoints = store,
                                      .no_cloud = true,
                                      .lease_ns = 36000 * NS_PER_S};
    struct run run = {0};
    struct buf says = {0};
    struct session session = {.o = &o, .command = argv, .run = &run, .says = &says};
    struct saving *saving = NULL;
    int rc = saving_open(&saving, &session, NULL, err);
    if (rc == 0) {
        assert_null(saving_command(saving)[2]); // the first start has nothing to resume
        assert_in_range(saving_environment(saving, own, 0), 2, SAVING_VARIABLES);
    }
    oom_countdown = -1;
    saving_free(saving);
    buf_release(&says);
    record_release(run_fields, &run);
    return rc;
}

static void test_opening(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        char folder[] = "/tmp/fare-saving-oom-XXXXXX", store[64];
        assert_non_null(mkdtemp(folder)); // its own, where nobody has to be waited for
        snprintf(store, sizeof store, "%s/store", folder);
        int rc = prepare(store, &err);
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        // Without memory for the notice's folder, the job is told by signals only.
        if (oom_hit && rc == 0)
            rc = err_memory(&err);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_opening)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
