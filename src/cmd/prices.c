// SPDX-License-Identifier: Apache-2.0
// prices: the book: lists, one offer, import and update.
#include "cmd/prices.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "price/device.h"

enum { LAST = 20 };

static const char *const kinds[] = {"on-demand", "spot", "monthly", NULL};
static const char *const formats[] = {"skypilot",         "gpuhunt", "aws-spot",
                                      "aws-spot-advisor", "fare",    NULL};

static const struct prices_options defaults = {.max_age = -1, .last = -1};

#define AT(member) offsetof(struct prices_options, member)
static const struct opt options[] = {
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(gpu), "Which",
     "those with this GPU, by any of its names: h100, 'NVIDIA A100-SXM4-80GB'"},
    {"gpus", 0, OPT_TEXT, "N", NULL, AT(gpus), "Which",
     "those with at least so many GPUs; 0: machines without"},
    {"gpu-memory", 0, OPT_BYTES, "SIZE", NULL, AT(gpu_memory), "Which",
     "those whose GPUs have at least so much memory each: 40G"},
    {"vcpus", 0, OPT_COUNT, "N", NULL, AT(vcpus), "Which", "those with at least so many vCPUs"},
    {"memory", 0, OPT_BYTES, "SIZE", NULL, AT(memory), "Which",
     "those with at least so much memory"},
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(provider), "Which", "those of this provider"},
    {"region", 0, OPT_TEXT, "NAME", NULL, AT(region), "Which", "those in this region"},
    {"kind", 0, OPT_CHOICE, "KIND", kinds, AT(kind), "Which", "on-demand, spot or monthly"},
    {"spot", 0, OPT_FLAG, NULL, NULL, AT(spot), "Which", "the same as --kind spot"},
    {"bare-metal", 0, OPT_FLAG, NULL, NULL, AT(bare_metal), "Which", "whole machines only"},
    {"max-price", 0, OPT_TEXT, "USD", NULL, AT(max_price), "Which", "at most so much an hour"},
    {"max-age", 0, OPT_DURATION, "TIME", NULL, AT(max_age), "Which",
     "prices seen no longer ago than this: 30d (default two years)"},
    {"date", 0, OPT_TEXT, "DATE", NULL, AT(date), "Which",
     "prices as they were on this date; import: the date of the file's prices"},
    {"last", 'n', OPT_COUNT, "N", NULL, AT(last), "Which", "the first N of them (default 20)"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which",
     "all of them, in every region, instead of the cheapest of each"},
    {"format", 0, OPT_CHOICE, "NAME", formats, AT(format), "Import",
     "skypilot, gpuhunt, aws-spot, aws-spot-advisor or fare, instead of what the file looks like"},
    {"book", 0, OPT_TEXT, "FILE", NULL, AT(book), "Import",
     "what was imported, instead of FARE_BOOK or the user's own; - for none"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare prices h100", "who has it, cheapest per GPU-hour first"},
    {"fare prices --gpu a100-80gb --gpus 8 --spot --max-price 15", "eight of them for less"},
    {"fare prices --gpus 0 --vcpus 32 --region us-east-1", "machines without GPUs"},
    {"fare prices aws/p5.48xlarge", "one offer: what it is, how it is charged, its history"},
    {"fare prices k80 --date 2017-11-14", "prices as they were"},
    {"fare prices update", "fetch the public catalogue"},
    {"fare prices import aws.csv.gz --date 2026-08-22", "a file of prices"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_BOOK", "The file with imported prices. Without it, book in XDG_DATA_HOME/fare or "
                  "~/.local/share/fare"},
    {NULL, NULL},
};

// ---- from options to a filter ----

int prices_day(const struct prices_options *o, int *day, struct err *err)
{
    int64_t s;
    *day = 0;
    if (!o->date)
        return 0;
    if (!clock_parse(o->date, &s) || s < 86400) {
        err_set(err, ERR_USAGE, "'%s' is not a date", o->date);
        return err_hint(err, "a date looks like 2026-08-22");
    }
    *day = (int)(s / 86400);
    return 0;
}

static int positive(const char *text, const char *option, int64_t *nano, struct err *err)
{
    struct err ignored = {0};
    if (money_parse(text, nano, &ignored) == 0 && *nano >= 0)
        return 0;
    return err_set(err, ERR_USAGE, "--%s: '%s' is not a number of 0 or more", option, text);
}

static int to_int(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : (int)value;
}

static int make_filter(const struct prices_options *o, const char *text, struct book_filter *f,
                       enum offer_kind *kind, int64_t *max_rate, struct err *err)
{
    int64_t gpus = 0;
    *max_rate = -1;
    *f = (struct book_filter){
        .text = text,
        .provider = o->provider,
        .region = o->region,
        .gpu = o->gpu,
        .bare_metal = o->bare_metal,
        .vcpus_milli = to_int(o->vcpus > INT32_MAX ? INT32_MAX : o->vcpus * 1000),
        .memory_mib = to_int(o->memory >> 20),
        .gpu_memory_mib = to_int(o->gpu_memory >> 20),
    };
    int rc = prices_day(o, &f->day, err);
    if (rc == 0 && o->gpus)
        rc = positive(o->gpus, "gpus", &gpus, err);
    if (rc == 0 && o->max_price)
        rc = positive(o->max_price, "max-price", max_rate, err);
    if (rc != 0)
        return rc;
    f->without_gpu = o->gpus && gpus == 0;
    f->gpus_milli = to_int(gpus / (MONEY_UNIT / 1000));
    const char *word = o->spot ? "spot" : o->kind;
    if (o->spot && o->kind && strcmp(o->kind, "spot") != 0)
        return err_set(err, ERR_USAGE, "--spot and --kind %s exclude each other", o->kind);
    if (word && offer_kind_parse(word, kind))
        f->kind = kind;
    return 0;
}

// ---- printing ----

static int print_json(struct out *out, const struct listing *list, size_t shown, int day,
                      struct err *err)
{
    struct offers all = {0};
    all.offers.known = true;
    int rc = text_set(&all.schema, OFFERS_SCHEMA, err);
    for (size_t i = 0; i < shown && rc == 0; i++) {
        struct offer_record *record = LIST_ADD(&all.offers, err);
        rc = record ? offer_to_record(&list->items[i].offer, day, record, err) : ERR_MEMORY;
    }
    if (list->stale > 0)
        all.left_out = some_int((int64_t)list->stale);
    if (rc == 0)
        rc = out_record(out, offers_fields, &all, err);
    record_release(offers_fields, &all);
    return rc;
}

static void say_rest(struct out *out, const struct listing *list, size_t shown, size_t later)
{
    struct buf says = {0};
    if (list->count == 0 && later > 0)
        buf_printf(&says, "%s like that %s no price yet on that date. ",
                   units_count((int64_t)later, "offer").s, later == 1 ? "has" : "have");
    else if (list->count == 0)
        buf_printf(&says, "No offer like that in the book. ");
    else if (shown < list->count)
        buf_printf(&says, "The first %zu of %zu; -n N shows more. ", shown, list->count);
    if (!list->all && list->seen > list->count)
        buf_printf(&says, "The cheapest place of each machine; --all lists all %zu offers. ",
                   list->seen);
    if (list->stale > 0)
        buf_printf(
            &says,
            "%zu offer%s not listed, with prices over two years old: --max-age 9999d or --date "
            "shows them. ",
            list->stale, list->stale == 1 ? " is" : "s are");
    if (list->count == 0 && list->stale == 0 && later == 0)
        buf_adds(&says, "'fare prices update' fetches the public catalogue. ");
    buf_trim(&says);
    if (says.len > 0)
        out_wrap(out, 0, buf_str(&says));
    out->text.failed |= says.failed;
    buf_release(&says);
}

static int count_one(void *count, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ++*(size_t *)count;
    return 0;
}

// How many are on offer at any later date, where there is none on the one asked for.
static int count_later(const struct book *book, struct book_filter filter,
                       const struct listing *list, size_t *later, struct err *err)
{
    size_t then = 0, ever = 0;
    *later = 0;
    if (list->count > 0 || list->stale > 0)
        return 0;
    filter.aged = false;
    int rc = book_each(book, &filter, count_one, &then, err);
    filter.day = INT_MAX;
    if (rc == 0)
        rc = book_each(book, &filter, count_one, &ever, err);
    *later = ever > then ? ever - then : 0;
    return rc;
}

static int list_offers(const struct cmd_call *call, const struct book *book, const char *text,
                       struct err *err)
{
    const struct prices_options *o = call->options;
    struct book_filter filter;
    enum offer_kind kind;
    struct listing list = {.all = o->all};
    struct devices *devices = NULL;
    int rc = make_filter(o, text, &filter, &kind, &list.max_rate, err);
    if (rc == 0 && o->gpu)
        rc = devices_open(&devices, err);
    if (rc != 0)
        return rc;
    const struct device *device = o->gpu ? device_find(devices, o->gpu) : NULL;
    if (device) // else its name stays as it is: catalogues know more of them
        filter.gpu = device->name;
    filter.max_rate = list.max_rate > 0 ? list.max_rate : 0;
    int today = filter.day ? filter.day : book_today();
    filter.aged = o->max_age >= 0;
    if (filter.aged)
        filter.max_age = to_int(o->max_age / INT64_C(86400000000000));
    else
        list.oldest = today - LISTING_STALE_DAYS;
    rc = listing_make(&list, book, &filter, err);
    size_t shown = o->last >= 0 ? (size_t)o->last : o->all ? SIZE_MAX : LAST;
    if (shown > list.count)
        shown = list.count;
    size_t later = 0;
    if (rc == 0 && filter.day > 0)
        rc = count_later(book, filter, &list, &later, err);
    if (rc == 0 && o->common.json) {
        rc = print_json(call->out, &list, shown, filter.day, err);
    } else if (rc == 0) {
        if (shown > 0)
            prices_table(call->out, list.items, shown, filter.day, o->all || o->region, list.rate);
        say_rest(call->out, &list, shown, later);
    }
    listing_release(&list);
    devices_close(devices);
    return rc;
}

// ---- dispatch ----

static int show_or_list(const struct cmd_call *call, const struct book *book, const char *text,
                        struct err *err)
{
    const struct prices_options *o = call->options;
    if (!text || !strchr(text, '/'))
        return list_offers(call, book, text, err);
    int day;
    struct offer offer;
    struct err why = {0};
    int rc = prices_day(o, &day, err);
    if (rc != 0)
        return rc;
    rc = book_find(book, text, day, &offer, &why);
    if (rc == 0)
        return prices_page(call, book, &offer, day, err);
    struct book_filter part = {.text = text, .day = day};
    struct listing some = {.max_rate = -1};
    int found = rc == ERR_MISSING ? listing_make(&some, book, &part, err) : rc;
    bool any = some.count > 0;
    listing_release(&some);
    if (found == 0 && any)
        return list_offers(call, book, text, err);
    *err = why;
    return rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct prices_options *o = call->options;
    const struct opt_rest *rest = call->rest;
    const char *first = rest->count > 0 ? rest->args[0] : NULL;
    if (first && strcmp(first, "import") == 0)
        return prices_import(call, err);
    if (first && strcmp(first, "update") == 0)
        return prices_update(call, err);
    if (rest->count > 1) {
        err_set(err, ERR_USAGE, "'fare prices' looks for one text at a time");
        return err_hint(err, "options narrow it down: 'fare prices --help' lists them");
    }
    struct book *book = NULL;
    int rc = book_open(&book, o->book, err);
    if (rc == 0)
        rc = show_or_list(call, book, first, err);
    book_close(book);
    return rc;
}

const struct command cmd_prices = {
    .name = "prices",
    .group = "Price",
    .summary = "the book of prices: list, show, import, update",
    .arguments = "[TEXT | OFFER] | import FILE... | update [URL...]",
    .about =
        "Lists what can be rented, cheapest per GPU-hour first (machines without GPUs per "
        "vCPU-hour), from what comes with fare, what was imported, and the user's own tables. TEXT "
        "is looked for in the names of GPUs, offers and providers. An OFFER, PROVIDER/NAME with "
        "@REGION and :spot where that matters, is shown with its history. 'import' reads "
        "catalogues of SkyPilot and gpuhunt, AWS's spot price history and spot advisor, and "
        "fare's own tables, and says what it left out; a changed price adds a dated row. "
        "'update' fetches them. Prices not seen for 30 days (spot: 7) are marked OLD.",
    .options = options,
    .options_size = sizeof(struct prices_options),
    .defaults = &defaults,
    .max_args = 4096,
    .examples = examples,
    .variables = variables,
    .run = run,
};
