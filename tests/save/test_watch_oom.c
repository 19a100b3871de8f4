// SPDX-License-Identifier: Apache-2.0
// Watching a job with its Nth allocation failing: an error, or an item that the next look finds.
#include "save/find.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "save/notice.h"
#include "oom.h"

static void test_notices(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        int rc = notices_check("signal:USR1@5,file:/tmp/a,aws", &err);
        OOM_EXPECT(rc, &err);
    }
}

static void test_finder(void **state)
{
    (void)state;
    char folder[] = "/tmp/fare-oom-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ckpt-7.npy", folder);
    OOM_EACH
    {
        struct err err = {0};
        struct finder *f;
        int rc = finder_open(&f, folder, &err);
        finder_free(rc == 0 ? f : NULL);
        OOM_EXPECT(rc, &err);
    }
    struct err err = {0};
    struct finder *f;
    assert_ok(finder_open(&f, folder, &err), &err);
    assert_ok(fs_write(path, "0123456789", 10, &err), &err);
    bool found = false;
    OOM_EACH
    {
        struct find_item item;
        finder_look(f, 0, 0, 0, &item, NULL); // fails silently
        oom_countdown = -1;
        found = finder_look(f, 0, 0, 0, &item, NULL);
    }
    assert_true(found);
    finder_free(f);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_finder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
