// SPDX-License-Identifier: Apache-2.0
// runs push: records to a 'fare serve' elsewhere, in pieces of a size it accepts.
#include <stdio.h>
#include <string.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/http.h"
#include "cmd/runs.h"
#include "serve/serve.h"

enum { PIECE_BYTES = SERVE_BODY_MAX / 4, TRIES = 5, WAIT_S = 5, NAMED_MOST = 20 };

struct pushing {
    char *url;
    const char *header; // with the token: never shown
    struct buf piece;
    int64_t added, there, left_out;
    struct buf says; // of the first NAMED_MOST that were left out
};

// The server's answer is not trusted: it is cut, and cleaned when the error is shown.
static int refused(const struct pushing *p, const struct http_call *call, struct err *err)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(p->url, shown);
    json_t *json = json_loadb(buf_str(&call->answer), call->answer.len, 0, NULL);
    const char *says = json_string_value(json_object_get(json, "error"));
    err_set(err, ERR_FAIL, "%s answered %d%s%.200s", shown, call->status, says ? ": " : "",
            says ? says : "");
    json_decref(json);
    if (call->status == 401)
        err_hint(err, "--token-file names a file with the server's token");
    else if (!says)
        err_hint(err, "is this the address of a 'fare serve'?");
    return ERR_FAIL;
}

static int64_t count_of(json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

// What the server would not take.
static void add_refused(struct pushing *p, json_t *json)
{
    json_t *problem;
    size_t i;
    json_array_foreach(json_object_get(json, "problems"), i, problem)
    {
        if (json_is_string(problem) && p->left_out + (int64_t)i < NAMED_MOST)
            buf_printf(&p->says, "left out by the server: %.300s\n", json_string_value(problem));
    }
    p->left_out += count_of(json, "left_out");
}

static int send_piece(struct pushing *p, struct err *err)
{
    const char *const headers[] = {"Content-Type: application/x-ndjson", p->header, NULL};
    int rc = p->piece.len > 0 ? buf_check(&p->piece, err) : 0;
    bool again = rc == 0 && p->piece.len > 0;
    for (int tries = 0; again; tries++) {
        struct http_call call = {.method = "POST",
                                 .url = p->url,
                                 .headers = headers,
                                 .body = buf_str(&p->piece),
                                 .body_len = p->piece.len,
                                 .timeout_ms = BOUND_PAGE_MS};
        rc = http_all(&call, 1, 0, err);
        if (rc == 0 && call.err.code != 0) {
            *err = call.err;
            rc = call.err.code;
        }
        again = rc == 0 && call.status == 429 && tries < TRIES;
        json_t *json = NULL;
        if (rc == 0 && call.status == 200)
            json = json_loadb(buf_str(&call.answer), call.answer.len, 0, NULL);
        p->added += count_of(json, "added");
        p->there += count_of(json, "there");
        add_refused(p, json);
        if (rc == 0 && !again && !json_object_get(json, "added"))
            rc = refused(p, &call, err);
        json_decref(json);
        http_call_release(&call);
        if (again)
            clock_sleep_ns(WAIT_S * NS_PER_S);
    }
    buf_reset(&p->piece);
    return rc;
}

static int add(void *arg, const char *id, const char *text, struct err *err)
{
    struct pushing *p = arg;
    size_t len = strlen(text) + 1;
    struct err why = {0};
    int rc = ledger_check(text, len - 1, &why);
    if (rc == ERR_FORMAT) {
        if (p->left_out++ < NAMED_MOST)
            buf_printf(&p->says, "left out: run %s: %s\n", id, why.text);
        return buf_check(&p->says, err);
    }
    if (rc != 0)
        return err_memory(err);
    if (p->piece.len > 0 && p->piece.len + len > PIECE_BYTES)
        rc = send_piece(p, err);
    buf_add(&p->piece, text, len - 1);
    buf_addc(&p->piece, '\n');
    return rc;
}

static int check(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    const char *url = call->rest->count > 0 ? call->rest->args[0] : "";
    if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) {
        if (o->token_file && !strchr(url, '?') && !strchr(url, '#'))
            return 0;
        err_set(err, ERR_USAGE,
                o->token_file ? "the server's address has no '?' or '#'"
                              : "'fare runs push' needs --token-file");
        return err_hint(err, "the file holds the token that the server was started with");
    }
    err_set(err, ERR_USAGE, "'fare runs push' needs the address of a 'fare serve'");
    return err_hint(err, "http://HOST:8732, then the runs (default: those the options select)");
}

static int push(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    SCOPED(buf_release) struct buf url = {0}, token = {0}, header = {0};
    struct ledger *ledger;
    TRY(check(call, err));
    int rc = serve_token(o->token_file, &token, err);
    buf_adds(&url, call->rest->args[0]);
    while (url.len > 0 && url.data[url.len - 1] == '/')
        url.data[--url.len] = '\0';
    buf_adds(&url, "/runs");
    buf_printf(&header, "Authorization: Bearer %s", buf_str(&token));
    if (rc == 0)
        rc = buf_check(&url, err);
    if (rc == 0)
        rc = buf_check(&header, err);
    struct pushing p = {.url = url.data, .header = buf_str(&header)};
    if (rc == 0)
        rc = runs_open(call->desk, false, &ledger, err);
    if (rc == 0)
        rc = runs_each(call, ledger, 1, add, &p, err);
    if (rc == 0)
        rc = send_piece(&p, err);
    out_complain(buf_str(&p.says));
    if (rc == 0 || p.added + p.there > 0)
        runs_say_added(call, "pushed", p.added, p.there, p.left_out);
    if (rc == 0 && p.left_out > 0 && p.added + p.there == 0)
        rc = err_set(err, ERR_FORMAT, "none of these runs can be pushed");
    buf_release(&p.piece);
    buf_release(&p.says);
    return rc;
}

#define AT(member) offsetof(struct runs_options, member)
static const struct opt options[] = {
    LEDGER_ROW,
    {"token-file", 0, OPT_TEXT, "FILE", NULL, AT(token_file), NULL,
     "a file with the server's token"},
    RUNS_WHICH,
    {NULL},
};

static const struct cmd_example examples[] = {
    {"fare runs push http://box:8732 last --token-file token", "the newest"},
    {NULL, NULL},
};

const struct command runs_push = {
    .name = "runs push",
    .summary = "send runs to a 'fare serve' elsewhere",
    .arguments = "URL [RUN...]",
    .about = "Sends runs to a server: the runs named, those that the options select, or all. "
             "Runs that the server already has are not added again.",
    .options = options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = examples,
    .run = push,
};
