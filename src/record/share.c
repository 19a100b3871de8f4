// SPDX-License-Identifier: Apache-2.0
// One pass over the text, which was validated when it was stored; of anything else it makes other
// text that no reader accepts.
#include "record/share.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "record/read.h"
#include "record/run.h"

enum { NAMES_MOST = 32, NAME_LEAST = 3, NAME_BYTES = 256, DEPTH_MOST = 2048, PATH_BYTES = 128 };

struct sharing {
    char names[NAMES_MOST][NAME_BYTES];
    size_t name_count;
    struct buf *out;
    char path[PATH_BYTES]; // of the member at hand: "use.gpu_list.uuid"; lists add nothing
    size_t depth;
    bool plain; // the member has names of hardware and figures only
};

static const char *const left_out[] = {"host",
                                       "user",
                                       "saving.place",
                                       "saving.attempts.host",
                                       "spent.resource",
                                       "code.folder",
                                       "code.interpreter",
                                       "use.gpu_list.uuid",
                                       NULL};

static const char *const plain_members[] = {
    "schema", "id",      "started", "workload", "framework", "engine", "precision",
    "net",    "recipe",  "ended",   "machine",  "phases",    "steady", "libraries",
    "use",    "account", "quality", "stages",   NULL};

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

// ---- names

static void add_part(struct sharing *w, const char *name, size_t len)
{
    if (len >= NAME_LEAST && len < NAME_BYTES && w->name_count < NAMES_MOST)
        snprintf(w->names[w->name_count++], NAME_BYTES, "%.*s", (int)len, name);
}

// Of "node-1.example.org", "node-1" too.
static void add_name(struct sharing *w, const char *name)
{
    if (!name || strncmp(name, "sha256:", 7) == 0)
        return;
    add_part(w, name, strlen(name));
    if (strspn(name, "0123456789.") < strlen(name) && strchr(name, '.'))
        add_part(w, name, strcspn(name, "."));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// The length of the name that begins at `p`, as a word of its own; 0: none does.
static size_t name_at(const struct sharing *w, const char *begin, const char *p, const char *end)
{
    if (p > begin && is_word(p[-1]))
        return 0;
    for (size_t i = 0; i < w->name_count; i++) {
        size_t len = strlen(w->names[i]);
        if (len <= (size_t)(end - p) && strncasecmp(p, w->names[i], len) == 0 &&
            (p + len == end || !is_word(p[len])))
            return len;
    }
    return 0;
}

// Appends the text with its names hidden; false if it has none.
static bool hide(const struct sharing *w, const char *p, const char *end, struct buf *out)
{
    const char *begin = p, *copied = p;
    while (p < end) {
        size_t len = name_at(w, begin, p, end);
        if (len > 0) {
            buf_add(out, copied, (size_t)(p - copied));
            buf_adds(out, "***");
            copied = p + len;
        }
        p += len > 0 ? len : 1;
    }
    if (copied < end && copied > begin)
        buf_add(out, copied, (size_t)(end - copied));
    return copied > begin;
}

// A name may be written with escapes.
static void copy_escaped(struct sharing *w, const char *p, const char *end)
{
    SCOPED(buf_release) struct buf text = {0}, hidden = {0};
    char *quoted = NULL;
    struct err err = {0};
    int rc = record_read_string(p, (size_t)(end - p), &text, &err);
    bool any = rc == 0 && hide(w, buf_str(&text), buf_str(&text) + text.len, &hidden);
    if (any) {
        json_t *json = hidden.failed ? NULL : json_stringn(buf_str(&hidden), hidden.len);
        quoted = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
        json_decref(json);
        buf_adds(w->out, quoted ? quoted : "");
    } else {
        buf_add(w->out, p, (size_t)(end - p));
    }
    w->out->failed |= rc == ERR_MEMORY || (any && !quoted);
    free(quoted);
}

static void copy_text(struct sharing *w, const char *p, const char *end)
{
    if (w->plain || w->name_count == 0)
        buf_add(w->out, p, (size_t)(end - p));
    else if (memchr(p, '\\', (size_t)(end - p)))
        copy_escaped(w, p, end);
    else if (!hide(w, p, end, w->out))
        buf_add(w->out, p, (size_t)(end - p));
}

// ---- values

static const char *spaces(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

// Behind the second quote.
static const char *text_end(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

static const char *value(struct sharing *w, const char *p, bool shown);

// Below the member whose path it is; `len` bytes were there before.
static size_t enter(struct sharing *w, const char *key, size_t key_len)
{
    size_t len = strlen(w->path);
    snprintf(w->path + len, PATH_BYTES - len, "%s%.*s", len ? "." : "", (int)key_len, key);
    return len;
}

static bool is_folder(const char *text)
{
    return strncmp(text, "\"/", 2) == 0 || strncmp(text, "\"~", 2) == 0 ||
           strncmp(text, "\".", 2) == 0;
}

static const char *object(struct sharing *w, const char *p, bool shown)
{
    bool any = false;
    for (p = spaces(p + 1); *p == '"' || *p == ','; p = spaces(p)) {
        if (*p == ',') {
            p++;
            continue;
        }
        const char *key = p, *end = text_end(p), *colon = spaces(end);
        size_t len = enter(w, key + 1, end > key + 1 ? (size_t)(end - key) - 2 : 0);
        bool was_plain = w->plain;
        if (len == 0)
            w->plain = is_one_of(w->path, plain_members);
        const char *at = spaces(*colon == ':' ? colon + 1 : colon);
        bool shows = shown && !is_one_of(w->path, left_out) &&
                     !(strcmp(w->path, "data.source") == 0 && is_folder(at)) &&
                     !memchr(key, '\\', (size_t)(end - key)); // no key of ours
        if (shows) {
            buf_adds(w->out, any ? "," : "");
            buf_add(w->out, key, (size_t)(end - key));
            buf_addc(w->out, ':');
            any = true;
        }
        p = value(w, at, shows);
        w->path[len] = '\0';
        w->plain = was_plain;
    }
    return *p == '}' ? p + 1 : p;
}

static const char *list(struct sharing *w, const char *p, bool shown)
{
    const char *before;
    for (p = spaces(p + 1); *p && *p != ']'; p = spaces(p)) {
        if (*p == ',') {
            if (shown)
                buf_addc(w->out, ',');
            p = spaces(p + 1);
        }
        before = p;
        p = value(w, p, shown);
        if (p == before)
            break;
    }
    return *p == ']' ? p + 1 : p;
}

static const char *value(struct sharing *w, const char *p, bool shown)
{
    const char *end;
    bool opens = *p == '{' || *p == '[';
    if (opens && w->depth < DEPTH_MOST) {
        char closes = *p == '{' ? '}' : ']';
        w->depth++;
        if (shown)
            buf_addc(w->out, *p);
        p = *p == '{' ? object(w, p, shown) : list(w, p, shown);
        if (shown)
            buf_addc(w->out, closes);
        w->depth--;
        return p;
    }
    if (*p == '"') {
        end = text_end(p);
        if (shown)
            copy_text(w, p, end);
        return end;
    }
    end = p + strcspn(p, ",]}\" \t\r\n");
    if (shown)
        buf_add(w->out, p, (size_t)(end - p));
    return end;
}

// ---- the record

static struct record_part named_part = {.of = run_fields,
                                        .members = "host user saving.attempts.host"};

int share_record(const char *text, const char *const *names, struct buf *out, struct err *err)
{
    struct sharing w = {.out = out};
    struct run run = {0};
    int rc = record_from_text(record_part(&named_part), text, strlen(text), &run, err);
    if (rc == 0) {
        for (; names && *names; names++)
            add_name(&w, *names);
        add_name(&w, run.host);
        add_name(&w, run.user);
        for (size_t i = 0; i < run.saving.attempts.count; i++)
            add_name(&w, run.saving.attempts.items[i].host);
        value(&w, spaces(text), true);
        rc = buf_check(out, err);
    }
    record_release(record_part(&named_part), &run);
    return rc;
}

// ---- this machine

static bool tells_nothing(const char *name)
{
    static const char *const common[] = {
        "root",      "user", "users", "ubuntu", "debian", "admin",    "fare",   "data",
        "localhost", "home", "guest", "train",  "runner", "ec2-user", "nobody", NULL};
    return strlen(name) < NAME_LEAST || is_one_of(name, common);
}

void share_here(struct share_here *here)
{
    *here = (struct share_here){.host = ""};
    if (gethostname(here->host, sizeof here->host - 1) != 0)
        here->host[0] = '\0';
    const char *user = getenv("LOGNAME") ? getenv("LOGNAME") : getenv("USER");
    snprintf(here->user, sizeof here->user, "%s", user ? user : "");
    if (tells_nothing(here->host))
        here->host[0] = '\0';
    if (tells_nothing(here->user))
        here->user[0] = '\0';
}
