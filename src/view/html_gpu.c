// SPDX-License-Identifier: Apache-2.0
// The page of a GPU model: its figures, the strip of its offers, who has it, how fast it is, what
// its prices did.
#include <stdio.h>
#include <string.h>

#include "base/money.h"
#include "base/units.h"
#include "view/gpu.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"

static void price_stat(struct buf *out, const char *name, const struct gpu_price *price)
{
    char words[MONEY_BYTES + 8] = "";
    struct buf sub = {0};
    if (price->usd.known)
        snprintf(words, sizeof words, "%s USD", money_brief(price->usd).s);
    if (price->offer)
        buf_printf(&sub, "a GPU-hour, at %.*s", (int)strcspn(price->offer, "/"), price->offer);
    part_stat(out, name, words, price->offer ? buf_str(&sub) : "no offer in the book");
    buf_drop(out, &sub);
}

// The range of the speeds over the kinds of nets, without their intervals.
static void speed_stat(struct buf *out, const struct gpu_model *gpu)
{
    double low = 0, high = 0;
    const char *certainty = NULL;
    char words[48] = "", sub[120];
    for (size_t i = 0; i < gpu->speeds.count; i++) {
        const struct gpu_speed *s = &gpu->speeds.items[i];
        if (!s->ratio.known)
            continue;
        low = certainty && low < s->ratio.v ? low : s->ratio.v;
        high = certainty && high > s->ratio.v ? high : s->ratio.v;
        certainty = s->certainty;
    }
    if (strcmp(gpu->gpu, GPU_BASE) == 0) // others are relative to it
        return;
    char from[16], to[16];
    snprintf(from, sizeof from, "%.2g", low);
    snprintf(to, sizeof to, "%.2g", high);
    bool range = strcmp(from, to) != 0;
    if (certainty)
        snprintf(words, sizeof words, "%s%s%s", from, range ? " to " : "", range ? to : "");
    snprintf(sub, sizeof sub, certainty ? "by kind of net; %.60s" : "%.60s",
             certainty ? certainty : "its data sheet is not known");
    part_stat(out, "speed, " GPU_BASE " = 1", words, sub);
}

static void stats(struct buf *out, const struct gpu_model *gpu)
{
    char providers[40], memory[40] = "";
    struct buf sub = {0};
    snprintf(providers, sizeof providers, "%s",
             units_count((int64_t)gpu->providers.count, "provider").s);
    part_stats_begin(out);
    if (gpu->providers.count > 0) {
        price_stat(out, "on demand", &gpu->on_demand);
        price_stat(out, "spot", &gpu->spot);
        part_stat(out, "who has it", providers, units_count(gpu->offers.v, "offer").s);
    }
    speed_stat(out, gpu);
    if (gpu->memory_mib.known)
        snprintf(memory, sizeof memory, "%s", units_bytes(gpu->memory_mib.v << 20).s);
    if (gpu->memory_mbs.known)
        buf_adds(&sub, units_rate((double)gpu->memory_mbs.v * 1e6).s);
    if (gpu->bf16_gflops.known)
        buf_printf(&sub, "%s%s in bf16", sub.len ? ", " : "",
                   units_flops((double)gpu->bf16_gflops.v * 1e9).s);
    if (gpu->year.known)
        buf_printf(&sub, "%sof %lld", sub.len ? ", " : "", (long long)gpu->year.v);
    part_stat(out, "memory", memory, sub.len ? buf_str(&sub) : "its data sheet is not known");
    part_stats_end(out);
    buf_drop(out, &sub);
}

// ---- who has it

static void price_cell(struct buf *out, const struct gpu_price *price, const char *link)
{
    buf_adds(out, "<td class=\"num\">");
    if (price->usd.known && link) {
        buf_printf(out, "<a href=\"%s", link);
        markup_address(out, price->offer);
        markup_in(out, "\" title=\"", price->offer, "\">");
    }
    buf_adds(out, money_brief(price->usd).s);
    buf_adds(out, price->usd.known && link ? "</a></td>" : "</td>");
}

static bool any_monthly(const struct gpu_model *gpu)
{
    for (size_t i = 0; i < gpu->providers.count; i++)
        if (gpu->providers.items[i].monthly.usd.known)
            return true;
    return false;
}

static void provider_row(struct buf *out, const struct gpu_provider *p, bool monthly, bool mark,
                         const char *link)
{
    char saving[24] = "", places[40];
    if (p->spot_share.known)
        snprintf(saving, sizeof saving, "%.0f %%", p->spot_share.v * 100);
    snprintf(places, sizeof places, "%lld in %s", (long long)p->offers.v,
             units_count(p->places.v, "place").s);
    buf_adds(out, "<tr>");
    html_cell(out, "", p->provider);
    price_cell(out, &p->on_demand, link);
    price_cell(out, &p->spot, link);
    html_cell(out, "num more", saving);
    if (monthly)
        price_cell(out, &p->monthly, link);
    html_cell(out, "num more", places);
    html_cell(out, "num", p->since);
    part_seen(out, p->seen, mark && p->old.v);
    buf_adds(out, "</tr>\n");
}

static void providers(struct buf *out, const struct gpu_model *gpu, const char *link)
{
    struct html_column columns[8] = {
        {"provider", ""}, {"on demand", "num"}, {"spot", "num"}, {"spot ÷ on demand", "num more"}};
    bool monthly = any_monthly(gpu);
    size_t count = 4, old = 0;
    if (monthly)
        columns[count++] = (struct html_column){"by the month", "num"};
    columns[count++] = (struct html_column){"offers", "num more"};
    columns[count++] = (struct html_column){"since", "num"};
    columns[count++] = (struct html_column){"price seen", "num more"};
    for (size_t i = 0; i < gpu->providers.count; i++)
        old += gpu->providers.items[i].old.v;
    bool mark = old < gpu->providers.count;
    html_heading(out, 2, "Who has it");
    html_paragraph(
        out, "",
        "USD for one GPU and hour, the lowest of its machines, without tax; the lowest first. "
        "Since: the first price in the book.");
    html_begin_table(out, "Who has it");
    html_table_head(out, columns, count);
    for (size_t i = 0; i < gpu->providers.count; i++)
        provider_row(out, &gpu->providers.items[i], monthly, mark, link);
    html_end_table(out);
    part_seen_note(out, old, gpu->providers.count);
    if (gpu->doubtful.known)
        buf_printf(out,
                   "<p class=\"mute\">%s left out: doubtful prices and retired machines.</p>\n",
                   units_count(gpu->doubtful.v, "offer").s);
}

// The kinds of figures, each once: "estimated ±50 %: another architecture, ...: 390 pairs".
static void speeds(struct buf *out, const struct gpu_model *gpu)
{
    for (size_t i = 0; i < gpu->speeds.count; i++) {
        const struct gpu_speed *s = &gpu->speeds.items[i], *before = i ? s - 1 : s;
        const char *what = s->certainty ? s->certainty : "unknown";
        if (i > 0 && strcmp(before->certainty ? before->certainty : "unknown", what) == 0)
            continue;
        buf_adds(out, "<p>");
        part_chip(out, PART_PLAIN, what);
        markup_in(out, " in ", s->precision, ": ");
        markup_in(out, "", s->class ? s->class : s->why,
                  s->class ? " of measurements.</p>\n" : ".</p>\n");
    }
}

static void show_plot(struct buf *out, const struct gpu_model *gpu, const char *kind)
{
    for (size_t i = 0; i < gpu->plots.count; i++)
        if (strcmp(gpu->plots.items[i].kind, kind) == 0)
            html_plot(out, &gpu->plots.items[i], 2, i);
}

void html_gpu(struct buf *out, const struct gpu_model *gpu, const char *link)
{
    stats(out, gpu);
    if (gpu->providers.count == 0)
        part_empty(out, "The public catalogue may have newer offers:", "fare prices update");
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    show_plot(out, gpu, "offers");
    show_plot(out, gpu, "prices");
    buf_adds(out, "</div>\n<div>\n");
    if (gpu->providers.count > 0)
        providers(out, gpu, link);
    show_plot(out, gpu, "speed");
    speeds(out, gpu);
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
