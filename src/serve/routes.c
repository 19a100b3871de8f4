// SPDX-License-Identifier: Apache-2.0
// Maps addresses to pages and decides who may see them. Addresses are only compared with this
// table; none is ever used as a file name.
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/html.h"
#include "serve/request.h"

// The parameters of each page.
static const char *const
    nothing[] = {NULL},
    *const of_runs[] = {"workload", "name",  "machine", "framework", "ended",
                        "label",    "since", "sort",    "page",      NULL},
    *const of_compare[] = {"run", NULL}, *const of_prices[] = {"text",      "gpu",    "gpus",
                                                               "provider",  "region", "kind",
                                                               "max_price", NULL},
    *const of_spend[] = {"by", "since", "user", "host", "workload", "label", "currency", NULL},
    *const of_offer[] = {"name", NULL},
    *const of_quote[] = {
        "run",      "time",   "steps",        "step_time",       "gpu",    "gpus", "precision",
        "deadline", "budget", "idle_per_day", "hours_per_month", "region", "spot", "measured",
        NULL};

static const struct route {
    const char *path; // a final slash: more follows
    page_fn *read;
    page_fn *write; // (optional)
    bool has_json, has_ledger;
    bool heavy; // takes tens of milliseconds, and megabytes
    const char *const *parameters;
    form_fn *form; // (optional) to enter the parameters
} routes[] = {
#define ROW(...) {__VA_ARGS__},
    ROUTES(ROW)
#undef ROW
};

static bool fits(const struct route *route, const char *path, const char **rest)
{
    size_t len = strlen(route->path);
    bool open = len > 1 && route->path[len - 1] == '/';
    *rest = path + len;
    return open ? strncmp(path, route->path, len) == 0 && path[len]
                : strcmp(path, route->path) == 0;
}

// Writes the path without ".json" to `plain`; `request->rest` points into it.
static const struct route *find(struct request *request, const char *path, char *plain, size_t size)
{
    size_t len = strlen(path);
    request->json = len > 5 && strcmp(path + len - 5, ".json") == 0;
    if (len >= size)
        return NULL;
    snprintf(plain, size, "%.*s", (int)(request->json ? len - 5 : len), path);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (fits(&routes[i], plain, &request->rest) && (!request->json || routes[i].has_json)) {
            request->route = routes[i].path;
            return &routes[i];
        }
    return NULL;
}

static const char *type_of(const struct request *request)
{
    return request->json ? "application/json" : "text/html; charset=utf-8";
}

static void error_json(struct answer *answer, const char *says)
{
    json_auto_t *json = json_pack("{s:s}", "error", says);
    SCOPED(free_pointer) char *text = json ? json_dumps(json, 0) : NULL;
    buf_printf(&answer->text, "%s\n", text ? text : "{\"error\": \"failed\"}");
}

// Includes the page's form, if any, with the values entered.
static void answer_error(const struct request *request, struct answer *answer, int status,
                         const char *says, form_fn *form)
{
    struct buf sentence = {0};
    buf_reset(&answer->text);
    answer->status = status;
    answer->type = type_of(request);
    if (request->json) {
        error_json(answer, says);
        return;
    }
    frame_begin(&answer->text, request,
                status == 404   ? "Not found"
                : status == 500 ? "Server error"
                : status == 503 ? "Server busy"
                                : "Request refused");
    buf_adds(&sentence, says);
    if (sentence.len > 0)
        sentence.data[0] = (char)toupper((unsigned char)sentence.data[0]);
    if (sentence.len > 0 && sentence.data[sentence.len - 1] != '.')
        buf_addc(&sentence, '.');
    html_paragraph(&answer->text, "", buf_str(&sentence));
    buf_drop(&answer->text, &sentence);
    if (form)
        form(&answer->text, request);
    else if (status == 404)
        buf_adds(&answer->text, "<p><a href=\"/runs\">The list of runs</a></p>\n");
    frame_end(&answer->text);
    if (status < 500 && (answer->text.failed || buf_lost(NULL) != 0))
        answer->status = 500; // half a sentence explains nothing
}

void route_error(const struct request *request, struct answer *answer, int status, const char *says)
{
    answer_error(request, answer, status, says, NULL);
}

// Guards against DNS rebinding: a foreign page whose name resolves to this machine sends that name
// as host.
static bool host_is_ours(const char *host)
{
    static const char *const names[] = {"localhost", "127.", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        if (strncasecmp(host, names[i], len) != 0)
            continue;
        const char *end = host + len;
        if (i == 1)
            end += strspn(end, "0123456789.");
        if (*end == '\0' || *end == ':')
            return true;
    }
    return !host; // HTTP/1.0: not a browser
}

bool route_reads(const struct http_head *head)
{
    return strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0;
}

struct route_cost route_cost(const struct http_head *head)
{
    char plain[1024];
    struct request request = {0};
    const struct route *route = find(&request, head->path, plain, sizeof plain);
    return (struct route_cost){.ledger = route && route->has_ledger,
                               .heavy = route && route->heavy};
}

static bool refuse(const struct request *request, struct answer *answer, int status,
                   const char *says)
{
    route_error(request, answer, status, says);
    return true;
}

bool route_refuses(struct request *request, const struct http_head *head, struct answer *answer)
{
    char plain[1024];
    const struct site *site = request->site;
    const struct route *route = find(request, head->path, plain, sizeof plain);
    bool reading = route_reads(head);
    buf_lost_forget(); // by the request before
    if (site->only_local && !host_is_ours(head->host))
        return refuse(request, answer, 403,
                      "This server answers only this machine, under the name localhost.");
    if (reading && site->reading_guarded && !head->bearer && !head->basic) {
        answer->challenge = true;
        return refuse(request, answer, 401,
                      "The server's token is required: as a bearer token, or as the password with "
                      "any user name.");
    }
    if (!route)
        return refuse(request, answer, 404, "There is no such page.");
    if (!reading && (strcmp(head->method, "POST") != 0 || !route->write || request->json)) {
        answer->allow = route->write && !request->json ? "GET, HEAD, POST" : "GET, HEAD";
        return refuse(request, answer, 405, "This address does not support that method.");
    }
    if (!reading) { // only programs write: answer with JSON
        request->json = true;
        if (!site->has_token)
            return refuse(request, answer, 403,
                          "This server does not accept runs: it was started without --token-file.");
        if (!head->bearer) {
            answer->challenge = true;
            return refuse(request, answer, 401, "The server's bearer token is required.");
        }
    }
    return false;
}

static void report_failure(const struct request *request, form_fn *form, struct answer *answer,
                           int rc, const struct err *err)
{
    char says[sizeof err->text + sizeof err->hint + 4];
    snprintf(says, sizeof says, "%s%s%s", err->text, err->hint[0] ? ": " : "", err->hint);
    if (rc == ERR_USAGE || rc == ERR_MISSING) {
        answer_error(request, answer, rc == ERR_USAGE ? 400 : 404, says, form);
        return;
    }
    if (request->site->options.complain)
        request->site->options.complain(says);
    answer->wait = rc == ERR_TIMEOUT;
    if (answer->wait)
        route_error(request, answer, 503, "The ledger does not answer at the moment.");
    else
        route_error(request, answer, 500, "The server failed; its output says why.");
}

// Refuses unknown parameters: ignoring a mistyped filter would show the wrong data.
static int check_parameters(const struct request *request, const struct route *route,
                            struct err *err)
{
    for (size_t i = 0; i < request->query_count; i++) {
        size_t k = 0;
        while (route->parameters[k] && strcmp(route->parameters[k], request->query[i].key) != 0)
            k++;
        if (route->parameters[k])
            continue;
        err_set(err, ERR_USAGE, "this page has no parameter '%.40s'", request->query[i].key);
        SCOPED(buf_release) struct buf names = {0};
        for (k = 0; route->parameters[k]; k++)
            buf_printf(&names, "%s%s", k ? ", " : "", route->parameters[k]);
        err_hint(err, "it takes %s", names.len > 0 ? buf_str(&names) : "none");
        return ERR_USAGE;
    }
    return 0;
}

void route_answer(struct request *request, const struct http_head *head, struct answer *answer)
{
    char plain[1024];
    struct err err = {0};
    struct desk desk = {0};
    const struct route *route = find(request, head->path, plain, sizeof plain);
    bool reading = route_reads(head);
    request->desk = &desk;
    request->json |= !reading;
    answer->status = 200;
    answer->type = type_of(request);
    buf_lost_forget(); // by the request before
    int rc = reading ? check_parameters(request, route, &err) : 0;
    if (rc == 0 && reading && route->has_ledger)
        rc = site_reach(request->site, &desk, &err);
    if (rc == 0)
        rc = (reading ? route->read : route->write)(request, answer, &err);
    if (rc == 0)
        rc = buf_check(&answer->text, &err);
    if (rc == 0)
        rc = buf_lost(&err);
    if (rc != 0)
        report_failure(request, route->form, answer, rc, &err);
    site_give_back(request->site, &desk, rc);
    request->desk = NULL;
}
