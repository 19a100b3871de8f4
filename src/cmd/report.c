// SPDX-License-Identifier: Apache-2.0
// report: a page, a plot or tables to show to others.
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "advise/spend/budget.h"
#include "advise/spend/spend.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/progress.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/values.h"
#include "bill/market.h"
#include "view/compare.h"
#include "view/gpu.h"
#include "view/html.h"
#include "view/page.h"
#include "render/raster.h"
#include "view/site.h"
#include "view/spending.h"
#include "view/tables.h"
#include "train/workload/workload.h"

struct report_options {
    struct cmd_common common;
    const char *output, *format, *plot, *site;
    bool keep_names;
    const char *ledger, *book;
    const char *workload, *published, *base, *gpu, *project, *since;
    bool all;
    struct opt_texts price, offer;
    const char *date, *rule, *currency;
    int64_t deadline_ns;
    bool measured;
    struct own_options own;
};

static const struct report_options defaults = {.deadline_ns = -1, .own = OWN_DEFAULTS};

static const char *const formats[] = {"html", "md", "csv", "json", "focus", "openmetrics", NULL};

#define AT(member) offsetof(struct report_options, member)
static const struct opt options[] = {
    {"output", 'o', OPT_TEXT, "FILE", NULL, AT(output), NULL,
     "write to this file; '-' is standard output (default: report.html, a plot to KIND.svg, "
     "other formats to standard output)"},
    {"format", 'f', OPT_CHOICE, "NAME", formats, AT(format), NULL,
     "html (default), or its tables: md, csv, json, focus (bills) or openmetrics"},
    {"plot", 0, OPT_CHOICE, "KIND", plot_kinds, AT(plot), NULL,
     "only this plot, as SVG or (-o x.png) PNG, or its figures with --format md, csv or json"},
    {"site", 0, OPT_TEXT, "DIR", NULL, AT(site), NULL,
     "a page for each of the runs, lists and comparisons, as a folder for any web host; running it "
     "again changes only what changed"},
    {"keep-names", 0, OPT_FLAG, NULL, NULL, AT(keep_names), NULL,
     "with --site: keep names of hosts and users, folders and serial numbers of GPUs in the "
     "records"},
    LEDGER_ROW,
    BOOK_ROW,
    {"workload", 'w', OPT_TEXT, "NAME", NULL, AT(workload), "Which", "all runs of this workload"},
    {"published", 0, OPT_TEXT, "SET", NULL, AT(published), "Which",
     "published results that come with fare: 2017-keras-backends or 2018-tweets, say"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which",
     "every run in the ledger, not only the newest twenty"},
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(gpu), "Which",
     "a GPU model instead of runs: what it costs everywhere, who has it, its speed beside an H100"},
    {"project", 0, OPT_TEXT, "NAME", NULL, AT(project), "Which",
     "what this project spent, instead of runs: in all, by month, by user and by offer, and its "
     "budgets"},
    {"since", 0, OPT_TEXT, "DATE|AGE", NULL, AT(since), "Which",
     "with --project: only since this month (2026-10), date or age (3w)"},
    {"base", 'b', OPT_TEXT, "SELECTOR", NULL, AT(base), "Cost",
     "compare with this, as in 'fare compare'"},
    {"price", 'p', OPT_TEXTS, "SELECTOR=USD_PER_HOUR", NULL, AT(price), "Cost",
     "hourly price of those machines; may be given several times"},
    {"offer", 0, OPT_TEXTS, "SELECTOR=OFFER", NULL, AT(offer), "Cost",
     "those machines are this offer of the book: aws/p3.2xlarge; may be given several times"},
    {"date", 'd', OPT_TEXT, "DATE", NULL, AT(date), "Cost",
     "prices and billing rules of this date"},
    {"rule", 'r', OPT_CHOICE, "RULE", value_compare_rules, AT(rule), "Cost",
     "paid (default): as the provider charges, with units and minimums; prorated: rate × time; "
     "published: in the comparison as comparisons print it, as in 'fare compare'"},
    CURRENCY_ROW(AT(currency), "Cost"),
    {"measured", 0, OPT_FLAG, NULL, NULL, AT(measured), "Cost",
     "only machines with a run; no estimates"},
    {"deadline", 0, OPT_DURATION, "TIME", NULL, AT(deadline_ns), "Advice",
     "draw it, and name the cheapest machine that finishes within this time"},
    OWN_ROWS("Advice"),
    {"hours-per-month", 0, OPT_COUNT, "H", NULL, AT(own.hours_per_month), "Advice",
     "hours of use in a month (default 720: always)", .least = 1},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare report", "the newest runs, as report.html"},
    {"fare report last -o run.html", "one run"},
    {"fare report --published 2017-keras-backends --base k80+tensorflow", "published results"},
    {"fare report --workload cnn --plot frontier --deadline 1h -o cnn.svg", "one plot"},
    {"fare report --published 2026-h200 --plot relative -o relative.svg",
     "frameworks side by side, with the geometric mean over workloads"},
    {"fare report --workload cnn --format md", "tables to paste into a page or an issue"},
    {"fare report --gpu h100 -o h100.html", "what a GPU model costs everywhere"},
    {"fare report --project bert --since 2026-10 --format md",
     "for the monthly mail: what a project spent"},
    {"fare report --all --site public", "all runs as pages to publish"},
    {"fare report last --buy 2500 --watts 400 --kwh 0.30", "with rent or buy over the months"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    LEDGER_VARIABLE,
    {NULL, NULL},
};

// ---- options

static int read_options(const struct cmd_call *call, struct page_ask *ask, struct err *err)
{
    const struct report_options *o = call->options;
    int chosen = (call->rest->count > 0) + (o->workload != NULL) + (o->published != NULL) + o->all +
                 (o->gpu != NULL);
    if (chosen > 1)
        return err_set(
            err, ERR_USAGE,
            "'fare report' takes runs, --workload, --published, --all or --gpu, one of them");
    *ask = (struct page_ask){
        .market = call->desk->market,
        .words = call->rest->args,
        .word_count = call->rest->count,
        .workload = o->workload,
        .published = o->published,
        .all = o->all,
        .base = o->base,
        .pricing = {.prices = o->price.items,
                    .price_count = o->price.count,
                    .offers = o->offer.items,
                    .offer_count = o->offer.count,
                    .date = o->date,
                    .prorated = o->rule && strcmp(o->rule, "prorated") == 0},
    };
    ask->as_published = o->rule && strcmp(o->rule, "published") == 0;
    ask->measured = o->measured;
    ask->currency = o->currency;
    TRY(local_check(ask->market, o->currency, err));
    if (!o->gpu && !(o->site && o->published)) // those need none
        TRY(desk_ledger(call->desk, &ask->ledger, err));
    if (o->deadline_ns >= 0)
        ask->wishes.deadline_ns = some_int(o->deadline_ns);
    ask->wishes.buy = o->own.buy;
    TRY(value_day(o->date, &ask->day, err));
    return value_own(&o->own, false, &ask->wishes.own, err);
}

// ---- writing

int report_write(struct out *out, const char *path, const struct buf *text, struct err *err)
{
    TRY(buf_check(text, err));
    TRY(buf_lost(err));
    if (!path || strcmp(path, "-") == 0) {
        buf_add(&out->text, buf_str(text), text->len);
        return 0;
    }
    return fs_write(path, buf_str(text), text->len, err);
}

static const struct plot *find_plot(const struct page *page, const char *kind, struct err *err)
{
    static const char *const needs[][2] = {
        {"cost", "a price: --price, --offer, or offers in the book that fit"},
        {"relative", "two or more rows of one workload"},
        {"frontier", "two or more machines with time and price"},
        {"loss", "runs of two or more epochs with losses"},
        {"accuracy", "runs of two or more epochs"},
        {"distribution", "two runs of a workload that reported their steps"},
        {"use", "runs that were sampled while they ran"},
        {"steps", "runs that reported their steps"},
        {"account", "runs of commands on an NVIDIA GPU, without --no-trace"},
        {"batch", "runs that differ in --batch"},
        {"gpus", "runs on different numbers of the same GPU"},
        {"offers", "offers in the book that fit"},
        {"speed", "--gpu NAME, of another GPU than the H100, with a data sheet"},
        {"prices", "offers in the book that fit"},
        {"spot", "a spot offer that fits, with its history: 'fare prices import'"},
        {"buy", "--buy USD, and offers in the book that fit"}};
    for (size_t i = 0; i < page->plots.count; i++)
        if (strcmp(page->plots.items[i].kind, kind) == 0)
            return &page->plots.items[i];
    err_set(err, ERR_MISSING, "there is nothing to plot as '%s' in these runs", kind);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (strcmp(needs[i][0], kind) == 0)
            err_hint(err, "it needs %s", needs[i][1]);
    return NULL;
}

static int plot_json(const struct plot *plot, struct buf *text, struct err *err)
{
    struct plot alone = *plot;
    char schema[] = PLOT_SCHEMA;
    alone.schema = schema;
    return record_to_text(plot_fields, &alone, text, err);
}

static int write_plot(const char *kind, const char *format, const struct page *page,
                      struct buf *text, struct err *err)
{
    const struct plot *plot = find_plot(page, kind, err);
    if (!plot)
        return ERR_MISSING;
    if (strcmp(format, "html") == 0)
        plot_svg(text, plot);
    else if (strcmp(format, "md") == 0)
        plot_markdown(text, plot, page);
    else if (strcmp(format, "csv") == 0)
        plot_csv(text, plot);
    else if (strcmp(format, "json") == 0)
        return plot_json(plot, text, err);
    else
        return err_set(err, ERR_USAGE,
                       "the figures of a plot are available as md, csv or json, not %s", format);
    return 0;
}

static int write_page(const char *format, const struct page *page, struct buf *text,
                      struct err *err)
{
    if (strcmp(format, "html") == 0)
        html_page(text, page);
    else if (strcmp(format, "md") == 0)
        page_markdown(text, page);
    else if (strcmp(format, "csv") == 0)
        compare_csv(text, &page->compare);
    else if (strcmp(format, "openmetrics") == 0)
        page_openmetrics(text, page);
    else
        return record_to_text(page_fields, page, text, err);
    return 0;
}

static bool is_png(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot && strcasecmp(dot, ".png") == 0;
}

// Refuses endings that do not match the format.
static int check_name(const char *path, bool plot, struct err *err)
{
    static const char *const others[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf",
                                         ".md",  ".csv", ".json", ".svg", ".html", ".htm"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++) {
        bool right = plot ? strcmp(others[i], ".svg") == 0 || strcmp(others[i], ".png") == 0
                          : strncmp(others[i], ".htm", 4) == 0;
        if (right || strcasecmp(dot, others[i]) != 0)
            continue;
        err_set(err, ERR_USAGE, "%s: '%s' has another ending",
                plot ? "a plot is written as SVG or PNG" : "the page is written as HTML", path);
        return err_hint(err,
                        plot ? "name it .svg or .png; --format md, csv or json writes its figures"
                             : "name it .html; --plot KIND writes SVG or PNG, --format md, csv or "
                               "json tables");
    }
    return 0;
}

// Options without effect are errors.
static int check_together(const struct report_options *o, const char *format, struct err *err)
{
    if (o->plot && o->format && strcmp(o->format, "html") == 0)
        return err_set(err, ERR_USAGE,
                       "a plot is SVG, its figures are available as md, csv or json, not html");
    if (o->published && (o->own.buy || strcmp(format, "focus") == 0))
        return err_set(
            err, ERR_USAGE,
            "published results keep their published prices: %s needs runs, or --workload",
            o->own.buy ? "--buy" : "--format focus");
    if (!o->own.buy && o->own.hours_per_month > 0)
        return err_set(err, ERR_USAGE,
                       "--hours-per-month describes a machine to buy: it needs --buy USD");
    return o->output && strcmp(format, "html") == 0 ? check_name(o->output, o->plot != NULL, err)
                                                    : 0;
}

static int say_no_runs(const char *workload, struct err *err)
{
    struct err near = {0};
    if (!workload) {
        err_set(err, ERR_MISSING, "there are no runs to report on");
        return err_hint(err, "'fare run mlp' makes one; 'fare report --published "
                             "2017-keras-backends' shows published results");
    }
    err_set(err, ERR_MISSING, "there are no runs of '%s' to report on", workload);
    if (workload_find(workload, &near))
        return err_hint(err, "'fare run %s' makes one", workload);
    return err_hint(err, "%s", near.hint[0] ? near.hint : "'fare workloads' lists the workloads");
}

// What has an effect on a page about prices.
static int check_gpu(const struct report_options *o, const char *format, struct err *err)
{
    bool other = o->base || o->date || o->rule || o->currency || o->measured ||
                 o->price.count > 0 || o->offer.count > 0 || o->deadline_ns >= 0 || o->own.buy;
    if (other)
        return err_set(err, ERR_USAGE,
                       "--gpu shows today's prices of a GPU model: it takes --plot, --format, "
                       "--book and -o");
    if (!o->plot && strcmp(format, "html") != 0 && strcmp(format, "json") != 0)
        return err_set(err, ERR_USAGE, "a GPU model is available as html or json, not %s", format);
    return 0;
}

static int make_gpu(const struct report_options *o, struct market *market, const char *format,
                    struct buf *text, struct err *err)
{
    struct gpu_model gpu = {0};
    TRY(check_gpu(o, format, err));
    int rc = gpu_make(market, o->gpu, &gpu, err);
    char from[] = "the book of prices";
    const struct page plots = {.made = gpu.made,
                               .program = gpu.program,
                               .from = from,
                               .plots = {gpu.plots.items, gpu.plots.count, true}};
    if (rc == 0 && o->plot)
        rc = write_plot(o->plot, format, &plots, text, err);
    else if (rc == 0 && strcmp(format, "json") == 0)
        rc = record_to_text(gpu_model_fields, &gpu, text, err);
    else if (rc == 0)
        html_gpu_page(text, &gpu);
    record_release(gpu_model_fields, &gpu);
    return rc;
}

// ---- what a project spent

// "bert spent 84.15 USD since 2026-10-01: 5 runs, 29.0 GPU-hours. The cost of 1 run is unknown."
static const char *spent_words(struct doc *doc, const char *project, const char *since,
                               const struct spending *spending)
{
    const struct spending_row *all = &spending->total;
    struct buf text = {0};
    const int64_t unknown = all->unknown.v;
    buf_printf(&text, "%.60s spent %s%s%s%.10s: %s, %.3g GPU-hours.", project,
               all->usd.known ? spending_amount(all->usd).s : "an unknown amount",
               all->usd.known ? " USD" : "", *since ? " since " : "", since,
               units_count(all->runs.v, "run").s, all->gpu_hours.v);
    if (unknown > 0)
        buf_printf(&text, " The cost of %s is unknown, and not in the sums.",
                   units_count(unknown, "run").s);
    return doc_take(doc, &text);
}

static int add_spent(const struct report_options *o, const struct cmd_call *call,
                     struct ledger *ledger, struct doc *doc, struct err *err)
{
    static const char *const keys[] = {"month", "user", "offer"};
    char label[160], since[CLOCK_ISO_BYTES];
    const char *labels[] = {label};
    const struct ledger_filter filter = {.labels = labels, .label_count = 1, .since = o->since};
    snprintf(label, sizeof label, "project=%s", o->project);
    TRY(ledger_since(o->since, since, err));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        SCOPED(spending_release) struct spending spending = {0};
        enum spend_key key[SPEND_KEYS];
        struct spend_options how = {.keys = key, .currency = o->currency};
        TRY(spend_keys_parse(keys[i], key, &how.key_count, err));
        TRY(spend_sum(ledger, call->desk->market, &filter, &how, &spending, err));
        if (spending.rows.count == 0) {
            err_set(err, ERR_MISSING, "there are no runs of the project '%.60s'%s%.10s", o->project,
                    *since ? " since " : "", since);
            return err_hint(err, "'fare runs --by project,month' lists projects");
        }
        if (i == 0)
            doc_say(doc, DOC_VERDICT, spent_words(doc, o->project, since, &spending));
        doc_heading(doc, 1, doc_text(doc, "By %s", keys[i]));
        view_sums(doc, &spending, SIZE_MAX, false);
    }
    return 0;
}

static int add_budgets(const struct report_options *o, const struct cmd_call *call,
                       struct ledger *ledger, struct doc *doc, struct err *err)
{
    SCOPED(budgets_release) struct budgets budgets = {0};
    const struct budget_whose everybody = {0};
    bool any = false;
    TRY(budget_states(ledger, call->desk->market, &everybody, &budgets, err));
    for (size_t i = 0; i < budgets.budgets.count; i++) {
        const struct budget_state *b = &budgets.budgets.items[i];
        if (!b->kind || strcmp(b->kind, "project") != 0 || !b->name ||
            strcmp(b->name, o->project) != 0)
            continue;
        if (!any)
            doc_heading(doc, 1, "Budgets");
        view_budget(doc, b);
        any = true;
    }
    return 0;
}

static int make_spent(const struct report_options *o, const struct cmd_call *call,
                      const char *format, struct buf *text, struct err *err)
{
    SCOPED(doc_release) struct doc doc = {0};
    struct ledger *ledger;
    const char *title = doc_text(&doc, "What %.60s spent", o->project);
    TRY(desk_ledger(call->desk, &ledger, err));
    TRY(add_spent(o, call, ledger, &doc, err));
    TRY(add_budgets(o, call, ledger, &doc, err));
    if (strcmp(format, "md") == 0) {
        buf_printf(text, "# %s\n", title);
        doc_markdown(text, &doc, 1);
        return buf_check(text, err);
    }
    html_begin(text, title, 0);
    buf_adds(text, "<header>\n");
    html_heading(text, 1, title);
    buf_adds(text, "</header>\n<main>\n");
    doc_html(text, &doc, 1);
    buf_adds(text, "</main>\n");
    html_end(text);
    return buf_check(text, err);
}

// Its amounts are those that were paid: nothing is priced anew, and no plot is drawn.
static int check_spent(const struct report_options *o, const char *format, size_t runs,
                       struct err *err)
{
    if (!o->project)
        return o->since ? err_set(err, ERR_USAGE, "--since is for --project") : 0;
    if (runs > 0 || o->workload || o->published || o->gpu || o->all || o->plot || o->site ||
        o->base || o->date || o->rule || o->price.count > 0 || o->offer.count > 0 ||
        o->deadline_ns >= 0 || o->own.buy)
        return err_set(err, ERR_USAGE,
                       "--project shows what was spent: it takes --since, --currency, --format and "
                       "-o");
    if (strcmp(format, "html") != 0 && strcmp(format, "md") != 0) {
        err_set(err, ERR_USAGE, "what a project spent is available as html or md, not %s", format);
        return err_hint(err, "'fare runs --by month --label project=NAME' has CSV and JSON");
    }
    return 0;
}

static int make(const struct report_options *o, const struct page_ask *ask, const char *format,
                struct buf *text, struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    if (o->gpu)
        return make_gpu(o, ask->market, format, text, err);
    if (!o->plot && strcmp(format, "focus") == 0) {
        TRY(page_focus(ask, text, err));
        const char *head_end = strchr(buf_str(text), '\n');
        if (head_end && !head_end[1])
            out_complain("no offer in the book fits these runs: there are no bills");
        return 0;
    }
    TRY(page_make(ask, &page, err));
    if (page.runs.count == 0)
        TRY(say_no_runs(ask->workload, err));
    return o->plot ? write_plot(o->plot, format, &page, text, err)
                   : write_page(format, &page, text, err);
}

static int to_png(struct buf *text, struct err *err)
{
    SCOPED(buf_release) struct buf png = {0};
    TRY(raster_png(text, &png, err));
    buf_reset(text);
    buf_add(text, buf_str(&png), png.len);
    return 0;
}

// ---- a site

static int check_site(const struct report_options *o, struct err *err)
{
    const struct {
        bool given;
        const char *name;
    } others[] = {{o->output, "--output"},
                  {o->format, "--format"},
                  {o->common.json, "--json"},
                  {o->plot, "--plot"},
                  {o->base, "--base"},
                  {o->gpu, "--gpu"},
                  {o->price.count > 0, "--price"},
                  {o->offer.count > 0, "--offer"},
                  {o->own.buy, "--buy"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return err_set(err, ERR_USAGE, "%s has no effect on a site", others[i].name);
    if (!*o->site)
        return err_set(err, ERR_USAGE, "--site needs the name of a folder");
    return 0;
}

static void say_progress(void *arg, int64_t done, int64_t total)
{
    progress_update(arg, done, total);
}

static int run_site(const struct cmd_call *call, struct page_ask *ask, struct err *err)
{
    const struct report_options *o = call->options;
    struct site_done done;
    struct progress progress = {0};
    progress_begin(&progress, STDERR_FILENO, "pages", PROGRESS_COUNT, 0);
    int rc = site_write(&(struct site_ask){.folder = o->site,
                                           .page = *ask,
                                           .book = o->book,
                                           .keep_names = o->keep_names,
                                           .progress = say_progress,
                                           .progress_arg = &progress},
                        &done, err);
    progress_end(&progress);
    if (rc == 0 && done.runs == 0)
        rc = say_no_runs(ask->workload, err);
    if (rc == 0) {
        out_printf(call->out, "Wrote %s with %s: ", o->site, units_count(done.runs, "run").s);
        out_printf(call->out, "%lld of %lld files", (long long)done.written, (long long)done.files);
        out_printf(call->out, " were new or changed");
        if (done.removed > 0)
            out_printf(call->out, ", %lld removed", (long long)done.removed);
        out_printf(call->out, " (%s in all).\n", units_bytes(done.bytes).s);
    }
    return rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct report_options *o = call->options;
    const char *format;
    TRY(value_format(o->common.json, o->format, "html", &format, err));
    bool drawn = strcmp(format, "html") == 0;
    struct page_ask ask;
    SCOPED(buf_release) struct buf text = {0}, says = {0};
    char name[32] = "report.html";
    if (o->plot)
        snprintf(name, sizeof name, "%s.svg", o->plot);
    const char *path = o->output ? o->output : drawn ? name : "-";
    TRY(check_spent(o, format, call->rest->count, err));
    TRY(read_options(call, &ask, err));
    TRY(check_together(o, format, err));
    ask.says = &says;
    if (o->keep_names && !o->site)
        return err_set(err, ERR_USAGE, "--keep-names has no effect without --site");
    if (o->site)
        TRY(check_site(o, err));
    int rc = o->site      ? run_site(call, &ask, err)
             : o->project ? make_spent(o, call, format, &text, err)
                          : make(o, &ask, format, &text, err);
    out_complain(buf_str(&says));
    if (rc != 0 || o->site)
        return rc;
    if (o->plot && drawn && is_png(path))
        TRY(to_png(&text, err));
    TRY(report_write(call->out, path, &text, err));
    if (!fs_is_stdout(path))
        out_printf(call->out, "Wrote %s (%s).\n", path, units_bytes((int64_t)text.len).s);
    return 0;
}

const struct command cmd_report = {
    .name = "report",
    .group = "Show",
    .summary = "a page with plots, or tables, to show to others",
    .arguments = "[RUN...]",
    .about =
        "Writes one self-contained page: the verdict, runs and machines, plots "
        "with their figures, runs side by side, and their cost on each machine. The page has no "
        "scripts, can be printed, and works on a phone and in dark mode. --plot writes one plot "
        "as SVG, or as PNG if rsvg-convert, Inkscape, Chromium or ImageMagick is installed; "
        "--format writes the tables as Markdown, CSV, JSON, FOCUS rows or OpenMetrics. --site "
        "writes a folder of pages to publish, whose runs 'fare runs import' reads from its "
        "address. "
        "RUN is an id, a name, 'last' or a published result (default: the newest runs).",
    .options = options,
    .options_size = sizeof(struct report_options),
    .defaults = &defaults,
    .max_args = 4096,
    .examples = examples,
    .variables = variables,
    .run = run,
};
