// SPDX-License-Identifier: Apache-2.0
#include "book/renew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/http.h"
#include "base/sha256.h"
#include "base/tree.h"
#include "book/book.h"
#include "record/field.h"
#include "tables/files.h"

enum {
    STALL_MS = 20000,
    LIST_MAX = 1 << 20,
    TAG_MOST = 256,
    HOUR_S = 3600,
    DAY_S = 86400,
    AGAIN_S = 6 * DAY_S
};

// ---- the sources

#define AT(member) offsetof(struct renewal_source, member)
static const char *const kept_words[] = {"daily", "by hand", NULL};
static const struct column table_columns[] = {
    {"provider", COLUMN_TEXT, AT(provider)},
    {"url", COLUMN_TEXT, AT(url), COLUMN_EMPTY},
    {"kept", COLUMN_TEXT, AT(kept), COLUMN_EMPTY, .words = kept_words},
    {"known", COLUMN_TEXT, AT(known), COLUMN_EMPTY},
    {"known_date", COLUMN_DAY, AT(known_day), COLUMN_EMPTY},
    {"none", COLUMN_TEXT, AT(none), COLUMN_EMPTY},
    {"source", COLUMN_TEXT, AT(source)},
    {"date", COLUMN_JOINED, AT(source)},
    {0}};

static int check_source(const struct columns_row *at, void *arg, struct err *err)
{
    const struct renewal_source *row = arg;
    return !row->url == !row->none
               ? columns_fault(at, "url", err, "either an address, or why there is none")
               : 0;
}

static const struct columns table = {table_columns, sizeof(struct renewal_source), true,
                                     check_source};

// What BOOK.sources has of each address.
static const struct column state_columns[] = {
    {"url", COLUMN_TEXT, AT(url)},
    {"etag", COLUMN_TEXT, AT(etag), COLUMN_EMPTY},
    {"modified", COLUMN_TEXT, AT(modified), COLUMN_EMPTY},
    {"fetched", COLUMN_WHOLE, AT(fetched_s), .least = 0, .most = 1e12},
    {"asked", COLUMN_WHOLE, AT(asked_s), .least = 0, .most = 1e12},
    {"answered", COLUMN_WHOLE, AT(answered_s), .least = 0, .most = 1e12},
    {0}};
#undef AT
static const struct columns state_table = {state_columns, sizeof(struct renewal_source), false,
                                           NULL};

struct source_list {
    LIST_OF(struct renewal_source) rows;
};

static void release_source(struct renewal_source *s)
{
    char *const texts[] = {s->provider, s->url,  s->none,     s->kept,
                           s->known,    s->etag, s->modified, s->source};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
}

static int add_url(struct renewal *r, const char *url, struct err *err)
{
    TRY(array_grow(&r->items, r->count, &r->cap, sizeof *r->items, err));
    struct renewal_source *s = &r->items[r->count];
    *s = (struct renewal_source){.url = text_copy(url, err)};
    r->count += s->url != NULL;
    return s->url ? 0 : ERR_MEMORY;
}

// The user's own list; `*listed` is false without one.
static int add_listed(struct renewal *r, bool *listed, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    TRY(files_own("price-sources", &path, err));
    *listed = path.len > 0 && access(buf_str(&path), F_OK) == 0;
    TRY(*listed ? fs_read(buf_str(&path), LIST_MAX, &text, err) : 0);
    char *cursor = text.data;
    for (char *line; cursor && (line = text_line(&cursor));) {
        line += strspn(line, " \t");
        line[strcspn(line, " \t\r#")] = '\0';
        TRY(*line ? add_url(r, line, err) : 0);
    }
    return 0;
}

// A row of the table for each address that has one, so that a user's list knows of them too.
static int add_table(struct renewal *r, bool all, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    struct source_list list = {0};
    int rc = files_shipped("price-sources.csv", &path, err);
    if (rc == 0)
        rc = columns_load(&table, buf_str(&path), false, &list, NULL, err);
    for (size_t k = 0; k < r->count && rc == 0; k++)
        for (size_t i = 0; i < list.rows.count; i++) {
            struct renewal_source *row = &list.rows.items[i];
            if (row->url && strcmp(row->url, r->items[k].url) == 0) {
                release_source(&r->items[k]);
                r->items[k] = *row;
                *row = (struct renewal_source){0};
            }
        }
    if (rc == 0 && all) {
        r->items = list.rows.items;
        r->count = list.rows.count;
        list.rows.items = NULL;
        list.rows.count = 0;
    }
    columns_release(&table, &list);
    return rc;
}

static struct renewal_source *find(const struct renewal *r, const char *url)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].url && strcmp(r->items[i].url, url) == 0)
            return &r->items[i];
    return NULL;
}

static int64_t *times_of(struct renewal_source *s, size_t i)
{
    return i == 0 ? &s->fetched_s : i == 1 ? &s->asked_s : &s->answered_s;
}

// What was kept of the last renewal. A file that cannot be read has nothing: then all is fetched,
// as where the book was removed.
static int load_state(struct renewal *r, struct err *err)
{
    struct source_list list = {0};
    struct err why = {0};
    bool book = access(buf_str(&r->book), F_OK) == 0;
    int rc = columns_load(&state_table, buf_str(&r->state), true, &list, NULL, &why);
    for (size_t i = 0; rc == 0 && i < list.rows.count; i++) {
        struct renewal_source *from = &list.rows.items[i], *to = find(r, from->url);
        if (!to)
            continue;
        for (size_t k = 0; k < 3; k++)
            *times_of(to, k) = *times_of(from, k);
        char *tag = to->etag, *modified = to->modified;
        if (book) {
            to->etag = from->etag;
            to->modified = from->modified;
            from->etag = tag;
            from->modified = modified;
        } else {
            to->answered_s = 0;
        }
    }
    columns_release(&state_table, &list);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

static void put_state(struct csv_writer *w, struct renewal_source *s)
{
    csv_put(w, s->url);
    csv_put(w, s->etag);
    csv_put(w, s->modified);
    for (size_t k = 0; k < 3; k++)
        csv_put(w, short_text("%lld", (long long)*times_of(s, k)).s);
    csv_end(w);
}

// Keeps what is known of other addresses.
static int save_state(const struct renewal *r, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct csv_writer w = {.out = &text};
    struct source_list others = {0};
    struct err why = {0};
    buf_adds(&text, "url,etag,modified,fetched,asked,answered\n");
    int rc = columns_load(&state_table, buf_str(&r->state), true, &others, NULL, &why);
    for (size_t i = 0; rc == 0 && i < others.rows.count; i++)
        if (!find(r, others.rows.items[i].url))
            put_state(&w, &others.rows.items[i]);
    columns_release(&state_table, &others);
    TRY(rc == ERR_MEMORY ? err_memory(err) : 0);
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].url)
            put_state(&w, &r->items[i]);
    TRY(buf_check(&text, err));
    return fs_write_private(buf_str(&r->state), text.data, text.len, err);
}

int renewal_open(struct renewal *r, const char *const *urls, size_t count, struct err *err)
{
    bool listed = count > 0;
    for (size_t i = 0; i < count; i++)
        TRY(add_url(r, urls[i], err));
    TRY(listed ? 0 : add_listed(r, &listed, err));
    TRY(add_table(r, !listed, err));
    TRY(book_path(r->options.book, &r->book, err));
    buf_printf(&r->state, "%s.sources", buf_str(&r->book));
    TRY(buf_check(&r->state, err));
    return load_state(r, err);
}

// ---- fetching

struct renewal_request {
    struct renewal *renewal;
    struct renewal_source *source;
    char tag[TAG_MOST + 32], since[TAG_MOST + 32];
    const char *headers[3];
    struct buf path;
    int64_t arrived; // bytes
};

void renewal_release(struct renewal *r)
{
    for (size_t i = 0; r->requests && i < r->count; i++)
        buf_release(&r->requests[i].path);
    for (size_t i = 0; i < r->count; i++)
        release_source(&r->items[i]);
    free(r->items);
    free(r->requests);
    importing_free(r->importing);
    buf_release(&r->book);
    buf_release(&r->state);
}

static bool show(void *context, int64_t done, int64_t total)
{
    struct renewal_request *q = context;
    struct renewal *r = q->renewal;
    int64_t sum = 0;
    (void)total; // that of all is known when the last one has begun
    q->arrived = done;
    for (size_t i = 0; i < r->asked; i++)
        sum += r->requests[i].arrived;
    return !r->progress || r->progress(r->context, sum, 0);
}

static bool is_due(const struct renewal_source *s, int64_t now_s)
{
    bool answered = s->answered_s <= now_s && now_s - s->answered_s < DAY_S;
    bool asked = s->asked_s <= now_s && now_s - s->asked_s < HOUR_S;
    return s->url && !answered && !asked;
}

// Names the version that is in the book, unless its prices would grow old by it.
static void ask_for_newer(struct renewal_request *q, int64_t now_s)
{
    const struct renewal_source *s = q->source;
    bool by_hand = s->kept && strcmp(s->kept, kept_words[1]) == 0;
    size_t count = 0;
    if (q->renewal->again || (!by_hand && now_s - s->fetched_s >= AGAIN_S))
        return;
    snprintf(q->tag, sizeof q->tag, "If-None-Match: %s", s->etag ? s->etag : "");
    snprintf(q->since, sizeof q->since, "If-Modified-Since: %s", s->modified ? s->modified : "");
    if (s->etag)
        q->headers[count++] = q->tag;
    if (s->modified)
        q->headers[count] = q->since;
}

static int prepare(struct renewal *r, const char *folder, struct http_download *downloads,
                   struct err *err)
{
    int64_t now_s = clock_date_s();
    for (size_t i = 0; i < r->count; i++) {
        struct renewal_source *s = &r->items[i];
        if (!s->url || (r->due && !is_due(s, now_s)))
            continue;
        struct renewal_request *q = &r->requests[r->asked];
        *q = (struct renewal_request){.renewal = r, .source = s};
        ask_for_newer(q, now_s);
        s->asked_s = now_s;
        buf_printf(&q->path, "%s/%zu", folder, i);
        TRY(buf_check(&q->path, err));
        downloads[r->asked++] = (struct http_download){.url = s->url,
                                                       .path = buf_str(&q->path),
                                                       .headers = q->headers,
                                                       .max_bytes = BOUND_PRICES,
                                                       .timeout_ms = BOUND_PRICES_MS,
                                                       .stall_ms = STALL_MS,
                                                       .allow_file = true,
                                                       .progress = show,
                                                       .context = q};
    }
    return 0;
}

// ---- importing

static bool same_sum(const char *path, const char *known)
{
    char bytes[16384], hex[SHA256_HEX_BYTES];
    uint8_t hash[SHA256_BYTES];
    struct sha256 sha;
    ssize_t got = 0;
    SCOPED(fs_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    sha256_init(&sha);
    while (fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0)
        sha256_add(&sha, bytes, (size_t)got);
    sha256_done(&sha, hash);
    sha256_hex(hash, hex);
    return fd >= 0 && got == 0 && strcmp(hex, known) == 0;
}

// The importer takes the date of a file's last change for that of its prices.
static int import_one(struct renewal *r, struct renewal_request *q, struct err *err)
{
    struct renewal_source *s = q->source;
    char shown[HTTP_SHOWN_BYTES];
    const char *path = buf_str(&q->path);
    bool known = s->known && same_sum(path, s->known);
    const struct timespec changed = {.tv_sec = known ? s->known_day * DAY_S : clock_date_s()};
    const struct timespec times[2] = {changed, changed};
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        return err_errno(err, errno, "cannot date '%s'", path);
    http_shown(s->url, shown);
    TRY(r->importing ? 0 : importing_begin(&r->importing, &r->options, err));
    return importing_file(r->importing, path, shown, &s->report, err);
}

// What to name in the next request. A tag too long to be one is not kept.
static int keep_version(struct renewal_source *s, const struct http_call *call, struct err *err)
{
    static const char *const names[] = {"ETag", "Last-Modified"};
    char **const texts[] = {&s->etag, &s->modified};
    for (size_t i = 0; i < 2; i++) {
        char value[TAG_MOST];
        bool there = http_header(call, names[i], value, sizeof value);
        free(*texts[i]);
        *texts[i] = there && *value ? text_copy(value, err) : NULL;
        TRY(there && *value && !*texts[i] ? ERR_MEMORY : 0);
    }
    return 0;
}

static int take_one(struct renewal *r, size_t i, struct http_call *call, struct err *err)
{
    struct renewal_request *q = &r->requests[i];
    struct renewal_source *s = q->source;
    s->err = call->err;
    if (s->err.code == 0 || (call->status >= 200 && call->status < 500))
        s->answered_s = s->asked_s; // ask again tomorrow, also where there is no such page
    s->unchanged = s->err.code == 0 && call->status == 304;
    if (s->err.code == 0 && !s->unchanged && import_one(r, q, &s->err) == 0) {
        s->fetched_s = s->asked_s;
        TRY(keep_version(s, call, err));
    }
    r->failed += s->err.code != 0;
    return s->err.code == ERR_MEMORY ? err_memory(err) : 0;
}

static int fetch_all(struct renewal *r, const char *folder, struct err *err)
{
    SCOPED(free_pointer) struct http_download *downloads = calloc(r->count + 1, sizeof *downloads);
    SCOPED(free_pointer) struct http_call *calls = calloc(r->count + 1, sizeof *calls);
    r->requests = calloc(r->count + 1, sizeof *r->requests);
    if (!downloads || !calls || !r->requests)
        return err_memory(err);
    TRY(prepare(r, folder, downloads, err));
    TRY(save_state(r, err)); // so that no other renewal begins for an hour, however this one ends
    int rc = http_download_all(downloads, calls, r->asked,
                               clock_now_ns() + BOUND_PRICES_MS * NS_PER_MS, err);
    for (size_t i = 0; i < r->asked; i++) {
        if (rc == 0)
            rc = take_one(r, i, &calls[i], err);
        http_call_release(&calls[i]);
    }
    return rc;
}

static int make_folder_of(const char *path, struct err *err)
{
    SCOPED(free_pointer) char *folder = text_copy(path, err);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash || slash == folder)
        return folder ? 0 : ERR_MEMORY;
    *slash = '\0';
    return fs_mkdirs_private(folder, err);
}

int renewal_run(struct renewal *r, struct err *err)
{
    const char *temporary = getenv("TMPDIR");
    struct scratch dir = {0};
    int rc = make_folder_of(buf_str(&r->book), err);
    if (rc == 0)
        rc = scratch_make(&dir, temporary && *temporary ? temporary : "/tmp", err);
    if (rc == 0)
        rc = fetch_all(r, dir.path, err);
    scratch_remove(&dir);
    if (rc == 0 && r->importing)
        rc = importing_commit(r->importing, &r->counts, err);
    return rc == 0 ? save_state(r, err) : rc;
}

// ---- the user's word

static int setting(const char *path, size_t number, char *line, bool *never, struct err *err)
{
    char key[64] = "", value[64] = "", more[2];
    line[strcspn(line, "#\r")] = '\0';
    int read = sscanf(line, " %63[^= \t] = %63s %1s", key, value, more);
    if (read < 0)
        return 0;
    *never = strcmp(value, "never") == 0;
    if (strcmp(key, "prices.update") == 0 && read == 2 && (*never || strcmp(value, "daily") == 0))
        return 0;
    err_set(err, ERR_USAGE, "'%s', line %zu: '%s' is not a setting", path, number, line);
    return err_hint(err, "the only one is prices.update = never, or daily");
}

static int read_settings(bool *never, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    *never = false;
    TRY(files_own("config", &path, err));
    if (path.len == 0 || access(buf_str(&path), F_OK) != 0)
        return 0;
    TRY(fs_read(buf_str(&path), LIST_MAX, &text, err));
    char *cursor = text.data;
    size_t number = 0;
    for (char *line; cursor && (line = text_line(&cursor));)
        TRY(setting(buf_str(&path), ++number, line, never, err));
    return 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

// ---- in the background

enum { FIRST_MS = 500, WHOLE_MS = 3000, REPORT_FD = 3 };

static bool first_bytes(void *context, int64_t done, int64_t total)
{
    bool *said = context;
    (void)total;
    if (done == 0 || *said)
        return true;
    *said = true;
    return write(REPORT_FD, "a", 1) == 1 || errno == EPIPE; // nobody may be listening any more
}

static int lock_alone(const struct renewal *r, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    buf_printf(&name, "%s.lock", buf_str(&r->state));
    TRY(buf_check(&name, err));
    TRY(make_folder_of(buf_str(&name), err));
    int fd = open(buf_str(&name), O_RDWR | O_CREAT | O_CLOEXEC, 0600); // held until the end
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : ERR_FAIL;
}

// In a process of its own, which has nothing of the command's but the report.
static void work(struct renewal *r, int report)
{
    struct err why = {0};
    bool said = false;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null, fd) < 0)
            return;
    if (report != REPORT_FD && dup2(report, REPORT_FD) < 0)
        return;
    closefrom(REPORT_FD + 1);
    signal(SIGPIPE, SIG_IGN);
    r->progress = first_bytes;
    r->context = &said;
    if (lock_alone(r, &why) == 0 && renewal_run(r, &why) != 0)
        return; // it is tried again in an hour
}

// The end of a pipe on which a byte comes with the first bytes of prices, and which closes when all
// is done; below 0: it could not be started.
static int start(struct renewal *r)
{
    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) { // its child belongs to nobody here, and outlives the terminal
        if (setsid() >= 0 && fork() == 0)
            work(r, ends[1]);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(ends[1]);
    return ends[0];
}

static void follow(int pipe, size_t sources, void (*say)(size_t))
{
    int64_t until_ns = clock_now_ns() + FIRST_MS * NS_PER_MS;
    for (;;) {
        char byte;
        int64_t left_ms = (until_ns - clock_now_ns()) / NS_PER_MS;
        struct pollfd wait = {.fd = pipe, .events = POLLIN};
        int ready = left_ms > 0 ? poll(&wait, 1, (int)left_ms) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || read(pipe, &byte, 1) != 1)
            return;
        say(sources);
        until_ns += (WHOLE_MS - FIRST_MS) * NS_PER_MS;
    }
}

int renewal_soon(void (*say)(size_t sources), struct err *err)
{
    const char *book = getenv("FARE_BOOK");
    struct renewal r = {.due = true};
    struct err why = {0};
    bool never;
    TRY(read_settings(&never, err));
    if (never || is_set("FARE_OFFLINE") || is_set("CI") || (book && strcmp(book, "-") == 0))
        return 0;
    int rc = renewal_open(&r, NULL, 0, &why);
    size_t due = 0;
    for (size_t i = 0; rc == 0 && i < r.count; i++)
        due += is_due(&r.items[i], clock_date_s());
    SCOPED(fs_close) int report = due > 0 ? start(&r) : -1;
    if (report >= 0)
        follow(report, due, say);
    renewal_release(&r);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}
