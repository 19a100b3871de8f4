// SPDX-License-Identifier: Apache-2.0
#include "save/s3.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"

#define FILE_MAX  ((size_t)1 << 20)
#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"
#define EARLY_S   300 // a role's keys are replaced this long before they expire

void s3_keys_wipe(struct s3_keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}

// ---- Files

// Trims `text` in place; what it starts with then.
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    return text;
}

static void keep_value(struct s3_profile *out, const char *name, const char *value)
{
    const struct {
        const char *name;
        char *to;
        size_t size;
    } known[] = {
        {"aws_access_key_id", out->id, sizeof out->id},
        {"aws_secret_access_key", out->secret, sizeof out->secret},
        {"aws_session_token", out->token, sizeof out->token},
        {"region", out->region, sizeof out->region},
        {"endpoint_url", out->endpoint, sizeof out->endpoint},
        {"ca_bundle", out->ca_bundle, sizeof out->ca_bundle},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0 && strlen(value) < known[i].size && !known[i].to[0])
            snprintf(known[i].to, known[i].size, "%s", value);
}

// "[NAME]", in the config file "[profile NAME]" or "[default]".
static bool is_section(char *line, const char *name, bool config)
{
    char *end = strchr(line, ']');
    if (!end)
        return false;
    *end = '\0';
    char *title = trim(line + 1);
    if (config && strncmp(title, "profile", 7) == 0 && isspace((unsigned char)title[7]))
        title = trim(title + 7);
    else if (config && strcmp(title, "default") != 0)
        return false;
    return strcmp(title, name) == 0;
}

bool s3_profile_parse(const char *text, const char *name, bool config, struct s3_profile *out)
{
    bool inside = false, found = false;
    char line[8192];
    while (*text) {
        size_t len = strcspn(text, "\n");
        bool fits = len < sizeof line;
        memcpy(line, text, fits ? len : 0);
        line[fits ? len : 0] = '\0';
        text += len + (text[len] == '\n');
        if (line[0] == '[') {
            inside = is_section(line, name, config);
            found |= inside;
            continue;
        }
        char *equals = strchr(line, '=');
        // A line that begins with a space belongs to the one above it ("s3 =" and its own values).
        if (!inside || !equals || line[0] == '#' || line[0] == ';' ||
            isspace((unsigned char)line[0]))
            continue;
        *equals = '\0';
        keep_value(out, trim(line), trim(equals + 1));
    }
    explicit_bzero(line, sizeof line);
    return found;
}

static void path_of(const char *variable, const char *name, char *out, size_t size)
{
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given && given[0])
        snprintf(out, size, "%s", given);
    else
        snprintf(out, size, "%s/.aws/%s", home ? home : "", name);
}

// A file that is not there says nothing.
static int read_profile(const char *path, const char *name, bool config, bool *found,
                        struct s3_profile *out, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct err why = {0};
    int rc = fs_read(path, FILE_MAX, &text, &why);
    if (rc == ERR_MISSING)
        rc = 0;
    else if (rc != 0)
        err_pass(err, rc, &why);
    else
        *found |= s3_profile_parse(buf_str(&text), name, config, out);
    if (text.data)
        explicit_bzero(text.data, text.len);
    return rc;
}

static int from_files(struct s3_keys *keys, struct s3_profile *profile, struct err *err)
{
    const char *given = getenv("AWS_PROFILE"), *name = given && given[0] ? given : "default";
    char credentials[512], config[512];
    bool found = false;
    path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials", credentials, sizeof credentials);
    path_of("AWS_CONFIG_FILE", "config", config, sizeof config);
    TRY(read_profile(credentials, name, false, &found, profile, err));
    TRY(read_profile(config, name, true, &found, profile, err));
    if (keys->id[0])
        return 0; // the environment has them; only region and endpoint were wanted
    if (!found && given && given[0])
        return err_set(err, ERR_USAGE, "AWS_PROFILE is '%.60s', and neither '%s' nor '%s' has it",
                       name, credentials, config);
    if (!profile->id[0] != !profile->secret[0])
        return err_set(err, ERR_USAGE,
                       "profile '%.60s' has only one of aws_access_key_id and "
                       "aws_secret_access_key",
                       name);
    snprintf(keys->id, sizeof keys->id, "%s", profile->id);
    snprintf(keys->secret, sizeof keys->secret, "%s", profile->secret);
    snprintf(keys->token, sizeof keys->token, "%s", profile->token);
    snprintf(keys->from, sizeof keys->from, "profile '%.60s' in %.200s", name, credentials);
    return 0;
}

int s3_keys_find(struct s3_keys *keys, struct s3_profile *profile, struct err *err)
{
    const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *token = getenv("AWS_SESSION_TOKEN");
    *keys = (struct s3_keys){0};
    *profile = (struct s3_profile){0};
    bool has_id = id && id[0], has_secret = secret && secret[0];
    if (has_id != has_secret)
        return err_set(err, ERR_USAGE, "%s is set and %s is not",
                       has_id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                       has_id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    if (has_id) {
        if (strlen(id) >= sizeof keys->id || strlen(secret) >= sizeof keys->secret ||
            (token && strlen(token) >= sizeof keys->token))
            return err_set(err, ERR_USAGE, "the keys in the environment (AWS_...) are too long");
        snprintf(keys->id, sizeof keys->id, "%s", id);
        snprintf(keys->secret, sizeof keys->secret, "%s", secret);
        snprintf(keys->token, sizeof keys->token, "%s", token ? token : "");
        snprintf(keys->from, sizeof keys->from, "the environment");
    }
    return from_files(keys, profile, err);
}

// ---- The instance's role

static bool text_member(json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) >= size)
        return false;
    snprintf(out, size, "%s", text);
    return true;
}

int s3_role_parse(const char *text, struct s3_keys *keys, struct err *err)
{
    json_auto_t *json = json_loads(text, 0, NULL);
    char until[64] = "";
    struct s3_keys got = {.role = true};
    bool whole = text_member(json, "AccessKeyId", got.id, sizeof got.id) &&
                 text_member(json, "SecretAccessKey", got.secret, sizeof got.secret) &&
                 text_member(json, "Token", got.token, sizeof got.token) &&
                 text_member(json, "Expiration", until, sizeof until) &&
                 clock_parse(until, &got.until_s) && got.id[0] && got.secret[0];
    if (whole) {
        snprintf(got.from, sizeof got.from, "the instance's role");
        got.until_s -= EARLY_S;
        *keys = got;
    }
    s3_keys_wipe(&got);
    return whole ? 0 : err_set(err, ERR_FORMAT, "the metadata service sent no keys for the role");
}

// One GET, or the PUT for the token. ERR_USAGE where nobody answers: then there is no role.
static int ask(const char *metadata, const char *method, const char *path, const char *header,
               struct buf *out, int64_t deadline_ns, struct err *err)
{
    SCOPED(buf_release) struct buf url = {0};
    const char *headers[] = {header, NULL};
    buf_printf(&url, "%s%s", metadata, path);
    SCOPED(http_call_release)
    struct http_call call = {.method = method,
                             .url = buf_str(&url),
                             .headers = headers,
                             .timeout_ms = BOUND_ROLE_MS,
                             .connect_ms = 2000,
                             .max_bytes = BOUND_ROLE,
                             .no_proxy = true};
    TRY(buf_check(&url, err));
    int rc = http_all(&call, 1, deadline_ns, err);
    if (rc == 0 && (call.err.code || call.status != 200))
        rc = err_set(err, call.err.code ? ERR_MISSING : ERR_USAGE, "no role");
    if (rc == 0) {
        buf_add(out, buf_str(&call.answer), call.answer.len);
        rc = buf_check(out, err);
    }
    if (call.answer.data)
        explicit_bzero(call.answer.data, call.answer.len);
    return rc;
}

int s3_keys_of_role(struct s3_keys *keys, const char *metadata, int64_t deadline_ns,
                    struct err *err)
{
    SCOPED(buf_release) struct buf token = {0}, role = {0}, path = {0}, answer = {0}, header = {0};
    struct err why = {0};
    int rc = ask(metadata, "PUT", "/latest/api/token",
                 "X-aws-ec2-metadata-token-ttl-seconds: 21600", &token, deadline_ns, &why);
    buf_printf(&header, "X-aws-ec2-metadata-token: %.*s", (int)strcspn(buf_str(&token), "\r\n"),
               buf_str(&token));
    if (rc == 0)
        rc = ask(metadata, "GET", ROLE_PATH, buf_str(&header), &role, deadline_ns, &why);
    // The first line is the role's name.
    buf_printf(&path, ROLE_PATH "%.*s", (int)strcspn(buf_str(&role), " \r\n?#"), buf_str(&role));
    if (rc == 0)
        rc = ask(metadata, "GET", buf_str(&path), buf_str(&header), &answer, deadline_ns, &why);
    if (rc == 0)
        rc = s3_role_parse(buf_str(&answer), keys, &why);
    if (rc == ERR_MEMORY) {
        err_memory(err);
    } else if (rc == ERR_FORMAT) {
        err_pass(err, rc, &why);
    } else if (rc != 0) {
        rc = err_set(err, ERR_USAGE, "there are no credentials for S3");
        err_hint(err,
                 "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the "
                 "instance a role");
    }
    if (answer.data)
        explicit_bzero(answer.data, answer.len);
    return rc;
}
