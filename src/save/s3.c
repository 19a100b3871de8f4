// SPDX-License-Identifier: Apache-2.0
#include "save/s3.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/utf8.h"

#define DEPTH_MAX  12
#define NAME_BYTES 64

struct xml_walker {
    const char *at, *end;
    char names[DEPTH_MAX][NAME_BYTES];
    bool leaf[DEPTH_MAX]; // no element was in it so far
    int depth;
    struct buf value;
    xml_element *element;
    void *context;
    struct err *err;
};

static int xml_bad(struct xml_walker *w, const char *why)
{
    return err_set(w->err, ERR_FORMAT, "not the XML of S3: %s", why);
}

// Up to and past `stop`; false: it does not come.
static bool skip_past(struct xml_walker *w, const char *stop)
{
    const char *xml_found = memmem(w->at, (size_t)(w->end - w->at), stop, strlen(stop));
    if (xml_found)
        w->at = xml_found + strlen(stop);
    return xml_found != NULL;
}

static int add_entity(struct xml_walker *w)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t left = (size_t)(w->end - w->at);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        size_t len = strlen(named[i].name);
        if (left >= len && memcmp(w->at, named[i].name, len) == 0) {
            buf_addc(&w->value, named[i].c);
            w->at += len;
            return 0;
        }
    }
    const char *p = w->at + 1, *stop = memchr(w->at, ';', left < 12 ? left : 12);
    if (!stop || *p++ != '#')
        return xml_bad(w, "an entity that is not known");
    int base = p < stop && *p == 'x' ? 16 : 10;
    p += base == 16;
    uint32_t c = 0;
    for (; p < stop && isxdigit((unsigned char)*p) && c <= 0x10ffff; p++)
        c = c * (uint32_t)base + (uint32_t)(isdigit((unsigned char)*p)
                                                ? *p - '0'
                                                : tolower((unsigned char)*p) - 'a' + 10);
    if (p != stop || c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return xml_bad(w, "an entity that is no character");
    char bytes[UTF8_MAX];
    buf_add(&w->value, bytes, utf8_put(c, bytes));
    w->at = stop + 1;
    return 0;
}

static int close_element(struct xml_walker *w)
{
    const char *stop = memchr(w->at, '>', (size_t)(w->end - w->at));
    if (!stop || w->depth == 0)
        return xml_bad(w, "an end without a beginning");
    const char *name = w->names[w->depth - 1];
    size_t len = strlen(name);
    if ((size_t)(stop - w->at) < len || memcmp(w->at, name, len) != 0)
        return xml_bad(w, "an end of something else");
    w->at = stop + 1;
    w->depth--;
    const char *parent = w->depth ? w->names[w->depth - 1] : "";
    TRY(buf_check(&w->value, w->err));
    int rc =
        w->element(w->context, parent, name, w->leaf[w->depth] ? buf_str(&w->value) : NULL, w->err);
    buf_reset(&w->value);
    return rc;
}

static int open_element(struct xml_walker *w)
{
    const char *stop = memchr(w->at, '>', (size_t)(w->end - w->at)), *p = w->at;
    if (!stop)
        return xml_bad(w, "it is cut");
    while (p < stop && !isspace((unsigned char)*p) && *p != '/')
        p++;
    size_t len = (size_t)(p - w->at);
    if (len == 0 || len >= NAME_BYTES || memchr(w->at, '\0', len))
        return xml_bad(w, "an element without a fit name");
    if (w->depth == DEPTH_MAX)
        return xml_bad(w, "nested too deep");
    if (w->depth > 0)
        w->leaf[w->depth - 1] = false;
    memcpy(w->names[w->depth], w->at, len);
    w->names[w->depth][len] = '\0';
    w->leaf[w->depth++] = true;
    buf_reset(&w->value);
    bool empty = stop[-1] == '/' && stop > w->at;
    w->at = stop + 1;
    if (!empty)
        return 0;
    w->depth--;
    return w->element(w->context, w->depth ? w->names[w->depth - 1] : "", w->names[w->depth], "",
                      w->err);
}

static int tag(struct xml_walker *w)
{
    w->at++;
    if (w->at < w->end && *w->at == '?')
        return skip_past(w, "?>") ? 0 : xml_bad(w, "it is cut");
    if (w->end - w->at >= 3 && memcmp(w->at, "!--", 3) == 0)
        return skip_past(w, "-->") ? 0 : xml_bad(w, "it is cut");
    if (w->at < w->end && *w->at == '!')
        return xml_bad(w, "a declaration");
    if (w->at < w->end && *w->at == '/') {
        w->at++;
        return close_element(w);
    }
    return open_element(w);
}

int xml_walk(const char *text, size_t len, xml_element *element, void *context, struct err *err)
{
    struct xml_walker w = {
        .at = text, .end = text + len, .element = element, .context = context, .err = err};
    int rc = 0;
    bool any = false;
    while (rc == 0 && w.at < w.end) {
        if (*w.at == '<') {
            rc = tag(&w);
            any |= w.depth > 0;
        } else if (*w.at == '&') {
            rc = add_entity(&w);
        } else if (*w.at == '\0') {
            rc = xml_bad(&w, "a zero byte");
        } else {
            buf_addc(&w.value, *w.at++);
        }
    }
    if (rc == 0 && (w.depth > 0 || !any))
        rc = xml_bad(&w, any ? "it is cut" : "no element");
    if (rc == 0)
        rc = buf_check(&w.value, err);
    buf_release(&w.value);
    return rc;
}

struct xml_search {
    const char *name;
    char *out;
    size_t size;
};

static int xml_found(void *context, const char *parent, const char *name, const char *value,
                     struct err *err)
{
    struct xml_search *f = context;
    (void)parent, (void)err;
    if (!value || strcmp(name, f->name) != 0)
        return 0;
    snprintf(f->out, f->size, "%s", value);
    return 1;
}

bool xml_find(const char *text, size_t len, const char *name, char *out, size_t size)
{
    struct xml_search f = {name, out, size};
    struct err err = {0};
    out[0] = '\0';
    return xml_walk(text, len, xml_found, &f, &err) == 1;
}

// ---- Requests

#define METADATA   "http://169.254.169.254"
#define CONNECT_MS 10000
#define STALL_MS   20000
#define PARALLEL   4
#define SESSIONS   16  // connections kept open; more threads get some of their own
#define WORDS      200 // of a server's message, at most

struct s3 {
    char *bucket, *prefix; // "" or "a/b/"
    char *base;            // "https://host/bucket" or "https://bucket.host"
    char *shown;           // the endpoint, for messages
    char metadata[512];    // "": no role
    char ca_file[512];     // "": those of the system (http.h)
    char region[64], sigv4[96];
    int64_t connect_ms, stall_ms, pause_ms;
    int parallel;
    pthread_mutex_t lock; // of the rest
    struct s3_keys keys;
    struct http_session *idle[SESSIONS];
    int idle_count;
};

const char *s3_prefix(const struct s3 *s3)
{
    return s3->prefix;
}

int s3_parallel(const struct s3 *s3)
{
    return s3->parallel;
}

void s3_encode(const char *text, bool keep_slash, struct buf *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 128 && isalnum(c)) || strchr("-._~", c) || (keep_slash && c == '/'))
            buf_addc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

// ---- Opening

// A name as S3 allows: it becomes a part of an address.
static bool bucket_fits(const char *name, size_t len)
{
    if (len < 3 || len > 63 || !isalnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i]))
            return false;
    return true;
}

static int set_place(struct s3 *s3, const char *place, struct err *err)
{
    const char *bucket = place + strlen("s3://"), *slash = strchr(bucket, '/');
    size_t len = slash ? (size_t)(slash - bucket) : strlen(bucket);
    if (strncmp(place, "s3://", 5) != 0 || len == 0)
        return err_set(err, ERR_USAGE, "'%.200s' is not of the form s3://bucket/prefix", place);
    if (!bucket_fits(bucket, len)) {
        err_set(err, ERR_USAGE, "'%.*s' cannot be a bucket's name", len < 200 ? (int)len : 200,
                bucket);
        return err_hint(err, "it has 3 to 63 letters, digits, '-', '.' or '_'");
    }
    SCOPED(buf_release) struct buf name = {0}, prefix = {0};
    bool fits = true;
    buf_add(&name, bucket, len);
    while (slash && *slash == '/')
        slash++;
    for (const char *p = slash ? slash : ""; *p; p++) {
        if ((unsigned char)*p < 32 || *p == 127)
            fits = false;
        if (*p != '/' || (p[1] && p[1] != '/')) // one slash between two parts, none at the end
            buf_addc(&prefix, *p);
    }
    if (!fits || prefix.len > 500)
        return err_set(err, ERR_USAGE, "the prefix of '%.200s' has unfit characters or is too long",
                       place);
    if (prefix.len > 0)
        buf_addc(&prefix, '/');
    s3->bucket = buf_take(&name, err);
    s3->prefix = buf_take(&prefix, err);
    return s3->bucket && s3->prefix ? 0 : ERR_MEMORY;
}

static const char *first_of(const char *a, const char *b, const char *c, const char *d)
{
    const char *all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (all[i] && all[i][0])
            return all[i];
    return NULL;
}

static int set_address(struct s3 *s3, const struct store_options *o,
                       const struct s3_profile *profile, struct err *err)
{
    struct buf base = {0}, shown = {0};
    const char *given = first_of(o->endpoint, getenv("AWS_ENDPOINT_URL_S3"),
                                 getenv("AWS_ENDPOINT_URL"), profile->endpoint);
    const char *region =
        first_of(o->region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), profile->region);
    region = region ? region : "us-east-1";
    bool fits = strlen(region) < sizeof s3->region;
    for (const char *p = region; *p; p++)
        fits &= isalnum((unsigned char)*p) || *p == '-';
    if (!fits)
        return err_set(err, ERR_USAGE, "'%.60s' is not a region", region);
    snprintf(s3->region, sizeof s3->region, "%s", region);
    snprintf(s3->sigv4, sizeof s3->sigv4, "aws:amz:%s:s3", region);
    if (given && strncasecmp(given, "http://", 7) != 0 && strncasecmp(given, "https://", 8) != 0)
        return err_set(err, ERR_USAGE, "the endpoint '%.200s' does not begin with https://", given);
    if (given) {
        size_t len = strlen(given);
        while (len > 0 && given[len - 1] == '/')
            len--;
        char clean[HTTP_SHOWN_BYTES];
        http_shown(given, clean);
        buf_adds(&shown, clean);
        buf_printf(&base, "%.*s/%s", (int)len, given, s3->bucket);
    } else {
        bool in_path = strpbrk(s3->bucket, "._"); // no certificate fits that name
        buf_printf(&shown, "Amazon S3 in %s", region);
        buf_printf(&base,
                   in_path ? "https://s3.%2$s.amazonaws.com/%1$s"
                           : "https://%1$s.s3.%2$s.amazonaws.com",
                   s3->bucket, region);
    }
    s3->base = buf_take(&base, err);
    s3->shown = buf_take(&shown, err);
    return s3->base && s3->shown ? 0 : ERR_MEMORY;
}

static int set_metadata(struct s3 *s3, const struct store_options *o, struct err *err)
{
    const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
    const char *address = first_of(o->metadata, getenv("FARE_METADATA"), METADATA, NULL);
    bool off = strcmp(address, "off") == 0 || (disabled && strcasecmp(disabled, "true") == 0);
    if (!off)
        snprintf(s3->metadata, sizeof s3->metadata, "%s", address);
    if (s3->keys.id[0] || !off)
        return 0;
    err_set(err, ERR_USAGE, "there are no credentials for S3");
    return err_hint(err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE");
}

static int set_certificates(struct s3 *s3, const struct s3_profile *profile, struct err *err)
{
    const char *given = getenv("AWS_CA_BUNDLE");
    bool from_profile = !given || !given[0];
    snprintf(s3->ca_file, sizeof s3->ca_file, "%s", from_profile ? profile->ca_bundle : given);
    if (!s3->ca_file[0] || access(s3->ca_file, R_OK) == 0)
        return 0;
    return err_errno(err, errno, "cannot read the CA certificates '%.300s' (%s)", s3->ca_file,
                     from_profile ? "ca_bundle of the profile" : "AWS_CA_BUNDLE");
}

static int set_all(struct s3 *s3, const char *place, const struct store_options *o,
                   struct s3_profile *profile, struct err *err)
{
    TRY(set_place(s3, place, err));
    TRY(s3_keys_find(&s3->keys, profile, err));
    TRY(set_address(s3, o, profile, err));
    TRY(set_metadata(s3, o, err));
    return set_certificates(s3, profile, err);
}

int s3_open(struct s3 **out, const char *place, const struct store_options *options,
            struct err *err)
{
    struct s3_profile profile = {0};
    const struct store_options o = options ? *options : (struct store_options){0};
    struct s3 *s3 = calloc(1, sizeof *s3);
    if (!s3)
        return err_memory(err);
    pthread_mutex_init(&s3->lock, NULL);
    s3->connect_ms = o.connect_ms ? o.connect_ms : CONNECT_MS;
    s3->stall_ms = o.stall_ms ? o.stall_ms : STALL_MS;
    s3->pause_ms = o.pause_ms;
    s3->parallel = o.parallel ? o.parallel : PARALLEL;
    int rc = set_all(s3, place, &o, &profile, err);
    explicit_bzero(&profile, sizeof profile);
    if (rc != 0)
        s3_free(s3);
    else
        *out = s3;
    return rc;
}

void s3_free(struct s3 *s3)
{
    if (!s3)
        return;
    for (int i = 0; i < s3->idle_count; i++)
        http_session_free(s3->idle[i]);
    s3_keys_wipe(&s3->keys);
    pthread_mutex_destroy(&s3->lock);
    free(s3->bucket), free(s3->prefix), free(s3->base), free(s3->shown);
    free(s3);
}

// ---- What requests share

static struct http_session *take_session(struct s3 *s3, struct err *err)
{
    struct http_session *session = NULL;
    pthread_mutex_lock(&s3->lock);
    if (s3->idle_count > 0)
        session = s3->idle[--s3->idle_count];
    pthread_mutex_unlock(&s3->lock);
    return session ? session : http_session_new(err);
}

static void give_session(struct s3 *s3, struct http_session *session)
{
    pthread_mutex_lock(&s3->lock);
    if (session && s3->idle_count < SESSIONS) {
        s3->idle[s3->idle_count++] = session;
        session = NULL;
    }
    pthread_mutex_unlock(&s3->lock);
    http_session_free(session);
}

void s3_rest(struct s3 *s3)
{
    for (;;) {
        struct http_session *session = NULL;
        pthread_mutex_lock(&s3->lock);
        if (s3->idle_count > 1)
            session = s3->idle[--s3->idle_count];
        pthread_mutex_unlock(&s3->lock);
        if (!session)
            return;
        http_session_free(session);
    }
}

static int take_keys(struct s3 *s3, struct s3_keys *keys, int64_t deadline_ns, struct err *err)
{
    int rc = 0;
    pthread_mutex_lock(&s3->lock);
    bool stale = s3->keys.role && clock_date_s() >= s3->keys.until_s;
    if (!s3->keys.id[0] || stale) {
        struct s3_keys fresh = {0};
        rc = s3_keys_of_role(&fresh, s3->metadata, deadline_ns, err);
        if (rc == 0)
            s3->keys = fresh;
        s3_keys_wipe(&fresh);
    }
    *keys = s3->keys;
    pthread_mutex_unlock(&s3->lock);
    return rc;
}

// ---- One request

static bool worth_another_try(const struct http_call *call)
{
    char code[64];
    if (call->err.code)
        return call->err.code == ERR_IO || call->err.code == ERR_TIMEOUT ||
               call->err.code == ERR_MISSING || (call->err.code == ERR_FORMAT && !call->too_long);
    if (call->status == 429 || call->status >= 500)
        return call->status != 501 && call->status != 507;
    // A body that did not arrive in time, or that was damaged on the way.
    if ((call->status == 400 || call->status == 409) &&
        xml_find(buf_str(&call->answer), call->answer.len, "Code", code, sizeof code))
        return strcmp(code, "RequestTimeout") == 0 || strcmp(code, "BadDigest") == 0 ||
               strcmp(code, "XAmzContentSHA256Mismatch") == 0 ||
               strcmp(code, "ConditionalRequestConflict") == 0 ||
               strcmp(code, "IncompleteBody") == 0;
    return false;
}

// However slowly it drips, an answer ends. A HEAD says how long an object is and sends none of it.
static int64_t longest_ms(const struct s3_request *r)
{
    bool head = r->method && strcmp(r->method, "HEAD") == 0;
    size_t bytes = r->body_len + (head ? 0 : r->max_bytes ? r->max_bytes : BOUND_S3_ANSWER);
    return BOUND_REQUEST_MS + (int64_t)(bytes / BOUND_SLOWEST) * 1000;
}

static int ask_once(struct s3 *s3, const struct s3_request *r, const char *url,
                    const char *sha256_header, struct http_call *call, struct err *err)
{
    struct s3_keys keys;
    SCOPED(buf_release) struct buf token = {0};
    const char *headers[5] = {sha256_header};
    size_t count = 1;
    TRY(take_keys(s3, &keys, r->deadline_ns, err));
    buf_printf(&token, "x-amz-security-token: %s", keys.token);
    if (keys.token[0])
        headers[count++] = buf_str(&token);
    if (r->header)
        headers[count++] = r->header;
    headers[count] = NULL;
    http_call_release(call);
    *call = (struct http_call){.method = r->method,
                               .url = url,
                               .headers = headers,
                               .body = r->body,
                               .body_len = r->body_len,
                               .max_bytes = r->max_bytes ? r->max_bytes : BOUND_S3_ANSWER,
                               .timeout_ms = longest_ms(r),
                               .connect_ms = s3->connect_ms,
                               .stall_ms = s3->stall_ms,
                               .stop = r->stop,
                               .ca_file = s3->ca_file[0] ? s3->ca_file : NULL,
                               .sigv4 = s3->sigv4,
                               .user = keys.id,
                               .password = keys.secret};
    int rc = buf_check(&token, err);
    struct http_session *session = rc == 0 ? take_session(s3, err) : NULL;
    if (rc == 0)
        rc = session ? http_all_in(session, call, 1, r->deadline_ns, err) : ERR_MEMORY;
    give_session(s3, session);
    // What these point to ends here.
    call->headers = NULL, call->user = call->password = call->url = NULL;
    if (token.data)
        explicit_bzero(token.data, token.len);
    s3_keys_wipe(&keys);
    return rc;
}

static void url_of(const struct s3 *s3, const struct s3_request *r, struct buf *url)
{
    buf_printf(url, "%s/", s3->base);
    if (r->name) {
        s3_encode(s3->prefix, true, url);
        s3_encode(r->name, true, url);
    }
    if (r->query)
        buf_printf(url, "?%s", r->query);
}

int s3_ask(struct s3 *s3, const struct s3_request *r, struct http_call *call, struct err *err)
{
    SCOPED(buf_release) struct buf url = {0};
    char sum[SHA256_HEX_BYTES], header[128];
    struct pause pause = pause_begin(s3->pause_ms, r->deadline_ns, r->stop);
    if (!r->body_sha256)
        sha256_hex_of(r->body ? r->body : "", r->body_len, sum);
    snprintf(header, sizeof header, "x-amz-content-sha256: %s",
             r->body_sha256 ? r->body_sha256 : sum);
    url_of(s3, r, &url);
    int rc = buf_check(&url, err), tries = r->tries ? r->tries : STORE_TRIES;
    for (int i = 0; rc == 0; i++) {
        rc = ask_once(s3, r, buf_str(&url), header, call, err);
        if (rc != 0 || !worth_another_try(call))
            break;
        if (i + 1 >= tries || !pause_wait(&pause))
            break;
    }
    if (rc == 0 && call->err.code) {
        bool stopped = r->stop && atomic_load(r->stop);
        // "Not there" is said of objects; here it is the server.
        int code = stopped ? ERR_FAIL : call->err.code == ERR_MISSING ? ERR_IO : call->err.code;
        rc = err_set(err, code, "%s", stopped ? "stopped" : call->err.text);
        if (call->err.hint[0])
            err_hint(err, "%s%s", call->err.hint,
                     code == ERR_USAGE ? " or, for S3 alone, AWS_CA_BUNDLE" : "");
    }
    return rc;
}

// ---- Refusals

static int clock_is_off(const struct s3 *s3, const struct http_call *call, const char *doing,
                        struct err *err)
{
    char here[CLOCK_ISO_BYTES], there[64];
    if (!xml_find(buf_str(&call->answer), call->answer.len, "ServerTime", there, sizeof there) &&
        !http_header(call, "Date", there, sizeof there))
        snprintf(there, sizeof there, "another time");
    clock_iso(clock_date_s(), here);
    err_set(err, ERR_USAGE, "%s: the clock of this machine says %s, that of %s says %s", doing,
            here, s3->shown, there);
    return err_hint(err,
                    "set the clock (timedatectl set-ntp true): signatures need it within 15 min");
}

static int wrong_region(const struct s3 *s3, const struct http_call *call, const char *doing,
                        struct err *err)
{
    char region[64] = "";
    if (!http_header(call, "x-amz-bucket-region", region, sizeof region))
        xml_find(buf_str(&call->answer), call->answer.len, "Region", region, sizeof region);
    err_set(err, ERR_USAGE, "%s: bucket '%s' is not in region %s", doing, s3->bucket, s3->region);
    return err_hint(err, "set AWS_REGION%s%s", region[0] ? "=" : "", region);
}

static int wrong_keys(const struct s3 *s3, const char *doing, const char *code, struct err *err)
{
    bool known = strcmp(code, "AccessDenied") == 0 || !code[0];
    err_set(err, ERR_USAGE, "%s: %s %s", doing, s3->shown,
            known ? "denies access with these credentials" : "does not accept the credentials");
    return err_hint(
        err, "they are from %s%s", s3->keys.from,
        strcmp(code, "SignatureDoesNotMatch") == 0 ? "; the secret key does not fit its id" : "");
}

// A server's own words, made harmless.
static void words_of(const struct http_call *call, char out[WORDS])
{
    if (!xml_find(buf_str(&call->answer), call->answer.len, "Message", out, WORDS))
        out[0] = '\0';
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < 32 || (unsigned char)*p >= 127)
            *p = '?';
}

int s3_refused(struct s3 *s3, const struct http_call *call, const char *doing, struct err *err)
{
    char code[64], words[WORDS];
    if (!xml_find(buf_str(&call->answer), call->answer.len, "Code", code, sizeof code))
        code[0] = '\0';
    for (char *p = code; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '?';
    words_of(call, words);
    if (strcmp(code, "RequestTimeTooSkewed") == 0 || strcmp(code, "RequestExpired") == 0)
        return clock_is_off(s3, call, doing, err);
    if (strcmp(code, "NoSuchBucket") == 0)
        return err_set(err, ERR_USAGE, "%s: there is no bucket '%s' at %s", doing, s3->bucket,
                       s3->shown);
    if (call->status == 301 || call->status == 307 ||
        strcmp(code, "AuthorizationHeaderMalformed") == 0)
        return wrong_region(s3, call, doing, err);
    if (strcmp(code, "ExpiredToken") == 0 || strcmp(code, "InvalidToken") == 0) {
        err_set(err, ERR_USAGE, "%s: the credentials have expired", doing);
        return err_hint(err, "they are from %s", s3->keys.from);
    }
    if (call->status == 401 || call->status == 403)
        return wrong_keys(s3, doing, code, err);
    if (call->status == 404)
        return err_set(err, ERR_MISSING, "%s: it is not there", doing);
    return err_set(err, call->status >= 500 || call->status == 429 ? ERR_IO : ERR_FORMAT,
                   "%s: %s answered %d%s%s%s%s", doing, s3->shown, call->status, code[0] ? " " : "",
                   code, words[0] ? ": " : "", words);
}

int s3_must(struct s3 *s3, const struct s3_request *request, const char *doing,
            struct http_call *call, struct err *err)
{
    int rc = s3_ask(s3, request, call, err);
    if (rc != 0)
        err_context(err, "%s", doing);
    else if (call->status < 200 || call->status >= 300)
        rc = s3_refused(s3, call, doing, err);
    return rc;
}
