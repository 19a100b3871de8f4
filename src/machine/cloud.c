// SPDX-License-Identifier: Apache-2.0
// Sources of the formats: AWS user guide ("Instance identity documents"), Google's list of
// predefined metadata keys, "Azure Instance Metadata Service".
#include "machine/cloud.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/http.h"
#include "base/proc.h"
#include "machine/probe.h"

// A one-line answer, trimmed. False if absent, empty, too long or not text.
static bool line(const struct buf *answer, char out[CLOUD_TEXT * 2])
{
    if (!answer)
        return false;
    const char *text = buf_str(answer);
    size_t len = answer->len;
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    while (len > 0 && isspace((unsigned char)*text))
        text++, len--;
    if (len == 0 || len >= CLOUD_TEXT * 2)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)text[i]))
            return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

// True if not empty, short enough and made only of these characters.
static bool made_of(const char *text, const char *characters)
{
    size_t len = text ? strlen(text) : 0;
    return len > 0 && len < CLOUD_TEXT && strspn(text, characters) == len;
}

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

// "p4d.24xlarge", "u-6tb1.metal"
static bool is_aws_type(const char *text)
{
    if (!made_of(text, LOWER DIGITS "-."))
        return false;
    const char *dot = strchr(text, '.');
    return islower((unsigned char)*text) && dot && isalnum((unsigned char)dot[1]) &&
           !strchr(dot + 1, '.');
}

// "us-west-2", "us-gov-east-1"
static bool is_aws_region(const char *text)
{
    return made_of(text, LOWER DIGITS "-") && islower((unsigned char)*text) && strchr(text, '-') &&
           isdigit((unsigned char)text[strlen(text) - 1]);
}

static bool is_aws_id(const char *text) // "i-1234567890abcdef0"
{
    return made_of(text, DIGITS "abcdef-i") && strncmp(text, "i-", 2) == 0 &&
           made_of(text + 2, DIGITS "abcdef");
}

static int set_date(char **member, const char *text, struct err *err)
{
    int64_t date_s;
    char iso[CLOCK_ISO_BYTES];
    if (!text || !clock_parse(text, &date_s))
        return 0;
    clock_iso(date_s, iso);
    return text_set(member, iso, err);
}

// An object, or null. `*rc` tells lack of memory from an answer of another form.
static json_t *parse_object(const struct buf *answer, int *rc, struct err *err)
{
    json_error_t error;
    *rc = 0;
    if (!answer)
        return NULL;
    json_t *json = json_loadb(buf_str(answer), answer->len, 0, &error);
    // jansson leaves the text empty if memory runs out outside its parser proper.
    if (!json && (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory))
        *rc = err_memory(err);
    if (json && !json_is_object(json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

static const char *member(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key)); // null for any other type
}

// Other clouds (OpenStack) imitate the meta-data folder but not the identity document, so the
// document is required.
static int parse_aws(const struct buf *const answers[], struct machine_where *where, bool *found,
                     struct err *err)
{
    int rc;
    json_auto_t *document = parse_object(answers[CLOUD_AWS_DOCUMENT], &rc, err);
    const char *type = member(document, "instanceType"), *region = member(document, "region");
    const char *id = member(document, "instanceId"), *zone = member(document, "availabilityZone");
    char cycle[CLOUD_TEXT * 2], plain_type[CLOUD_TEXT * 2];
    if (!is_aws_type(type) && line(answers[CLOUD_AWS_TYPE], plain_type))
        type = plain_type; // old documents lack it
    if (rc != 0 || !is_aws_type(type) || !is_aws_region(region) || !is_aws_id(id))
        return rc;
    *found = true;
    bool zone_ok = made_of(zone, LOWER DIGITS "-") && strncmp(zone, region, strlen(region)) == 0;
    rc = TEXTS_SET(err, {&where->provider, "aws"}, {&where->source, "metadata"},
                   {&where->instance_type, type}, {&where->instance_id, id},
                   {&where->region, region}, {&where->zone, zone_ok ? zone : NULL});
    if (rc == 0)
        rc = set_date(&where->launched_at, member(document, "pendingTime"), err);
    if (line(answers[CLOUD_AWS_LIFE_CYCLE], cycle) && made_of(cycle, LOWER "-"))
        where->spot = some_bool(strcmp(cycle, "spot") == 0); // on-demand, scheduled, ...
    return rc;
}

// The NAME of "projects/123456789012/KIND/NAME"; null for anything else.
static const char *gcp_name(const char *text, const char *kind)
{
    const char *p = text;
    if (strncmp(p, "projects/", 9) != 0)
        return NULL;
    p += 9;
    size_t digits = strspn(p, DIGITS);
    if (digits == 0 || strncmp(p + digits, kind, strlen(kind)) != 0)
        return NULL;
    p += digits + strlen(kind);
    return made_of(p, LOWER DIGITS "-") && islower((unsigned char)*p) ? p : NULL;
}

static void gcp_spot(const struct buf *const answers[], struct machine_where *where)
{
    char model[CLOUD_TEXT * 2], preemptible[CLOUD_TEXT * 2];
    bool has_model = line(answers[CLOUD_GCP_MODEL], model) && made_of(model, UPPER "_");
    bool has_flag = line(answers[CLOUD_GCP_PREEMPTIBLE], preemptible) &&
                    (strcmp(preemptible, "TRUE") == 0 || strcmp(preemptible, "FALSE") == 0);
    if (!has_model && !has_flag)
        return;
    // Preemptible is the older form of spot, at the same price.
    where->spot = some_bool((has_model && strcmp(model, "SPOT") == 0) ||
                            (has_flag && strcmp(preemptible, "TRUE") == 0));
}

// In Kubernetes a proxy answers that knows the zone but not the type; either is enough.
static int parse_gcp(const struct buf *const answers[], struct machine_where *where, bool *found,
                     struct err *err)
{
    char type_line[CLOUD_TEXT * 2], zone_line[CLOUD_TEXT * 2], id[CLOUD_TEXT * 2];
    const char *type = NULL, *zone = NULL;
    if (line(answers[CLOUD_GCP_TYPE], type_line))
        type = gcp_name(type_line, "/machineTypes/");
    if (line(answers[CLOUD_GCP_ZONE], zone_line))
        zone = gcp_name(zone_line, "/zones/");
    if (!type && !zone)
        return 0;
    *found = true;
    bool id_ok = line(answers[CLOUD_GCP_ID], id) && made_of(id, DIGITS);
    TRY(TEXTS_SET(err, {&where->provider, "gcp"}, {&where->source, "metadata"},
                  {&where->instance_type, type}, {&where->zone, zone},
                  {&where->instance_id, id_ok ? id : NULL}));
    const char *dash = zone ? strrchr(zone, '-') : NULL; // us-central1-a is in us-central1
    if (dash && dash > zone) {
        char region[CLOUD_TEXT];
        memcpy(region, zone, (size_t)(dash - zone));
        region[dash - zone] = '\0';
        TRY(text_set(&where->region, region, err));
    }
    gcp_spot(answers, where);
    return 0;
}

// "priority" is "Spot", "Low" (its older form), "Regular", or "" if never set.
static int parse_azure(const struct buf *const answers[], struct machine_where *where, bool *found,
                       struct err *err)
{
    int rc;
    json_auto_t *compute = parse_object(answers[CLOUD_AZURE_COMPUTE], &rc, err);
    const char *size = member(compute, "vmSize"), *location = member(compute, "location");
    const char *id = member(compute, "vmId"), *zone = member(compute, "zone");
    const char *priority = member(compute, "priority");
    if (rc != 0 || !made_of(size, LOWER UPPER DIGITS "_-") || !made_of(location, LOWER DIGITS) ||
        !made_of(id, LOWER UPPER DIGITS "-"))
        return rc;
    *found = true;
    rc = TEXTS_SET(err, {&where->provider, "azure"}, {&where->source, "metadata"},
                   {&where->instance_type, size}, {&where->region, location},
                   {&where->instance_id, id}, {&where->zone, made_of(zone, DIGITS) ? zone : NULL});
    if (priority && (!*priority || made_of(priority, LOWER UPPER)))
        where->spot =
            some_bool(strcasecmp(priority, "Spot") == 0 || strcasecmp(priority, "Low") == 0);
    return rc;
}

int cloud_parse(enum cloud cloud, const struct buf *const answers[CLOUD_ITEMS],
                struct machine_where *where, bool *found, struct err *err)
{
    *found = false;
    switch (cloud) {
    case CLOUD_AWS:
        return parse_aws(answers, where, found, err);
    case CLOUD_GCP:
        return parse_gcp(answers, where, found, err);
    case CLOUD_AZURE:
        return parse_azure(answers, where, found, err);
    case CLOUD_COUNT:
        break;
    }
    return 0;
}

// A file of the firmware tables; "" if missing.
static bool dmi(struct tree *tree, const char *name, char out[CLOUD_TEXT * 2])
{
    SCOPED(buf_release) struct buf text = {0};
    bool there = tree_text(tree, &text, "/sys/class/dmi/id/%s", name);
    size_t len = strnlen(buf_str(&text), CLOUD_TEXT * 2 - 1);
    memcpy(out, buf_str(&text), len);
    out[len] = '\0';
    return there;
}

static void name_provider(struct cloud_firmware *firmware, const char *provider, enum cloud cloud)
{
    firmware->provider = provider;
    firmware->candidate[cloud] = true;
}

void cloud_firmware_read(struct tree *tree, struct cloud_firmware *firmware)
{
    char vendor[CLOUD_TEXT * 2], product[CLOUD_TEXT * 2], bios[CLOUD_TEXT * 2];
    char bios_version[CLOUD_TEXT * 2], board[CLOUD_TEXT * 2], tag[CLOUD_TEXT * 2];
    char asset[CLOUD_TEXT * 2];
    memset(firmware, 0, sizeof *firmware);
    bool there = dmi(tree, "sys_vendor", vendor);
    there |= dmi(tree, "product_name", product);
    there |= dmi(tree, "bios_vendor", bios);
    there |= dmi(tree, "bios_version", bios_version);
    there |= dmi(tree, "board_vendor", board);
    there |= dmi(tree, "chassis_asset_tag", tag);

    if (strcmp(vendor, "Amazon EC2") == 0 || strcmp(bios, "Amazon EC2") == 0 ||
        strcmp(board, "Amazon EC2") == 0 || strcasestr(bios_version, "amazon")) {
        name_provider(firmware, "aws", CLOUD_AWS);
        // Nitro machines carry their type and id; those on Xen do not.
        if (is_aws_type(product))
            memcpy(firmware->instance_type, product, strlen(product) + 1);
        if (dmi(tree, "board_asset_tag", asset) && is_aws_id(asset))
            memcpy(firmware->instance_id, asset, strlen(asset) + 1);
    } else if (strncmp(product, "Google", 6) == 0) { // the vendor alone may be a Chromebook
        name_provider(firmware, "gcp", CLOUD_GCP);
    } else if (strcmp(vendor, "Microsoft Corporation") == 0 &&
               strcmp(tag, "7783-7084-3265-9085-8269-3286-77") == 0) { // else any Hyper-V
        name_provider(firmware, "azure", CLOUD_AZURE);
    } else {
        SCOPED(buf_release) struct buf uuid = {0};
        // Old Xen. One in 4096 foreign UUIDs starts like this too: query AWS, but do not name it.
        if (tree_text(tree, &uuid, "/sys/hypervisor/uuid") &&
            strncasecmp(buf_str(&uuid), "ec2", 3) == 0)
            firmware->candidate[CLOUD_AWS] = true;
        else if (!there)
            for (int i = 0; i < CLOUD_COUNT; i++)
                firmware->candidate[i] = true;
    }
}

// ==== cloud ====
// Detects the cloud provider. All queries run in parallel under one deadline. A computer whose
// firmware rules out a cloud sends none.

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

// An empty variable counts as none.
static const char *lookup(struct environment *env, const char *name)
{
    const char *value = env_value(env->vars, name);
    if (value && *value)
        return value;
    if (!env->read)
        tree_text(env->tree, &env->first, "/proc/1/environ");
    env->read = true;
    for (size_t at = 0; at < env->first.len; at += strlen(env->first.data + at) + 1) {
        char *const entry[] = {env->first.data + at, NULL};
        value = env_value(entry, name);
        if (value && *value)
            return value;
    }
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

struct cloud_search {
    struct http_call calls[CLOUD_ITEMS];
    struct buf urls[CLOUD_ITEMS];
    char token_header[1100];
    const char *token_headers[2];
};

// The token becomes a header of AWS's other queries. A service without tokens (IMDSv1) is queried
// without; any other failure ends AWS's queries.
static bool after_token(struct http_call *call)
{
    struct cloud_search *search = call->context;
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

static size_t fill_search(struct cloud_search *search, const struct probe *probe,
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
    SCOPED(free_pointer) struct cloud_search *search = calloc(1, sizeof *search);
    if (!search)
        return err_memory(err);
    enum cloud_item items[CLOUD_ITEMS];
    size_t count = fill_search(search, probe, candidate, items);
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
