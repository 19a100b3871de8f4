// SPDX-License-Identifier: Apache-2.0
// quote: the options of a time that the user already knows.
#include "cmd/quote.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"

#define GPUS_MAX 1000000

static bool ends_in_digit(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && text[len - 1] >= '0' && text[len - 1] <= '9';
}

// "21d", or "20d-22d". "20-22d" would be 20 seconds to 22 days, and is refused.
static int read_range(const char *option, const char *text, struct quote_given *out,
                      struct err *err)
{
    char first[64];
    size_t len = strcspn(text, "-");
    const char *last = text[len] ? text + len + 1 : text;
    snprintf(first, sizeof first, "%.*s", (int)len, text);
    bool good = len < sizeof first && clock_parse_duration(first, &out->low_ns) &&
                clock_parse_duration(last, &out->high_ns) && out->low_ns > 0 &&
                out->low_ns <= out->high_ns && ends_in_digit(first) == ends_in_digit(last);
    return good ? 0
                : word_bad(option, text, "a time such as 21d or 350ms, or a range: 20d-22d", err);
}

// "8", or "8+": offers with more fit too. For a run also "any"; 0: as many as it used.
static int read_gpus(const char *text, bool run, struct quote_given *out, struct err *err)
{
    char number[24];
    size_t len = text ? strlen(text) : 0;
    out->gpus = run ? 0 : 1;
    if (run && text && strcmp(text, "any") == 0) {
        out->gpus = QUOTE_GPUS_ANY;
        return 0;
    }
    out->or_more = len > 1 && text[len - 1] == '+';
    snprintf(number, sizeof number, "%.*s", (int)(len - out->or_more), text ? text : "");
    if (text && (len >= sizeof number || !text_int(number, &out->gpus) || out->gpus < 1 ||
                 out->gpus > GPUS_MAX))
        return word_bad("--gpus", text,
                        run ? "a number such as 8, 8+ for at least that many, or any"
                            : "a number such as 8, or 8+ for at least that many",
                        err);
    return 0;
}

bool quote_has_time(const struct quote_options *o)
{
    return o->time || o->steps > 0 || o->step_time;
}

static int check_alone(const struct quote_options *o, const char *word, struct err *err)
{
    const char *option = o->time ? "--time" : o->steps > 0 ? "--steps" : "--step-time";
    if (word) {
        err_set(err, ERR_USAGE, "%s is for a training without a run, but '%.60s' names one", option,
                word);
        return err_hint(err, "leave out one of the two");
    }
    if (o->pinned)
        return err_set(err, ERR_USAGE, "--pinned lists quotes of a run, and %s has none", option);
    if (o->time && (o->steps > 0 || o->step_time)) {
        err_set(err, ERR_USAGE, "--time and %s exclude each other",
                o->steps > 0 ? "--steps" : "--step-time");
        return err_hint(err, "--time is the whole training; --steps × --step-time is too");
    }
    if (!o->time && !o->step_time) {
        err_set(err, ERR_USAGE, "--step-time is missing: how long does a step take?");
        return err_hint(err, "such as --step-time 350ms");
    }
    if (!o->time && o->steps <= 0) {
        err_set(err, ERR_USAGE, "--steps is missing: how many steps does the training have?");
        return err_hint(err, "such as --steps 60000");
    }
    if (!o->gpu && !o->offer) {
        err_set(err, ERR_USAGE, "on which machine does the training take that long?");
        return err_hint(err, "add --gpu h100 --gpus 8, say, or --offer PROVIDER/NAME");
    }
    return 0;
}

int quote_take_given(const struct quote_options *o, const char *word, struct quote_given *out,
                     struct err *err)
{
    *out = (struct quote_given){.gpu = o->gpu, .steps = o->steps > 0 ? o->steps : 0};
    if (!quote_has_time(o))
        return read_gpus(o->gpus, true, out, err);
    TRY(check_alone(o, word, err));
    TRY(read_gpus(o->gpus, false, out, err));
    return read_range(o->time ? "--time" : "--step-time", o->time ? o->time : o->step_time, out,
                      err);
}
