// SPDX-License-Identifier: Apache-2.0
// A guarded job with its Nth allocation failing: opening says so and leaves nothing behind; at the
// end the record may be lost, but nothing else.
#include "save/guard.h"

#include "oom.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "save/keep.h"

struct place {
    char folder[64], store[100], out[100], fetch[100], checkpoint[128];
    struct guard_options options;
};

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

// A store of its own, where nobody has to be waited for; in memory, because each try makes one.
static void set_up(struct place *p)
{
    *p = (struct place){0};
    snprintf(p->folder, sizeof p->folder, "%s/fare-open-oom-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->store, sizeof p->store, "%s/store", p->folder);
    snprintf(p->out, sizeof p->out, "%s/out", p->folder);
    snprintf(p->fetch, sizeof p->fetch, "%s/fetch", p->folder);
    snprintf(p->checkpoint, sizeof p->checkpoint, "%s/ckpt-7.npy", p->out);
    assert_int_equal(mkdir(p->out, 0700), 0);
    p->options = (struct guard_options){.save = p->store,
                                        .job = "j",
                                        .checkpoints = p->out,
                                        .fetch = p->fetch,
                                        .run = "r",
                                        .host = "h",
                                        .notices = {.wanted = "signal", .metadata = "off"},
                                        .every_ns = 3600 * NS_PER_S,
                                        // Its thread must not beat: allocations are counted in all.
                                        .lease_ns = 36000 * NS_PER_S,
                                        .no_wait = true};
}

static void tear_down(const struct place *p)
{
    assert_int_equal(nftw(p->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static struct guard *start(const struct place *p)
{
    struct guard *guard = NULL;
    struct buf says = {0};
    struct err err = {0};
    assert_ok(guard_open(&guard, &p->options, &says, &err), &err);
    assert_ok(guard_start(guard, &err), &err);
    buf_release(&says);
    return guard;
}

static int finish(struct guard *guard, struct run_saving *saving, struct err *err)
{
    struct buf says = {0};
    const struct guard_end end = {.ended = "interrupted", .clean = true};
    int rc = guard_finish(guard, &end, saving, &says, err);
    buf_release(&says);
    return rc;
}

TEST(test_first_start)
{
    OOM_EACH
    {
        struct place p;
        struct guard *guard = NULL;
        struct buf says = {0};
        struct err err = {0};
        oom_countdown = -1;
        set_up(&p);
        oom_countdown = oom_n;
        int rc = guard_open(&guard, &p.options, &says, &err);
        if (rc == 0)
            rc = guard_start(guard, &err);
        oom_countdown = -1;
        guard_free(guard);
        buf_release(&says);
        tear_down(&p);
        OOM_EXPECT(rc, &err);
    }
}

TEST(test_resuming)
{
    OOM_EACH
    {
        struct place p;
        struct run run = {0};
        struct buf says = {0};
        struct err err = {0};
        oom_countdown = -1;
        set_up(&p);
        struct guard *guard = start(&p);
        assert_ok(fs_write(p.checkpoint, "0123456789", 10, &err), &err);
        assert_ok(finish(guard, &run.saving, &err), &err);
        record_release(run_fields, &run);
        guard_free(guard);
        oom_countdown = oom_n;
        int rc = guard_open(&guard, &p.options, &says, &err);
        oom_countdown = -1;
        if (rc == 0)
            assert_non_null(guard_resume(guard));
        guard_free(guard);
        buf_release(&says);
        tear_down(&p);
        // A file that could not be compared with the one that lies there is fetched again.
        if (oom_hit && rc == 0)
            rc = err_memory(&err);
        OOM_EXPECT(rc, &err);
    }
}

static bool is_safe(const struct place *p)
{
    struct store *store = NULL;
    struct keep *keep = NULL;
    struct keep_entry entry;
    struct buf notes = {0};
    struct err err = {0};
    char *path = NULL;
    assert_ok(store_open(&store, p->store, NULL, &err), &err);
    assert_ok(keep_open(&keep, store, &(struct keep_options){.job = "j"}, &err), &err);
    bool found = keep_fetch(keep, p->fetch, &entry, &path, &notes, 0, &err) == 1;
    free(path);
    buf_release(&notes);
    keep_free(keep);
    store_free(store);
    return found;
}

// The saver's thread meets the failures too: it tries again, so that the checkpoint is safe.
TEST(test_finishing)
{
    OOM_EACH
    {
        struct place p;
        struct run run = {0};
        struct err err = {0};
        oom_countdown = -1;
        set_up(&p);
        struct guard *guard = start(&p);
        assert_ok(fs_write(p.checkpoint, "0123456789", 10, &err), &err);
        oom_countdown = oom_n;
        int rc = finish(guard, &run.saving, &err);
        oom_countdown = -1;
        assert_true(rc == 0 || rc == ERR_MEMORY);
        if (rc == 0)
            assert_int_equal(run.saving.attempts.count, 1);
        record_release(run_fields, &run);
        guard_free(guard);
        assert_true(is_safe(&p));
        tear_down(&p);
    }
}
