// SPDX-License-Identifier: Apache-2.0
// What a provider is like, as a document: the answer, what speaks for it and against it, prices by
// GPU; then, if all is asked for, the rules, images, remarks and sources behind it.
#include <string.h>

#include "base/units.h"
#include "view/provider.h"

static void add_points(struct doc *doc, const char *name, const struct provider_point *points,
                       size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s (%s)", i > 0 ? "; " : "", points[i].says, points[i].from);
    doc_fact(doc, name, doc_take(doc, &text));
}

static void add_texts(struct doc *doc, const char *name, char *const *texts, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", texts[i]);
    doc_fact(doc, name, doc_take(doc, &text));
}

static void add_yours(struct doc *doc, const struct provider *p)
{
    const struct provider_runs *y = &p->yours;
    struct buf text = {0};
    if (y->runs.v > 0) {
        buf_printf(&text,
                   "%s: %lld failed before the first step, %lld noisy, %lld throttled, "
                   "%lld taken away",
                   units_count(y->runs.v, "run").s, (long long)y->failed_starts.v,
                   (long long)y->noisy.v, (long long)y->throttled.v, (long long)y->interruptions.v);
        if (y->noise)
            buf_printf(&text, "; noisy, for one: %s", y->noise);
    } else if (y->runs.known)
        buf_adds(&text, "no runs there yet");
    doc_fact(doc, "Yours", doc_take(doc, &text));
    for (size_t i = 0; i < p->remarks.count; i++)
        doc_fact(doc, i == 0 ? "Remarks" : "",
                 doc_text(doc, "%s: %s", p->remarks.items[i].date, p->remarks.items[i].remark));
}

// "1.49 – 2.99"
static struct cell range_cell(struct doc *doc, const struct provider_range *range)
{
    struct cell cell = cell_amount(range->low);
    if (range->low.known && range->high.nano > range->low.nano)
        cell.text = doc_text(doc, "%s – %s", money_brief(range->low).s, money_brief(range->high).s);
    return cell;
}

static void add_prices(struct doc *doc, const struct provider *p, const char *link)
{
    doc_table(doc, "Prices by GPU");
    for (size_t i = 0; i < p->prices.count; i++) {
        const struct provider_price *price = &p->prices.items[i];
        struct cell gpu = cell_text(price->gpu);
        gpu.href = doc_link(doc, link, price->gpu);
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("GPU"), gpu);
        doc_cell(doc, COLUMN("offers", .priority = 1), cell_count(price->offers));
        doc_cell(doc, COLUMN("on demand"), range_cell(doc, &price->on_demand));
        doc_cell(doc, COLUMN("spot"), range_cell(doc, &price->spot));
        doc_cell(doc, COLUMN("by the month"), range_cell(doc, &price->monthly));
    }
    if (p->prices.count > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "USD for one GPU and hour, without tax; the newest price is of %s.",
                         p->seen));
    if (p->old.known)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "Left out: %s last seen over two years ago.",
                         units_count(p->old.v, "price").s));
}

// ---- the rest

static void add_start(struct doc *doc, const struct provider_start *s)
{
    struct buf text = {0};
    if (s->typical_s.known)
        buf_printf(&text, "%s, %s to %s%s", provider_time(s->typical_s.v).s,
                   provider_time(s->low_s.v).s, provider_time(s->high_s.v).s,
                   s->general.v ? ": not of this provider, but of many clouds" : "");
    if (s->image_s.known)
        buf_printf(&text, "; %s more to pull an image that is not there yet",
                   provider_time(s->image_s.v).s);
    doc_fact(doc, "Start", doc_take(doc, &text));
}

static void add_rules(struct doc *doc, const struct provider *p)
{
    doc_heading(doc, 0, "Billing");
    for (size_t i = 0; i < p->rules.count; i++) {
        const struct provider_rule *rule = &p->rules.items[i];
        struct buf text = {0};
        buf_adds(&text, rule->kind);
        for (size_t k = 0; k < rule->names.count; k++)
            buf_printf(&text, "%s%s", k ? ", " : " (", rule->names.items[k]);
        buf_printf(&text, "%s: %s%s", rule->names.count ? ")" : "",
                   rule->assumed.v ? "assumed: " : "", rule->words);
        doc_item(doc, doc_take(doc, &text));
    }
}

static void add_images(struct doc *doc, const struct provider *p)
{
    if (p->images.count > 0)
        doc_heading(doc, 0, "Ready images");
    for (size_t i = 0; i < p->images.count; i++) {
        const struct provider_image *image = &p->images.items[i];
        const struct {
            const char *what, *is;
        } parts[] = {{"driver ", image->driver},
                     {"CUDA ", image->cuda},
                     {"PyTorch ", image->pytorch},
                     {"", image->holds}};
        struct buf text = {0};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (parts[k].is)
                buf_printf(&text, "; %s%s", parts[k].what, parts[k].is);
        if (image->disk_gb.known)
            buf_printf(&text, "; a disk of %lld GB holds it", (long long)image->disk_gb.v);
        const char *holds = doc_take(doc, &text);
        doc_item(doc, doc_text(doc, "%s%s", image->image, holds ? holds : ""));
    }
}

static void add_sources(struct doc *doc, const struct provider *p)
{
    doc_heading(doc, 0, "Sources");
    for (size_t i = 0; i < p->rules.count; i++)
        if (p->rules.items[i].source &&
            (i == 0 || strcmp(p->rules.items[i].source, p->rules.items[0].source) != 0))
            doc_item(doc, doc_text(doc, "billing %s: %s", p->rules.items[i].kind,
                                   p->rules.items[i].source));
    if (p->start.source)
        doc_item(doc, doc_text(doc, "start-up: %s", p->start.source));
    if (p->notice_source)
        doc_item(doc, doc_text(doc, "spot notices: %s%s%s", p->notice ? p->notice : "",
                               p->notice ? "; " : "", p->notice_source));
    for (size_t i = 0; i < p->images.count; i++)
        if (p->images.items[i].source)
            doc_item(doc, doc_text(doc, "image: %s", p->images.items[i].source));
}

void view_provider(struct doc *doc, const struct provider *p, bool all, const char *link)
{
    add_points(doc, "For", p->pros.items, p->pros.count);
    add_points(doc, "Against", p->cons.items, p->cons.count);
    add_texts(doc, "Unknown", p->unknown.items, p->unknown.count);
    if (all)
        add_texts(doc, "Assumed", p->assumed.items, p->assumed.count);
    add_yours(doc, p);
    if (p->largest)
        doc_fact(doc, "Largest",
                 doc_text(doc, "%g × %s: %s", p->largest_gpus.v, p->largest_gpu, p->largest));
    add_prices(doc, p, link);
    if (!all) {
        doc_say(doc, DOC_HINT,
                p->prices.count > 0
                    ? doc_text(doc,
                               "'fare prices %s --all' has its rules, images and sources; 'fare "
                               "prices --provider %s' its offers.",
                               p->provider, p->provider)
                    : doc_text(doc, "'fare prices %s --all' has its rules, images and sources.",
                               p->provider));
        return;
    }
    add_start(doc, &p->start);
    add_rules(doc, p);
    add_images(doc, p);
    add_sources(doc, p);
}
