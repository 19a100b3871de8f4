// SPDX-License-Identifier: Apache-2.0
// Bodies of any bytes to POST /runs: what the answer says is taken, nothing where it is an error,
// and what was taken is a record that can be read and listed.
#include <assert.h>
#include <jansson.h>
#include <stdint.h>

#include "record/read.h"
#include "serve/site_cases.h"

static struct site_case site;

static void clean_up(void)
{
    site_case_release(&site);
}

static void set_up(void)
{
    static const char *const records[] = {SITE_RUN("there", "x", "")};
    if (site.folder[0])
        return;
    site_case_init(&site, records, 1);
    atexit(clean_up);
}

struct kept {
    char *others[64]; // than the first
    size_t count;
};

static int look(void *arg, const char *id, const char *text, struct err *err)
{
    struct kept *kept = arg;
    struct run run = {0};
    assert(record_from_text(run_fields, text, strlen(text), &run, err) == 0);
    assert(run.id && strcmp(run.id, id) == 0);
    record_release(run_fields, &run);
    if (strcmp(id, "there") != 0 && kept->count < 64)
        kept->others[kept->count++] = strdup(id);
    return 0;
}

// Lists them, then leaves the ledger as it was.
static size_t take_back(void)
{
    struct kept kept = {0};
    struct ledger_filter all = {0};
    struct ledger *ledger = NULL;
    struct desk desk = {0};
    struct err err = {0};
    assert(site_ledger(&site.site, &desk, &ledger, &err) == 0);
    assert(ledger_each(ledger, &all, look, &kept, &err) == 0);
    for (size_t i = 0; i < kept.count; i++) {
        assert(ledger_delete(ledger, kept.others[i], NULL, &err) == 0);
        free(kept.others[i]);
    }
    site_give_back(&site.site, &desk, 0);
    return kept.count;
}

static long long member(json_t *json, const char *name)
{
    return (long long)json_integer_value(json_object_get(json, name));
}

static void list(void)
{
    static const struct http_head asked = {.method = "GET", .path = "/", .host = "localhost"};
    struct request request = {.site = &site.site};
    struct answer answer = {0};
    site_case_ask(&request, &asked, &answer);
    assert(answer.status == 200 && !strstr(buf_str(&answer.text), "<script"));
    buf_release(&answer.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_head asked = {
        .method = "POST", .path = "/runs", .host = "localhost", .bearer = true};
    set_up();
    if (size > 8192)
        return 0;
    site.site.push_at_ns = 0; // not too often
    struct request request = {.site = &site.site, .body = (const char *)data, .body_len = size};
    struct answer answer = {0};
    site_case_ask(&request, &asked, &answer);
    assert(answer.status == 200 || answer.status == 400);
    json_t *says = json_loads(buf_str(&answer.text), 0, NULL);
    assert(says && (answer.status == 200) == !json_object_get(says, "error"));
    if (member(says, "added") > 0)
        list();
    size_t added = take_back();
    assert(answer.status == 200 ? (long long)added == member(says, "added") : added == 0);
    json_decref(says);
    buf_release(&answer.text);
    return 0;
}
