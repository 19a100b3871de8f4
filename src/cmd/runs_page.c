// SPDX-License-Identifier: Apache-2.0
// runs show: one run, its documents with lines of its samples between them.
#include "cmd/runs.h"

#include <string.h>

#include "view/run.h"

enum { POINTS = 200 };

static void plot_steps(struct out *out, const struct run *run)
{
    double values[POINTS];
    size_t count = 0;
    bool long_ones = false;
    for (; count < run->step_plot_ms.count && count < POINTS; count++) {
        values[count] = run->step_plot_ms.items[count];
        long_ones |= values[count] >= 1e4;
    }
    for (size_t i = 0; long_ones && i < count; i++)
        values[i] /= 1e3;
    out_sparkline(out, "Steps", "steps took ", values, count, long_ones ? "s" : "ms");
}

static void plot_samples(struct out *out, const struct run *run)
{
    enum { CPU, GPU, MEMORY, POWER, PLOTS };
    static const char *const names[PLOTS] = {"CPU", "GPU", "Memory", "Power"};
    int64_t most = 0;
    for (size_t i = 0; i < run->samples.count; i++)
        if (run->samples.items[i].memory_bytes.v > most)
            most = run->samples.items[i].memory_bytes.v;
    bool small = most < 1 << 30;
    const char *const units[PLOTS] = {"% of one CPU", "% of the GPUs", small ? "MiB" : "GiB", "W"};
    double values[POINTS], unit = small ? 1 << 20 : 1 << 30;
    for (int kind = 0; kind < PLOTS; kind++) {
        size_t count = 0;
        for (size_t i = 0; i < run->samples.count && count < POINTS; i++) {
            const struct run_sample *s = &run->samples.items[i];
            const struct maybe_real each[PLOTS] = {
                s->cpu_percent,
                s->gpu_percent,
                {(double)s->memory_bytes.v / unit, s->memory_bytes.known},
                s->power_w};
            if (each[kind].known)
                values[count++] = each[kind].v;
        }
        out_sparkline(out, names[kind], "", values, count, units[kind]);
    }
}

static void print_doc(struct out *out, struct doc *doc)
{
    if (doc->count > 0 && doc->blocks[0].kind != DOC_FACT)
        out_printf(out, "\n");
    out_doc(out, doc);
    doc_release(doc);
}

int runs_brief(struct out *out, const struct run *run, const struct spending_row *invoiced,
               struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    struct doc doc = {0};
    SCOPED(buf_release) struct buf word = {0};
    TRY(page_run_add(&page, run, err));
    runs_short_id(run->id ? run->id : "last", &word);
    view_run_brief(&doc, &page.runs.items[0], run);
    runs_invoiced(&doc, invoiced);
    const bool shipped = run_shipped_name(buf_str(&word)); // a long name
    doc_fact(&doc, "Next",
             shipped ? doc_text(&doc, "fare runs %s --all", buf_str(&word))
                     : doc_text(&doc, "fare quote %s · fare runs %s --all · fare report %s",
                                buf_str(&word), buf_str(&word), buf_str(&word)));
    out_doc(out, &doc);
    doc_release(&doc);
    return 0;
}

int runs_page(struct out *out, const struct run *run, const struct past_estimate *past,
              const struct spending_row *invoiced, struct err *err)
{
    const char *name = run->name ? run->name : run->workload ? run->workload : "run";
    const char *id = run->id ? run->id : "";
    const bool beside = out_columns(name) + 2 + out_columns(id) <= out->width;
    SCOPED(page_release) struct page page = {0};
    struct doc doc = {0};
    TRY(page_run_add(&page, run, err));
    const struct page_run *shown = &page.runs.items[0];
    out_styled(out, OUT_BOLD, "%s", name);
    out_printf(out, "%s%s\n", beside ? "  " : "\n", id);
    view_run_doubts(&doc, shown);
    view_run_figures(&doc, shown);
    runs_invoiced(&doc, invoiced);
    runs_estimated(&doc, past);
    print_doc(out, &doc);
    plot_steps(out, run);
    plot_samples(out, run);
    view_run_starts(&doc, shown);
    view_run_times(&doc, run);
    view_run_settings(&doc, shown);
    doc_fact(&doc, "Again", shown->again);
    print_doc(out, &doc);
    return 0;
}
