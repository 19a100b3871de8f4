// SPDX-License-Identifier: Apache-2.0
// The page that prices a run or a workload.
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "advise/quote_job.h"
#include "base/buf.h"
#include "view/html.h"
#include "view/page.h"
#include "render/part.h"
#include "serve/request.h"
#include "train/workload/workload.h"

static const struct frame_choice spots[] = {{"", "any"}, {"no", "on demand"}, {"yes", "spot"}},
                                 bases[] = {{"", "with estimates"}, {"yes", "measured only"}};

#define OF(member) offsetof(struct quote_words, member)
static const struct opt rows[] = {QUOTE_WORDS_TIME(OF),   QUOTE_WORDS_GPU(OF),
                                  QUOTE_WORDS_WHERE(OF),  QUOTE_WORDS_MEASURED(OF),
                                  QUOTE_WORDS_ADVICE(OF), {NULL}};
#undef OF

static int read_wishes(const struct request *request, struct quote_words *words,
                       struct quote_job *job, struct err *err)
{
    const char *spot = request_value(request, "spot");
    job->ask.max_age = QUOTE_MAX_AGE;
    job->ask.most_estimates = PAGE_ESTIMATES;
    job->ask.most_misfits = PAGE_MISFITS;
    TRY(request_read(request, rows, words, err));
    if (spot && !words->spot)
        words->kind = "on-demand";
    job->ask.gpu = quote_has_time(words) ? NULL : words->gpu;
    return quote_words_take(words, true, job, err);
}

static int make_quote(const struct request *request, const char *word, struct quote_job *job,
                      struct err *err)
{
    struct ledger *ledger;
    struct quote_words words = QUOTE_WORDS;
    struct quote_given given;
    TRY(request_market(request, &job->ask.market, err));
    TRY(read_wishes(request, &words, job, err));
    TRY(quote_words_given(&words, true, word, NULL, &given, err));
    if (quote_has_time(&words)) {
        TRY(quote_load_given(job, &given, err));
        return quote_assemble(job, err);
    }
    job->ask.gpus = (int)given.gpus;
    job->ask.exact_gpus = !given.or_more && given.gpus > 0;
    TRY(request_ledger(request, &ledger, err));
    TRY(quote_load(job, word, ledger, err));
    return quote_assemble(job, err);
}

// For a run, or a time that is known.
static bool is_asked(const struct request *request)
{
    return request_value(request, "run") || request_value(request, "time") ||
           request_value(request, "steps") || request_value(request, "step_time");
}

void form_quote(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/quote\" method=\"get\" aria-label=\"What to price\">\n");
    frame_field(out, request, "run", "Run or workload", "last");
    frame_field(out, request, "time", "Or a time you know", "21d");
    frame_field(out, request, "gpu", "GPU", "h100,h200");
    frame_field(out, request, "gpus", "GPUs", "8");
    frame_field(out, request, "precision", "Precision", "bf16");
    frame_field(out, request, "deadline", "Done within", "2h");
    frame_field(out, request, "budget", "For at most, USD", "5");
    frame_field(out, request, "idle_per_day", "Idle each day", "12h");
    frame_field(out, request, "hours_per_month", "Hours a month", "100");
    frame_field(out, request, "region", "Region", "us-east-1");
    frame_choose(out, request, "spot", "Kind", spots, sizeof spots / sizeof *spots);
    frame_choose(out, request, "measured", "Times", bases, sizeof bases / sizeof *bases);
    buf_adds(out, "<button>Price it</button>\n</form>\n");
}

// The same quote on the command line.
static void show_command(struct buf *out, const struct request *request)
{
    static const char *const options[][2] = {{"time", "--time"},
                                             {"steps", "--steps"},
                                             {"step_time", "--step-time"},
                                             {"gpu", "--gpu"},
                                             {"gpus", "--gpus"},
                                             {"precision", "--precision"},
                                             {"deadline", "--deadline"},
                                             {"budget", "--budget"},
                                             {"idle_per_day", "--idle-per-day"},
                                             {"hours_per_month", "--hours-per-month"},
                                             {"region", "--region"}};
    const char *spot = request_value(request, "spot");
    struct buf line = {0};
    buf_adds(&line, "fare quote");
    if (request_value(request, "run")) {
        buf_adds(&line, " ");
        shell_word(&line, request_value(request, "run"));
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (request_value(request, options[i][0])) {
            buf_printf(&line, " %s ", options[i][1]);
            shell_word(&line, request_value(request, options[i][0]));
        }
    if (spot)
        buf_printf(&line, " --kind %s", strcmp(spot, "yes") == 0 ? "spot" : "on-demand");
    if (request_value(request, "measured"))
        buf_adds(&line, " --measured");
    html_paragraph(out, "mute", "The same on the command line:");
    part_command(out, buf_str(&line));
    buf_drop(out, &line);
}

static void show_quote(struct buf *out, const struct request *request, const struct quote_job *job,
                       const struct page *plots)
{
#define ROW(name) #name,
    static const char *const trainings[] = {WORKLOADS(ROW)};
#undef ROW
    struct buf title = {0};
    bool asked = is_asked(request);
    const char *training = job->quote.workload ? job->quote.workload : "The training";
    buf_adds(&title, asked ? training : "What would it cost?"); // the title says the result
    if (asked)
        verdict_title_quote(&job->quote, &title);
    frame_begin(out, request, buf_str(&title));
    form_quote(out, request);
    if (asked) {
        html_advice(out, &job->quote, NULL);
        buf_adds(out, "<div class=\"cols\">\n<div>\n");
        if (quote_count(&job->quote) > 0)
            html_heading(out, 2, "Machines to rent");
        html_bills(out, &job->quote, job->runs.count > 0 ? job->runs.items : NULL);
        buf_adds(out, "</div>\n<div class=\"stay\">\n");
        for (size_t i = 0; i < plots->plots.count; i++)
            html_plot(out, &plots->plots.items[i], 2, i);
        show_command(out, request);
        buf_adds(out, "</div>\n</div>\n");
        frame_json_link(out, request, "/quote");
    } else {
        html_paragraph(out, "", "Name a run above, or choose a training with published runs:");
        buf_adds(out, "<nav aria-label=\"Trainings\"><ul class=\"chips\">\n");
        for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++)
            buf_printf(out, "<li><a class=\"chip\" href=\"/quote?run=%s\">%s</a></li>\n",
                       trainings[i], trainings[i]);
        buf_adds(out, "</ul></nav>\n");
        part_empty(out, "From a time that you know:", "fare quote --time 2h --gpu h100");
    }
    frame_end(out);
    buf_drop(out, &title);
}

int page_quote(const struct request *request, struct answer *answer, struct err *err)
{
    const char *word = request_value(request, "run");
    const bool asked = is_asked(request);
    SCOPED(quote_release) struct quote_job job = {.asked = word && !quote_is_workload(word)};
    SCOPED(page_release) struct page plots = {0};
    if (request->json && !asked)
        return err_set(err, ERR_USAGE, "name a run, /quote.json?run=last, or a time");
    if (asked)
        TRY(make_quote(request, word, &job, err));
    if (asked && !request->json)
        TRY(page_frontier(&job, &plots, err));
    if (request->json)
        TRY(record_to_text(quote_fields, &job.quote, &answer->text, err));
    else
        show_quote(&answer->text, request, &job, &plots);
    return 0;
}
