// SPDX-License-Identifier: Apache-2.0
// The pages about money: what a run would cost.
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "report/html.h"
#include "report/markup.h"
#include "serve/request.h"

// ---- quotes

static int take_wishes(const struct request *request, struct quote_job *job, struct err *err)
{
    static const enum offer_kind kinds[] = {OFFER_ON_DEMAND, OFFER_SPOT};
    const char *deadline = request_value(request, "deadline");
    const char *hours = request_value(request, "hours_per_month");
    const char *spot = request_value(request, "spot");
    char *end = NULL;
    job->ask.boot_ns = -1;
    job->ask.max_age = QUOTE_MAX_AGE;
    job->ask.region = request_value(request, "region");
    if (deadline) {
        int64_t ns;
        if (!clock_parse_duration(deadline, &ns) || ns < 0)
            return err_set(err, ERR_USAGE, "the deadline '%s' is no time: 90s, 45m or 2h",
                           deadline);
        job->wishes.deadline_ns = some_int(ns);
    }
    if (hours) {
        long value = strtol(hours, &end, 10);
        if (end == hours || *end || value < 1 || value > 720)
            return err_set(err, ERR_USAGE, "hours per month are 1 to 720: a month of 30 days");
        job->wishes.use_ns_a_month = value * 3600 * NS_PER_S;
    }
    if (spot && strcmp(spot, "yes") != 0 && strcmp(spot, "no") != 0)
        return err_set(err, ERR_USAGE, "spot is 'yes' or 'no'");
    if (spot)
        job->ask.kind = &kinds[strcmp(spot, "yes") == 0];
    return 0;
}

static int make_quote(const struct request *request, const char *word, struct quote_job *job,
                      struct err *err)
{
    const struct serve_options *o = &request->site->options;
    struct quote *q = &job->quote;
    int rc = take_wishes(request, job, err);
    if (rc == 0)
        rc = quote_load(job, word, o->ledger, err);
    if (rc == 0)
        rc = quote_open(job, o->book, err);
    if (rc == 0)
        rc = text_set(&q->schema, QUOTE_SCHEMA, err);
    if (rc == 0)
        rc = text_set(&q->workload, job->workload, err);
    if (rc == 0 && job->asked)
        rc = text_set(&q->run, job->runs.items[0].id, err);
    if (rc == 0)
        rc = text_set(&q->rule, "paid", err);
    if (rc == 0)
        rc = quote_make(&job->ask, q, err);
    return rc == 0 ? advice_make(&job->ask, &job->wishes, q, err) : rc;
}

static void quote_form(struct buf *out, const struct request *request)
{
    static const char *const spots[][2] = {
        {"", "on demand and spot"}, {"no", "on demand"}, {"yes", "spot"}};
    const char *spot = request_value(request, "spot");
    buf_adds(out, "<form action=\"/quote\" method=\"get\" aria-label=\"What to price\">\n");
    frame_field(out, request, "run", "Run or workload", "last");
    frame_field(out, request, "deadline", "Done within", "2h");
    frame_field(out, request, "hours_per_month", "Hours a month", "100");
    frame_field(out, request, "region", "Region", "us-east-1");
    buf_adds(out, "<label>Kind<select name=\"spot\">\n");
    for (size_t i = 0; i < sizeof spots / sizeof *spots; i++)
        buf_printf(out, "<option value=\"%s\"%s>%s</option>\n", spots[i][0],
                   strcmp(spot ? spot : "", spots[i][0]) == 0 ? " selected" : "", spots[i][1]);
    buf_adds(out, "</select></label>\n<button>Price it</button>\n</form>\n");
}

int page_quote(const struct request *request, struct answer *answer, struct err *err)
{
    const char *word = request_value(request, "run");
    struct quote_job job = {.asked = !quote_is_workload(word)};
    if (request->json && !word)
        return err_set(err, ERR_USAGE, "say which run: /quote.json?run=last");
    int rc = word ? make_quote(request, word, &job, err) : 0;
    if (rc == 0 && request->json) {
        rc = record_to_text(quote_fields, &job.quote, &answer->text, err);
    } else if (rc == 0) {
        frame_begin(&answer->text, "What would it cost?");
        quote_form(&answer->text, request);
        if (word) {
            html_quote(&answer->text, &job.quote, 2);
            frame_twin(&answer->text, request, "/quote");
        }
        frame_end(&answer->text);
    }
    quote_release(&job);
    return rc;
}
