// SPDX-License-Identifier: Apache-2.0
// The pages about money: the book, one offer with its price history, and quotes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "market/power.h"
#include "price/listing.h"
#include "price/offer_record.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/part.h"
#include "serve/request.h"
#include "spot/history_record.h"

static const struct choice {
    const char *value, *words;
} spots[] = {{"", "any"}, {"no", "on demand"}, {"yes", "spot"}},
  bases[] = {{"", "with estimates"}, {"yes", "measured only"}},
  kinds[] = {{"", "any"}, {"on-demand", "on demand"}, {"spot", "spot"}, {"monthly", "monthly"}};

static void choose(struct buf *out, const struct request *request, const char *name,
                   const char *label, const struct choice *choices, size_t count)
{
    const char *chosen = request_value(request, name);
    buf_printf(out, "<label>%s<select name=\"%s\">\n", label, name);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "<option value=\"%s\"%s>%s</option>\n", choices[i].value,
                   strcmp(chosen ? chosen : "", choices[i].value) == 0 ? " selected" : "",
                   choices[i].words);
    buf_adds(out, "</select></label>\n");
}

// ---- quotes

static int read_wishes(const struct request *request, struct quote_job *job, struct err *err)
{
    static const enum offer_kind by_spot[] = {OFFER_ON_DEMAND, OFFER_SPOT};
    const char *deadline = request_value(request, "deadline");
    const char *budget = request_value(request, "budget");
    const char *hours = request_value(request, "hours_per_month");
    const char *spot = request_value(request, "spot");
    const char *measured = request_value(request, "measured");
    char *end = NULL;
    job->ask.max_age = QUOTE_MAX_AGE;
    job->ask.region = request_value(request, "region");
    job->ask.estimates = !measured;
    job->ask.most_estimates = PAGE_ESTIMATES;
    job->ask.most_misfits = PAGE_MISFITS;
    if (deadline) {
        int64_t ns;
        if (!clock_parse_duration(deadline, &ns) || ns < 0)
            return err_set(err, ERR_USAGE, "the deadline '%s' is not a time such as 90s, 45m or 2h",
                           deadline);
        job->wishes.deadline_ns = some_int(ns);
    }
    if (budget) {
        int64_t nano;
        if (money_parse(budget, &nano, NULL) != 0 || nano < 0)
            return err_set(err, ERR_USAGE, "the budget '%s' is not a number of USD", budget);
        job->wishes.budget = some_int(nano);
    }
    if (hours) {
        long value = strtol(hours, &end, 10);
        if (end == hours || *end || value < 1 || value > 720)
            return err_set(err, ERR_USAGE, "hours per month must be 1 to 720 (30 days)");
        job->wishes.use_ns_a_month = value * 3600 * NS_PER_S;
    }
    if (spot && strcmp(spot, "yes") != 0 && strcmp(spot, "no") != 0)
        return err_set(err, ERR_USAGE, "spot must be 'yes' or 'no'");
    if (measured && strcmp(measured, "yes") != 0)
        return err_set(err, ERR_USAGE, "measured must be 'yes'");
    if (spot)
        job->ask.kind = &by_spot[strcmp(spot, "yes") == 0];
    return 0;
}

static int make_quote(const struct request *request, const char *word, struct quote_job *job,
                      struct err *err)
{
    const struct serve_options *o = &request->site->options;
    TRY(read_wishes(request, job, err));
    TRY(quote_load(job, word, o->ledger, err));
    TRY(market_open(&job->ask.market, o->book, NULL, err));
    return quote_assemble(job, err);
}

void form_quote(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/quote\" method=\"get\" aria-label=\"What to price\">\n");
    frame_field(out, request, "run", "Run or workload", "last");
    frame_field(out, request, "deadline", "Done within", "2h");
    frame_field(out, request, "budget", "For at most, USD", "5");
    frame_field(out, request, "hours_per_month", "Hours a month", "100");
    frame_field(out, request, "region", "Region", "us-east-1");
    choose(out, request, "spot", "Kind", spots, sizeof spots / sizeof *spots);
    choose(out, request, "measured", "Times", bases, sizeof bases / sizeof *bases);
    buf_adds(out, "<button>Price it</button>\n</form>\n");
}

// Quotes what a shell would read otherwise.
static void add_word(struct buf *out, const char *word)
{
    bool plain = *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_./:@=+,")] == '\0';
    buf_addc(out, ' ');
    if (plain) {
        buf_adds(out, word);
        return;
    }
    buf_addc(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *word);
    buf_addc(out, '\'');
}

// The same quote on the command line.
static void show_command(struct buf *out, const struct request *request)
{
    static const char *const options[][2] = {{"deadline", "--deadline"},
                                             {"budget", "--budget"},
                                             {"hours_per_month", "--hours-per-month"},
                                             {"region", "--region"}};
    const char *spot = request_value(request, "spot");
    struct buf line = {0};
    buf_adds(&line, "fare quote");
    add_word(&line, request_value(request, "run"));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (request_value(request, options[i][0])) {
            buf_printf(&line, " %s", options[i][1]);
            add_word(&line, request_value(request, options[i][0]));
        }
    if (spot)
        buf_printf(&line, " --kind %s", strcmp(spot, "yes") == 0 ? "spot" : "on-demand");
    if (request_value(request, "measured"))
        buf_adds(&line, " --measured");
    html_paragraph(out, "mute", "The same on the command line:");
    part_command(out, buf_str(&line));
    buf_drop(out, &line);
}

// "cnn costs 0.061 USD or more": the title says the result.
static void quote_title(const struct quote *quote, struct buf *out)
{
    const struct bill **rows = quote_rows(quote, NULL);
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    out->failed |= !rows;
    buf_adds(out, quote->workload ? quote->workload : "The training");
    if (rows && rows[0]) {
        bill_amount(rows[0], amount, interval);
        buf_printf(out, " costs %s USD or more", amount + strspn(amount, "≥"));
    } else {
        buf_adds(out, ": no known offer fits");
    }
    free(rows);
}

static void show_quote(struct buf *out, const struct request *request, const struct quote_job *job,
                       const struct page *plots)
{
    struct buf title = {0};
    bool asked = request_value(request, "run");
    if (asked)
        quote_title(&job->quote, &title);
    else
        buf_adds(&title, "What would it cost?");
    frame_begin(out, request, buf_str(&title));
    form_quote(out, request);
    if (asked) {
        buf_adds(out, "<div class=\"cols\">\n<div>\n");
        html_quote(out, &job->quote, 2);
        buf_adds(out, "</div>\n<div>\n");
        for (size_t i = 0; i < plots->plots.count; i++)
            html_plot(out, &plots->plots.items[i], 2, i);
        show_command(out, request);
        buf_adds(out, "</div>\n</div>\n");
        frame_json_link(out, request, "/quote");
    } else {
        part_empty(out,
                   "Name a run or a workload above. Without a run of your own, a published one "
                   "gives an idea: cnn, or",
                   "fare quote --time 2h --gpu h100");
    }
    frame_end(out);
    buf_drop(out, &title);
}

int page_quote(const struct request *request, struct answer *answer, struct err *err)
{
    const char *word = request_value(request, "run");
    struct quote_job job = {.asked = !quote_is_workload(word)};
    struct page plots = {0};
    if (request->json && !word)
        return err_set(err, ERR_USAGE, "name a run: /quote.json?run=last");
    int rc = word ? make_quote(request, word, &job, err) : 0;
    if (rc == 0 && word && !request->json)
        rc = page_frontier(&job, &plots, err);
    if (rc == 0 && request->json)
        rc = record_to_text(quote_fields, &job.quote, &answer->text, err);
    else if (rc == 0)
        show_quote(&answer->text, request, &job, &plots);
    record_release(page_fields, &plots);
    quote_release(&job);
    market_close(job.ask.market);
    return rc;
}

// ---- the book

enum { OFFERS_SHOWN = 100 };

static int read_number(const struct request *request, const char *key, int64_t *nano,
                       struct err *err)
{
    const char *text = request_value(request, key);
    if (text && (money_parse(text, nano, NULL) != 0 || *nano < 0))
        return err_set(err, ERR_USAGE, "'%s' is not a number of 0 or more", key);
    return 0;
}

static int book_wishes(const struct request *request, const struct devices *devices,
                       struct book_filter *filter, enum offer_kind *kind, int64_t *max_rate,
                       struct err *err)
{
    const char *gpu = request_value(request, "gpu"), *word = request_value(request, "kind");
    const struct device *device = gpu ? device_find(devices, gpu) : NULL;
    int64_t gpus = -1;
    *max_rate = -1;
    *filter = (struct book_filter){.text = request_value(request, "text"),
                                   .gpu = device ? device->name : gpu,
                                   .provider = request_value(request, "provider"),
                                   .region = request_value(request, "region")};
    TRY(read_number(request, "gpus", &gpus, err));
    TRY(read_number(request, "max_price", max_rate, err));
    filter->without_gpu = gpus == 0;
    if (gpus > 0)
        filter->gpus_milli =
            gpus / (MONEY_UNIT / 1000) > INT32_MAX ? INT32_MAX : (int)(gpus / (MONEY_UNIT / 1000));
    filter->max_rate = *max_rate > 0 ? *max_rate : 0;
    if (word && !offer_kind_parse(word, kind))
        return err_set(err, ERR_USAGE, "kind must be on-demand, spot or monthly");
    if (word)
        filter->kind = kind;
    return 0;
}

static void price_cell(struct buf *out, int64_t nano)
{
    char text[MONEY_BYTES] = "";
    if (nano >= 0)
        money_short(nano, text);
    html_cell(out, "num", text);
}

static void offer_row(struct buf *out, const struct listing_line *line)
{
    const struct offer *o = &line->offer;
    char count[24], gpus[128] = "", vcpus[24] = "", seen[80];
    struct buf name = {0};
    book_name(o, &name);
    offer_milli(o->gpus_milli, count);
    if (o->gpus_milli > 0)
        snprintf(gpus, sizeof gpus, "%s\u00a0×\u00a0%.80s", count, o->gpu);
    if (o->vcpus_milli > 0)
        offer_milli(o->vcpus_milli, vcpus);
    offer_date(o->day, seen);
    if (offer_old(o, 0))
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), ", OLD");
    if (line->impossible)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen),
                 ", less than its electricity: it cannot be");
    buf_adds(out, "<tr><td class=\"long\"><a href=\"/offer?name=");
    frame_escape(out, buf_str(&name));
    markup_in(out, "\">", buf_str(&name), "</a></td>");
    price_cell(out, line->usd_hour);
    price_cell(out, offer_unit(o, line->usd_hour));
    html_cell(out, "", gpus);
    html_cell(out, "num", vcpus);
    html_cell(out, "num", seen);
    buf_adds(out, "</tr>\n");
    buf_drop(out, &name);
}

void form_prices(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/prices\" method=\"get\" aria-label=\"Filters\">\n");
    frame_field(out, request, "text", "In its name", "p3");
    frame_field(out, request, "gpu", "GPU", "h100");
    frame_field(out, request, "gpus", "GPUs, at least", "1");
    frame_field(out, request, "provider", "Provider", "aws");
    frame_field(out, request, "region", "Region", "us-east-1");
    frame_field(out, request, "max_price", "USD per hour, at most", "10");
    choose(out, request, "kind", "Kind", kinds, sizeof kinds / sizeof *kinds);
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

static void show_prices(struct buf *out, const struct request *request, const struct listing *list,
                        size_t shown)
{
    static const struct html_column columns[] = {{"offer", "long"},  {"USD per hour", "num"},
                                                 {"per GPU", "num"}, {"GPUs", ""},
                                                 {"vCPUs", "num"},   {"price seen", "num"}};
    frame_begin(out, request, "Prices");
    form_prices(out, request);
    if (list->count == 0)
        html_paragraph(out, "", "No matching offer in the book.");
    else
        buf_printf(
            out,
            "<p>%zu of %zu offers, each in its cheapest place, sorted by price per GPU (without "
            "GPUs: per vCPU); without tax.</p>\n",
            shown, list->count);
    if (list->stale > 0)
        buf_printf(out, "<p>%zu not listed: their prices are over two years old.</p>\n",
                   list->stale);
    if (shown > 0) {
        html_begin_table(out, "Offers");
        html_table_head(out, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++)
            offer_row(out, &list->items[i]);
        html_end_table(out);
    }
    frame_json_link(out, request, "/prices");
    frame_end(out);
}

static int prices_json(const struct listing *list, struct buf *out, struct err *err)
{
    struct offers all = {.offers = {.known = true}};
    int rc = text_set(&all.schema, OFFERS_SCHEMA, err);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        struct offer_record *record = LIST_ADD(&all.offers, err);
        rc = record ? offer_to_record(&list->items[i].offer, 0, record, err) : ERR_MEMORY;
        if (rc == 0 && list->items[i].impossible)
            record->price_impossible = some_bool(true);
    }
    if (list->stale > 0)
        all.left_out = some_int((int64_t)list->stale);
    if (rc == 0)
        rc = record_to_text(offers_fields, &all, out, err);
    record_release(offers_fields, &all);
    return rc;
}

int page_prices(const struct request *request, struct answer *answer, struct err *err)
{
    struct market *market = NULL;
    const struct book *book;
    const struct devices *devices;
    struct book_filter filter;
    enum offer_kind kind;
    struct listing list = {.oldest = book_today() - LISTING_STALE_DAYS, .cannot_be = power_exceeds};
    int rc = market_open(&market, request->site->options.book, NULL, err);
    if (rc == 0)
        rc = market_devices(market, &devices, err);
    if (rc == 0)
        rc = book_wishes(request, devices, &filter, &kind, &list.max_rate, err);
    if (rc == 0)
        rc = market_book(market, &book, err);
    if (rc == 0) {
        list.devices = devices;
        rc = listing_make(&list, book, &filter, err);
    }
    size_t shown = list.count < OFFERS_SHOWN ? list.count : OFFERS_SHOWN;
    if (rc == 0 && request->json)
        rc = prices_json(&list, &answer->text, err);
    else if (rc == 0)
        show_prices(&answer->text, request, &list, shown);
    listing_release(&list);
    market_close(market);
    return rc;
}

// ---- one offer

static void price_for(int64_t seconds, char *out, size_t size)
{
    bool days = seconds % 86400 == 0, hours = seconds % 3600 == 0;
    snprintf(out, size, "price for %s",
             units_count(seconds / (days    ? 86400
                                    : hours ? 3600
                                            : 1),
                         days    ? "day"
                         : hours ? "hour"
                                 : "second")
                 .s);
}

// Prices as they are, times in words.
static void show_spot(struct buf *out, const struct spot_prices *s)
{
    static const struct html_column columns[] = {
        {"zone", "long"},  {"last", "num"},          {"10 %", "num"},
        {"50 %", "num"},   {"90 %", "num"},          {"changes a day", "num"},
        {"steady", "num"}, {"longest under", "num"}, {"count on", "num"},
    };
    html_begin_table(out, "Spot price by zone");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->zones.count; i++) {
        const struct spot_zone *z = &s->zones.items[i];
        char changes[24], steady[32], longest[32] = "never";
        snprintf(changes, sizeof changes, "%.1f", z->changes_per_day.v);
        clock_words(z->steady_s.v * NS_PER_S, steady, sizeof steady);
        if (z->longest_under_s.v > 0)
            clock_words(z->longest_under_s.v * NS_PER_S, longest, sizeof longest);
        const char *const cells[] = {z->price, z->p10, z->p50,  z->p90,
                                     changes,  steady, longest, z->count_on};
        buf_adds(out, "<tr>");
        html_cell(out, "long", z->zone);
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            html_cell(out, "num", cells[k]);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
    buf_adds(out, "<p>USD an hour; 10, 50, 90 %: at or below this price for that share of the "
                  "time. Steady: time since the last change. Longest under: longest time at or "
                  "below ");
    markup_text(out, s->under);
    buf_printf(out, "%s. Count on: the 90 %% price of all the time seen.</p>\n",
               strcmp(s->under_is, "on-demand") == 0 ? ", the on-demand price"
                                                     : ", the lowest median");
}

static int add_spot(struct market *market, const struct offer *offer, struct offer_record *record,
                    struct page *plots, struct err *err)
{
    const struct spot_view ask = {.place = *offer->region ? offer->region : NULL, .under = -1};
    TRY(spot_describe(market, offer, &ask, &record->spot, err));
    return page_spot(market, offer, plots, err);
}

static void show_offer(struct buf *out, const struct request *request, const struct offer_record *r,
                       const struct page *plots)
{
    char price[48] = "price an hour";
    const struct html_column columns[] = {{"since", "num"},
                                          {"last seen", "num"},
                                          {price, "num"},
                                          {"currency", ""},
                                          {"source", "long"}};
    if (r->per_s.known && r->per_s.v != 3600)
        price_for(r->per_s.v, price, sizeof price);
    frame_begin(out, request, r->offer);
    if (r->tariff)
        html_heading(out, 2, "Billing");
    html_paragraph(out, "", r->tariff);
    for (size_t i = 0; i < plots->plots.count; i++)
        html_plot(out, &plots->plots.items[i], 2, i);
    if (r->spot.zones.count > 0 && plots->plots.count > 0)
        show_spot(out, &r->spot);
    html_heading(out, 2, "Price history");
    html_begin_table(out, "Price history");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = r->history.count; i-- > 0;) { // the newest first
        const struct offer_price *p = &r->history.items[i];
        buf_adds(out, "<tr>");
        html_cell(out, "num", p->since);
        html_cell(out, "num", p->seen);
        html_cell(out, "num", p->price);
        html_cell(out, "", p->currency);
        html_cell(out, "long", p->source);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
    frame_json_link(out, request, "/offer");
    frame_end(out);
}

int page_offer_history(const struct request *request, struct answer *answer, struct err *err)
{
    const char *name = request_value(request, "name");
    struct market *market = NULL;
    const struct book *book;
    struct offer offer;
    struct offer_record record = {0};
    struct page plots = {0};
    if (!name)
        return err_set(err, ERR_USAGE, "name an offer: /offer?name=aws/p3.2xlarge");
    int rc = market_open(&market, request->site->options.book, NULL, err);
    if (rc == 0)
        rc = market_book(market, &book, err);
    if (rc == 0)
        rc = book_find(book, name, 0, &offer, err);
    if (rc == 0)
        rc = offer_describe(book, &offer, 0, &record, err);
    if (rc == 0 && offer.kind == OFFER_SPOT)
        rc = add_spot(market, &offer, &record, &plots, err);
    if (rc == 0 && request->json)
        rc = record_to_text(offer_record_fields, &record, &answer->text, err);
    else if (rc == 0)
        show_offer(&answer->text, request, &record, &plots);
    record_release(offer_record_fields, &record);
    record_release(page_fields, &plots);
    market_close(market);
    return rc;
}
