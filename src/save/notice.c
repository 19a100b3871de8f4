// SPDX-License-Identifier: Apache-2.0
#include "save/notice.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/http.h"
#include "base/parallel.h"
#include "save/notice_source.h"

#define METADATA_URL "http://169.254.169.254"
#define MOST         8 // sources at once
#define STACK_BYTES  ((size_t)1 << 20)
#define SETTLED      2 // answers without the notice until it is withdrawn

#define ROW(name) &notice_##name,
static const struct notice_source *const sources[] = {NOTICE_SOURCES(ROW)};
#undef ROW

struct watched {
    struct notices *all;
    const struct notice_source *source;
    struct notice_asker asker;
    char *value; // owned
    int signal;  // of the source "signal"
    int64_t lead_ns, every_ns;
    pthread_t thread;
    bool started;
    // Under the lock:
    struct notice now;
    bool dated, counted; // how until_ns was found
    int64_t date_s;
    int without; // answers without the notice in force
};

struct notices {
    pthread_mutex_t lock;
    struct watched items[MOST];
    size_t count;
    char *base;
    int wake; // readable, and `stop` set: the threads end
    atomic_bool stop;
};

// ---- one source's thread

// When the machine goes. A date that does not fit is another clock's: act by the usual lead.
static void set_until(struct watched *w, const struct notice_found *f, int64_t now_ns)
{
    int64_t left_ns = w->lead_ns, by_date_ns = 0;
    if (f->dated && f->date_s < clock_date_s() + w->source->most_ns / NS_PER_S)
        by_date_ns = (f->date_s - clock_date_s()) * NS_PER_S;
    w->now.told = f->counted || by_date_ns > 0;
    left_ns = f->counted ? f->left_ns : by_date_ns > 0 ? by_date_ns : left_ns;
    w->now.until_ns = now_ns + left_ns;
}

static bool says_the_same(const struct watched *w, const struct notice_found *f)
{
    return w->now.kind == f->kind && w->dated == f->dated && w->counted == f->counted &&
           (!f->dated || w->date_s == f->date_s);
}

static void publish(struct watched *w, const struct notice_found *f)
{
    int64_t now_ns = clock_now_ns();
    pthread_mutex_lock(&w->all->lock);
    if (f->known && f->kind == NOTICE_NONE) {
        if (w->now.kind != NOTICE_NONE && ++w->without >= SETTLED)
            w->now = (struct notice){0};
    } else if (f->known) {
        w->without = 0;
        if (!says_the_same(w, f)) {
            if (w->now.kind != f->kind)
                w->now = (struct notice){.kind = f->kind, .seen_ns = now_ns};
            w->now.source = w->source->name;
            snprintf(w->now.words, sizeof w->now.words, "%s", f->words);
            w->dated = f->dated;
            w->counted = f->counted;
            w->date_s = f->date_s;
            set_until(w, f, now_ns);
        }
    }
    w->asker.standing = w->now.kind == NOTICE_END;
    pthread_mutex_unlock(&w->all->lock);
}

static void *watch(void *context)
{
    struct watched *w = context;
    struct pollfd wake = {w->all->wake, POLLIN, 0};
    do {
        struct notice_found found = {0};
        w->source->ask(&w->asker, &found);
        if (*w->asker.stop)
            break; // what was cut off by our end is no answer
        publish(w, &found);
        w->asker.asked++;
    } while (poll(&wake, 1, (int)(w->every_ns / NS_PER_MS)) <= 0);
    return NULL;
}

int notice_get(const struct notice_asker *a, const char *path, const char *header,
               int64_t within_ns, struct buf *answer)
{
    char url[400];
    const char *headers[] = {header, NULL};
    snprintf(url, sizeof url, "%s%s", a->base, path);
    SCOPED(http_call_release)
    struct http_call call = {.url = url,
                             .headers = headers,
                             .no_proxy = true,
                             .max_bytes = BOUND_NOTICE,
                             .stop = a->stop};
    int rc = http_all(&call, 1, clock_now_ns() + within_ns, NULL);
    int status = rc == 0 && call.err.code == 0 ? call.status : 0;
    if (status)
        buf_add(answer, buf_str(&call.answer), call.answer.len);
    return status;
}

// ---- which ones

static const struct notice_source *notice_find(const char *word)
{
    size_t len = strcspn(word, ":@");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strlen(sources[i]->name) == len && strncmp(sources[i]->name, word, len) == 0)
            return sources[i];
    return NULL;
}

static int add(struct notices *n, const char *word, const struct notices_options *o,
               struct err *err)
{
    const struct notice_source *source = notice_find(word);
    if (!source) {
        err_set(err, ERR_USAGE, "--notice '%s': no such source", word);
        err_hint(err, "auto, none, or some of aws, gcp, azure, signal, file:PATH");
        return ERR_USAGE;
    }
    if (n->count == MOST)
        return err_set(err, ERR_USAGE, "--notice: at most %d sources", MOST);
    struct watched *w = &n->items[n->count];
    *w = (struct watched){.all = n, .source = source, .lead_ns = source->lead_ns};
    const char *value = strchr(word, ':');
    bool file = source == &notice_file;
    if (file != (value && value[1]) && source != &notice_signal)
        return err_set(err, ERR_USAGE,
                       file ? "--notice 'file' needs a path: file:PATH"
                            : "--notice '%s': this source takes no value",
                       word);
    if (source == &notice_signal)
        TRY(notice_signal_read(word, &w->signal, &w->lead_ns, err));
    if (file && !(w->value = text_copy(value + 1, err)))
        return ERR_MEMORY;
    if (o->lead_ns > 0)
        w->lead_ns = o->lead_ns;
    w->every_ns = o->every_ns > 0 ? o->every_ns : source->every_ns;
    n->count++;
    return 0;
}

static int add_auto(struct notices *n, const struct notices_options *o, struct err *err)
{
    bool off = o->metadata && strcmp(o->metadata, "off") == 0;
    TRY(add(n, notice_signal.name, o, err));
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!off && o->provider && sources[i]->provider &&
            strcmp(o->provider, sources[i]->provider) == 0)
            TRY(add(n, sources[i]->name, o, err));
    return 0;
}

static int add_words(struct notices *n, const struct notices_options *o, struct err *err)
{
    SCOPED(free_pointer) char *words = text_copy(o->wanted ? o->wanted : "auto", err);
    char *rest = words;
    int rc = words ? 0 : ERR_MEMORY;
    while (rc == 0 && rest && *rest) {
        char *word = strsep(&rest, ",");
        if (strcmp(word, "auto") == 0)
            rc = add_auto(n, o, err);
        else if (strcmp(word, "none") != 0)
            rc = add(n, word, o, err);
    }
    return rc;
}

// ---- together

static int start(struct watched *w, struct err *err)
{
    w->asker.base = w->all->base;
    w->asker.value = w->value;
    w->asker.stop = &w->all->stop;
    if (!w->source->ask)
        return 0;
    TRY(thread_start(&w->thread, STACK_BYTES, watch, w, err));
    w->started = true;
    return 0;
}

static int make(struct notices **out, const struct notices_options *o, struct err *err)
{
    struct notices *n = calloc(1, sizeof *n);
    if (!n)
        return err_memory(err);
    pthread_mutex_init(&n->lock, NULL);
    n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool given = o->metadata && *o->metadata && strcmp(o->metadata, "off") != 0;
    n->base = text_copy(given ? o->metadata : METADATA_URL, err);
    *out = n;
    return n->base ? add_words(n, o, err) : ERR_MEMORY;
}

int notices_open(struct notices **out, const struct notices_options *o, struct err *err)
{
    *out = NULL;
    int rc = make(out, o, err);
    for (size_t i = 0; rc == 0 && i < (*out)->count; i++)
        rc = start(&(*out)->items[i], err);
    if (rc != 0) {
        notices_close(*out);
        *out = NULL;
    }
    return rc;
}

int notices_check(const char *wanted, struct err *err)
{
    struct notices *n = NULL;
    const struct notices_options o = {.wanted = wanted};
    int rc = make(&n, &o, err);
    notices_close(n);
    return rc;
}

void notices_close(struct notices *n)
{
    if (!n)
        return;
    uint64_t one = 1;
    n->stop = true;
    if (n->wake >= 0)
        (void)!write(n->wake, &one, sizeof one);
    for (size_t i = 0; i < n->count; i++)
        if (n->items[i].started)
            pthread_join(n->items[i].thread, NULL);
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i].value);
    if (n->wake >= 0)
        close(n->wake);
    pthread_mutex_destroy(&n->lock);
    free(n->base);
    free(n);
}

void notices_look(struct notices *n, struct notice *out)
{
    *out = (struct notice){0};
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < n->count; i++) {
        const struct notice *one = &n->items[i].now;
        bool sooner = one->kind == NOTICE_END && one->until_ns < out->until_ns;
        if (one->kind > out->kind || (one->kind == out->kind && sooner))
            *out = *one;
    }
    pthread_mutex_unlock(&n->lock);
}

bool notices_signal(struct notices *n, int number)
{
    bool taken = false;
    for (size_t i = 0; i < n->count; i++) {
        struct watched *w = &n->items[i];
        if (w->source != &notice_signal || w->signal != number)
            continue;
        taken = true;
        pthread_mutex_lock(&n->lock);
        if (w->now.kind == NOTICE_NONE) {
            int64_t now_ns = clock_now_ns();
            w->now = (struct notice){.kind = NOTICE_END,
                                     .source = w->source->name,
                                     .seen_ns = now_ns,
                                     .until_ns = now_ns + w->lead_ns,
                                     .signal = number};
            const char *name = sigabbrev_np(number);
            snprintf(w->now.words, sizeof w->now.words, "SIG%s came", name ? name : "?");
        }
        pthread_mutex_unlock(&n->lock);
    }
    return taken;
}

void notices_words(const struct notices *n, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n->count && len < size; i++) {
        const struct watched *w = &n->items[i];
        const char *comma = i > 0 ? ", " : "", *name = sigabbrev_np(w->signal);
        if (w->source == &notice_signal)
            len += (size_t)snprintf(out + len, size - len, "%sSIG%s", comma, name ? name : "?");
        else
            len += (size_t)snprintf(out + len, size - len, "%s%s%s%s", comma, w->source->name,
                                    w->value ? " " : "", w->value ? w->value : "");
    }
}
