// SPDX-License-Identifier: Apache-2.0
#include "base/http.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/fs.h"
#include "version.h"

// libcurl's functions, opened on first use. <curl/curl.h> gives the types; nothing is linked. Its
// type-checking macros do not reach calls through this table: pass long, curl_off_t or a pointer to
// easy_setopt(), exactly.
// clang-format off
#define CURL_FUNCTIONS(X) \
    X(global_init) X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(easy_cleanup) \
    X(slist_append) X(slist_free_all) X(multi_init) X(multi_add_handle) X(multi_remove_handle) \
    X(multi_perform) X(multi_poll) X(multi_info_read) X(multi_cleanup) X(multi_strerror)
// clang-format on
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;

static struct curl_api {
    CURL_FUNCTIONS(CURL_MEMBER)
} curl; // filled in by curl_load()

#define SYMBOL(name) {"curl_" #name, offsetof(struct curl_api, name), DL_REQUIRED},
static const struct dl_symbol symbols[] = {CURL_FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libcurl.so.4", NULL};
static const struct dl_spec spec = {
    .what = "libcurl",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libcurl4, or use the bundle, which carries it",
};

// Never unloaded: libcurl and its TLS library do not support that well.
static int curl_load(struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    static struct dl library;
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        rc = dl_open(&library, &spec, &curl, err);
        if (rc == 0 && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
            rc = err_set(err, ERR_FAIL, "cannot start libcurl (curl_global_init)");
        loaded = rc == 0;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

// ==== http ====
// All transfers, a download too, go through one loop over curl's multi interface: it is the only
// one that never blocks. Names are resolved in a thread of libcurl's, which is left behind when
// the time is over (CURLOPT_QUICK_EXIT); curl's default is to wait for it.

#define HEADER_MAX    ((size_t)256 << 10) // bytes of header lines in one transfer
#define STALL_MS      30000
#define LONGEST_WAIT  1000 // ms between two looks at the clock
#define WATCH_MS      250  // the same where there is something to watch
#define MAX_REDIRECTS 5L

enum stage { WAITING, RUNNING, ENDED };

struct transfer {
    struct http_call *call;
    enum stage stage;
    const struct http_download *download; // null: the body goes to call->answer
    struct fs_writer *file;               // where a download goes
    CURL *easy;
    struct curl_slist *headers;
    size_t header_bytes;
    int64_t got;     // bytes of the body
    int64_t sent;    // bytes of the body that went out
    int64_t last_ns; // when the latest of either moved
    CURLcode setup;
    char said[CURL_ERROR_SIZE];
};

static int64_t max_of(const struct transfer *t)
{
    if (t->download)
        return t->download->max_bytes;
    return (int64_t)(t->call->max_bytes ? t->call->max_bytes : HTTP_DEFAULT_MAX);
}

static long status_of(const struct transfer *t)
{
    long status = 0;
    curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void too_long(struct transfer *t, int64_t max)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(t->call->url, shown);
    err_set(&t->call->err, ERR_FORMAT, "'%s' sends more than %lld bytes", shown, (long long)max);
    t->call->too_long = true;
}

static void wrong_status(struct transfer *t, long status)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(t->call->url, shown);
    err_set(&t->call->err, ERR_MISSING, "'%s' answered %ld", shown, status);
}

// Both callbacks put the error into the call and return less than they were offered, which makes
// libcurl end the transfer.
static size_t on_body(char *bytes, size_t size, size_t len, void *context)
{
    struct transfer *t = context;
    struct http_call *call = t->call;
    (void)size; // always 1
    t->got += (int64_t)len;
    t->last_ns = clock_now_ns();
    if (t->got > max_of(t))
        too_long(t, max_of(t));
    else if (t->file && status_of(t) != 200) // the body of an error page is of no use
        wrong_status(t, status_of(t));
    else if (t->file && fs_add(t->file, bytes, len, &call->err) != 0)
        return 0;
    else if (!t->file)
        buf_add(&call->answer, bytes, len);
    if (call->answer.failed)
        err_memory(&call->err);
    return call->err.code ? 0 : len;
}

static size_t on_header(char *bytes, size_t size, size_t len, void *context)
{
    struct transfer *t = context;
    struct buf *head = &t->call->head;
    (void)size;
    t->last_ns = clock_now_ns();
    t->header_bytes += len;
    if (t->header_bytes > HEADER_MAX)
        too_long(t, HEADER_MAX);
    if (len >= 5 && strncmp(bytes, "HTTP/", 5) == 0) // of another answer: a redirect, a 100
        buf_reset(head);
    buf_add(head, bytes, len);
    if (head->failed)
        err_memory(&t->call->err);
    return t->call->err.code ? 0 : len;
}

// Uploads show no other sign of life.
static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct transfer *t = context;
    (void)down_total;
    (void)down;
    (void)up_total;
    if (up != t->sent)
        t->last_ns = clock_now_ns();
    t->sent = up;
    return 0;
}

// libcurl's types for options are these three; the first failure sticks.
#define SET(t, option, value)                                                                      \
    do {                                                                                           \
        if ((t)->setup == CURLE_OK)                                                                \
            (t)->setup = curl.easy_setopt((t)->easy, option, value);                               \
    } while (0)

static void set_long(struct transfer *t, CURLoption option, long value)
{
    SET(t, option, value);
}

static void set_off(struct transfer *t, CURLoption option, curl_off_t value)
{
    SET(t, option, value);
}

static void set_ptr(struct transfer *t, CURLoption option, const void *value)
{
    SET(t, option, value);
}

static void add_header(struct transfer *t, const char *text)
{
    struct curl_slist *list = curl.slist_append(t->headers, text);
    if (list)
        t->headers = list;
    else
        t->setup = CURLE_OUT_OF_MEMORY;
}

static void set_method(struct transfer *t, const struct http_call *call)
{
    const char *method = call->method ? call->method : "GET";
    bool get = strcmp(method, "GET") == 0, head = strcmp(method, "HEAD") == 0;
    for (size_t i = 0; call->headers && call->headers[i]; i++)
        add_header(t, call->headers[i]);
    if (head)
        set_long(t, CURLOPT_NOBODY, 1);
    if (!get && !head)
        set_ptr(t, CURLOPT_CUSTOMREQUEST, method);
    if (call->body || strcmp(method, "PUT") == 0 || strcmp(method, "POST") == 0) {
        // Give the length of an empty body too, and drop curl's default content type: callers name
        // their own.
        set_off(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        set_ptr(t, CURLOPT_POSTFIELDS, call->body ? call->body : "");
        bool typed = false;
        for (size_t i = 0; call->headers && call->headers[i]; i++)
            typed |= strncasecmp(call->headers[i], "Content-Type:", 13) == 0;
        // libcurl 7.88 signs headers that are switched off as if they were sent.
        if (!typed)
            add_header(t, call->sigv4 ? "Content-Type: application/octet-stream" : "Content-Type:");
        if (call->sigv4)
            set_long(t, CURLOPT_EXPECT_100_TIMEOUT_MS, 1);
        else
            add_header(t, "Expect:");
    }
    set_ptr(t, CURLOPT_HTTPHEADER, t->headers);
}

static int set_certificates(struct transfer *t, bool https)
{
    SCOPED(buf_release) struct buf path = {0};
    struct err err = {0};
    int rc = 0;
    if (t->call->ca_file)
        buf_adds(&path, t->call->ca_file);
    else
        rc = http_ca_file("", &path, &err);
    if (rc == 0) {
        set_ptr(t, CURLOPT_CAINFO, buf_str(&path)); // libcurl copies texts
        set_ptr(t, CURLOPT_PROXY_CAINFO, buf_str(&path));
    } else if (rc == ERR_MISSING && !https) {
        rc = 0; // not needed unless a redirect leads to https, and then libcurl says so
    } else {
        t->call->err = err;
    }
    return rc;
}

static void set_signature(struct transfer *t, const struct http_call *call)
{
    if (!call->sigv4)
        return;
    set_ptr(t, CURLOPT_AWS_SIGV4, call->sigv4);
    set_ptr(t, CURLOPT_USERNAME, call->user);
    set_ptr(t, CURLOPT_PASSWORD, call->password);
}

static void set_watch(struct transfer *t, const struct http_call *call)
{
    if (call->connect_ms)
        set_long(t, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
    if (!call->stall_ms)
        return;
    set_long(t, CURLOPT_NOPROGRESS, 0);
    SET(t, CURLOPT_XFERINFOFUNCTION, on_progress);
    set_ptr(t, CURLOPT_XFERINFODATA, t);
}

static int prepare(struct transfer *t)
{
    struct http_call *call = t->call;
    bool https = strncasecmp(call->url, "https:", 6) == 0;
    t->easy = curl.easy_init();
    if (!t->easy)
        return err_memory(&call->err);
    set_long(t, CURLOPT_NOSIGNAL, 1); // curl's own time limits must not use SIGALRM
    set_long(t, CURLOPT_QUICK_EXIT, 1);
    set_ptr(t, CURLOPT_URL, call->url);
    set_ptr(t, CURLOPT_USERAGENT, "fare/" FARE_VERSION);
    set_ptr(t, CURLOPT_PROTOCOLS_STR, "http,https");
    set_ptr(t, CURLOPT_REDIR_PROTOCOLS_STR, https ? "https" : "http,https");
    set_long(t, CURLOPT_FOLLOWLOCATION, call->follow);
    set_long(t, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    set_long(t, CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
    set_off(t, CURLOPT_MAXFILESIZE_LARGE, max_of(t));
    if (call->no_proxy)
        set_ptr(t, CURLOPT_PROXY, "");
    SET(t, CURLOPT_WRITEFUNCTION, on_body);
    set_ptr(t, CURLOPT_WRITEDATA, t);
    SET(t, CURLOPT_HEADERFUNCTION, on_header);
    set_ptr(t, CURLOPT_HEADERDATA, t);
    set_ptr(t, CURLOPT_ERRORBUFFER, t->said);
    set_ptr(t, CURLOPT_PRIVATE, t);
    set_method(t, call);
    set_signature(t, call);
    set_watch(t, call);
    TRY(https || call->follow ? set_certificates(t, https) : 0);
    if (t->setup == CURLE_OUT_OF_MEMORY)
        return err_memory(&call->err);
    else if (t->setup != CURLE_OK) // 7.87, the first with CURLOPT_QUICK_EXIT
        return err_set(&call->err, ERR_FAIL, "libcurl is older than 7.87: %s",
                       curl.easy_strerror(t->setup));
    return 0;
}

// Files need no loop.
static void read_file_url(struct transfer *t)
{
    struct http_call *call = t->call;
    const struct http_download *d = t->download;
    int rc = t->file ? http_file_copy(call->url, max_of(t), t->file, &t->got, &call->err)
                     : http_file_read(call->url, max_of(t), &call->answer, &call->err);
    if (rc == 0 && d && d->progress && !d->progress(d->context, t->got, t->got))
        err_set(&call->err, ERR_FAIL, "stopped");
}

// False: it ended before it began, and the call says why.
static bool begin(struct transfer *t, CURLM *multi)
{
    struct http_call *call = t->call;
    t->stage = ENDED;
    if (call->before && !call->before(call)) {
        err_set(&call->err, ERR_MISSING, "not sent");
        return false;
    }
    enum http_scheme scheme = http_scheme(call->url, call->allow_file, &call->err);
    if (scheme == HTTP_SCHEME_FILE)
        read_file_url(t);
    if (scheme != HTTP_SCHEME_HTTP || prepare(t) != 0)
        return false;
    if (curl.multi_add_handle(multi, t->easy) != CURLM_OK) {
        err_memory(&call->err);
        return false;
    }
    t->last_ns = clock_now_ns();
    t->stage = RUNNING;
    return true;
}

static void late(struct transfer *t)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(t->call->url, shown);
    curl_off_t resolved = 0, connected = 0;
    curl.easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
    curl.easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &connected);
    char bytes[48];
    snprintf(bytes, sizeof bytes, "only %lld byte%s came", (long long)t->got,
             t->got == 1 ? "" : "s");
    err_set(&t->call->err, ERR_TIMEOUT, "no answer in time from '%s' (%s)", shown,
            t->got > 0        ? bytes
            : t->header_bytes ? "only a part of the header came"
            : connected > 0   ? "connected, but nothing came"
            : resolved == 0   ? "its name was not resolved"
                              : "no connection");
}

static int code_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return ERR_MISSING;
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ERR_USAGE;
    case CURLE_UNSUPPORTED_PROTOCOL: // not HTTP/1 or 2, or a redirect to somewhere forbidden
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_TOO_MANY_REDIRECTS:
        return ERR_FORMAT;
    default:
        return ERR_IO;
    }
}

static void ended(struct transfer *t, CURLcode code)
{
    struct http_call *call = t->call;
    char shown[HTTP_SHOWN_BYTES];
    http_shown(call->url, shown);
    call->status = (int)status_of(t);
    if (code == CURLE_OK) {
        if (t->download && t->download->progress) // a small one came between two looks
            t->download->progress(t->download->context, t->got, t->got);
        return;
    }
    if (call->err.code) {
        return; // one of our callbacks ended it
    } else if (code == CURLE_OUT_OF_MEMORY) {
        err_memory(&call->err);
    } else if (code == CURLE_FILESIZE_EXCEEDED) {
        too_long(t, max_of(t));
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        late(t);
    } else {
        // libcurl's own words name the host and port, and might quote a malformed address.
        bool quotes = t->said[0] == '\0' || strchr(call->url, '@');
        const char *said = quotes ? curl.easy_strerror(code) : t->said;
        err_set(&call->err, code_of(code), "cannot %s '%s': %c%s", call->body ? "send to" : "get",
                shown, isupper((unsigned char)said[1]) ? said[0] : tolower((unsigned char)said[0]),
                said + 1);
        if (code == CURLE_PEER_FAILED_VERIFICATION)
            err_hint(&call->err, "if its certificate is of a CA of your own, name the CA's with "
                                 "SSL_CERT_FILE");
        else if (code == CURLE_SSL_CONNECT_ERROR)
            err_hint(&call->err, "does it speak https on that port?");
    }
}

static void finish(struct transfer *t, CURLM *multi)
{
    curl.multi_remove_handle(multi, t->easy);
    t->stage = ENDED;
}

static bool collect(CURLM *multi)
{
    bool any = false;
    int left;
    for (CURLMsg *message; (message = curl.multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; // the message goes with the handle
        struct transfer *t = NULL;
        curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        finish(t, multi);
        ended(t, code);
        any = true;
    }
    return any;
}

// Whether someone wants no more of it. Reports the progress of a download.
static bool unwanted(const struct transfer *t)
{
    const struct http_download *d = t->download;
    if (t->call->stop && atomic_load(t->call->stop))
        return true;
    if (!d || !d->progress)
        return false;
    curl_off_t total = 0;
    curl.easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
    return !d->progress(d->context, t->got, total > 0 ? total : 0);
}

// Ends a transfer on request or when it stalls.
static void watch(struct transfer *t, CURLM *multi)
{
    if (t->stage != RUNNING)
        return;
    char shown[HTTP_SHOWN_BYTES];
    http_shown(t->call->url, shown);
    int64_t stall_ms = t->call->stall_ms;
    if (unwanted(t)) {
        finish(t, multi);
        err_set(&t->call->err, ERR_FAIL, "stopped while %s '%s'",
                t->call->body ? "sending to" : "getting", shown);
    } else if (stall_ms && clock_now_ns() - t->last_ns > stall_ms * NS_PER_MS) {
        finish(t, multi);
        late(t);
    }
}

static bool ended_call(const struct transfer *t, size_t count, const struct http_call *call)
{
    size_t i = 0;
    while (i < count && t[i].call != call)
        i++;
    assert(i < count); // `after` is a call of the same set
    return t[i].stage == ENDED;
}

// Starts the calls that can start. True when one ended at once, so that others may follow.
static bool begin_some(struct transfer *t, size_t count, CURLM *multi)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct http_call *after = t[i].call->after;
        if (t[i].stage == WAITING && (!after || ended_call(t, count, after)))
            any |= !begin(&t[i], multi);
    }
    return any;
}

static int wait_ms(const struct transfer *t, size_t count, int64_t deadline_ns)
{
    int64_t wait = LONGEST_WAIT;
    for (size_t i = 0; i < count; i++)
        if (t[i].download || t[i].call->stop || t[i].call->stall_ms)
            wait = WATCH_MS;
    if (deadline_ns) {
        int64_t left = (deadline_ns - clock_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
        wait = left < wait ? left : wait;
    }
    return (int)(wait > 0 ? wait : 0);
}

static int loop(struct transfer *t, size_t count, int64_t deadline_ns, CURLM *multi,
                struct err *err)
{
    for (;;) {
        if (begin_some(t, count, multi))
            continue;
        int running = 0;
        CURLMcode code = curl.multi_perform(multi, &running);
        if (collect(multi))
            continue;
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            watch(&t[i], multi);
            open += t[i].stage != ENDED;
        }
        if (open == 0 || (deadline_ns && clock_now_ns() >= deadline_ns))
            return 0;
        if (code == CURLM_OK)
            code = curl.multi_poll(multi, NULL, 0, wait_ms(t, count, deadline_ns), NULL);
        if (code == CURLM_OUT_OF_MEMORY)
            return err_memory(err);
        if (code != CURLM_OK)
            return err_set(err, ERR_FAIL, "libcurl: %s", curl.multi_strerror(code));
    }
}

// With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE alone, which a TLS connection that the other side
// has closed may raise: it must not end us.
static void pipe_signal_hold(sigset_t *old, bool *was_pending)
{
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, old);
    sigpending(&pending);
    *was_pending = sigismember(&pending, SIGPIPE);
}

static void pipe_signal_release(const sigset_t *old, bool was_pending)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!was_pending)
        sigtimedwait(&set, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static int run(CURLM *multi, struct transfer *t, size_t count, int64_t deadline_ns, struct err *err)
{
    sigset_t mask;
    bool was_pending;
    pipe_signal_hold(&mask, &was_pending);
    int rc = loop(t, count, deadline_ns, multi, err);
    for (size_t i = 0; i < count; i++) {
        if (t[i].stage == RUNNING) {
            late(&t[i]);
            finish(&t[i], multi);
        } else if (t[i].stage == WAITING) {
            err_set(&t[i].call->err, ERR_TIMEOUT, "no time was left to ask");
        }
        if (t[i].easy)
            curl.easy_cleanup(t[i].easy);
        curl.slist_free_all(t[i].headers);
        if (t[i].call->err.code == ERR_MEMORY && rc == 0)
            rc = err_memory(err);
    }
    pipe_signal_release(&mask, was_pending);
    return rc;
}

// Closing a connection may raise SIGPIPE too.
static void multi_end(CURLM *multi)
{
    sigset_t mask;
    bool was_pending;
    if (!multi)
        return;
    pipe_signal_hold(&mask, &was_pending);
    curl.multi_cleanup(multi);
    pipe_signal_release(&mask, was_pending);
}

static int multi_begin(CURLM **multi, struct err *err)
{
    TRY(curl_load(err));
    *multi = curl.multi_init();
    return *multi ? 0 : err_memory(err);
}

struct http_session {
    CURLM *multi;
};

struct http_session *http_session_new(struct err *err)
{
    struct http_session *session = calloc(1, sizeof *session);
    if (!session) {
        err_memory(err);
    } else if (multi_begin(&session->multi, err) != 0) {
        free(session);
        session = NULL;
    }
    return session;
}

void http_session_free(struct http_session *session)
{
    if (session)
        multi_end(session->multi);
    free(session);
}

void http_call_release(struct http_call *call)
{
    buf_release(&call->answer);
    buf_release(&call->head);
}

bool http_header(const struct http_call *call, const char *name, char *out, size_t size)
{
    size_t len = strlen(name);
    for (const char *line = buf_str(&call->head), *end; (end = strchr(line, '\n'));
         line = end + 1) {
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *value = line + len + 1;
        while (value < end && isspace((unsigned char)*value))
            value++;
        while (end > value && isspace((unsigned char)end[-1]))
            end--;
        if ((size_t)(end - value) >= size)
            return false;
        memcpy(out, value, (size_t)(end - value));
        out[end - value] = '\0';
        return true;
    }
    return false;
}

static int all_with(CURLM *multi, struct http_call *calls, size_t count, int64_t deadline_ns,
                    struct err *err)
{
    SCOPED(free_pointer) struct transfer *transfers = calloc(count ? count : 1, sizeof *transfers);
    if (!transfers)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        transfers[i].call = &calls[i];
        calls[i].err = (struct err){0};
        calls[i].status = 0;
        calls[i].too_long = false;
        buf_reset(&calls[i].answer);
        buf_reset(&calls[i].head);
        // The cap is counted before the bytes are added, so a buffer that fails is out of memory.
        calls[i].answer.max = SIZE_MAX / 2;
    }
    return run(multi, transfers, count, deadline_ns, err);
}

int http_all_in(struct http_session *session, struct http_call *calls, size_t count,
                int64_t deadline_ns, struct err *err)
{
    return all_with(session->multi, calls, count, deadline_ns, err);
}

int http_all(struct http_call *calls, size_t count, int64_t deadline_ns, struct err *err)
{
    CURLM *multi = NULL;
    int rc = multi_begin(&multi, err);
    if (rc == 0)
        rc = all_with(multi, calls, count, deadline_ns, err);
    multi_end(multi);
    return rc;
}

// Only the body of a 200 is wanted. A 304 has none, and is no error.
static void keep(struct http_call *call, struct fs_writer *file)
{
    char shown[HTTP_SHOWN_BYTES];
    bool whole = call->status == 0 || call->status == 200;
    if (!whole && call->status != 304) { // whatever else went wrong
        http_shown(call->url, shown);
        call->err = (struct err){0};
        err_set(&call->err, ERR_MISSING, "'%s' answered %d", shown, call->status);
    }
    if (call->err.code == 0 && whole)
        call->err.code = fs_commit(file, &call->err);
    fs_abandon(file); // one that was committed has nothing to abandon
}

static int prepare_download(const struct http_download *d, struct transfer *t,
                            struct http_call *call, struct fs_writer *file, struct err *err)
{
    assert(d->max_bytes > 0);
    *call = (struct http_call){.url = d->url,
                               .headers = d->headers,
                               .timeout_ms = d->timeout_ms,
                               .stall_ms = d->stall_ms ? d->stall_ms : STALL_MS,
                               .follow = true,
                               .allow_file = d->allow_file};
    *t = (struct transfer){.call = call, .download = d, .file = file};
    return fs_begin(file, d->path, 0666, err);
}

int http_download_all(const struct http_download *downloads, struct http_call *calls, size_t count,
                      int64_t deadline_ns, struct err *err)
{
    SCOPED(free_pointer) struct transfer *transfers = calloc(count + 1, sizeof *transfers);
    SCOPED(free_pointer) struct fs_writer *files = calloc(count + 1, sizeof *files);
    CURLM *multi = NULL;
    int rc = transfers && files ? multi_begin(&multi, err) : err_memory(err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = prepare_download(&downloads[i], &transfers[i], &calls[i], &files[i], err);
    if (rc == 0)
        rc = run(multi, transfers, count, deadline_ns, err);
    multi_end(multi);
    for (size_t i = 0; i < count && files; i++)
        if (rc == 0)
            keep(&calls[i], &files[i]);
        else
            fs_abandon(&files[i]);
    return rc;
}

int http_download(const struct http_download *download, struct err *err)
{
    int64_t deadline_ns =
        download->timeout_ms ? clock_now_ns() + download->timeout_ms * NS_PER_MS : 0;
    SCOPED(http_call_release) struct http_call call = {0};
    TRY(http_download_all(download, &call, 1, deadline_ns, err));
    return call.err.code != 0 ? err_pass(err, call.err.code, &call.err) : 0;
}
