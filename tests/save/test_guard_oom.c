// SPDX-License-Identifier: Apache-2.0
// Allocations that fail on the way of a save and a fetch, in a folder.
#include "save/keep.h"

#include "oom.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "save/lease.h"

static char folder[64], tree[128], place[128], into[128];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    char path[200];
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fare-guard-oom-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(tree, sizeof tree, "%s/tree", folder);
    snprintf(place, sizeof place, "%s/place", folder);
    snprintf(into, sizeof into, "%s/into", folder);
    mkdir(tree, 0700);
    snprintf(path, sizeof path, "%s/a", tree);
    return fs_write(path, "hello", 5, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct lease *hold(struct store *store)
{
    struct lease *lease = NULL;
    struct err err = {0};
    // It must not beat meanwhile: allocations are counted in all threads.
    const struct lease_options options = {
        .job = "j", .beat_ms = 1000000, .hold_ms = 2000000, .patience_ms = 4000000};
    assert_ok(lease_acquire(&lease, store, &options, 0, &err), &err);
    return lease;
}

TEST(test_saving)
{
    struct err err = {0};
    struct store *store = NULL;
    assert_ok(store_open(&store, place, NULL, &err), &err);
    struct lease *lease = hold(store);
    OOM_EACH
    {
        struct keep *keep = NULL;
        struct keep_saved saved;
        struct err e = {0};
        int rc = keep_open(&keep, store, &(struct keep_options){.job = "j", .lease = lease}, &e);
        if (rc == 0)
            rc = keep_save(keep, &(struct keep_source){.path = tree, .step = 1}, &saved, NULL, 0,
                           &e);
        keep_free(keep);
        // Whoever cannot delete old ones has saved all the same.
        if (oom_hit && rc == 0)
            rc = err_memory(&e);
        OOM_EXPECT(rc, &e);
    }
    OOM_EACH
    {
        struct keep *keep = NULL;
        struct keep_entry entry;
        struct buf notes = {0};
        char *path = NULL;
        struct err e = {0};
        int rc = keep_open(&keep, store, &(struct keep_options){.job = "j"}, &e);
        if (rc == 0)
            rc = keep_fetch(keep, into, &entry, &path, &notes, 0, &e);
        if (!oom_hit)
            assert_int_equal(rc, 1);
        buf_release(&notes);
        free(path);
        keep_free(keep);
        // A file that could not be compared with the one that lies there is fetched again.
        if (oom_hit && rc == 1)
            rc = err_memory(&e);
        OOM_EXPECT(rc == 1 ? 0 : rc, &e);
    }
    lease_free(lease);
    store_free(store);
}

TEST(test_opening)
{
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1), setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("HOME", "/nonexistent", 1);
    OOM_EACH
    {
        struct store *store = NULL;
        struct err e = {0};
        int rc = store_open(&store, "s3://bucket/prefix", NULL, &e);
        store_free(store);
        OOM_EXPECT(rc, &e);
    }
    OOM_EACH
    {
        struct store *store = NULL;
        struct lease *lease = NULL;
        struct err e = {0};
        char own[200];
        snprintf(own, sizeof own, "%s/%ld", folder, oom_n); // where nobody is to be waited for
        int rc = store_open(&store, own, NULL, &e);
        if (rc == 0)
            rc = lease_acquire(&lease, store, &(struct lease_options){.job = "j"}, 0, &e);
        lease_free(lease);
        store_free(store);
        OOM_EXPECT(rc, &e);
    }
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
