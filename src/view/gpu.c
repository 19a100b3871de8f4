// SPDX-License-Identifier: Apache-2.0
#include "view/gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "advise/estimate/estimate.h"
#include "book/listing.h"
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
    struct buf key = {0};
    size_t number, before = g->places.count;
    buf_printf(&key, "%s\n%s\n%s", o->provider, o->region, o->zone);
    int rc = buf_check(&key, err);
    if (rc == 0)
        rc = index_number(&g->places, buf_str(&key), key.len, &number, err);
    *new = g->places.count > before;
    buf_release(&key);
    return rc;
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

// "L4: 0.1 to 0.13 of an H100"
static void speed_title(const struct gpu_model *gpu, char *out, size_t size)
{
    double low = 0, high = 0;
    char from[16], to[16];
    for (size_t i = 0; i < gpu->speeds.count; i++) {
        struct maybe_real ratio = gpu->speeds.items[i].ratio;
        low = ratio.known && (low == 0 || ratio.v < low) ? ratio.v : low;
        high = ratio.known && ratio.v > high ? ratio.v : high;
    }
    snprintf(from, sizeof from, "%.2g", low);
    snprintf(to, sizeof to, "%.2g", high);
    bool range = strcmp(from, to) != 0;
    snprintf(out, size, "%.100s: %s%s%s %s the speed of an " GPU_BASE ", by estimate", gpu->gpu,
             from, range ? " to " : "", range ? to : "", high > 1 ? "times" : "of");
}

static void plot_speed(struct draft *d, const struct gpu_model *gpu)
{
    char title[160];
    draft_plot(d, "speed", "Speed beside an " GPU_BASE,
               "One GPU's training steps per second, divided by those of one " GPU_BASE
               ", estimated from data sheets, for steps that the GPU bounds. The intervals hold "
               "with 90 %: they are errors of such estimates on public pairs of measurements.");
    speed_title(gpu, title, sizeof title);
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
    struct page page = {0};
    struct draft draft = {.page = &page, .err = err};
    plot_offers(&draft, list);
    if (draft.rc == 0)
        plot_speed(&draft, gpu);
    if (draft.rc == 0)
        plot_offer_histories(&draft, market, list);
    int rc = draft.rc == 0 ? take_plots(gpu, &page, err) : draft.rc;
    record_release(page_fields, &page);
    return rc;
}

int gpu_make(struct market *market, const char *name, struct gpu_model *out, struct err *err)
{
    const struct devices *devices;
    struct listing list = {0};
    TRY(market_devices(market, &devices, err));
    const struct device *device = device_find(devices, name);
    const struct book_filter filter = {.gpu = device ? device->name : name, .with_gpu = true};
    int rc = offers_list(market, &filter, -1, &list, err);
    if (rc == 0 && list.count == 0 && (!device || device->vector_bits > 0)) {
        rc = err_set(err, ERR_MISSING, "no GPU is called '%s'", name);
        err_hint(err, "'fare prices devices' lists those that are known");
    }
    if (rc == 0)
        rc = TEXTS_SET(err, {&out->schema, GPU_SCHEMA},
                       {&out->gpu, list.count > 0 ? list.items[0].offer.gpu : device->name});
    if (rc == 0)
        rc = page_made(&out->made, &out->program, err);
    if (rc == 0 && device)
        rc = set_device(device, out, err);
    if (rc == 0)
        rc = add_providers(market, &list, out, err);
    if (rc == 0 && device)
        rc = add_speeds(devices, device, out, err);
    if (rc == 0)
        rc = set_title(out, &list, err);
    if (rc == 0)
        rc = add_plots(market, &list, out, err);
    listing_release(&list);
    return rc;
}
