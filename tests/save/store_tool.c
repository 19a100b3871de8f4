// SPDX-License-Identifier: Apache-2.0
// A store, its lease and its checkpoints from the command line, for the tests in Python:
//     store_tool PLACE COMMAND ARGUMENT...
// `job NAME` claims the lease and then takes commands from its input, a line each:
//     fetch DIR | save PATH STEP [delete] | check | done | release | drop
// `read NAME` is the same without a lease.
// Prints what came out; a failure is "error CODE: text (hint)" and exit code 1.
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/fs.h"
#include "save/keep.h"
#include "save/lease.h"
#include "save/store.h"

static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static int64_t deadline(void)
{
    int64_t ms = number("TOOL_DEADLINE_MS", 0);
    return ms ? clock_now_ns() + ms * NS_PER_MS : 0;
}

// The sums of a file's parts.
static uint8_t (*sums_of(const char *path, int64_t *bytes))[SHA256_BYTES]
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0)
        return NULL;
    *bytes = st.st_size;
    int64_t part = store_part_bytes(*bytes), count = store_part_count(*bytes);
    uint8_t(*sums)[SHA256_BYTES] = calloc((size_t)count + 1, SHA256_BYTES);
    char *buffer = malloc((size_t)part);
    for (int64_t i = 0; i < count; i++) {
        struct sha256 sha;
        sha256_init(&sha);
        sha256_add(&sha, buffer, fread(buffer, 1, (size_t)part, f));
        sha256_done(&sha, sums[i]);
    }
    free(buffer);
    fclose(f);
    return sums;
}

static int do_list(struct store *store, const char *under, struct err *err)
{
    struct store_list list = {0};
    int rc = store_list(store, under, &list, deadline(), err);
    for (size_t i = 0; rc == 0 && i < list.count; i++)
        printf("%s %lld\n", list.items[i].name, (long long)list.items[i].bytes);
    store_list_release(&list);
    return rc;
}

// send NAME PATH; fetch NAME PATH MODEL: the sums are the model's.
static int do_file(struct store *store, char **words, struct err *err)
{
    bool send = strcmp(words[0], "send") == 0;
    struct store_file file = {.name = words[1], .path = words[2]};
    uint8_t(*sums)[SHA256_BYTES] = sums_of(send ? words[2] : words[3], &file.bytes);
    file.parts = (const uint8_t(*)[SHA256_BYTES])sums;
    int rc = send ? store_send(store, &file, deadline(), err)
                  : store_fetch(store, &file, deadline(), err);
    printf("moved %lld\n", (long long)file.sent_bytes);
    free(sums);
    return rc;
}

static int do_small(struct store *store, char **words, struct err *err)
{
    const char *what = words[0];
    struct buf out = {0};
    bool yes = false;
    int rc = 0;
    if (strcmp(what, "check") == 0)
        rc = store_check(store, deadline(), err);
    else if (strcmp(what, "exclusive") == 0)
        rc = store_exclusive(store, &yes, deadline(), err);
    else if (strcmp(what, "put") == 0)
        rc = store_put(store, words[1], words[2], strlen(words[2]), deadline(), err);
    else if (strcmp(what, "create") == 0)
        rc = store_create(store, words[1], words[2], strlen(words[2]), &yes, deadline(), err);
    else if (strcmp(what, "get") == 0)
        rc = store_get(store, words[1], BOUND_MANIFEST, &out, deadline(), err);
    else if (strcmp(what, "delete") == 0)
        rc = store_delete(store, words[1], deadline(), err);
    else if (strcmp(what, "forget") == 0)
        rc = store_forget(store, words[1], deadline(), err);
    else
        rc = err_set(err, ERR_USAGE, "what is '%s'?", what);
    if (rc == 0)
        printf("ok %d %s\n", yes, buf_str(&out));
    buf_release(&out);
    return rc;
}

static bool waiting(void *context, const struct lease_holder *holder, int64_t left_ms)
{
    static int64_t said;
    (void)context;
    if (said != holder->epoch)
        printf("waiting for epoch %lld on %s, %lld ms\n", (long long)holder->epoch, holder->host,
               (long long)left_ms);
    said = holder->epoch;
    return true;
}

static void print_entry(const char *what, const struct keep_entry *e)
{
    printf("%s %lld-%lld step %lld bytes %lld files %lld\n", what, (long long)e->epoch,
           (long long)e->number, (long long)e->step, (long long)e->bytes, (long long)e->files);
}

static void print_notes(struct buf *notes)
{
    for (const char *line = buf_str(notes); *line;) {
        size_t len = strcspn(line, "\n");
        printf("note %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    buf_release(notes);
}

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

// A trainer that deletes its checkpoint as soon as it may.
static bool same_and_deleted(void *context)
{
    const char **words = context;
    return nftw(words[1], delete_one, 8, FTW_DEPTH | FTW_PHYS) == 0;
}

static int keep_command(struct keep *keep, struct lease *lease, const char **words, struct err *err)
{
    struct buf notes = {0};
    struct keep_entry entry;
    struct keep_saved saved;
    char *path = NULL;
    int rc = 0;
    if (strcmp(words[0], "fetch") == 0) {
        rc = keep_fetch(keep, words[1], &entry, &path, &notes, deadline(), err);
        if (rc == 1)
            print_entry("found", &entry);
        else if (rc == 0)
            printf("none\n");
        rc = rc == 1 ? 0 : rc;
    } else if (strcmp(words[0], "save") == 0) {
        struct keep_source source = {.path = words[1], .step = strtoll(words[2], NULL, 10)};
        if (strcmp(words[3], "delete") == 0) {
            source.same = same_and_deleted;
            source.context = words;
        }
        rc = keep_save(keep, &source, &saved, &notes, deadline(), err);
        if (rc == 0)
            print_entry(saved.same ? "same" : "saved", &saved.entry);
        printf("sent %lld in %lld files, hash %.3f s, send %.3f s\n", (long long)saved.sent_bytes,
               (long long)saved.sent_files, (double)saved.hash_ns / 1e9,
               (double)saved.send_ns / 1e9);
    } else if (strcmp(words[0], "check") == 0) {
        rc = lease_check(lease, err);
    } else if (strcmp(words[0], "done") == 0 || strcmp(words[0], "release") == 0) {
        rc =
            lease_give_up(lease, words[0][0] == 'd' ? LEASE_DONE : LEASE_RELEASED, deadline(), err);
    } else {
        rc = err_set(err, ERR_USAGE, "what is '%s'?", words[0]);
    }
    print_notes(&notes);
    free(path);
    return rc;
}

// The commands of a job, one line each.
static int keep_commands(struct keep *keep, struct lease *lease)
{
    char line[4096];
    int failed = 0;
    while (fgets(line, sizeof line, stdin)) {
        const char *words[4] = {"", "", "-1", ""};
        char *rest = line, *word;
        struct err err = {0};
        for (int i = 0; i < 4 && (word = strsep(&rest, " \n"));)
            if (*word)
                words[i++] = word;
        if (strcmp(words[0], "drop") == 0)
            break;
        int rc = keep_command(keep, lease, words, &err);
        if (rc != 0)
            printf("error %d: %s (%s)\n", rc, err.text, err.hint);
        printf("end\n");
        failed |= rc != 0;
    }
    return failed;
}

static int do_job(struct store *store, const char *job, bool leased, struct err *err)
{
    struct lease *lease = NULL;
    struct keep *keep = NULL;
    struct lease_options options = {.job = job,
                                    .host = getenv("TOOL_HOST"),
                                    .beat_ms = number("TOOL_BEAT_MS", 100),
                                    .hold_ms = number("TOOL_HOLD_MS", 400),
                                    .patience_ms = number("TOOL_PATIENCE_MS", 1000),
                                    .no_wait = number("TOOL_NO_WAIT", 0) != 0,
                                    .waiting = waiting};
    int rc = leased ? lease_acquire(&lease, store, &options, deadline(), err) : 0;
    if (rc == 0 && leased)
        printf("epoch %lld after %lld%s%s\n", (long long)lease_epoch(lease),
               (long long)lease_before(lease)->epoch, lease_before(lease)->ended ? " ended" : "",
               lease_before(lease)->done ? " done" : "");
    if (rc == 0)
        rc = keep_open(
            &keep, store,
            &(struct keep_options){.job = job, .last = (int)number("TOOL_LAST", 0), .lease = lease},
            err);
    int failed = rc == 0 ? keep_commands(keep, lease) : 0;
    keep_free(keep);
    lease_free(lease);
    return rc ? rc : failed ? ERR_FAIL : 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct store *store = NULL;
    if (argc < 3)
        return 2;
    struct store_options options = {.pause_ms = number("TOOL_PAUSE_MS", 20),
                                    .stall_ms = number("TOOL_STALL_MS", 0),
                                    .parallel = (int)number("TOOL_PARALLEL", 0)};
    setvbuf(stdout, NULL, _IOLBF, 0);
    int rc = store_open(&store, argv[1], &options, &err);
    if (rc == 0 && strcmp(argv[2], "list") == 0)
        rc = do_list(store, argc > 3 ? argv[3] : "", &err);
    else if (rc == 0 && (strcmp(argv[2], "send") == 0 || strcmp(argv[2], "fetch") == 0))
        rc = do_file(store, argv + 2, &err);
    else if (rc == 0 && (strcmp(argv[2], "job") == 0 || strcmp(argv[2], "read") == 0))
        rc = do_job(store, argv[3], argv[2][0] == 'j', &err);
    else if (rc == 0)
        rc = do_small(store, argv + 2, &err);
    if (rc != 0 && err.code)
        printf("error %d: %s (%s)\n", rc, err.text, err.hint);
    store_free(store);
    return rc != 0;
}
