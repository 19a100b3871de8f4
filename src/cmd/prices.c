// SPDX-License-Identifier: Apache-2.0
// prices: list the offers in the book, show one.
#include "cmd/prices.h"

#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "cmd/values.h"
#include "view/offers.h"
#include "view/provider.h"

static const struct cmd_example examples[] = {
    {"fare prices", "what one GPU costs an hour, of each model"},
    {"fare prices h100", "who has that GPU: the lowest price of a GPU-hour first"},
    {"fare prices --gpu a100-80gb --gpus 8 --spot --max-price 15", "eight of them for less"},
    {"fare prices --gpus 0 --vcpus 32 --region us-east-1", "machines without GPUs"},
    {"fare prices runpod", "what a provider is like: billing, start-up, images, prices, your runs"},
    {"fare prices aws/p5.48xlarge", "one offer: the machine, the billing rule, the history"},
    {"fare prices aws/g5.xlarge:spot", "what a spot price did in each zone, and what to count on"},
    {"fare prices k80 --date 2017-11-14", "prices as they were"},
    {"fare prices update", "fetch the public catalogues"},
    {"fare prices devices ada", "GPUs of an architecture: memory, bandwidth, peaks"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_BOOK", "The file with imported prices. Without it, book in XDG_DATA_HOME/fare or "
                  "~/.local/share/fare"},
    {"FARE_OFFLINE",
     "If set to 1, prices are fetched by 'fare prices update' alone. The same holds "
     "where CI is set, and with prices.update = never in config in "
     "XDG_CONFIG_HOME/fare or ~/.config/fare"},
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
    f->aged = o->max_age >= 0;
    f->max_age = f->aged ? to_int(o->max_age / INT64_C(86400000000000)) : 0;
    return value_day(o->date, &f->day, err);
}

// ---- a list

static int print_list(const struct cmd_call *call, const struct listing *list,
                      const struct offers_view *view, struct err *err)
{
    const struct prices_options *o = call->options;
    struct offers all = {0};
    SCOPED(doc_release) struct doc doc = {0};
    int rc;
    if (o->common.json) {
        rc = offers_record(list, view, &all, err);
        if (rc == 0)
            rc = out_record(call->out, offers_fields, &all, err);
        record_release(offers_fields, &all);
        return rc;
    }
    rc = view_offers(&doc, list, view, err);
    out_doc(call->out, &doc);
    return rc;
}

static int list_offers(const struct cmd_call *call, struct market *market, const char *text,
                       struct err *err)
{
    enum { LAST = 20 };
    const struct prices_options *o = call->options;
    const struct devices *devices;
    struct book_filter filter;
    enum offer_kind kind;
    SCOPED(listing_release) struct listing list = {.all = o->all};
    TRY(market_devices(market, &devices, err));
    TRY(make_filter(o, text, devices, &filter, &kind, &list.max_rate, err));
    TRY(offers_list(market, &filter, &list, err));
    const struct offers_view view = {
        .market = market,
        .currency = o->currency,
        .day = filter.day,
        .most = o->last >= 0 ? (size_t)o->last
                : o->all     ? SIZE_MAX
                             : LAST,
        .places = o->all || o->words.region,
        .full_names = o->full_names,
    };
    return print_list(call, &list, &view, err);
}

static int list_models(const struct cmd_call *call, struct market *market, struct err *err)
{
    enum { MODELS = 20 };
    const struct prices_options *o = call->options;
    const struct models_view view = {.most = o->last >= 0 ? (size_t)o->last : MODELS};
    const struct book_filter any = {0};
    SCOPED(models_release) struct models models = {0};
    SCOPED(doc_release) struct doc doc = {0};
    TRY(models_make(market, &any, -1, &models, err));
    view_models(&doc, &models, &view);
    out_doc(call->out, &doc);
    return 0;
}

// ---- doubtful prices

void doubts_add(struct doubts *doubts, const char *why)
{
    enum { MOST = sizeof doubts->items / sizeof *doubts->items };
    for (size_t i = 0; why && i < doubts->count; i++)
        why = strcmp(doubts->items[i], why) == 0 ? NULL : why;
    if (why && doubts->count < MOST)
        doubts->items[doubts->count++] = why;
}

void doubts_print(struct out *out, const struct doubts *doubts)
{
    struct buf says = {0};
    for (size_t i = 0; i < doubts->count; i++)
        buf_printf(&says, "%s%s", i == 0 ? "Listed last: the price is " : "; or ",
                   doubts->items[i]);
    buf_adds(&says, doubts->count > 0 ? "." : "");
    out_wrap_take(out, 0, &says);
}

// ---- the subcommands

// The text may be the name of a provider or an offer, or a part of such names.
// Only a word, --all or -n: no option that narrows a list down.
static bool only_word(const struct prices_options *o)
{
    const struct offer_words *w = &o->words;
    return !w->gpu && !w->gpus && !w->provider && !w->region && !w->kind && !w->spot &&
           !w->max_price && !o->bare_metal && o->vcpus == 0 && o->memory == 0 &&
           o->gpu_memory == 0 && o->max_age < 0 && !o->date && !o->currency;
}

static int page_or_list(const struct cmd_call *call, struct market *market, struct err *err)
{
    const char *text = call->rest->count > 0 ? call->rest->args[0] : NULL;
    const struct prices_options *o = call->options;
    bool provider = false;
    if (text && only_word(o) && o->last < 0)
        TRY(provider_known(market, text, &provider, err));
    if (!text && only_word(o) && !o->all && !o->common.json)
        return list_models(call, market, err);
    if (provider)
        return prices_provider(call, market, err);
    if (!text || !strchr(text, '/'))
        return list_offers(call, market, text, err);
    struct err why = {0};
    int rc = prices_page(call, market, &why);
    struct book_filter part = {.text = text};
    SCOPED(listing_release) struct listing some = {.max_rate = -1};
    if (rc == ERR_MISSING && value_day(o->date, &part.day, &why) == 0 &&
        offers_list(market, &part, &some, &why) == 0 && some.count + some.stale > 0)
        rc = list_offers(call, market, text, &why);
    *err = why;
    return rc;
}

static int with_market(const struct cmd_call *call,
                       int (*act)(const struct cmd_call *, struct market *, struct err *),
                       struct err *err)
{
    const struct prices_options *o = call->options;
    struct market *market = call->desk->market;
    TRY(prices_renew(o->book, o->date, err));
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
        return with_market(call, prices_page, err);
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
    LEDGER_ROW,
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
    {"bare-metal", 0, OPT_FLAG, NULL, NULL, AT(bare_metal), "Which offers",
     "only bare-metal machines"},
    {"max-price", 0, OPT_TEXT, "USD", NULL, AT(words.max_price), "Which offers",
     "only offers at or below this price an hour; of a spot offer: time spent at or below it"},
    {"max-age", 0, OPT_DURATION, "TIME", NULL, AT(max_age), "Which offers",
     "only prices seen within this time: 30d, or just 30 (default 730d)",
     .bare_ns = INT64_C(86400) * NS_PER_S},
    {"last", 'n', OPT_COUNT, "N", NULL, AT(last), "Which offers",
     "only the first N rows (default 20)"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which offers",
     "each offer in every region, at old prices, too, instead of each machine where it is "
     "cheapest; of a provider also its rules, images and sources"},
    {"long", 0, OPT_FLAG, NULL, NULL, AT(full_names), "Which offers",
     "offers by their full names, with region and zone"},
    {NULL},
};

static const struct command prices_list = {
    .name = "prices list",
    .summary = "list offers, the lowest price of a GPU-hour first",
    .arguments = "[TEXT]",
    .about = "Lists machines, the lowest price of a GPU-hour first, or of a vCPU-hour for machines "
             "without GPUs; a provider's machines whose GPU costs the same make one row. TEXT is "
             "searched for in the names of GPUs, offers and providers; an offer's name shows that "
             "offer, a provider's name alone what that provider is like. Without TEXT and options "
             "it lists the lowest price of each GPU model. Prices not seen for 30 days (spot: 7) "
             "are marked †, "
             "those over 180 days old are hidden where newer ones exist.",
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
    .arguments = "[TEXT | PROVIDER | OFFER]",
    .about =
        "Lists machines to rent, from the prices that come with fare, imported prices and your own "
        "tables. 'fare prices TEXT' lists the offers that contain it, 'fare prices "
        "OFFER' shows one, 'fare prices PROVIDER' what a provider is like.",
    .subcommands = subcommands,
    .examples = examples,
    .variables = variables,
};
