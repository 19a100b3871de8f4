// SPDX-License-Identifier: Apache-2.0
// Answers of the last second. Many who look at the same page at once cost one page; what other
// programs write is seen a second later, what was pushed here at once.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/request.h"

enum { ANSWER_MOST = 1 << 20 }; // bytes; longer ones are made anew

static bool fresh(const struct cached *one, int64_t now)
{
    return one->key && now - one->made_ns < NS_PER_S;
}

bool cache_get(struct site *site, const char *key, struct answer *answer)
{
    int64_t now = clock_now_ns();
    bool found = false;
    pthread_mutex_lock(&site->lock);
    for (size_t i = 0; i < ANSWERS_KEPT && !found; i++) {
        const struct cached *one = &site->answers[i];
        if (!fresh(one, now) || strcmp(one->key, key) != 0)
            continue;
        found = true;
        answer->type = one->type;
        buf_add(&answer->text, one->text, one->len);
    }
    pthread_mutex_unlock(&site->lock);
    return found;
}

void cache_put(struct site *site, const char *key, const struct answer *answer)
{
    struct cached new = {.key = strdup(key),
                         .text = malloc(answer->text.len + 1),
                         .len = answer->text.len,
                         .type = answer->type,
                         .made_ns = clock_now_ns()};
    if (!new.key || !new.text || new.len > ANSWER_MOST) { // it is only a cache
        free(new.key);
        free(new.text);
        return;
    }
    memcpy(new.text, buf_str(&answer->text), new.len);
    pthread_mutex_lock(&site->lock);
    struct cached *oldest = &site->answers[0];
    for (size_t i = 1; i < ANSWERS_KEPT; i++)
        if (site->answers[i].made_ns < oldest->made_ns)
            oldest = &site->answers[i];
    struct cached old = *oldest;
    *oldest = new;
    pthread_mutex_unlock(&site->lock);
    free(old.key);
    free(old.text);
}

void cache_release(struct site *site)
{
    for (size_t i = 0; i < ANSWERS_KEPT; i++) {
        free(site->answers[i].key);
        free(site->answers[i].text);
    }
}

void cache_key(const struct request *request, const char *path, struct buf *out)
{
    struct site *site = request->site;
    pthread_mutex_lock(&site->lock);
    buf_printf(out, "%lld ", (long long)site->pushes);
    pthread_mutex_unlock(&site->lock);
    frame_escape(out, path);
    for (size_t i = 0; i < request->query_count; i++) {
        buf_addc(out, '&');
        frame_escape(out, request->query[i].key);
        buf_addc(out, '=');
        frame_escape(out, request->query[i].value);
    }
}
