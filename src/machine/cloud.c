// SPDX-License-Identifier: Apache-2.0
// Detects the cloud provider. All queries run in parallel under one deadline. A computer whose
// firmware rules out a cloud sends none.
#include "machine/cloud.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/http.h"
#include "machine/probe.h"

// The whole search (BOUND_METADATA_NS) takes at most 0.4 s, including the time to cancel unfinished
// requests.

// All three clouds use this address. Google's name for it would need a DNS query, also on machines
// outside any cloud.
#define METADATA_URL "http://169.254.169.254"

// The user's environment, and that of the container's first process, because an ssh session does
// not inherit it.
struct environment {
    struct tree *tree;
    char *const *vars;
    struct buf first; // NAME=value entries, each ended by a NUL
    bool read;
};

static const char *value_of(const char *entry, const char *name)
{
    size_t len = strlen(name);
    bool same = strncmp(entry, name, len) == 0 && entry[len] == '=' && entry[len + 1] != '\0';
    return same ? entry + len + 1 : NULL;
}

static const char *lookup(struct environment *env, const char *name)
{
    for (char *const *var = env->vars; var && *var; var++)
        if (value_of(*var, name))
            return value_of(*var, name);
    if (!env->read)
        tree_text(env->tree, &env->first, "/proc/1/environ");
    env->read = true;
    for (size_t at = 0; at < env->first.len; at += strlen(env->first.data + at) + 1)
        if (value_of(env->first.data + at, name))
            return value_of(env->first.data + at, name);
    return NULL;
}

static int read_slurm(struct environment *env, struct machine_slurm *slurm, struct err *err)
{
    if (!lookup(env, "SLURM_JOB_ID"))
        return 0; // users also set the other variables, to configure a client
    return TEXTS_SET(err, {&slurm->job, lookup(env, "SLURM_JOB_ID")},
                     {&slurm->partition, lookup(env, "SLURM_JOB_PARTITION")},
                     {&slurm->node, lookup(env, "SLURMD_NODENAME")},
                     {&slurm->cluster, lookup(env, "SLURM_CLUSTER_NAME")});
}

static bool is_number(const char *text)
{
    return text && *text && text[strspn(text, "0123456789")] == '\0';
}

// Vast's label is "C.12345". Hadoop and others set CONTAINER_ID too, so without the label it counts
// only beside Vast's key.
static const char *vast_id(struct environment *env)
{
    const char *label = lookup(env, "VAST_CONTAINERLABEL"), *id = lookup(env, "CONTAINER_ID");
    if (!label && !(is_number(id) && lookup(env, "CONTAINER_API_KEY")))
        return NULL;
    if (is_number(id))
        return id;
    return strncmp(label, "C.", 2) == 0 ? label + 2 : label;
}

static int read_marketplace(struct environment *env, struct machine_where *where, struct err *err)
{
    const char *pod = lookup(env, "RUNPOD_POD_ID"), *vast = pod ? NULL : vast_id(env);
    if (!pod && !vast)
        return 0;
    return TEXTS_SET(err, {&where->provider, pod ? "runpod" : "vast"},
                     {&where->source, "environment"}, {&where->instance_id, pod ? pod : vast},
                     {&where->region, pod ? lookup(env, "RUNPOD_DC_ID") : NULL});
}

static const struct {
    enum cloud cloud;
    const char *method;
    const char *path;
    const char *headers[2];
} queries[CLOUD_ITEMS] = {
    [CLOUD_AWS_TOKEN] = {CLOUD_AWS,
                         "PUT",
                         "/latest/api/token",
                         {"X-aws-ec2-metadata-token-ttl-seconds: 60"}},
    [CLOUD_AWS_DOCUMENT] = {CLOUD_AWS, "GET", "/latest/dynamic/instance-identity/document", {NULL}},
    [CLOUD_AWS_TYPE] = {CLOUD_AWS, "GET", "/latest/meta-data/instance-type", {NULL}},
    [CLOUD_AWS_LIFE_CYCLE] = {CLOUD_AWS, "GET", "/latest/meta-data/instance-life-cycle", {NULL}},
#define GCP(item, path)                                                                            \
    [item] = {CLOUD_GCP, "GET", "/computeMetadata/v1/instance/" path, {"Metadata-Flavor: Google"}}
    GCP(CLOUD_GCP_TYPE, "machine-type"),
    GCP(CLOUD_GCP_ZONE, "zone"),
    GCP(CLOUD_GCP_ID, "id"),
    GCP(CLOUD_GCP_PREEMPTIBLE, "scheduling/preemptible"),
    GCP(CLOUD_GCP_MODEL, "scheduling/provisioning-model"),
#undef GCP
    [CLOUD_AZURE_COMPUTE] = {CLOUD_AZURE,
                             "GET",
                             "/metadata/instance/compute?api-version=2021-02-01&format=json",
                             {"Metadata: true"}},
};

struct search {
    struct http_call calls[CLOUD_ITEMS];
    struct buf urls[CLOUD_ITEMS];
    char token_header[1100];
    const char *token_headers[2];
};

// The token becomes a header of AWS's other queries. A service without tokens (IMDSv1) is queried
// without; any other failure ends AWS's queries.
static bool after_token(struct http_call *call)
{
    struct search *search = call->context;
    const struct http_call *token = call->after;
    if (token->err.code != 0)
        return false;
    if (token->status == 404 || token->status == 405)
        return true;
    const char *text = buf_str(&token->answer);
    size_t len = token->answer.len;
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (token->status != 200 || len == 0 || len > 1024)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)text[i])) // HTML, or an attempt to inject a header
            return false;
    snprintf(search->token_header, sizeof search->token_header, "X-aws-ec2-metadata-token: %.*s",
             (int)len, text);
    search->token_headers[0] = search->token_header;
    call->headers = search->token_headers;
    return true;
}

static size_t fill(struct search *search, const struct probe *probe,
                   const bool candidate[CLOUD_COUNT], enum cloud_item items[CLOUD_ITEMS])
{
    size_t count = 0, token = 0;
    const char *base = probe->metadata_url ? probe->metadata_url : METADATA_URL;
    for (enum cloud_item item = 0; item < CLOUD_ITEMS; item++) {
        if (!candidate[queries[item].cloud])
            continue;
        buf_printf(&search->urls[count], "%s%s", base, queries[item].path);
        struct http_call *call = &search->calls[count];
        *call = (struct http_call){.method = queries[item].method,
                                   .url = buf_str(&search->urls[count]),
                                   .headers = queries[item].headers,
                                   .max_bytes = BOUND_METADATA,
                                   .no_proxy = true,
                                   .context = search};
        if (item == CLOUD_AWS_TOKEN) {
            token = count;
        } else if (queries[item].cloud == CLOUD_AWS) {
            call->after = &search->calls[token];
            call->before = after_token;
        }
        items[count++] = item;
    }
    return count;
}

static int query_metadata(const struct probe *probe, const bool candidate[CLOUD_COUNT],
                          int64_t deadline_ns, struct machine_where *where, struct err *err)
{
    struct search *search = calloc(1, sizeof *search);
    if (!search)
        return err_memory(err);
    enum cloud_item items[CLOUD_ITEMS];
    size_t count = fill(search, probe, candidate, items);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = buf_check(&search->urls[i], err);
    if (rc == 0)
        rc = http_all(search->calls, count, deadline_ns, NULL);

    const struct buf *answers[CLOUD_ITEMS] = {NULL};
    for (size_t i = 0; i < count; i++)
        if (search->calls[i].err.code == 0 && search->calls[i].status == 200)
            answers[items[i]] = &search->calls[i].answer;
    bool found = false;
    if (rc == ERR_MEMORY)
        err_memory(err);
    else // without libcurl there is no answer; no failure
        rc = 0;
    for (enum cloud cloud = 0; cloud < CLOUD_COUNT && !found && rc == 0; cloud++)
        rc = cloud_parse(cloud, answers, where, &found, err);

    for (size_t i = 0; i < count; i++) {
        http_call_release(&search->calls[i]);
        buf_release(&search->urls[i]);
    }
    free(search);
    return rc;
}

// The environment comes first: RunPod and Vast rent out containers on machines that may stand in
// another cloud. That cloud's metadata and firmware describe a machine this user does not rent.
int probe_where(struct probe *probe, struct machine_where *where, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + BOUND_METADATA_NS;
    struct environment env = {.tree = &probe->tree, .vars = probe->env};
    int rc = read_slurm(&env, &where->slurm, err);
    if (rc == 0)
        rc = read_marketplace(&env, where, err);
    if (rc != 0 || where->provider)
        goto out;

    struct cloud_firmware firmware;
    cloud_firmware_read(&probe->tree, &firmware);
    bool wanted = false;
    for (int i = 0; i < CLOUD_COUNT; i++) {
        firmware.candidate[i] |= probe->metadata_url != NULL;
        wanted |= firmware.candidate[i];
    }
    // Local metadata does not describe a recorded machine.
    if (probe->no_cloud || (probe->tree.root[0] != '\0' && !probe->metadata_url))
        wanted = false;
    where->metadata_asked = some_bool(wanted);
    if (wanted && !probe->tree.failed)
        rc = query_metadata(probe, firmware.candidate, deadline_ns, where, err);
    if (rc == 0 && !where->provider && firmware.provider)
        rc = TEXTS_SET(err, {&where->provider, firmware.provider}, {&where->source, "firmware"},
                       {&where->instance_type, firmware.instance_type},
                       {&where->instance_id, firmware.instance_id});
out:
    buf_release(&env.first);
    return rc != 0 ? rc : tree_check(&probe->tree, err);
}
