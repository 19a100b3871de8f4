// SPDX-License-Identifier: Apache-2.0
// A store, its lease and its checkpoints from the command line, for the tests in Python:
//     store_tool PLACE COMMAND ARGUMENT...
// Prints what came out; a failure is "error CODE: text (hint)" and exit code 1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "guard/store.h"

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
    int64_t bytes = 0;
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
        rc = store_get(store, words[1], STORE_SMALL_MAX, &out, deadline(), err);
    else if (strcmp(what, "delete") == 0)
        rc = store_delete(store, words[1], deadline(), err);
    else if (strcmp(what, "size") == 0)
        rc = store_size(store, words[1], &bytes, deadline(), err);
    else if (strcmp(what, "forget") == 0)
        rc = store_forget(store, words[1], deadline(), err);
    else
        rc = err_set(err, ERR_USAGE, "what is '%s'?", what);
    if (rc == 0)
        printf("ok %d %lld %s\n", yes, (long long)bytes, buf_str(&out));
    buf_release(&out);
    return rc;
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
    else if (rc == 0)
        rc = do_small(store, argv + 2, &err);
    if (rc != 0)
        printf("error %d: %s (%s)\n", rc, err.text, err.hint);
    store_free(store);
    return rc != 0;
}
