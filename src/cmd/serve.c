// SPDX-License-Identifier: Apache-2.0
// serve: the ledger and the book as web pages, until it is stopped.
#include "serve/serve.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/values.h"

struct serve_command {
    struct cmd_common common;
    const char *listen, *ledger, *book, *token_file;
    bool everyone;
};

static const struct serve_command defaults = {.listen = SERVE_DEFAULT};

#define AT(member) offsetof(struct serve_command, member)
static const struct opt options[] = {
    {"listen", 'l', OPT_TEXT, "ADDRESS:PORT", NULL, AT(listen), NULL,
     "the address to listen on (default " SERVE_DEFAULT
     "); one that other machines can reach needs "
     "--token-file or --public"},
    {"token-file", 0, OPT_TEXT, "FILE", NULL, AT(token_file), NULL,
     "a file with the token for writing, and for reading from other machines: a line of at least "
     "16 characters"},
    {"public", 0, OPT_FLAG, NULL, NULL, AT(everyone), NULL, "let everyone read without a token"},
    LEDGER_ROW,
    BOOK_ROW,
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare serve", "then open http://" SERVE_DEFAULT "/ in a browser"},
    {"fare serve --token-file token", "accept runs from 'fare runs push' on this machine"},
    {"fare serve --listen 0.0.0.0:8732 --token-file token",
     "for a team: reading needs the token too"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    LEDGER_VARIABLE,
    {"FARE_MICROHTTPD", "File to open as libmicrohttpd"},
    {NULL, NULL},
};

// ---- the end: within two seconds of SIGTERM, SIGINT or SIGHUP, which are blocked in all threads

#define END_NS (17 * NS_PER_S / 10)

static sem_t asked_to_end;

// Ends the process if the server has not stopped in time: a database may hang, also at the start.
// Nothing acknowledged is lost: a run is committed before its client has the answer.
static void *end_in_time(void *stop_signals)
{
    int number;
    sigwait(stop_signals, &number);
    sem_post(&asked_to_end);
    clock_sleep_ns(END_NS);
    out_complain("stopped; some requests were not answered");
    _exit(0);
}

static void wait_for_end(struct serve *serve)
{
    struct timespec next;
    do {
        serve_tend(serve);
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_sec++;
    } while (sem_timedwait(&asked_to_end, &next) != 0);
}

static int say_ready(const struct cmd_call *call, const struct serve *serve, struct err *err)
{
    const struct serve_command *o = call->options;
    char schema[] = SERVING_SCHEMA;
    SCOPED(buf_release) struct buf url = {0};
    serve_url(serve, &url);
    TRY(buf_check(&url, err));
    const struct serving ready = {.schema = schema, .url = url.data};
    if (o->common.json)
        TRY(out_record(call->out, serving_fields, &ready, err));
    else
        out_printf(call->out, "Serving on %s until Ctrl-C.\n", buf_str(&url));
    return out_write(call->out, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct serve_command *o = call->options;
    const struct serve_options options_ = {.listen = o->listen,
                                           .ledger = o->ledger,
                                           .book = o->book,
                                           .token_file = o->token_file,
                                           .everyone = o->everyone,
                                           .complain = out_complain};
    struct serve *serve = NULL;
    static sigset_t stop_signals; // the thread may outlive this function
    sigset_t before;
    pthread_t ending;
    sigemptyset(&stop_signals);
    sigaddset(&stop_signals, SIGTERM);
    sigaddset(&stop_signals, SIGINT);
    sigaddset(&stop_signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop_signals, &before);
    sem_init(&asked_to_end, 0, 0);
    int failed = pthread_create(&ending, NULL, end_in_time, &stop_signals);
    int rc = failed ? err_errno(err, failed, "cannot start a thread") : 0;
    if (rc == 0)
        rc = serve_start(&serve, &options_, err);
    if (rc == 0)
        rc = say_ready(call, serve, err);
    if (rc == 0)
        wait_for_end(serve);
    serve_stop(serve);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

const struct command cmd_serve = {
    .name = "serve",
    .group = "Show",
    .summary = "the ledger and the prices as web pages",
    .about =
        "Serves lists of runs with filters, a page for each run, comparisons and quotes. Every "
        "page is also available as JSON, at its address with .json, and /metrics is for "
        "Prometheus. "
        "Pages need no scripts. Only this machine can reach the server, unless --listen names "
        "another address: then reading needs the token in --token-file, or --public. 'fare runs "
        "push' sends runs to it, with the token; without a token nobody can write. Needs "
        "libmicrohttpd.",
    .options = options,
    .options_size = sizeof(struct serve_command),
    .defaults = &defaults,
    .examples = examples,
    .variables = variables,
    .run = run,
};
