// SPDX-License-Identifier: Apache-2.0
// AWS: instance metadata, version 2. "spot/instance-action" is there two minutes before the end,
// on a best-effort basis; "rebalance" when the risk is raised. 404 means none. The older
// "spot/termination-time" is not read: it may hold a past time, or no time at all.
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/http.h"
#include "guard/notice_source.h"

#define TOKEN_S   21600
#define WITHIN_NS (4 * NS_PER_S)

void notice_aws_action(int status, const char *text, size_t len, struct notice_found *found)
{
    *found = (struct notice_found){.known = status == 404};
    if (status != 200)
        return;
    json_t *json = json_loadb(text, len, 0, NULL);
    const char *action = json_string_value(json_object_get(json, "action"));
    const char *time = json_string_value(json_object_get(json, "time"));
    if (action && (strcmp(action, "terminate") == 0 || strcmp(action, "stop") == 0 ||
                   strcmp(action, "hibernate") == 0)) {
        found->known = true;
        found->kind = NOTICE_END;
        found->dated = time && clock_parse(time, &found->date_s);
        snprintf(found->words, sizeof found->words, "AWS will %s this machine", action);
    }
    json_decref(json);
}

void notice_aws_rebalance(int status, const char *text, size_t len, struct notice_found *found)
{
    if (status != 200 || found->kind != NOTICE_NONE)
        return;
    json_t *json = json_loadb(text, len, 0, NULL);
    int64_t ignored;
    const char *time = json_string_value(json_object_get(json, "noticeTime"));
    if (time && clock_parse(time, &ignored)) {
        found->known = true;
        found->kind = NOTICE_RISK;
        snprintf(found->words, sizeof found->words,
                 "AWS says that this machine is at an elevated risk of interruption");
    }
    json_decref(json);
}

// False: there is none now. A service without tokens is asked without.
static bool renew_token(struct notice_asker *a)
{
    char url[400];
    static const char *const headers[] = {"X-aws-ec2-metadata-token-ttl-seconds: 21600", NULL};
    if (a->token[0] && clock_now_ns() < a->token_until_ns)
        return true;
    snprintf(url, sizeof url, "%s/latest/api/token", a->base);
    struct http_call call = {.method = "PUT",
                             .url = url,
                             .headers = headers,
                             .no_proxy = true,
                             .max_bytes = 4096,
                             .stop = a->stop};
    a->token[0] = '\0';
    int64_t until_ns = clock_now_ns() + WITHIN_NS;
    if (http_all(&call, 1, until_ns, NULL) == 0 && call.err.code == 0 && call.status == 200) {
        const char *text = buf_str(&call.answer);
        size_t good = 0;
        while (good < 1024 && isgraph((unsigned char)text[good]))
            good++;
        if (good > 0 && text[good + strspn(text + good, " \r\n")] == '\0') {
            snprintf(a->token, sizeof a->token, "X-aws-ec2-metadata-token: %.*s", (int)good, text);
            a->token_until_ns = clock_now_ns() + TOKEN_S / 2 * NS_PER_S;
        }
    }
    int status = call.err.code == 0 ? call.status : 0;
    http_call_release(&call);
    return a->token[0] || status == 404 || status == 405;
}

static void ask(struct notice_asker *a, struct notice_found *found)
{
    struct buf answer = {0};
    if (!renew_token(a))
        return;
    const char *token = a->token[0] ? a->token : NULL;
    int status = notice_get(a, "/latest/meta-data/spot/instance-action", token, WITHIN_NS, &answer);
    notice_aws_action(status, buf_str(&answer), answer.len, found);
    if (status == 401 || status == 403) // the token was not accepted: another the next time
        a->token[0] = '\0';
    if (found->known && found->kind == NOTICE_NONE) {
        buf_reset(&answer);
        status = notice_get(a, "/latest/meta-data/events/recommendations/rebalance", token,
                            WITHIN_NS, &answer);
        notice_aws_rebalance(status, buf_str(&answer), answer.len, found);
    }
    buf_release(&answer);
}

const struct notice_source notice_aws = {
    .name = "aws",
    .provider = "aws",
    .every_ns = 5 * NS_PER_S,
    .lead_ns = 120 * NS_PER_S,
    .most_ns = 300 * NS_PER_S,
    .ask = ask,
};
