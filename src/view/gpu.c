// SPDX-License-Identifier: Apache-2.0
#include "view/gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "advise/estimate/estimate.h"
#include "view/html.h"
#include "view/offers.h"

#define RECORD_TABLES
#include "view/gpu.def"

// ---- who has it

static int set_price(struct gpu_price *price, const struct listing_line *line, struct err *err)
{
    struct buf name = {0};
    if (price->usd.known)
        return 0; // the list is sorted: the first is the lowest
    price->usd = some_money(offer_unit(&line->offer, line->usd_hour));
    book_name(&line->offer, &name);
    return text_take(&price->offer, &name, err);
}

static struct gpu_provider *provider_of(struct gpu_model *gpu, const char *provider,
                                        struct err *err)
{
    for (size_t i = 0; i < gpu->providers.count; i++)
        if (strcmp(gpu->providers.items[i].provider, provider) == 0)
            return &gpu->providers.items[i];
    struct gpu_provider *new = LIST_ADD(&gpu->providers, err);
    return new &&text_set(&new->provider, provider, err) == 0 ? new : NULL;
}

static int note_first(void *since, const struct offer *offer, struct err *err)
{
    (void)err;
    int *first = since;
    *first = *first == 0 || offer->since < *first ? offer->since : *first;
    return 1; // the oldest comes first
}

// Keeps the earlier, or the later, of two dates.
static int keep_date(char **date, int day, bool earlier, struct err *err)
{
    char text[12];
    offer_date(day, text);
    if (*date && (strcmp(text, *date) < 0) != earlier)
        return 0;
    return text_set(date, text, err);
}

struct gathering {
    struct gpu_model *gpu;
    const struct book *book;
    struct index places; // of all providers
};

// Whether the provider has another offer in the same zone, or region.
static int is_new_place(struct gathering *g, const struct offer *o, bool *new, struct err *err)
{
    SCOPED(buf_release) struct buf key = {0};
    size_t number, before = g->places.count;
    buf_printf(&key, "%s\n%s\n%s", o->provider, o->region, o->zone);
    TRY(buf_check(&key, err));
    TRY(index_number(&g->places, buf_str(&key), key.len, &number, err));
    *new = g->places.count > before;
    return 0;
}

static int add_offer(struct gathering *g, const struct listing_line *line, struct err *err)
{
    const struct offer *o = &line->offer;
    struct gpu_provider *p = provider_of(g->gpu, o->provider, err);
    int first = 0;
    bool new = false;
    if (!p)
        return ERR_MEMORY;
    TRY(is_new_place(g, o, &new, err));
    struct gpu_price *const by_kind[] = {
        [OFFER_ON_DEMAND] = &p->on_demand, [OFFER_SPOT] = &p->spot, [OFFER_MONTHLY] = &p->monthly};
    p->offers = some_int(p->offers.v + 1);
    p->places = some_int(p->places.v + new);
    if (line->usd_hour >= 0 && o->gpus_milli > 0)
        TRY(set_price(by_kind[o->kind], line, err));
    int rc = book_history(g->book, o, note_first, &first, err);
    if (rc < 0)
        return rc;
    TRY(keep_date(&p->since, first ? first : o->since, true, err));
    TRY(keep_date(&p->seen, o->day, false, err));
    p->old = some_bool((!p->old.known || p->old.v) && offer_old(o, 0));
    return 0;
}

static void set_share(struct gpu_provider *p)
{
    if (p->spot.usd.known && p->on_demand.usd.nano > 0)
        p->spot_share = some_real((double)p->spot.usd.nano / (double)p->on_demand.usd.nano);
}

static int add_providers(struct market *market, const struct listing *list, struct gpu_model *gpu,
                         struct err *err)
{
    struct gathering g = {.gpu = gpu};
    int64_t doubtful = 0, impossible = 0;
    int rc = market_book(market, &g.book, err);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        doubtful += list->items[i].doubt != NULL;
        impossible += list->items[i].doubt == doubt_power_words;
        if (!list->items[i].doubt)
            rc = add_offer(&g, &list->items[i], err);
    }
    index_release(&g.places);
    for (size_t i = 0; i < gpu->providers.count; i++)
        set_share(&gpu->providers.items[i]);
    gpu->offers = some_int((int64_t)list->count - doubtful);
    if (doubtful > 0)
        gpu->doubtful = some_int(doubtful);
    if (impossible > 0)
        gpu->impossible = some_int(impossible);
    const struct listing_line *demand = offers_cheapest(list, OFFER_ON_DEMAND);
    const struct listing_line *spot = offers_cheapest(list, OFFER_SPOT);
    if (rc == 0 && demand)
        rc = set_price(&gpu->on_demand, demand, err);
    return rc == 0 && spot ? set_price(&gpu->spot, spot, err) : rc;
}

// ---- how fast it is

// A net of each kind that estimates tell apart, by a name that they know.
static const struct {
    const char *name, *shown;
} nets[] = {{"transformer", "transformers"},
            {"resnet", "convolutional nets"},
            {"lstm", "recurrent nets"},
            {"recommend", "recommenders"}};

static int add_speed(const struct estimate_tables *tables, const struct device *base,
                     const struct device *device, size_t net, struct gpu_model *gpu,
                     struct err *err)
{
    const char *precision = device_lacks(device, "fp16") ? "fp32" : "fp16";
    char name[24], in[8], words[ESTIMATE_WORDS];
    snprintf(name, sizeof name, "%s", nets[net].name);
    snprintf(in, sizeof in, "%s", precision);
    struct run run = {.workload = name, .precision = in};
    run.use.steady.gpu_percent = some_real(100);
    const struct estimate_place from = {.device = base, .gpus = 1},
                                to = {.device = device, .gpus = 1};
    const struct estimate_time time = {.s = 1};
    struct estimate estimate;
    struct buf class = {0};
    struct gpu_speed *speed = LIST_ADD(&gpu->speeds, err);
    if (!speed)
        return ERR_MEMORY;
    TRY(TEXTS_SET(err, {&speed->net, nets[net].shown}, {&speed->precision, precision}));
    estimate_make(tables, &run, &from, &to, &time, &estimate);
    if (estimate.kind < ESTIMATE_MEASURED)
        return text_set(&speed->why, estimate.why, err);
    speed->ratio = some_real(1 / estimate.time_s);
    speed->low = some_real(1 / estimate.high_s);
    speed->high = some_real(1 / estimate.low_s);
    estimate_words(&estimate, words);
    TRY(text_set(&speed->certainty, words, err));
    estimate_class_words(&estimate, &class);
    return text_take(&speed->class, &class, err);
}

static int add_speeds(const struct devices *devices, const struct device *device,
                      struct gpu_model *gpu, struct err *err)
{
    const struct device *base = device_find(devices, GPU_BASE);
    struct estimate_tables *tables = NULL;
    if (!base || base == device)
        return 0;
    int rc = estimate_tables_open(&tables, err);
    for (size_t i = 0; i < sizeof nets / sizeof *nets && rc == 0; i++)
        rc = add_speed(tables, base, device, i, gpu, err);
    estimate_tables_close(tables);
    return rc;
}

// From the slowest kind of net to the fastest, without their intervals.
struct speed_range {
    double high;
    char words[48]; // "0.14 to 0.22"; "": unknown
    const char *certainty;
};

static void speeds_range(const struct gpu_model *gpu, struct speed_range *range)
{
    double low = 0;
    char from[16], to[16];
    *range = (struct speed_range){0};
    for (size_t i = 0; i < gpu->speeds.count; i++) {
        const struct gpu_speed *s = &gpu->speeds.items[i];
        if (!s->ratio.known)
            continue;
        low = range->certainty && low < s->ratio.v ? low : s->ratio.v;
        range->high = range->high > s->ratio.v ? range->high : s->ratio.v;
        range->certainty = s->certainty;
    }
    snprintf(from, sizeof from, "%.2g", low);
    snprintf(to, sizeof to, "%.2g", range->high);
    bool same = strcmp(from, to) == 0;
    if (range->certainty)
        snprintf(range->words, sizeof range->words, "%s%s%s", from, same ? "" : " to ",
                 same ? "" : to);
}

static void plot_speed(struct draft *d, const struct gpu_model *gpu)
{
    char title[160];
    struct speed_range range;
    draft_plot(d, "speed", "Speed beside an " GPU_BASE,
               "One GPU's training steps per second, divided by those of one " GPU_BASE
               ", estimated from data sheets, for steps that the GPU bounds. The intervals hold "
               "with 90 %: they are errors of such estimates on public pairs of measurements.");
    speeds_range(gpu, &range);
    snprintf(title, sizeof title, "%.100s: %s %s the speed of an " GPU_BASE ", by estimate",
             gpu->gpu, range.words, range.high > 1 ? "times" : "of"); // "L4: 0.1 to 0.13 of ..."
    draft_panel(d, title, "bars", AXIS("", ""), AXIS("speed relative to one " GPU_BASE, "×"));
    if (d->rc == 0)
        draft_line(d, "1 = " GPU_BASE, (struct maybe_real){0}, some_real(1));
    if (d->rc == 0)
        draft_series(d, "speed");
    for (size_t i = 0; i < gpu->speeds.count && d->rc == 0; i++) {
        const struct gpu_speed *s = &gpu->speeds.items[i];
        if (!s->ratio.known)
            continue;
        struct plot_point *bar = draft_bar(d, s->net, s->ratio);
        bar->y_low = s->low;
        bar->y_high = s->high;
        bar->estimated = some_bool(true);
        draft_set(d, &bar->note, s->certainty);
    }
    draft_end(d);
}

// ---- all of it

static int set_device(const struct device *d, struct gpu_model *gpu, struct err *err)
{
#define NUMBER(member)                                                                             \
    if (d->member > 0)                                                                             \
    gpu->member = some_int(d->member)
    NUMBER(year);
    NUMBER(memory_mib);
    NUMBER(memory_mbs);
    NUMBER(bf16_gflops);
    NUMBER(watts);
#undef NUMBER
    return TEXTS_SET(err, {&gpu->vendor, d->vendor}, {&gpu->architecture, d->architecture});
}

static int set_title(struct gpu_model *gpu, const struct listing *list, struct err *err)
{
    struct buf title = {0};
    if (list->count > 0)
        return offers_title(list, &gpu->title, err);
    buf_printf(&title, "%s: nobody in the book rents it out", gpu->gpu);
    return text_take(&gpu->title, &title, err);
}

static int take_plots(struct gpu_model *gpu, struct page *page, struct err *err)
{
    for (size_t i = 0; i < page->plots.count; i++) {
        struct plot *plot = LIST_ADD(&gpu->plots, err);
        if (!plot)
            return ERR_MEMORY;
        *plot = page->plots.items[i];
        memset(&page->plots.items[i], 0, sizeof *plot);
    }
    return 0;
}

static int add_plots(struct market *market, const struct listing *list, struct gpu_model *gpu,
                     struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    struct draft draft = {.page = &page, .err = err};
    plot_offers(&draft, list);
    if (draft.rc == 0)
        plot_speed(&draft, gpu);
    if (draft.rc == 0)
        plot_offer_histories(&draft, market, list);
    return draft.rc == 0 ? take_plots(gpu, &page, err) : draft.rc;
}

int gpu_make(struct market *market, const char *name, struct gpu_model *out, struct err *err)
{
    const struct devices *devices;
    SCOPED(listing_release) struct listing list = {.all = true, .max_rate = -1};
    TRY(market_devices(market, &devices, err));
    const struct device *device = device_find(devices, name);
    const struct book_filter filter = {.gpu = device ? device->name : name, .with_gpu = true};
    TRY(offers_list(market, &filter, &list, err));
    if (list.count == 0 && (!device || device->vector_bits > 0)) {
        err_set(err, ERR_MISSING, "no GPU is called '%s'", name);
        return err_hint(err, "'fare prices devices' lists those that are known");
    }
    TRY(TEXTS_SET(err, {&out->schema, GPU_SCHEMA},
                  {&out->gpu, list.count > 0 ? list.items[0].offer.gpu : device->name}));
    TRY(page_made(&out->made, &out->program, err));
    if (device)
        TRY(set_device(device, out, err));
    TRY(add_providers(market, &list, out, err));
    if (device)
        TRY(add_speeds(devices, device, out, err));
    TRY(set_title(out, &list, err));
    return add_plots(market, &list, out, err);
}

// ---- its page

static void price_figure(struct doc *doc, const char *name, const struct gpu_price *price)
{
    const char *at = "no offer in the book";
    if (price->offer)
        at = doc_text(doc, "a GPU-hour, at %.*s", (int)strcspn(price->offer, "/"), price->offer);
    doc_figure(doc, name,
               price->usd.known ? doc_text(doc, "%s USD", money_brief(price->usd).s) : NULL, at);
}

static void add_figures(struct doc *doc, const struct gpu_model *gpu)
{
    const char *const unknown = "its data sheet is not known";
    struct speed_range range;
    struct buf more = {0};
    speeds_range(gpu, &range);
    if (gpu->providers.count > 0) {
        price_figure(doc, "On demand", &gpu->on_demand);
        price_figure(doc, "Spot", &gpu->spot);
        doc_figure(doc, "Who has it",
                   doc_text(doc, "%s", units_count((int64_t)gpu->providers.count, "provider").s),
                   doc_text(doc, "%s", units_count(gpu->offers.v, "offer").s));
    }
    if (strcmp(gpu->gpu, GPU_BASE) != 0) // others are relative to it
        doc_figure(doc, "Speed, " GPU_BASE " = 1", range.words,
                   range.certainty ? doc_text(doc, "by kind of net; %s", range.certainty)
                                   : unknown);
    if (gpu->memory_mbs.known)
        buf_adds(&more, units_rate((double)gpu->memory_mbs.v * 1e6).s);
    if (gpu->bf16_gflops.known)
        buf_printf(&more, "%s%s in bf16", more.len ? ", " : "",
                   units_flops((double)gpu->bf16_gflops.v * 1e9).s);
    if (gpu->year.known)
        buf_printf(&more, "%sof %lld", more.len ? ", " : "", (long long)gpu->year.v);
    const char *sheet = doc_take(doc, &more);
    doc_figure(doc, "Memory",
               gpu->memory_mib.known ? doc_text(doc, "%s", units_bytes(gpu->memory_mib.v << 20).s)
                                     : NULL,
               sheet ? sheet : unknown);
    if (gpu->providers.count == 0)
        doc_say(doc, DOC_PLAIN, "'fare prices update' fetches the public catalogue.");
}

static struct cell price_cell(struct doc *doc, const struct gpu_price *price, const char *link)
{
    struct cell cell = cell_amount(price->usd);
    if (price->usd.known)
        cell.href = doc_link(doc, link, price->offer);
    return cell;
}

static void add_provider(struct doc *doc, const struct gpu_provider *p, bool mark, const char *link)
{
    const struct maybe_real share = {p->spot_share.v * 100, p->spot_share.known};
    const bool old = mark && p->old.v;
    struct cell provider = cell_text(p->provider);
    provider.href = doc_link(doc, link ? "/provider?name=" : NULL, p->provider); // both of `serve`
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("provider"), provider);
    doc_cell(doc, COLUMN("on demand"), price_cell(doc, &p->on_demand, link));
    doc_cell(doc, COLUMN("spot"), price_cell(doc, &p->spot, link));
    doc_cell(doc, COLUMN("spot ÷ on demand", .priority = 2), cell_number(CELL_PERCENT, share));
    doc_cell(doc, COLUMN("by the month"), price_cell(doc, &p->monthly, link));
    doc_cell(doc, COLUMN("offers", .priority = 3),
             (struct cell){.kind = CELL_COUNT,
                           .text = doc_text(doc, "%lld in %s", (long long)p->offers.v,
                                            units_count(p->places.v, "place").s)});
    doc_cell(doc, COLUMN("since"), (struct cell){.kind = CELL_DATE, .text = p->since});
    doc_cell(
        doc, COLUMN("price seen", .priority = 1),
        (struct cell){.kind = CELL_DATE, .text = doc_text(doc, "%s%s", p->seen, old ? "†" : "")});
}

static void add_who(struct doc *doc, const struct gpu_model *gpu, const char *link)
{
    size_t old = 0;
    for (size_t i = 0; i < gpu->providers.count; i++)
        old += gpu->providers.items[i].old.v;
    doc_heading(doc, 0, "Who has it");
    doc_say(doc, DOC_PLAIN,
            "USD for one GPU and hour, the lowest of its machines, without tax; the lowest first. "
            "Since: the first price in the book.");
    doc_table(doc, "Who has it");
    for (size_t i = 0; i < gpu->providers.count; i++)
        add_provider(doc, &gpu->providers.items[i], old < gpu->providers.count, link);
    view_old_prices(doc, old, gpu->providers.count);
    view_left_out(doc, (size_t)gpu->doubtful.v);
}

// The kinds of figures, each once: "estimated ±50 % in fp16: another architecture, ...: 390 pairs".
static void say_speeds(struct doc *doc, const struct gpu_model *gpu)
{
    const char *last = NULL;
    for (size_t i = 0; i < gpu->speeds.count; i++) {
        const struct gpu_speed *s = &gpu->speeds.items[i];
        const char *what = s->certainty ? s->certainty : "unknown";
        if (!last || strcmp(last, what) != 0)
            doc_say(doc, DOC_ASIDE,
                    doc_text(doc, "Its speed is %s in %s: %s%s.", what, s->precision,
                             s->class ? s->class : s->why, s->class ? " of measurements" : ""));
        last = what;
    }
}

static void show_doc(struct buf *out, struct doc *doc)
{
    doc_html(out, doc, 2);
    doc_release(doc);
}

static void show_plot(struct buf *out, const struct gpu_model *gpu, const char *kind)
{
    for (size_t i = 0; i < gpu->plots.count; i++)
        if (strcmp(gpu->plots.items[i].kind, kind) == 0)
            html_plot(out, &gpu->plots.items[i], 2, i);
}

void html_gpu(struct buf *out, const struct gpu_model *gpu, const char *link)
{
    struct doc doc = {0};
    add_figures(&doc, gpu);
    show_doc(out, &doc);
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    show_plot(out, gpu, "offers");
    show_plot(out, gpu, "prices");
    buf_adds(out, "</div>\n<div>\n");
    if (gpu->providers.count > 0)
        add_who(&doc, gpu, link);
    show_doc(out, &doc);
    show_plot(out, gpu, "speed");
    say_speeds(&doc, gpu);
    show_doc(out, &doc);
    buf_adds(out, "</div>\n</div>\n");
    show_plot(out, gpu, "spot");
}

void html_gpu_page(struct buf *out, const struct gpu_model *gpu)
{
    struct buf made = {0};
    html_begin(out, gpu->title, 0);
    buf_adds(out, "<header>\n");
    html_heading(out, 1, gpu->title);
    buf_adds(out, "</header>\n<main>\n");
    html_gpu(out, gpu, NULL);
    buf_adds(out, "</main>\n<footer>\n");
    buf_printf(&made, "Made by %s on %s from the book of prices.", gpu->program, gpu->made);
    html_paragraph(out, "", buf_str(&made));
    buf_adds(out, "</footer>\n");
    html_end(out);
    buf_drop(out, &made);
}
