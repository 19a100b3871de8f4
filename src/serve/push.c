// SPDX-License-Identifier: Apache-2.0
// Receives runs from other machines: one record per line. Records that cannot be imported are named
// in the answer; the others are added, all or none.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/request.h"

enum { BURST = 50, PER_S = 10, PROBLEMS_MOST = 20 };

// Token bucket: ten requests a second.
static bool may_push(struct site *site)
{
    int64_t now = clock_now_ns();
    pthread_mutex_lock(&site->lock);
    int64_t gained_milli = (now - site->push_at_ns) / NS_PER_MS * PER_S;
    bool first = site->push_at_ns == 0;
    if (first || gained_milli > 0) {
        int64_t sum = site->push_tokens_milli + gained_milli;
        site->push_tokens_milli = first || sum > BURST * 1000 ? BURST * 1000 : sum;
        site->push_at_ns = now;
    }
    bool may = site->push_tokens_milli >= 1000;
    site->push_tokens_milli -= may ? 1000 : 0;
    pthread_mutex_unlock(&site->lock);
    return may;
}

struct pushed {
    long long added, existing, left_out;
    json_t *problems; // of the first PROBLEMS_MOST
    struct err first;
};

static int refuse(struct pushed *pushed, const struct err *why, struct err *err)
{
    if (pushed->left_out++ == 0)
        pushed->first = *why;
    if (json_array_size(pushed->problems) >= PROBLEMS_MOST)
        return 0;
    char *words = NULL; // it may quote anything
    TRY(text_set(&words, why->text, err));
    int rc = json_array_append_new(pushed->problems, json_string(words));
    free(words);
    return rc == 0 ? 0 : err_memory(err);
}

// Copies each line, since it must end in a NUL.
static int add_lines(struct ledger *ledger, const struct request *request, struct pushed *pushed,
                     struct err *err)
{
    SCOPED(buf_release) struct buf line = {0};
    const char *at = request->body, *end = at + request->body_len;
    int rc = 0;
    for (size_t number = 1; at < end && rc == 0; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        buf_reset(&line);
        buf_add(&line, at, len);
        rc = buf_check(&line, err);
        bool blank = strspn(buf_str(&line), " \t\r") == len, added = false;
        struct err why = {0};
        int put =
            rc == 0 && !blank ? ledger_import_add(ledger, buf_str(&line), len, &added, &why) : rc;
        if (put == ERR_FORMAT) {
            err_context(&why, "line %zu", number);
            rc = refuse(pushed, &why, err);
        } else if (put != 0 && rc == 0) {
            *err = why;
            rc = put;
        }
        pushed->added += put == 0 && added;
        pushed->existing += put == 0 && !blank && !added;
        at += len + 1;
    }
    return rc;
}

// Before the commit: a failure reported to the client must mean no change.
static int write_answer(const struct pushed *pushed, struct buf *out, struct err *err)
{
    buf_printf(out, "{\"added\":%lld,\"there\":%lld", pushed->added, pushed->existing);
    if (pushed->left_out > 0) {
        SCOPED(free_pointer) char *problems = json_dumps(pushed->problems, JSON_COMPACT);
        if (!problems)
            return err_memory(err);
        buf_printf(out, ",\"left_out\":%lld,\"problems\":%s", pushed->left_out, problems);
    }
    buf_adds(out, "}\n");
    return buf_check(out, err);
}

int page_push(const struct request *request, struct answer *answer, struct err *err)
{
    struct site *site = request->site;
    struct ledger *ledger;
    struct pushed pushed = {0};
    if (!may_push(site)) {
        answer->wait = true;
        route_error(request, answer, 429, "Too many requests: at most ten a second.");
        return 0;
    }
    TRY(request_ledger(request, &ledger, err));
    int rc = ledger_import_begin(ledger, err);
    bool begun = rc == 0;
    if (!begun && rc != ERR_TIMEOUT && rc != ERR_MEMORY)
        rc = ERR_IO; // the ledger is the server's
    if (rc == 0 && !(pushed.problems = json_array()))
        rc = err_memory(err);
    if (rc == 0)
        rc = add_lines(ledger, request, &pushed, err);
    // None of it is a run: the client is at fault.
    bool malformed = rc == 0 && pushed.left_out > 0 && pushed.added + pushed.existing == 0;
    if (malformed)
        rc = err_pass(err, ERR_USAGE, &pushed.first);
    if (rc == 0)
        rc = write_answer(&pushed, &answer->text, err);
    if (begun && rc == 0)
        rc = ledger_import_end(ledger, err);
    else if (begun)
        ledger_import_abandon(ledger);
    json_decref(pushed.problems);
    pthread_mutex_lock(&site->lock);
    site->pushes += rc == 0 && pushed.added > 0;
    pthread_mutex_unlock(&site->lock);
    return rc;
}
