// SPDX-License-Identifier: Apache-2.0
// The sources of notices; each ends in its table (notice_source.h).
#include "save/notice_source.h"

#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/http.h"

// ---- AWS: instance metadata, version 2. "spot/instance-action" is there two minutes before the
// end, on a best-effort basis; "rebalance" when the risk is raised. 404 means none. The older
// "spot/termination-time" is not read: it may hold a past time, or no time at all.

#define TOKEN_S   21600
#define WITHIN_NS (4 * NS_PER_S)

void notice_aws_action(int status, const char *text, size_t len, struct notice_found *found)
{
    *found = (struct notice_found){.known = status == 404};
    if (status != 200)
        return;
    json_auto_t *json = json_loadb(text, len, 0, NULL);
    const char *action = json_string_value(json_object_get(json, "action"));
    const char *time = json_string_value(json_object_get(json, "time"));
    if (action && (strcmp(action, "terminate") == 0 || strcmp(action, "stop") == 0 ||
                   strcmp(action, "hibernate") == 0)) {
        found->known = true;
        found->kind = NOTICE_END;
        found->dated = time && clock_parse(time, &found->date_s);
        snprintf(found->words, sizeof found->words, "AWS will %s this machine", action);
    }
}

void notice_aws_rebalance(int status, const char *text, size_t len, struct notice_found *found)
{
    if (status != 200 || found->kind != NOTICE_NONE)
        return;
    json_auto_t *json = json_loadb(text, len, 0, NULL);
    int64_t ignored;
    const char *time = json_string_value(json_object_get(json, "noticeTime"));
    if (time && clock_parse(time, &ignored)) {
        found->known = true;
        found->kind = NOTICE_RISK;
        snprintf(found->words, sizeof found->words,
                 "AWS says that this machine is at an elevated risk of interruption");
    }
}

// False: there is none now. A service without tokens is asked without.
static bool renew_token(struct notice_asker *a)
{
    char url[400];
    static const char *const headers[] = {"X-aws-ec2-metadata-token-ttl-seconds: 21600", NULL};
    if (a->token[0] && clock_now_ns() < a->token_until_ns)
        return true;
    snprintf(url, sizeof url, "%s/latest/api/token", a->base);
    SCOPED(http_call_release)
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
    return a->token[0] || status == 404 || status == 405;
}

static void aws_ask(struct notice_asker *a, struct notice_found *found)
{
    SCOPED(buf_release) struct buf answer = {0};
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
}

const struct notice_source notice_aws = {
    .name = "aws",
    .provider = "aws",
    .every_ns = 5 * NS_PER_S,
    .lead_ns = 120 * NS_PER_S,
    .most_ns = 300 * NS_PER_S,
    .ask = aws_ask,
};

// ---- Azure: scheduled events. Those that end this machine or its processes count (Preempt,
// Terminate, Reboot, Redeploy); the list is that of the whole set of machines, so the resources are
// compared with this one's name. NotBefore is empty once an event has started.

#define EVENTS   "/metadata/scheduledevents?api-version=2020-07-01"
#define NAME     "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
#define METADATA "Metadata: true"

bool notice_date_1123(const char *text, int64_t *date_s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int day, year, hour, minute, second;
    char month[4], iso[48];
    const char *comma = text ? strchr(text, ',') : NULL;
    if (!comma || strlen(comma) > 40 ||
        sscanf(comma + 1, " %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute,
               &second) != 6 ||
        strlen(month) != 3)
        return false;
    const char *at = strstr(months, month);
    if (!at || (at - months) % 3 != 0 || day < 0 || year < 0 || hour < 0 || minute < 0 ||
        second < 0)
        return false;
    snprintf(iso, sizeof iso, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, (int)(at - months) / 3 + 1,
             day, hour, minute, second);
    return clock_parse(iso, date_s);
}

static bool concerns(const json_t *event, const char *name)
{
    const json_t *resources = json_object_get(event, "Resources");
    bool any = name[0] == '\0' || !json_is_array(resources) || json_array_size(resources) == 0;
    for (size_t i = 0; !any && i < json_array_size(resources); i++) {
        const char *one = json_string_value(json_array_get(resources, i));
        any = one && strcasecmp(one, name) == 0;
    }
    return any;
}

static bool ends_the_job(const char *type)
{
    static const char *const types[] = {"Preempt", "Terminate", "Reboot", "Redeploy"};
    bool found = false;
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        found |= strcmp(type, types[i]) == 0;
    return found;
}

static void read_event(const json_t *event, struct notice_found *found)
{
    const char *type = json_string_value(json_object_get(event, "EventType"));
    const char *before = json_string_value(json_object_get(event, "NotBefore"));
    int64_t date_s = 0;
    bool dated = notice_date_1123(before, &date_s);
    if (found->kind == NOTICE_END && !(dated && found->dated && date_s < found->date_s))
        return; // the earliest counts
    found->kind = NOTICE_END;
    found->dated = dated;
    found->date_s = date_s;
    snprintf(found->words, sizeof found->words, "Azure will %c%s this machine",
             tolower((unsigned char)type[0]), type + 1);
}

void notice_azure_read(int status, const char *text, size_t len, const char *name,
                       struct notice_found *found)
{
    *found = (struct notice_found){0};
    json_auto_t *json = status == 200 ? json_loadb(text, len, 0, NULL) : NULL;
    const json_t *events = json_object_get(json, "Events");
    found->known = json_is_array(events);
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (ends_the_job(json_string_value(json_object_get(event, "EventType"))) &&
            concerns(event, name))
            read_event(event, found);
    }
}

static void azure_ask(struct notice_asker *a, struct notice_found *found)
{
    SCOPED(buf_release) struct buf answer = {0};
    if (a->name[0] == '\0' && notice_get(a, NAME, METADATA, 5 * NS_PER_S, &answer) == 200 &&
        answer.len < sizeof a->name) {
        buf_trim(&answer);
        snprintf(a->name, sizeof a->name, "%s", buf_str(&answer));
    }
    buf_reset(&answer);
    // The first question switches the service on, which may take two minutes.
    int64_t within_ns = (a->asked == 0 ? 150 : 10) * NS_PER_S;
    int status = notice_get(a, EVENTS, METADATA, within_ns, &answer);
    notice_azure_read(status, buf_str(&answer), answer.len, a->name, found);
}

const struct notice_source notice_azure = {
    .name = "azure",
    .provider = "azure",
    .every_ns = 2 * NS_PER_S,
    .lead_ns = 30 * NS_PER_S,
    .most_ns = 1800 * NS_PER_S,
    .ask = azure_ask,
};

// ---- GCP: instance/preempted is FALSE, and TRUE up to 30 s before the power goes. With
// wait_for_change the server answers when it changes, or after timeout_sec with the value of then.
// The first question does not wait: it may be TRUE already.

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

static void gcp_ask(struct notice_asker *a, struct notice_found *found)
{
    SCOPED(buf_release) struct buf answer = {0};
    char path[120];
    // One that failed, or stands, is not waited for: a server that ignores the wish to wait must
    // not be asked in a loop, and a notice may be withdrawn.
    bool wait = a->asked > 0 && !a->standing;
    snprintf(path, sizeof path, PATH "?wait_for_change=true&timeout_sec=%d", WAIT_S);
    int status = notice_get(a, wait ? path : PATH, "Metadata-Flavor: Google",
                            (wait ? WAIT_S * NS_PER_S : 0) + SLACK_NS, &answer);
    notice_gcp_read(status, buf_str(&answer), answer.len, found);
}

const struct notice_source notice_gcp = {
    .name = "gcp",
    .provider = "gcp",
    .every_ns = 1 * NS_PER_S,
    .lead_ns = 30 * NS_PER_S,
    .ask = gcp_ask,
};

// ---- A file, for other tools and for tests: it is a notice while it exists. It may hold the
// seconds that are left, a date, or an object with "in_s" or "time"; "risk" alone means that
// nothing is decided yet. Whatever else it holds is a notice with the usual lead.

#define FILE_MAX ((size_t)64 << 10)
#define MOST_S   86400.0

static void count(double seconds, struct notice_found *found)
{
    if (!(seconds >= 0 && seconds <= MOST_S))
        return;
    found->counted = true;
    found->left_ns = (int64_t)(seconds * 1e9);
}

void notice_file_read(const char *text, size_t len, struct notice_found *found)
{
    *found = (struct notice_found){.known = true, .kind = NOTICE_END};
    snprintf(found->words, sizeof found->words, "a file announces the end of this machine");
    char line[64] = "", *end;
    size_t short_len = len < sizeof line ? len : sizeof line - 1;
    memcpy(line, text, short_len);
    line[short_len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    double seconds = strtod(line, &end);
    if (strcmp(line, "risk") == 0)
        found->kind = NOTICE_RISK;
    else if (end != line && *end == '\0')
        count(seconds, found);
    else
        found->dated = clock_parse(line, &found->date_s);
    json_auto_t *json = line[0] == '{' ? json_loadb(text, len, 0, NULL) : NULL;
    const json_t *in = json_object_get(json, "in_s");
    const char *time = json_string_value(json_object_get(json, "time"));
    if (json_is_number(in))
        count(json_number_value(in), found);
    else if (time)
        found->dated = clock_parse(time, &found->date_s);
}

static void file_ask(struct notice_asker *a, struct notice_found *found)
{
    SCOPED(buf_release) struct buf text = {0};
    int rc = fs_read(a->value, FILE_MAX, &text, NULL);
    *found = (struct notice_found){.known = rc == ERR_MISSING};
    if (rc == 0)
        notice_file_read(buf_str(&text), text.len, found);
}

const struct notice_source notice_file = {
    .name = "file",
    .every_ns = 500 * NS_PER_MS,
    .lead_ns = 30 * NS_PER_S,
    .most_ns = 86400 * NS_PER_S,
    .ask = file_ask,
};

// ---- A signal to fare: what RunPod, Slurm, Kubernetes and an orderly shutdown send before
// SIGKILL. The time between the two is the sender's own: 5 s on RunPod, 30 s by default in Slurm
// (KillWait) and Kubernetes (terminationGracePeriodSeconds). Nothing is asked: the runner's handler
// reports it.

static const struct {
    const char *name;
    int number;
} names[] = {
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"INT", SIGINT}};

int notice_signal_named(const char *name, size_t len)
{
    size_t skip = len > 3 && strncmp(name, "SIG", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == len - skip &&
            strncmp(names[i].name, name + skip, len - skip) == 0)
            return names[i].number;
    return 0;
}

static int64_t usual_lead(void)
{
    return (getenv("RUNPOD_POD_ID") ? 5 : 30) * NS_PER_S;
}

int notice_signal_read(const char *word, int *number, int64_t *lead_ns, struct err *err)
{
    const char *at = strchr(word, '@'), *colon = strchr(word, ':');
    *number = SIGTERM;
    *lead_ns = usual_lead();
    if (colon && (!at || colon < at)) {
        *number = notice_signal_named(colon + 1, strcspn(colon + 1, "@"));
        if (*number == 0)
            return err_set(err, ERR_USAGE,
                           "--notice '%s': the signal is one of TERM, USR1, USR2, HUP, INT", word);
    }
    if (at && (!clock_parse_duration(at + 1, lead_ns) || *lead_ns <= 0))
        return err_set(err, ERR_USAGE,
                       "--notice '%s': expected a time behind @, such as signal:USR1@120", word);
    return 0;
}

const struct notice_source notice_signal = {.name = "signal"};
