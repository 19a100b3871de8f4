// SPDX-License-Identifier: Apache-2.0
// GCP: instance/preempted is FALSE, and TRUE up to 30 s before the power goes. With
// wait_for_change the server answers when it changes, or after timeout_sec with the value of then.
// The first question does not wait: it may be TRUE already.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "guard/notice_source.h"

#define PATH     "/computeMetadata/v1/instance/preempted"
#define WAIT_S   20
#define SLACK_NS (5 * NS_PER_S)

void notice_gcp_read(int status, const char *text, size_t len, struct notice_found *found)
{
    *found = (struct notice_found){0};
    while (len > 0 && strchr(" \r\n", text[len - 1]))
        len--;
    bool yes = len == 4 && strncasecmp(text, "TRUE", 4) == 0;
    bool no = len == 5 && strncasecmp(text, "FALSE", 5) == 0;
    found->known = status == 200 && (yes || no);
    if (!found->known || no)
        return;
    found->kind = NOTICE_END;
    snprintf(found->words, sizeof found->words, "GCP preempts this machine");
}

static void ask(struct notice_asker *a, struct notice_found *found)
{
    struct buf answer = {0};
    char path[120];
    // One that failed, or stands, is not waited for: a server that ignores the wish to wait must
    // not be asked in a loop, and a notice may be withdrawn.
    bool wait = a->asked > 0 && !a->standing;
    snprintf(path, sizeof path, PATH "?wait_for_change=true&timeout_sec=%d", WAIT_S);
    int status = notice_get(a, wait ? path : PATH, "Metadata-Flavor: Google",
                            (wait ? WAIT_S * NS_PER_S : 0) + SLACK_NS, &answer);
    notice_gcp_read(status, buf_str(&answer), answer.len, found);
    buf_release(&answer);
}

const struct notice_source notice_gcp = {
    .name = "gcp",
    .provider = "gcp",
    .every_ns = 1 * NS_PER_S,
    .lead_ns = 30 * NS_PER_S,
    .ask = ask,
};
