// SPDX-License-Identifier: Apache-2.0
#include "save/manifest.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "save/keep.h"
#include "save/store_kind.h"

#define MEGATRON_DIGITS 7

// A plain name in one line, or "".
static void name_in(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    (void)folder;
    size_t len = strcspn(text, "\r\n");
    bool good = len > 0 && len < 256 && text[len + strspn(text + len, "\r\n")] == '\0' &&
                text[0] != '.' && !memchr(text, '/', len);
    snprintf(out, BESIDE_TEXT, "%.*s", good ? (int)len : 0, text);
}

// "100" is Megatron's iter_0000100 or verl's global_step_100, whichever is there.
static void iteration_item(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    char name[BESIDE_TEXT];
    name_in(folder, text, name);
    size_t digits = strspn(name, "0123456789");
    bool number = digits > 0 && digits < 18 && !name[digits];
    snprintf(out, BESIDE_TEXT, "%s", strcmp(name, "release") == 0 ? name : "");
    if (!number)
        return;
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/global_step_%s", folder, name);
    if (!path.failed && access(buf_str(&path), F_OK) == 0)
        snprintf(out, BESIDE_TEXT, "global_step_%.18s", name);
    else
        snprintf(out, BESIDE_TEXT, "iter_%0*lld", MEGATRON_DIGITS, strtoll(name, NULL, 10));
}

static void keras_item(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    (void)folder;
    snprintf(out, BESIDE_TEXT, "%s", strchr(text, '}') ? "latest.weights.h5" : "");
}

static const struct {
    const char *name;
    void (*item)(const char *folder, const char *text, char out[BESIDE_TEXT]);
} kinds[] = {{"latest", name_in},
             {"latest_checkpointed_iteration.txt", iteration_item},
             {"training_metadata.json", keras_item}};

static bool read_kind(const char *folder, size_t i, struct beside *out)
{
    char path[PATH_MAX];
    SCOPED(buf_release) struct buf text = {0};
    struct stat st;
    bool good = snprintf(path, sizeof path, "%s/%s", folder, kinds[i].name) < (int)sizeof path &&
                stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < BESIDE_TEXT &&
                fs_read(path, BESIDE_TEXT - 1, &text, NULL) == 0 &&
                !memchr(buf_str(&text), '\0', text.len) &&
                utf8_bad(buf_str(&text), text.len) == text.len;
    if (good) {
        snprintf(out->text, sizeof out->text, "%s", buf_str(&text));
        kinds[i].item(folder, out->text, out->item);
        out->name = kinds[i].name;
        out->modified_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    }
    return good && out->item[0];
}

bool beside_read(const char *folder, struct beside *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (read_kind(folder, i, out))
            return true;
    *out = (struct beside){0};
    return false;
}

// The name of such a file: "latest".
static bool beside_is_name(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return true;
    return false;
}

bool beside_is_shard(const char *name)
{
    return strncmp(name, "mp_rank_", 8) == 0 || strstr(name, "zero_pp_rank_") != NULL ||
           (name[0] && text_ends(name + 1, ".distcp"));
}

bool beside_is_awaited(const char *name)
{
    return strncmp(name, "iter_", 5) == 0 && strlen(name) == 5 + MEGATRON_DIGITS &&
           strspn(name + 5, "0123456789") == MEGATRON_DIGITS;
}

// ---- Manifests

static void manifest_entry_release(struct manifest_entry *entry)
{
    free(entry->path), free(entry->target), free(entry->parts), free(entry->data);
    *entry = (struct manifest_entry){0};
}

void manifest_release(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        manifest_entry_release(&manifest->items[i]);
    free(manifest->items), free(manifest->job), free(manifest->name);
    free(manifest->beside), free(manifest->beside_text), free(manifest->place);
    *manifest = (struct manifest){0};
}

int64_t manifest_bytes(const struct manifest *manifest)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < manifest->count; i++)
        bytes += manifest->items[i].bytes;
    return bytes;
}

int64_t manifest_files(const struct manifest *manifest)
{
    int64_t files = 0;
    for (size_t i = 0; i < manifest->count; i++)
        files += manifest->items[i].kind == MANIFEST_FILE;
    return files;
}

static bool same_entry(const struct manifest_entry *a, const struct manifest_entry *b)
{
    if (a->kind != b->kind || strcmp(a->path, b->path) != 0)
        return false;
    if (a->kind == MANIFEST_LINK)
        return strcmp(a->target, b->target) == 0;
    return a->mode == b->mode && a->bytes == b->bytes && memcmp(a->sum, b->sum, sizeof a->sum) == 0;
}

bool manifest_same(const struct manifest *a, const struct manifest *b)
{
    if (a->count != b->count || a->file != b->file || strcmp(a->name, b->name) != 0 ||
        !a->beside != !b->beside)
        return false;
    if (a->beside && (strcmp(a->beside, b->beside) != 0 || strcmp(a->place, b->place) != 0 ||
                      strcmp(a->beside_text, b->beside_text) != 0))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_entry(&a->items[i], &b->items[i]))
            return false;
    return true;
}

// ---- Paths

bool manifest_path_fits(const char *path)
{
    if (!path[0] || path[0] == '/' || strlen(path) > 4000)
        return false;
    for (const char *part = path; part;) {
        size_t len = strcspn(part, "/");
        if (len == 0 || len > 255 || (len == 1 && part[0] == '.') ||
            (len == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part = part[len] ? part + len + 1 : NULL;
    }
    return true;
}

static int depth_of(const char *path)
{
    int depth = 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

bool manifest_link_fits(const char *path, const char *target)
{
    int depth = depth_of(path); // folders between the tree's root and where the target's parts lead
    if (!target[0] || target[0] == '/' || strlen(target) > 4000)
        return false;
    for (const char *part = target; part;) {
        size_t len = strcspn(part, "/");
        if (len == 2 && part[0] == '.' && part[1] == '.')
            depth--;
        else if (len > 0 && !(len == 1 && part[0] == '.'))
            depth++;
        if (depth < 0)
            return false;
        part = part[len] ? part + len + 1 : NULL;
    }
    return true;
}

// "data/EEEEEEEEEE-NNNNNN/SHA256"
static bool data_fits(const char *data, const char *sum)
{
    const char *p = data + 5;
    if (strncmp(data, "data/", 5) != 0 || !store_name_fits(data))
        return false;
    while (isdigit((unsigned char)*p))
        p++;
    if (p != data + 15 || *p++ != '-')
        return false;
    const char *number = p;
    while (isdigit((unsigned char)*p))
        p++;
    return p - number >= 6 && *p == '/' && strcmp(p + 1, sum) == 0;
}

// ---- Writing

static json_t *entry_json(const struct manifest_entry *entry, struct buf *parts)
{
    char sum[SHA256_HEX_BYTES];
    int64_t count = store_part_count(entry->bytes);
    if (entry->kind == MANIFEST_LINK)
        return json_pack("{s:s, s:s}", "path", entry->path, "link", entry->target);
    if (entry->kind == MANIFEST_FOLDER)
        return json_pack("{s:s, s:b, s:i}", "path", entry->path, "folder", 1, "mode",
                         (int)entry->mode);
    buf_reset(parts);
    for (int64_t i = 0; i < count; i++) {
        sha256_hex(entry->parts[i], sum);
        buf_adds(parts, sum);
    }
    sha256_hex(entry->sum, sum);
    return json_pack("{s:s, s:I, s:i, s:s, s:s, s:s}", "path", entry->path, "bytes",
                     (json_int_t)entry->bytes, "mode", (int)entry->mode, "sha256", sum, "parts",
                     buf_str(parts), "data", entry->data);
}

int manifest_write(const struct manifest *m, struct buf *out, struct err *err)
{
    char date[CLOCK_ISO_BYTES];
    SCOPED(buf_release) struct buf parts = {0};
    json_auto_t *entries = json_array(), *beside = NULL;
    for (size_t i = 0; i < m->count; i++)
        if (json_array_append_new(entries, entry_json(&m->items[i], &parts)) != 0)
            return err_memory(err);
    TRY(buf_check(&parts, err));
    clock_iso(m->date_s, date);
    if (m->beside && !(beside = json_pack("{s:s, s:s, s:s}", "name", m->beside, "text",
                                          m->beside_text, "folder", m->place)))
        return err_memory(err);
    return store_json(json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:I, s:b, s:O*, s:O}", "format",
                                KEEP_MANIFEST, "job", m->job, "name", m->name, "epoch",
                                (json_int_t)m->epoch, "number", (json_int_t)m->number, "date", date,
                                "step", (json_int_t)m->step, "file", m->file, "beside", beside,
                                "entries", entries),
                      out, err);
}

// ---- Reading

static bool hex_read(const char *hex, uint8_t out[SHA256_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 2 * SHA256_BYTES; i++) {
        const char *digit = hex[i] ? strchr(digits, hex[i]) : NULL;
        if (!digit)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] << 4 | (digit - digits) : digit - digits);
    }
    return true;
}

static bool member_int(json_t *json, const char *name, int64_t least, int64_t most, int64_t *out)
{
    json_t *value = json_object_get(json, name);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= least && *out <= most;
}

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_FORMAT, "the manifest is damaged: %s", what);
}

static int read_file(json_t *json, struct manifest_entry *entry, struct err *err)
{
    const char *sum = json_string_value(json_object_get(json, "sha256"));
    const char *parts = json_string_value(json_object_get(json, "parts"));
    const char *data = json_string_value(json_object_get(json, "data"));
    if (!member_int(json, "bytes", 0, INT64_C(1) << 50, &entry->bytes))
        return bad(err, "a size");
    int64_t count = store_part_count(entry->bytes);
    if (!sum || strlen(sum) != 2 * SHA256_BYTES || !hex_read(sum, entry->sum))
        return bad(err, "a sum");
    if (!parts || strlen(parts) != (size_t)count * 2 * SHA256_BYTES)
        return bad(err, "the sums of parts");
    if (!data || !data_fits(data, sum))
        return bad(err, "the name of data");
    entry->parts = calloc((size_t)count + 1, SHA256_BYTES);
    if (!entry->parts)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++)
        if (!hex_read(parts + i * 2 * SHA256_BYTES, entry->parts[i]))
            return bad(err, "the sums of parts");
    entry->data = text_copy(data, err);
    return entry->data ? 0 : ERR_MEMORY;
}

static int read_entry(json_t *json, const struct manifest *m, struct manifest_entry *entry,
                      struct err *err)
{
    const char *path = json_string_value(json_object_get(json, "path"));
    const char *target = json_string_value(json_object_get(json, "link"));
    int64_t mode = 0777;
    if (!path || (m->file ? path[0] != '\0' : !manifest_path_fits(path)))
        return bad(err, "a path");
    entry->path = text_copy(path, err);
    if (!entry->path)
        return ERR_MEMORY;
    if (target) {
        entry->kind = MANIFEST_LINK;
        if (m->file || !manifest_link_fits(path, target))
            return bad(err, "a link that leads out of it");
        entry->target = text_copy(target, err);
        return entry->target ? 0 : ERR_MEMORY;
    }
    if (!member_int(json, "mode", 0, 0777, &mode))
        return bad(err, "a mode");
    entry->mode = (mode_t)mode;
    if (!json_is_true(json_object_get(json, "folder")))
        return read_file(json, entry, err);
    entry->kind = MANIFEST_FOLDER;
    return m->file ? bad(err, "a folder in a file") : 0;
}

const struct manifest_entry *manifest_find(const struct manifest *m, const char *path, size_t len)
{
    size_t from = 0, to = m->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct manifest_entry *entry = &m->items[middle];
        int order = strncmp(entry->path, path, len);
        order = order ? order : entry->path[len] != '\0';
        if (order == 0)
            return entry;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

// Whether the folder that it is in is there, as a folder: what lies below a link would be written
// elsewhere, and folders that are not listed are more than can be counted.
static bool in_folder(const struct manifest *m, const char *path)
{
    const char *slash = strrchr(path, '/');
    const struct manifest_entry *entry =
        slash ? manifest_find(m, path, (size_t)(slash - path)) : NULL;
    return !slash || (entry && entry->kind == MANIFEST_FOLDER);
}

// Through another link, ".." leads elsewhere than it seems to.
static bool through_another(const struct manifest *m, const struct manifest_entry *link)
{
    char path[8200];
    const char *slash = strrchr(link->path, '/');
    size_t len = slash ? (size_t)(slash - link->path) : 0;
    snprintf(path, sizeof path, "%.*s", (int)len, link->path);
    for (const char *part = link->target; part;) {
        size_t part_len = strcspn(part, "/");
        const char *next = part[part_len] ? part + part_len + 1 : NULL;
        if (part_len == 2 && part[0] == '.' && part[1] == '.') {
            char *up = strrchr(path, '/');
            *(up ? up : path) = '\0';
        } else if (part_len > 0 && !(part_len == 1 && part[0] == '.')) {
            size_t at = strlen(path);
            snprintf(path + at, sizeof path - at, "%s%.*s", at ? "/" : "", (int)part_len, part);
            const struct manifest_entry *entry = manifest_find(m, path, strlen(path));
            if (next && entry && entry->kind == MANIFEST_LINK)
                return true;
        }
        part = next;
    }
    return false;
}

static int read_entries(json_t *list, struct manifest *m, struct err *err)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > KEEP_FILES || (m->file && count != 1))
        return bad(err, "the number of files");
    for (size_t i = 0; i < count; i++) {
        TRY(array_grow(&m->items, m->count, &m->cap, sizeof *m->items, err));
        struct manifest_entry *entry = &m->items[m->count++];
        *entry = (struct manifest_entry){0};
        TRY(read_entry(json_array_get(list, i), m, entry, err));
        if (i > 0 && strcmp(entry[-1].path, entry->path) >= 0)
            return bad(err, "paths out of order");
        if (!in_folder(m, entry->path))
            return bad(err, "a path below a file or a link, or below no folder");
        if (depth_of(entry->path) > MANIFEST_DEPTH)
            return bad(err, "a path that is nested too deep");
    }
    for (size_t i = 0; i < count; i++)
        if (m->items[i].kind == MANIFEST_LINK && through_another(m, &m->items[i]))
            return bad(err, "a link through another link");
    return 0;
}

static int read_head(json_t *json, struct manifest *m, struct err *err)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *job = json_string_value(json_object_get(json, "job"));
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *date = json_string_value(json_object_get(json, "date"));
    if (!format || strcmp(format, KEEP_MANIFEST) != 0)
        return bad(err, "its format is not " KEEP_MANIFEST);
    if (!job || !job[0] || strlen(job) > 255)
        return bad(err, "its job");
    if (!name || !manifest_path_fits(name) || strchr(name, '/'))
        return bad(err, "its name");
    if (!member_int(json, "epoch", 1, INT64_C(9999999999), &m->epoch) ||
        !member_int(json, "number", 1, INT64_C(999999999), &m->number) ||
        !member_int(json, "step", -1, INT64_MAX, &m->step))
        return bad(err, "its number");
    if (!date || !clock_parse(date, &m->date_s))
        m->date_s = 0;
    m->file = json_is_true(json_object_get(json, "file"));
    m->job = text_copy(job, err);
    m->name = text_copy(name, err);
    return m->job && m->name ? 0 : ERR_MEMORY;
}

static int read_beside(json_t *json, struct manifest *m, struct err *err)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *text = json_string_value(json_object_get(json, "text"));
    const char *place = json_string_value(json_object_get(json, "folder"));
    if (!json)
        return 0;
    if (!name || !beside_is_name(name) || strcmp(name, m->name) == 0 || !text ||
        strlen(text) >= BESIDE_TEXT || !place || (place[0] && !manifest_path_fits(place)))
        return bad(err, "the file beside it");
    m->beside = text_copy(name, err);
    m->beside_text = text_copy(text, err);
    m->place = text_copy(place, err);
    return m->beside && m->beside_text && m->place ? 0 : ERR_MEMORY;
}

// Whether its values are so few that reading them takes little memory: a value may take a hundred
// times its text.
static bool few_values(const char *text)
{
    size_t values = 0;
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted)
            values += *p == ',' || *p == '[' || *p == '{';
    }
    return values <= BOUND_MANIFEST_VALUES;
}

int manifest_read(const char *text, struct manifest *m, struct err *err)
{
    *m = (struct manifest){0};
    if (!few_values(text))
        return bad(err, "it has too many values");
    json_auto_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    int rc = json ? read_head(json, m, err) : bad(err, "no JSON");
    if (rc == 0)
        rc = read_beside(json_object_get(json, "beside"), m, err);
    if (rc == 0)
        rc = read_entries(json_object_get(json, "entries"), m, err);
    if (rc != 0)
        manifest_release(m);
    return rc;
}

// ---- Markers

int marker_write(const struct marker *marker, struct buf *out, struct err *err)
{
    json_t *passed = marker->passed ? json_true() : NULL;
    return store_json(json_pack("{s:s, s:s, s:I, s:I, s:s, s:o*}", "format", KEEP_MANIFEST, "job",
                                marker->job, "epoch", (json_int_t)marker->epoch, "number",
                                (json_int_t)marker->number, "manifest", marker->sum, "passed",
                                passed),
                      out, err);
}

bool marker_read(const char *text, struct marker *marker)
{
    json_auto_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *job = json_string_value(json_object_get(json, "job"));
    const char *sum = json_string_value(json_object_get(json, "manifest"));
    *marker = (struct marker){0};
    bool whole = format && strcmp(format, KEEP_MANIFEST) == 0 && job && job[0] &&
                 strlen(job) < sizeof marker->job && sum &&
                 (strlen(sum) == SHA256_HEX_BYTES - 1 || !sum[0]) &&
                 member_int(json, "epoch", 0, INT64_C(9999999999), &marker->epoch) &&
                 member_int(json, "number", 0, INT64_C(999999999), &marker->number);
    if (whole) {
        snprintf(marker->job, sizeof marker->job, "%s", job);
        snprintf(marker->sum, sizeof marker->sum, "%s", sum);
        marker->passed = json_is_true(json_object_get(json, "passed"));
    }
    return whole;
}
