// SPDX-License-Identifier: Apache-2.0
// A Job (batch/v1) for each task.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/k8s_parts.h"
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

// A quantity such as 500m, 4, 16Gi.
static bool is_quantity(const char *text)
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
        if (value && !is_quantity(value))
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

void k8s_name(const struct dispatch *dispatch, const struct task *task, char out[K8S_NAME_BYTES])
{
    char key[TASK_KEY_BYTES];
    task_key(dispatch, task, key);
    snprintf(out, K8S_NAME_BYTES, "fare-%s", key);
}

// ---- JSON. What cannot be made (no memory, not UTF-8) is null, and jansson passes that on.

// Kubernetes replaces $(NAME) in commands by the value of a variable; "$$" is a dollar.
static json_t *argument(const char *word)
{
    struct buf text = {0};
    for (; *word; word++) {
        if (*word == '$')
            buf_addc(&text, '$');
        buf_addc(&text, *word);
    }
    json_t *json = text.failed ? NULL : json_stringn(buf_str(&text), text.len);
    buf_release(&text);
    return json;
}

static int add(json_t *list, json_t *item)
{
    return json_array_append_new(list, item);
}

static int add_words(json_t *list, char *const *written, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++) {
        struct buf word = {0};
        task_word(written[i], &word);
        bad |= word.failed ? -1 : add(list, argument(buf_str(&word)));
        buf_release(&word);
    }
    return bad;
}

static int add_option(json_t *list, const char *option, const char *name, const char *value)
{
    struct buf text = {0}, word = {0};
    if (name)
        task_word(value, &word);
    buf_printf(&text, "%s%s%s%s", option, name ? name : "", name ? "=" : "",
               name ? buf_str(&word) : value);
    int bad = text.failed || word.failed ? -1 : add(list, argument(buf_str(&text)));
    buf_release(&text);
    buf_release(&word);
    return bad;
}

static json_t *command_of(const struct fleet *fleet, const struct place *place,
                          const struct place_words *w, const struct task *task)
{
    const struct dispatch *d = fleet->dispatch;
    json_t *list = json_array();
    const char *program = w->values[K8S_PROGRAM];
    if (!program)
        program = w->values[K8S_IMAGE] ? "fare" : "/fare/fare";
    int bad = add(list, argument(program));
    bad |= add(list, json_string("run"));
    bad |= add(list, json_string("--ledger=/tmp/fare-ledger.db"));
    bad |= add_words(list, d->arguments.items, d->arguments.count);
    if (place->offer)
        bad |= add_option(list, "--offer=", NULL, place->offer);
    bad |= add_option(list, "--label=dispatch=", NULL, d->id);
    for (size_t i = 0; i < task->settings.count; i++)
        bad |= add_option(list, "--label=", task->settings.items[i].name,
                          task->settings.items[i].value);
    if (task->workload) {
        bad |= add(list, argument(task->workload));
    } else {
        bad |= add(list, json_string("--"));
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
    json_t *json = json_object();
    const char *select = w->values[K8S_SELECT];
    if (w->values[K8S_GPU])
        json_object_set_new(json, "nvidia.com/gpu.product", json_string(w->values[K8S_GPU]));
    if (w->values[K8S_TYPE])
        json_object_set_new(json, "node.kubernetes.io/instance-type",
                            json_string(w->values[K8S_TYPE]));
    if (select) {
        size_t len = strcspn(select, "=");
        char key[320];
        snprintf(key, sizeof key, "%.*s", (int)len, select);
        json_object_set_new(json, key, json_string(select + len + 1));
    }
    return json;
}

// A GPU is asked for if its type, or a number of them, is given.
static json_t *limits(const struct place_words *w, bool *gpu)
{
    json_t *json = json_object();
    const char *gpus = w->values[K8S_GPUS];
    *gpu = gpus ? strtol(gpus, NULL, 10) > 0 : w->values[K8S_GPU] != NULL;
    if (*gpu)
        json_object_set_new(json, "nvidia.com/gpu", json_string(gpus ? gpus : "1"));
    if (w->values[K8S_CPU])
        json_object_set_new(json, "cpu", json_string(w->values[K8S_CPU]));
    if (w->values[K8S_MEMORY])
        json_object_set_new(json, "memory", json_string(w->values[K8S_MEMORY]));
    return json;
}

static json_t *container(const struct fleet *fleet, const struct place *place,
                         const struct place_words *w, const struct task *task, bool *gpu)
{
    char key[TASK_KEY_BYTES];
    task_key(fleet->dispatch, task, key);
    json_t *command = command_of(fleet, place, w, task), *most = limits(w, gpu);
    const char *image = w->values[K8S_IMAGE];
    // Command as an argument vector: no shell reads it.
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:[{s:s, s:s}, {s:s, s:s}], s:{s:o}}", "name", "fare",
                  "image", image ? image : "fare:" FARE_VERSION, "imagePullPolicy", "IfNotPresent",
                  "command", command, "env", "name", "FARE_FRAME", "value", key, "name",
                  "FARE_METADATA", "value", "off", "resources", "limits", most);
    return json;
}

static json_t *job(const struct fleet *fleet, const struct place *place,
                   const struct place_words *w, const struct task *task)
{
    const struct dispatch *d = fleet->dispatch;
    char name[K8S_NAME_BYTES];
    bool gpu = false;
    k8s_name(d, task, name);
    json_t *box = container(fleet, place, w, task, &gpu);
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

int k8s_manifest(const struct fleet *fleet, const struct place *place,
                 const struct place_words *words, const struct chosen *chosen, struct buf *out,
                 struct err *err)
{
    json_t *items = json_array();
    bool bad = !items;
    for (size_t i = 0; i < chosen->count && !bad; i++)
        bad = json_array_append_new(items, job(fleet, place, words, chosen->tasks[i])) != 0;
    json_t *list =
        bad ? NULL
            : json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", items);
    char *text = list ? json_dumps(list, JSON_ENSURE_ASCII | JSON_INDENT(1)) : NULL;
    json_decref(list);
    json_decref(items);
    if (!text)
        return err_set(err, ERR_FORMAT,
                       "a word of the command is not UTF-8, as Kubernetes needs it (or memory is "
                       "short)");
    buf_adds(out, text);
    free(text);
    return buf_check(out, err);
}
