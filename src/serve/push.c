// SPDX-License-Identifier: Apache-2.0
// Receives runs from other machines: one record per line, all or none.
#include <string.h>

#include "base/clock.h"
#include "serve/request.h"

enum { BURST = 50, PER_S = 10 };

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
    long long added, existing;
};

// Copies each line, since it must end in a NUL.
static int add_lines(struct ledger *ledger, const struct request *request, struct pushed *pushed,
                     struct err *err)
{
    struct buf line = {0};
    const char *at = request->body, *end = at + request->body_len;
    int rc = 0;
    for (size_t number = 1; at < end && rc == 0; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        buf_reset(&line);
        buf_add(&line, at, len);
        rc = buf_check(&line, err);
        bool blank = strspn(buf_str(&line), " \t\r") == len, added = false;
        if (rc == 0 && !blank)
            rc = ledger_import_add(ledger, buf_str(&line), len, &added, err);
        if (rc == ERR_FORMAT)
            err_context(err, "line %zu", number);
        pushed->added += rc == 0 && added;
        pushed->existing += rc == 0 && !blank && !added;
        at += len + 1;
    }
    buf_release(&line);
    return rc;
}

int page_push(const struct request *request, struct answer *answer, struct err *err)
{
    struct site *site = request->site;
    struct ledger *ledger = NULL;
    struct pushed pushed = {0};
    if (!may_push(site)) {
        answer->wait = true;
        route_error(request, answer, 429, "Too many requests: at most ten a second.");
        return 0;
    }
    int rc = site_ledger(site, &ledger, err);
    if (rc != 0)
        return rc;
    rc = ledger_import_begin(ledger, err);
    bool begun = rc == 0;
    if (!begun && rc != ERR_TIMEOUT && rc != ERR_MEMORY)
        rc = ERR_IO; // the ledger is the server's
    if (rc == 0)
        rc = add_lines(ledger, request, &pushed, err);
    bool malformed = begun && rc == ERR_FORMAT;
    // Write the answer before the commit: a failure reported to the client must mean no change.
    buf_printf(&answer->text, "{\"added\":%lld,\"there\":%lld}\n", pushed.added, pushed.existing);
    if (rc == 0)
        rc = buf_check(&answer->text, err);
    if (begun && rc == 0)
        rc = ledger_import_end(ledger, err);
    else if (begun)
        ledger_import_abandon(ledger);
    site_give_back(site, ledger, rc != 0 && !malformed);
    if (malformed)
        return ERR_USAGE; // the client's fault
    pthread_mutex_lock(&site->lock);
    site->pushes += rc == 0 && pushed.added > 0;
    pthread_mutex_unlock(&site->lock);
    return rc;
}
