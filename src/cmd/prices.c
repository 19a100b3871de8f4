// SPDX-License-Identifier: Apache-2.0
// prices: list the offers in the book, show one.
#include "cmd/prices.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/values.h"

enum { LAST = 20 };

static const struct cmd_example examples[] = {
    {"fare prices h100", "offers with that GPU, the lowest price of a GPU-hour first"},
    {"fare prices --gpu a100-80gb --gpus 8 --spot --max-price 15", "eight of them for less"},
    {"fare prices --gpus 0 --vcpus 32 --region us-east-1", "machines without GPUs"},
    {"fare prices aws/p5.48xlarge", "one offer: the machine, the billing rule, the history"},
    {"fare prices aws/g5.xlarge:spot", "what a spot price did in each zone, and what to count on"},
    {"fare prices k80 --date 2017-11-14", "prices as they were"},
    {"fare prices update", "fetch the public catalogue"},
    {"fare prices devices ada", "GPUs of an architecture: memory, bandwidth, peaks"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_BOOK", "The file with imported prices. Without it, book in XDG_DATA_HOME/fare or "
                  "~/.local/share/fare"},
    {NULL, NULL},
};

// ---- from options to a filter

static int to_int(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : (int)value;
}

static int make_filter(const struct prices_options *o, const char *text,
                       const struct devices *devices, struct book_filter *f, enum offer_kind *kind,
                       int64_t *max_rate, struct err *err)
{
    struct offer_words words = o->words;
    words.text = text;
    TRY(offer_words_take(&words, false, devices, f, kind, max_rate, err));
    f->bare_metal = o->bare_metal;
    f->vcpus_milli = to_int(o->vcpus > INT32_MAX ? INT32_MAX : o->vcpus * 1000);
    f->memory_mib = to_int(o->memory >> 20);
    f->gpu_memory_mib = to_int(o->gpu_memory >> 20);
    return value_day(o->date, &f->day, err);
}

// ---- printing

int prices_local(const struct prices_view *view, const struct listing_line *line,
                 struct offer_record *record, struct err *err)
{
    int64_t local = -1;
    if (!view->currency)
        return 0;
    TRY(text_set(&record->local_currency, view->currency, err));
    if (line->usd_hour >= 0)
        TRY(local_amount(view->market, view->currency, view->day, line->usd_hour, &local, err));
    if (local >= 0)
        record->local_price_per_hour = some_money(local);
    return 0;
}

static int print_json(struct out *out, const struct prices_view *view, const struct listing *list,
                      size_t shown, struct err *err)
{
    struct offers all = {0};
    struct buf words = {0};
    all.offers.known = true;
    int rc = text_set(&all.schema, OFFERS_SCHEMA, err);
    for (size_t i = 0; i < shown && rc == 0; i++) {
        struct offer_record *record = LIST_ADD(&all.offers, err);
        rc = record ? offer_line_record(&list->items[i], view->day, record, err) : ERR_MEMORY;
        if (rc == 0)
            rc = prices_local(view, &list->items[i], record, err);
    }
    if (rc == 0 && view->currency)
        rc = local_words(view->market, view->currency, view->day, &words, err);
    if (rc == 0 && view->currency)
        rc = text_set(&all.exchange, buf_str(&words), err);
    buf_release(&words);
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
        buf_printf(&says, "No such offer in the book. ");
    else if (shown < list->count)
        buf_printf(&says, "The first %zu of %zu; -n N shows more. ", shown, list->count);
    if (!list->all && list->seen > list->count)
        buf_printf(&says, "Each machine where its price is lowest; --all lists all %zu offers. ",
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
    out_wrap_take(out, 0, &says);
}

static int count_one(void *count, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ++*(size_t *)count;
    return 0;
}

// The number of offers at any later date, if there is none on the requested date.
static int count_later(const struct book *book, struct book_filter filter,
                       const struct listing *list, size_t *later, struct err *err)
{
    size_t then = 0, ever = 0;
    *later = 0;
    if (list->count > 0 || list->stale > 0)
        return 0;
    filter.aged = false;
    TRY(book_each(book, &filter, count_one, &then, err));
    filter.day = INT_MAX;
    TRY(book_each(book, &filter, count_one, &ever, err));
    *later = ever > then ? ever - then : 0;
    return 0;
}

static int list_offers(const struct cmd_call *call, struct market *market, const char *text,
                       struct err *err)
{
    const struct prices_options *o = call->options;
    const struct book *book;
    struct book_filter filter;
    enum offer_kind kind;
    struct listing list = {.all = o->all};
    TRY(market_devices(market, &list.devices, err));
    TRY(make_filter(o, text, list.devices, &filter, &kind, &list.max_rate, err));
    TRY(market_book(market, &book, err));
    TRY(market_currencies(market, &list.currencies, err));
    int today = filter.day ? filter.day : book_today();
    filter.aged = o->max_age >= 0;
    if (filter.aged)
        filter.max_age = to_int(o->max_age / INT64_C(86400000000000));
    else
        list.oldest = today - LISTING_STALE_DAYS;
    int rc = listing_make(&list, book, &filter, err);
    size_t shown = o->last >= 0 ? (size_t)o->last : o->all ? SIZE_MAX : LAST;
    if (shown > list.count)
        shown = list.count;
    size_t later = 0;
    if (rc == 0 && filter.day > 0)
        rc = count_later(book, filter, &list, &later, err);
    const struct prices_view view = {market, o->currency, filter.day, o->all || o->words.region};
    if (rc == 0 && o->common.json) {
        rc = print_json(call->out, &view, &list, shown, err);
    } else if (rc == 0) {
        rc = shown > 0 ? prices_table(call->out, &view, &list, shown, err) : 0;
        say_rest(call->out, &list, shown, later);
    }
    listing_release(&list);
    return rc;
}

// ---- the subcommands

static int page_of(const struct cmd_call *call, struct market *market, struct err *err)
{
    const struct prices_options *o = call->options;
    struct offer offer;
    int day = 0;
    TRY(value_day(o->date, &day, err));
    TRY(market_find(market, call->rest->args[0], day, &offer, err));
    return prices_page(call, market, &offer, day, err);
}

// The text may be the name of an offer, or a part of such names.
static int page_or_list(const struct cmd_call *call, struct market *market, struct err *err)
{
    const char *text = call->rest->count > 0 ? call->rest->args[0] : NULL;
    const struct prices_options *o = call->options;
    if (!text || !strchr(text, '/'))
        return list_offers(call, market, text, err);
    const struct book *book;
    TRY(market_book(market, &book, err));
    struct err why = {0};
    int rc = page_of(call, market, &why);
    struct book_filter part = {.text = text};
    struct listing some = {.max_rate = -1};
    if (rc == ERR_MISSING && value_day(o->date, &part.day, &why) == 0 &&
        market_currencies(market, &some.currencies, &why) == 0 &&
        listing_make(&some, book, &part, &why) == 0 && some.count > 0)
        rc = list_offers(call, market, text, &why);
    listing_release(&some);
    *err = why;
    return rc;
}

static int with_market(const struct cmd_call *call,
                       int (*act)(const struct cmd_call *, struct market *, struct err *),
                       struct err *err)
{
    const struct prices_options *o = call->options;
    struct market *market = call->desk->market;
    TRY(local_check(market, o->currency, err));
    return act(call, market, err);
}

static int list(const struct cmd_call *call, struct err *err)
{
    return with_market(call, page_or_list, err);
}

static int show(const struct cmd_call *call, struct err *err)
{
    if (call->rest->count == 1)
        return with_market(call, page_of, err);
    err_set(err, ERR_USAGE, "'fare prices show' needs the name of an offer");
    return err_hint(err, "such as aws/p5.48xlarge; 'fare prices' lists them");
}

static const struct prices_options defaults = {.max_age = -1, .last = -1};

#define DATE_ROW                                                                                   \
    {                                                                                              \
        "date", 0, OPT_TEXT, "DATE", NULL, AT(date), NULL, "prices as they were on this date"      \
    }
#define AT(member) offsetof(struct prices_options, member)
static const struct opt list_options[] = {
    BOOK_ROW,
    DATE_ROW,
    CURRENCY_ROW(AT(currency), NULL),
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(words.gpu), "Which offers",
     "only offers with this GPU, by any of its names: h100, 'NVIDIA A100-SXM4-80GB'"},
    {"gpus", 0, OPT_TEXT, "N", NULL, AT(words.gpus), "Which offers",
     "only offers with at least N GPUs; 0: machines without GPUs"},
    {"gpu-memory", 0, OPT_BYTES, "SIZE", NULL, AT(gpu_memory), "Which offers",
     "only GPUs with at least this much memory each: 40G"},
    {"vcpus", 0, OPT_COUNT, "N", NULL, AT(vcpus), "Which offers",
     "only offers with at least N vCPUs"},
    {"memory", 0, OPT_BYTES, "SIZE", NULL, AT(memory), "Which offers",
     "only offers with at least this much memory"},
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(words.provider), "Which offers",
     "only offers of this provider"},
    {"region", 0, OPT_TEXT, "NAME", NULL, AT(words.region), "Which offers",
     "only offers in this region"},
    {"kind", 0, OPT_CHOICE, "KIND", offer_kinds, AT(words.kind), "Which offers",
     "only on-demand, spot or monthly offers"},
    SPOT_WORD(AT(words.spot), "Which offers"),
    {"bare-metal", 0, OPT_FLAG, NULL, NULL, AT(bare_metal), "Which offers", "only whole machines"},
    {"max-price", 0, OPT_TEXT, "USD", NULL, AT(words.max_price), "Which offers",
     "only offers at or below this price an hour; of a spot offer: time spent at or below it"},
    {"max-age", 0, OPT_DURATION, "TIME", NULL, AT(max_age), "Which offers",
     "only prices seen within this time: 30d, or just 30 (default 730d)",
     .bare_ns = INT64_C(86400) * NS_PER_S},
    {"last", 'n', OPT_COUNT, "N", NULL, AT(last), "Which offers", "only the first N (default 20)"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which offers",
     "all offers in every region, instead of the region with the lowest price of each"},
    {NULL},
};

static const struct command prices_list = {
    .name = "prices list",
    .summary = "list offers, the lowest price of a GPU-hour first",
    .arguments = "[TEXT]",
    .about = "Lists offers, the lowest price of a GPU-hour first, or of a vCPU-hour for machines "
             "without "
             "GPUs. TEXT is searched for in the names of GPUs, offers and providers; an offer's "
             "full name shows that offer. Prices not seen for 30 days (spot: 7) are marked OLD.",
    .options = list_options,
    .options_size = sizeof(struct prices_options),
    .defaults = &defaults,
    .max_args = 1,
    .too_many = "it searches for one text; options narrow it down: 'fare prices --help'",
    .run = list,
};

static const struct opt show_options[] = {
    BOOK_ROW,
    DATE_ROW,
    CURRENCY_ROW(AT(currency), NULL),
    {"max-price", 0, OPT_TEXT, "USD", NULL, AT(words.max_price), NULL,
     "of a spot offer: the longest time at or below this price an hour (default: the on-demand "
     "price)"},
    {NULL},
};
#undef AT

static const struct command prices_show = {
    .name = "prices show",
    .summary = "show one offer: machine, price, billing rule, history",
    .arguments = "OFFER",
    .about = "Shows the machine, the billing rule and the price history of an offer. OFFER is "
             "PROVIDER/NAME, with @REGION and :spot if needed. Of a spot offer it shows each zone: "
             "the price over time, its quantiles, how often it changes, how long it has been "
             "steady, and the price to count on.",
    .options = show_options,
    .options_size = sizeof(struct prices_options),
    .max_args = 1,
    .run = show,
};

static const struct command *const subcommands[] = {
    &prices_list, &prices_show, &prices_import, &prices_update, &prices_devices, NULL,
};

const struct command cmd_prices = {
    .name = "prices",
    .group = "Price",
    .summary = "prices of machines to rent: list, show, import, update",
    .arguments = "[TEXT | OFFER]",
    .about =
        "Lists machines to rent, from the prices that come with fare, imported prices and your own "
        "tables. 'fare prices TEXT' lists the offers that contain it, 'fare prices "
        "OFFER' shows one.",
    .subcommands = subcommands,
    .examples = examples,
    .variables = variables,
};
