// SPDX-License-Identifier: Apache-2.0
// A Job (batch/v1) for each task.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"
#include "fleet/queues.h"
#include "fleet/script.h"
#include "fleet/target.h"
#include "version.h"

enum { TTL_S = 86400, MARGIN_S = 60, GRACE_S = 30 };

const char *const k8s_keys[K8S_KEYS + 1] = {
    [K8S_IMAGE] = "image",    [K8S_PROGRAM] = "program", [K8S_NAMESPACE] = "namespace",
    [K8S_GPU] = "gpu",        [K8S_GPUS] = "gpus",       [K8S_TYPE] = "type",
    [K8S_SELECT] = "select",  [K8S_CPU] = "cpu",         [K8S_MEMORY] = "memory",
    [K8S_RUNTIME] = "runtime"};

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A label's value: letters, digits, and -_. between them; at most 63.
static bool is_label(const char *text, size_t len)
{
    if (len == 0 || len > 63 || !is_letter(text[0]) || !is_letter(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_letter(text[i]) && !strchr("-_.", text[i]))
            return false;
    return true;
}

// A label's key: a name, or PREFIX/NAME.
static bool is_key(const char *text, size_t len)
{
    const char *slash = memchr(text, '/', len);
    size_t prefix = slash ? (size_t)(slash - text) + 1 : 0;
    for (size_t i = 0; i + 1 < prefix; i++)
        if (!is_letter(text[i]) && !strchr("-.", text[i]))
            return false;
    return prefix != 1 && prefix <= 254 && is_label(text + prefix, len - prefix);
}

bool k8s_is_quantity(const char *text)
{
    size_t digits = strspn(text, "0123456789.");
    static const char *const units[] = {"", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"};
    for (size_t i = 0; digits > 0 && digits < 16 && i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i]) == 0)
            return true;
    return false;
}

int k8s_check(const struct place_words *w, struct err *err)
{
    const char *select = w->values[K8S_SELECT], *equals = select ? strchr(select, '=') : NULL;
    static const enum k8s_key labels[] = {K8S_GPU, K8S_TYPE, K8S_NAMESPACE, K8S_RUNTIME};
    static const enum k8s_key sizes[] = {K8S_CPU, K8S_MEMORY};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *value = w->values[labels[i]];
        if (value && !is_label(value, strlen(value)))
            return err_set(err, ERR_USAGE,
                           "--on k8s: %s=%.80s: Kubernetes has letters, digits, '-', '_' and '.' "
                           "there, at most 63",
                           k8s_keys[labels[i]], value);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *value = w->values[sizes[i]];
        if (value && !k8s_is_quantity(value))
            return err_set(err, ERR_USAGE,
                           "--on k8s: %s=%.80s: expected a quantity such as 4, "
                           "500m or 16Gi",
                           k8s_keys[sizes[i]], value);
    }
    const char *gpus = w->values[K8S_GPUS];
    if (gpus && (strlen(gpus) > 4 || strspn(gpus, "0123456789") != strlen(gpus)))
        return err_set(err, ERR_USAGE, "--on k8s: gpus=%.80s: expected a number", gpus);
    if (select && (!equals || !is_key(select, (size_t)(equals - select)) ||
                   !is_label(equals + 1, strlen(equals + 1))))
        return err_set(err, ERR_USAGE, "--on k8s: select=%.80s: expected LABEL=VALUE", select);
    return 0;
}

static void k8s_name(const struct dispatch *dispatch, const struct task *task,
                     char out[K8S_NAME_BYTES])
{
    char key[TASK_KEY_BYTES];
    task_key(dispatch, task, key);
    snprintf(out, K8S_NAME_BYTES, "fare-%s", key);
}

// ---- JSON. What cannot be made (no memory, not UTF-8) is null, and jansson passes that on.

// Kubernetes replaces $(NAME) in commands by the value of a variable; "$$" is a dollar.
static json_t *argument(const char *word)
{
    SCOPED(buf_release) struct buf text = {0};
    for (; *word; word++) {
        if (*word == '$')
            buf_addc(&text, '$');
        buf_addc(&text, *word);
    }
    return text.failed ? NULL : json_stringn(buf_str(&text), text.len);
}

static int json_add(json_t *list, json_t *item)
{
    return json_array_append_new(list, item);
}

static int add_words(json_t *list, char *const *written, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++) {
        SCOPED(buf_release) struct buf word = {0};
        task_word(written[i], &word);
        bad |= word.failed ? -1 : json_add(list, argument(buf_str(&word)));
    }
    return bad;
}

static int add_option(json_t *list, const char *option, const char *name, const char *value)
{
    SCOPED(buf_release) struct buf text = {0}, word = {0};
    if (name)
        task_word(value, &word);
    buf_printf(&text, "%s%s%s%s", option, name ? name : "", name ? "=" : "",
               name ? buf_str(&word) : value);
    return text.failed || word.failed ? -1 : json_add(list, argument(buf_str(&text)));
}

static json_t *command_of(const struct fleet *fleet, const struct place *place,
                          const struct place_words *w, const struct task *task)
{
    const struct dispatch *d = fleet->dispatch;
    json_t *list = json_array();
    const char *program = w->values[K8S_PROGRAM];
    if (!program)
        program = w->values[K8S_IMAGE] ? "fare" : "/fare/fare";
    int bad = json_add(list, argument(program));
    bad |= json_add(list, json_string("run"));
    bad |= json_add(list, json_string("--ledger=/tmp/fare-ledger.db"));
    bad |= add_words(list, d->arguments.items, d->arguments.count);
    if (place->offer)
        bad |= add_option(list, "--offer=", NULL, place->offer);
    bad |= add_option(list, "--label=dispatch=", NULL, d->id);
    for (size_t i = 0; i < task->settings.count; i++)
        bad |= add_option(list, "--label=", task->settings.items[i].name,
                          task->settings.items[i].value);
    if (task->workload) {
        bad |= json_add(list, argument(task->workload));
    } else {
        bad |= json_add(list, json_string("--"));
        bad |= add_words(list, task->command.items, task->command.count);
    }
    if (bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *selector(const struct place_words *w)
{
    const char *select = w->values[K8S_SELECT];
    size_t len = select ? strcspn(select, "=") : 0;
    struct short_text key = short_text("%.*s", (int)len, select ? select : "");
    return json_pack("{s:s*, s:s*, s:s*}", "nvidia.com/gpu.product", w->values[K8S_GPU],
                     "node.kubernetes.io/instance-type", w->values[K8S_TYPE], key.s,
                     select ? select + len + 1 : NULL);
}

// A GPU is asked for if its type, or a number of them, is given.
static json_t *limits(const struct place_words *w, bool *gpu)
{
    const char *gpus = w->values[K8S_GPUS];
    *gpu = gpus ? strtol(gpus, NULL, 10) > 0 : w->values[K8S_GPU] != NULL;
    return json_pack("{s:s*, s:s*, s:s*}", "nvidia.com/gpu",
                     !*gpu  ? NULL
                     : gpus ? gpus
                            : "1",
                     "cpu", w->values[K8S_CPU], "memory", w->values[K8S_MEMORY]);
}

static json_t *container_json(const struct fleet *fleet, const struct place *place,
                              const struct place_words *w, const struct task *task, bool *gpu)
{
    char key[TASK_KEY_BYTES];
    task_key(fleet->dispatch, task, key);
    json_t *command = command_of(fleet, place, w, task), *most = limits(w, gpu);
    const char *image = w->values[K8S_IMAGE];
    // Command as an argument vector: no shell reads it.
    return json_pack("{s:s, s:s, s:s, s:o, s:[{s:s, s:s}, {s:s, s:s}], s:{s:o}}", "name", "fare",
                     "image", image ? image : "fare:" FARE_VERSION, "imagePullPolicy",
                     "IfNotPresent", "command", command, "env", "name", "FARE_FRAME", "value", key,
                     "name", "FARE_METADATA", "value", "off", "resources", "limits", most);
}

static json_t *job_json(const struct fleet *fleet, const struct place *place,
                        const struct place_words *w, const struct task *task)
{
    const struct dispatch *d = fleet->dispatch;
    char name[K8S_NAME_BYTES];
    bool gpu = false;
    k8s_name(d, task, name);
    json_t *box = container_json(fleet, place, w, task, &gpu);
    json_t *pod = json_pack("{s:s, s:i, s:o, s:[o]}", "restartPolicy", "Never",
                            "terminationGracePeriodSeconds", GRACE_S, "nodeSelector", selector(w),
                            "containers", box);
    if (d->limit_ns.known)
        json_object_set_new(pod, "activeDeadlineSeconds",
                            json_integer((d->limit_ns.v + NS_PER_S - 1) / NS_PER_S + MARGIN_S));
    if (gpu)
        json_object_set_new(pod, "tolerations",
                            json_pack("[{s:s, s:s, s:s}]", "key", "nvidia.com/gpu", "operator",
                                      "Exists", "effect", "NoSchedule"));
    if (w->values[K8S_RUNTIME])
        json_object_set_new(pod, "runtimeClassName", json_string(w->values[K8S_RUNTIME]));
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s}}, s:{s:i, s:i, s:{s:{s:{s:s, s:s}}, s:o}}}",
                     "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", name, "labels",
                     "app.kubernetes.io/managed-by", "fare", "fare-dispatch", d->id, "spec",
                     "backoffLimit", 0, "ttlSecondsAfterFinished", TTL_S, "template", "metadata",
                     "labels", "app.kubernetes.io/managed-by", "fare", "fare-dispatch", d->id,
                     "spec", pod);
}

// Appends a List of the tasks' Jobs as JSON. ERR_FORMAT for words that are not UTF-8.
static int k8s_manifest(const struct fleet *fleet, const struct place *place,
                        const struct place_words *words, const struct chosen *chosen,
                        struct buf *out, struct err *err)
{
    json_auto_t *items = json_array();
    bool bad = !items;
    for (size_t i = 0; i < chosen->count && !bad; i++)
        bad = json_array_append_new(items, job_json(fleet, place, words, chosen->tasks[i])) != 0;
    json_t *list =
        bad ? NULL
            : json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", items);
    SCOPED(free_pointer)
    char *text = list ? json_dumps(list, JSON_ENSURE_ASCII | JSON_INDENT(1)) : NULL;
    json_decref(list);
    if (!text)
        return err_set(err, ERR_FORMAT,
                       "a word of the command is not UTF-8, as Kubernetes needs it (or memory is "
                       "short)");
    buf_adds(out, text);
    return buf_check(out, err);
}

// ==== k8s ====
// Measurements as Jobs of a Kubernetes cluster, applied and watched by kubectl.

enum { PAUSE_S = 4, LOGS = 50, IMAGE_WAIT_S = 180, LOG_WAIT_S = 60 };
#define SHORT_NS (120 * NS_PER_S)

static int k8s_parse(const char *value, struct places *places, struct err *err)
{
    SCOPED(place_words_release) struct place_words words = {0};
    TRY(place_words_read(&words, "k8s", value, k8s_keys, err));
    TRY(k8s_check(&words, err));
    if (!proc_in_path("kubectl")) {
        err_set(err, ERR_MISSING, "--on k8s: kubectl is not in PATH");
        return err_hint(err, "install it and log in to the cluster: 'kubectl get nodes' must work");
    }
    struct place *place = places_add(places, &target_k8s, value, NULL, err);
    if (!place)
        return ERR_MEMORY;
    place->words = words;
    words = (struct place_words){0};
    return 0;
}

// ---- calls

// "kubectl --context='x' --namespace='y'", quoted for sh.
static void add_kubectl(struct buf *out, const struct place_words *words)
{
    buf_adds(out, "kubectl --request-timeout=60s");
    if (*words->head) {
        buf_adds(out, " --context=");
        shell_quote(out, words->head);
    }
    if (words->values[K8S_NAMESPACE]) {
        buf_adds(out, " --namespace=");
        shell_quote(out, words->values[K8S_NAMESPACE]);
    }
}

static void add_names(struct buf *out, const struct fleet *fleet, const struct chosen *chosen)
{
    for (size_t i = 0; i < chosen->count; i++) {
        char name[K8S_NAME_BYTES];
        k8s_name(fleet->dispatch, chosen->tasks[i], name);
        buf_printf(out, " %s", name);
    }
}

// All Jobs and Pods of the dispatch by one question each, then the logs of those that ended. Those
// whose records are in the ledger have been deleted.
static void add_look(struct buf *out, const struct fleet *fleet, const struct place_words *words)
{
    buf_adds(out, "k() { ");
    add_kubectl(out, words);
    buf_printf(
        out,
        " \"$@\" </dev/null; }\n"
        "l='-l fare-dispatch=%s --no-headers --ignore-not-found'\n"
        "s=.status.containerStatuses[0].state\n"
        "c=JOB:.metadata.labels.job-name,PHASE:.status.phase,REASON:.status.reason,"
        "WAIT:$s.waiting.reason,CODE:$s.terminated.exitCode,MADE:.metadata.creationTimestamp,"
        "BEGAN:$s.terminated.startedAt,ENDED:$s.terminated.finishedAt\n"
        "for n in 1 2 3 4; do\n"
        "    p=$(k get pods $l -o \"custom-columns=$c\") || exit 1\n"
        "    case \" $p\" in\n"
        "    *' Succeeded '* | *' Failed '*) break ;;\n"
        "    esac\n"
        "    sleep %d\n"
        "done\n"
        "echo \"$p\" | sed 's/^/pod /'\n"
        "j=$(k get jobs $l -o custom-columns=A:.metadata.name) || exit 1\n"
        "echo \"$j\" | sed 's/^/job /'\n"
        "n=0\n"
        "echo \"$p\" | while read -r name phase rest; do\n"
        "    case $phase in\n"
        "    Succeeded | Failed) ;;\n"
        "    *) continue ;;\n"
        "    esac\n"
        "    n=$((n + 1))\n"
        "    if [ $n -gt %d ]; then echo \"later $name\"; continue; fi\n"
        "    k logs --tail=-1 -l \"job-name=$name\"\n"
        "done\n"
        "exit 0\n",
        fleet->dispatch->id, PAUSE_S, LOGS);
}

static int k8s_prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                       const struct chosen *chosen, struct call *call, struct err *err)
{
    const struct place_words *words = &place->words;
    struct buf *out = &call->input;
    call->limit_ns = SHORT_NS;
    if (verb == VERB_BRING)
        return 0;
    if (verb == VERB_START) { // its input is the manifest
        call_arg(call, "kubectl");
        if (*words->head)
            call_argf(call, "--context=%s", words->head);
        if (words->values[K8S_NAMESPACE])
            call_argf(call, "--namespace=%s", words->values[K8S_NAMESPACE]);
        call_words(call, "apply -f -");
        call->limit_ns = 5 * SHORT_NS;
        TRY(k8s_manifest(fleet, place, words, chosen, out, err));
        return call_check(call, err);
    }
    call_words(call, "sh -s");
    if (verb == VERB_CHECK) {
        add_kubectl(out, words);
        buf_adds(out, " auth can-i create jobs.batch </dev/null\n");
    } else if (verb == VERB_LOOK) {
        call->keep_max = (size_t)48 << 20;
        call->limit_ns = 2 * SHORT_NS;
        add_look(out, fleet, words);
    } else { // CANCEL waits for the end of the Pods, CLEAN has none that run
        add_kubectl(out, words);
        buf_adds(out, " delete jobs --ignore-not-found");
        buf_adds(out,
                 verb == VERB_CANCEL ? " --cascade=foreground --timeout=90s" : " --wait=false");
        add_names(out, fleet, chosen);
        buf_adds(out, " </dev/null\n");
    }
    TRY(buf_check(out, err));
    return call_check(call, err);
}

// ---- answers

// Copies a word and its following spaces; "<none>" is empty. False: there is none.
static bool take_word(const char **at, const char *end, char *out, size_t size)
{
    const char *from = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        (*at)++;
    size_t len = (size_t)(*at - from);
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
    if (len == 0 || len >= size)
        return false;
    memcpy(out, from, len);
    out[len] = '\0';
    if (strcmp(out, "<none>") == 0)
        out[0] = '\0';
    return true;
}

static int64_t time_of(const char *text)
{
    int64_t s;
    return clock_parse(text, &s) ? s : -1;
}

bool k8s_pod_read(const char *line, size_t len, struct k8s_pod *pod)
{
    const char *at = line, *end = line + len;
    char word[8], code[8], created[40], started[40], ended[40];
    if (!take_word(&at, end, word, sizeof word) || strcmp(word, "pod") != 0 ||
        !take_word(&at, end, pod->job, sizeof pod->job) ||
        !take_word(&at, end, pod->phase, sizeof pod->phase) ||
        !take_word(&at, end, pod->reason, sizeof pod->reason) ||
        !take_word(&at, end, pod->waiting, sizeof pod->waiting) ||
        !take_word(&at, end, code, sizeof code) || !take_word(&at, end, created, sizeof created) ||
        !take_word(&at, end, started, sizeof started) ||
        !take_word(&at, end, ended, sizeof ended) || at != end)
        return false;
    size_t digits = strspn(code, "0123456789");
    pod->code =
        digits > 0 && digits <= 3 && code[digits] == '\0' ? (int)strtol(code, NULL, 10) : -1;
    pod->created_s = time_of(created);
    pod->started_s = time_of(started);
    pod->ended_s = time_of(ended);
    return true;
}

// Reasons for which a container will not start however long one waits (k8s.io: container states).
static bool is_stuck(const char *waiting)
{
    static const char *const words[] = {
        "ErrImagePull",      "ImagePullBackOff",           "InvalidImageName",
        "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError",
        "RunContainerError"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(waiting, words[i]) == 0)
            return true;
    return false;
}

enum report_state k8s_meaning(const struct k8s_pod *pod, int64_t now_s, bool *limit,
                              struct buf *words)
{
    bool over = strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
    *limit = over && strcmp(pod->reason, "DeadlineExceeded") == 0;
    if (strcmp(pod->phase, "Running") == 0)
        return REPORT_RUNNING;
    if (is_stuck(pod->waiting) && pod->created_s >= 0 && now_s - pod->created_s > IMAGE_WAIT_S) {
        buf_printf(words, "its container cannot start: %s", pod->waiting);
        return REPORT_ENDED;
    }
    if (strcmp(pod->phase, "Pending") == 0)
        return REPORT_QUEUED;
    if (!over)
        return REPORT_UNKNOWN;
    // Its log may lag behind.
    if (pod->ended_s >= 0 && now_s - pod->ended_s < LOG_WAIT_S && pod->code >= 0)
        return REPORT_UNKNOWN;
    if (*limit || pod->code >= 0) {
        buf_adds(words, "its Pod ended without a result");
        return REPORT_ENDED;
    }
    // Evicted, Preempting, NodeLost, Shutdown, Terminated: the node, not the task.
    buf_printf(words, "its Pod was ended: %s", *pod->reason ? pod->reason : "no reason given");
    return REPORT_LOST;
}

struct pods {
    struct k8s_pod *items;
    size_t count, capacity;
};

static int by_job(const void *a, const void *b)
{
    return strcmp(((const struct k8s_pod *)a)->job, ((const struct k8s_pod *)b)->job);
}

static int pods_read(struct pods *pods, const struct buf *text, struct err *err)
{
    const char *at = buf_str(text), *end = at + text->len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        TRY(array_grow(&pods->items, pods->count, &pods->capacity, sizeof *pods->items, err));
        if (k8s_pod_read(at, (size_t)(newline - at), &pods->items[pods->count]))
            pods->count++;
        at = newline + 1;
    }
    if (pods->count > 0)
        qsort(pods->items, pods->count, sizeof *pods->items, by_job);
    return 0;
}

// Whether there is a line "WORD NAME".
static bool has_line(const struct buf *text, const char *word, const char *name)
{
    char line[K8S_NAME_BYTES + 8];
    int len = snprintf(line, sizeof line, "%s %s", word, name);
    for (const char *at = buf_str(text); (at = strstr(at, line)); at += len)
        if ((at == buf_str(text) || at[-1] == '\n') && strchr(" \r\n", at[len]))
            return true;
    return false;
}

static int look_job(const struct fleet *fleet, const struct call_result *result,
                    const struct pods *pods, const struct task *task, struct task_report *report,
                    struct err *err)
{
    struct k8s_pod want;
    char name[K8S_NAME_BYTES];
    SCOPED(buf_release) struct buf reply = {0};
    k8s_name(fleet->dispatch, task, name);
    snprintf(want.job, sizeof want.job, "%s", name);
    const struct k8s_pod *pod =
        pods->count > 0 ? bsearch(&want, pods->items, pods->count, sizeof want, by_job) : NULL;
    report->state = REPORT_UNKNOWN;
    report->code = -1;
    int rc = 0;
    if (frame_read(buf_str(&result->out), result->out.len, name + strlen("fare-"), &reply)) {
        rc = reply_read(buf_str(&reply), reply.len, name + strlen("fare-"), report, err);
    } else if (has_line(&result->out, "later", name)) {
        report->state = REPORT_UNKNOWN; // its log comes with another look
    } else if (pod) {
        report->state = k8s_meaning(pod, clock_date_s(), &report->limit, &report->words);
        if (report->state == REPORT_ENDED)
            report->code = pod->code > 0 ? pod->code : -1;
    } else if (has_line(&result->out, "job", name)) {
        report->state = REPORT_QUEUED; // no Pod yet
    } else if (!result->cut) {
        report->state = REPORT_LOST;
        buf_adds(&report->words, "its Job is no longer there");
    }
    if (pod && pod->created_s >= 0 && pod->started_s >= pod->created_s)
        report->queue_s = (double)(pod->started_s - pod->created_s);
    return rc;
}

// With these words a server cannot be reached now (client-go): ask again later.
static const char *const passing[] = {"Unable to connect to the server",
                                      "connection refused",
                                      "i/o timeout",
                                      "TLS handshake timeout",
                                      "was refused",
                                      "context deadline exceeded",
                                      "Client.Timeout",
                                      "etcdserver:",
                                      "Too many requests",
                                      "the server is currently unable",
                                      "Timeout: request did",
                                      "unexpected EOF",
                                      NULL};

static int k8s_read(const struct fleet *fleet, struct place *place, enum verb verb,
                    const struct chosen *chosen, const struct call_result *result,
                    struct task_report *reports, struct err *err)
{
    struct pods pods = {0};
    int rc = 0;
    place->needs_bundle = false;
    if (verb == VERB_BRING)
        return 0;
    if (!call_ended_well(result)) {
        bool later = (verb != VERB_CHECK && verb != VERB_START) ||
                     call_says(buf_str(&result->err_text), passing);
        return call_failed(result, later ? ERR_IO : ERR_FAIL, "kubectl", err);
    }
    if (verb == VERB_CHECK && strncmp(buf_str(&result->out), "yes", 3) != 0)
        return err_set(err, ERR_FAIL, "you may not create Jobs there");
    if (verb == VERB_LOOK)
        rc = pods_read(&pods, &result->out, err);
    for (size_t i = 0; i < chosen->count && rc == 0; i++) {
        reports[i].run_s = reports[i].queue_s = -1;
        if (verb == VERB_LOOK) {
            rc = look_job(fleet, result, &pods, chosen->tasks[i], &reports[i], err);
            continue;
        }
        reports[i].state = verb == VERB_START ? REPORT_QUEUED : REPORT_ABSENT;
        if (verb == VERB_START)
            k8s_name(fleet->dispatch, chosen->tasks[i], reports[i].handle);
    }
    free(pods.items);
    return rc;
}

static void k8s_by_hand(const struct fleet *fleet, const struct place *place,
                        const struct task *task, struct buf *out)
{
    const struct place_words *words = &place->words;
    buf_adds(out, "kubectl");
    if (*words->head) {
        buf_adds(out, " --context=");
        shell_quote(out, words->head);
    }
    if (words->values[K8S_NAMESPACE])
        buf_printf(out, " --namespace=%s", words->values[K8S_NAMESPACE]);
    if (task) {
        char name[K8S_NAME_BYTES];
        k8s_name(fleet->dispatch, task, name);
        buf_printf(out, " delete job %s", name);
    } else {
        buf_printf(out, " delete jobs -l fare-dispatch=%s", fleet->dispatch->id);
    }
}

const struct target target_k8s = {
    .name = "k8s",
    .value = "CONTEXT",
    .parse = k8s_parse,
    .prepare = k8s_prepare,
    .read = k8s_read,
    .by_hand = k8s_by_hand,
    .unlimited = true,
    .no_bundle = true,
};
