// SPDX-License-Identifier: Apache-2.0
#include "run/formats_scan.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// ---- numbers behind words

static const char *behind(const char *p)
{
    while (*p == ' ' || *p == ':' || *p == '=' || *p == '"' || *p == '\'' || *p == '#' || *p == '.')
        p++;
    return p;
}

// Skips "(train)" and notes "(val)".
static const char *skip_mode(const char *p, bool *test)
{
    const char *start = p;
    if (*p != '(' || !formats_letter(p[1]))
        return p;
    while (formats_letter(*++p)) {
    }
    if (*p != ')')
        return start;
    *test |= strncmp(start, "(val", 4) == 0 || strncmp(start, "(test", 5) == 0;
    return p + 1;
}

// Reads "10", "[ 10", "10/5005" or "(39/116". Null if it is part of another number, as in a date.
static const char *read_counter(const char *p, int64_t *at, int64_t *total)
{
    *total = 0;
    p = behind(p);
    if (*p == '[' || *p == '(')
        p = formats_blanks(p + 1);
    const char *end = formats_pair(p, at, total);
    if (!end) {
        *total = 0;
        end = formats_count(p, at);
    }
    bool more = end && (((*end == ':' || *end == '-') && formats_digit(end[1])) ||
                        (*end == '/' && end[1] == '0'));
    return more ? NULL : end;
}

static struct scan_counter named(const char *word, size_t n, int rank, bool evaluates)
{
    return (struct scan_counter){.known = true,
                                 .rank = rank,
                                 .evaluates = evaluates,
                                 .counts = COUNTS_STEPS,
                                 .label = word,
                                 .label_len = n};
}

static void offer(struct scan_counter *to, const struct scan_counter *from)
{
    bool better = !to->known || (from->total > 0 && to->total == 0) ||
                  (from->rank > to->rank && (from->total > 0) == (to->total > 0));
    if (better)
        *to = *from;
}

// A counter behind an epoch's number: "[ 10/5005]", ":    450 / 1891", "|   800/ 1106 batches",
// "| 0021028 updates".
static const char *read_inner(struct scan *s, const char *p, const char *label, size_t len)
{
    const char *q = p;
    while (*q == ' ' || *q == ']' || *q == ':' || *q == ',' || *q == '|' || *q == ')')
        q++;
    if (*q == '[')
        q = formats_blanks(q + 1);
    struct scan_counter c = named(label, len, 9, s->test);
    const char *end = formats_pair(q, &c.at, &c.total);
    if (!end) {
        end = formats_count(q, &c.at);
        c.total = 0;
        if (!end || (strncmp(end, " updates", 8) != 0 && strncmp(end, " steps", 6) != 0))
            return p;
    } else if (strncmp(end, " (", 2) == 0 && *formats_blanks(end + 2) && len == 5) {
        // PyTorch's MNIST example counts samples: Train Epoch: 1 [640/60000 (1%)]
        c.counts = COUNTS_SAMPLES;
    }
    offer(&s->step, &c);
    return end;
}

static const char *read_epoch(struct scan *s, const char *word, size_t n)
{
    const char *p = skip_mode(word + n, &s->test);
    int64_t at, total;
    double real;
    const char *end = read_counter(p, &at, &total);
    if (end) {
        s->event->epoch = some_int(at);
        if (total > 0)
            s->event->epochs = some_int(total);
        s->epoch = true;
        s->epoch_end = end;
        return read_inner(s, end, word, n);
    }
    end = formats_real(behind(p), &real);
    if (!end || !(real >= 0 && real < 1e9))
        return NULL;
    s->event->epoch_at = some_real(real);
    s->event->epoch = some_int(real > 0 ? (int64_t)ceil(real) : 1);
    s->epoch = s->fraction = true;
    return end;
}

static const char *read_step(struct scan *s, const char *word, size_t n, int rank, bool test)
{
    bool about = s->test || test;
    struct scan_counter c = named(word, n, rank, false);
    const char *end = read_counter(skip_mode(word + n, &about), &c.at, &c.total);
    if (!end)
        return NULL;
    c.evaluates = about;
    offer(&s->step, &c);
    return end;
}

// "Train: 0 [   0/1251 (  0%)]", "Train:    1/3 ( 33%) [   0/323 (  0%)]", "Test: [ 0/40]"
static const char *read_loop(struct scan *s, const char *word, size_t n)
{
    int64_t at, total;
    bool test = s->test;
    const char *p = formats_blanks(word + n);
    p = skip_mode(p, &test);
    if (*p != ':')
        return NULL;
    p = formats_blanks(p + 1);
    const char *end = formats_pair(p, &at, &total);
    if (!end) {
        total = 0;
        end = formats_count(p, &at);
    }
    const char *q = formats_blanks(end ? end : p);
    if (end && *q == '(')
        q = strchr(q, ')') ? formats_blanks(strchr(q, ')') + 1) : q;
    struct scan_counter c = named(word, n, 9, s->test);
    const char *inner = *q == '[' ? formats_pair(formats_blanks(q + 1), &c.at, &c.total) : NULL;
    if (!inner)
        return NULL;
    offer(&s->step, &c);
    if (end && !s->epoch) {
        s->epoch = true;
        s->event->epoch = some_int(at);
        if (total > 0)
            s->event->epochs = some_int(total);
    }
    return inner;
}

// ---- figures

static bool is_word(const char *p, const char *word)
{
    size_t n = strlen(word);
    return strncmp(p, word, n) == 0 && !formats_in_word(p[n]);
}

// The value of a figure: "loss: 0.5", "'loss': '0.5'", "loss train: 1.062", "loss value: 2.3E+00".
static const char *read_value(const char *p, double *out)
{
    while (*p == ' ' || *p == ':' || *p == '=' || *p == '"' || *p == '\'')
        p++;
    if (is_word(p, "train") || is_word(p, "value"))
        p = behind(p + 5);
    const char *end = formats_real(p, out);
    if (!end)
        return NULL;
    int64_t all;
    const char *whole = *end == '/' ? formats_digits(end + 1, &all) : NULL; // 9842/10000
    if (whole && all > 0) {
        *out /= (double)all;
        end = whole;
    } else if (*end == '%') {
        *out /= 100;
    }
    return end;
}

static void set(struct maybe_real *to, double v)
{
    if (!to->known)
        *to = some_real(v);
}

static const char *read_figure(struct scan *s, const char *p, bool loss, bool test)
{
    double v;
    const char *end = read_value(p, &v);
    if (!end) {
        const char *q = p + strspn(p, " :='\"");
        s->diverged |= loss && (is_word(q, "nan") || is_word(q, "NaN") || is_word(q, "inf"));
        return NULL;
    }
    test |= s->test_next;
    if (loss)
        set(test ? &s->event->test_loss : &s->event->loss, v);
    else if (!(v >= 0 && v <= 1)) // a percentage, without its sign
        s->tempo = true;
    else
        set(test ? &s->event->test_accuracy : &s->event->accuracy, v);
    s->test_next = false;
    s->test = s->test && !test;
    return end;
}

static void read_left(struct scan *s, const char *p)
{
    double v, unit;
    if (s->event->left_s.known || !formats_span(p, &v, &unit))
        return;
    s->event->left_s = some_real(v);
    s->event->left_unit_s = unit;
}

// "response_length/mean:288.7", "'completions/mean_length': 506.8", "Mean Generation Length: 288"
static bool tells_length(const char *word, size_t n)
{
    if (strncmp(word, "completions", n) == 0)
        return word[n] == '/';
    return (word[0] | 0x20) != 'g' || n != 10 || strncasecmp(word + n, " length", 7) == 0;
}

// "Val took 0.732s", "'eval_runtime': 12.3", "val time: 78948.12 ms"
static const char *read_took(struct scan *s, const char *p)
{
    double v;
    const char *end = read_value(p, &v);
    if (!end || v < 0)
        return NULL;
    const char *unit = formats_blanks(end);
    set(&s->event->took_s, is_word(unit, "ms") ? v / 1e3 : v);
    return end;
}

// ---- the scan

static bool has_value(const char *p)
{
    while (*p && strchr(" :='\"[()", *p))
        p++;
    return formats_digit(*p) || *p == '-';
}

static const char *read_role(struct scan *s, enum formats_role role, const char *word, size_t n,
                             int rank, bool test)
{
    unsigned char before = word > s->line ? (unsigned char)word[-1] : ' ';
    bool joined = before == '/' || before == '-' || before == '.';
    bool possessed = word - s->line > 3 && strncmp(word - 3, "'s ", 3) == 0; // LightGBM's sets
    s->learns |= possessed;
    switch (role) {
    case ROLE_EPOCH:
        return joined || s->limit || s->epoch ? NULL : read_epoch(s, word, n);
    case ROLE_STEP:
        return joined || s->limit ? NULL : read_step(s, word, n, rank, test);
    case ROLE_TABLE: {
        struct scan_counter c = named(word, n, 10, false);
        const char *p = formats_blanks(word + n);
        const char *end = *p == '|' ? formats_count(formats_blanks(p + 1), &c.at) : NULL;
        if (end)
            s->step = c;
        return end;
    }
    case ROLE_MEASURE:
        s->learns |= before == '-';
        if (before == '-' || possessed)
            return read_figure(s, word + n, true, test);
        s->tempo |= has_value(word + n);
        return NULL;
    case ROLE_LOSS:
    case ROLE_ACCURACY:
        s->learns |= strncmp(word, "learn", 5) == 0; // CatBoost
        return read_figure(s, word + n, role == ROLE_LOSS, test);
    case ROLE_TOOK:
        return read_took(s, word + n);
    case ROLE_LEFT:
        read_left(s, word + n);
        s->tempo |= has_value(word + n);
        return NULL;
    case ROLE_TEMPO:
        s->tempo |= has_value(word + n);
        return NULL;
    case ROLE_LOOP: {
        int64_t at, total;
        const char *end = joined ? NULL : read_counter(word + n, &at, &total);
        s->event->loops |= end && total > 1 && at <= total;
        return s->event->loops ? end : NULL;
    }
    case ROLE_ANSWER:
        s->event->generates |= tells_length(word, n);
        return NULL;
    case ROLE_TEST:
    case ROLE_EVALUATION:
        if (before != '/' && before != '.' && word[n] != '/' && word[n] != '.')
            s->test = s->test_next = true;
        if ((s->event->loss.known || s->diverged) && word[n] == ':') // loss train: 1.0, val: 1.1
            return read_figure(s, word + n, true, true);
        return read_loop(s, word, n);
    case ROLE_TRAIN:
        s->test_next = false;
        return read_loop(s, word, n);
    default:
        return possessed ? read_figure(s, word + n, true, false) : NULL;
    }
}

// "[190] train-logloss:0.41", "loss: 2.303494  [   64/60000]", "[1,  2000] loss: 2.196"
static const char *read_bracket(struct scan *s, const char *p)
{
    struct scan_counter c = named(p, 0, 0, false);
    char before = p > s->line ? p[-1] : ' ';
    const char *q = formats_blanks(p + 1);
    const char *end = formats_pair(q, &c.at, &c.total);
    if (!end) {
        c.total = 0;
        end = formats_count(q, &c.at);
    }
    if (end && *end == ',' && c.total == 0) {
        int64_t inner;
        const char *close = formats_count(formats_blanks(end + 1), &inner);
        if (close && *close == ']') {
            c.epoch = some_int(c.at);
            c.at = inner;
            end = close;
        }
    }
    bool free = before == ' ' || before == ']';
    if (!end || *end != ']' || !free)
        return p + 1;
    if (strncmp(formats_blanks(s->line), "loss", 4) == 0 && c.total > 0)
        c.counts = COUNTS_SAMPLES; // PyTorch's first tutorial
    offer(&s->bare, &c);
    return end + 1;
}

// "490 | loss 5.7543", "0:  learn: 0.6569860"
static void read_front(struct scan *s)
{
    struct scan_counter c = named(s->line, 0, 0, false);
    const char *p = formats_count(formats_blanks(s->line), &c.at);
    if (p && ((p[0] == ':' && p[1] == ' ') || (p[0] == ' ' && p[1] == '|')))
        s->bare = c;
}

// ESPnet's "8/20epoch started", "1epoch:train:1-682batch: ... loss=123.9". Null if it is none.
static const char *read_suffixed(struct scan *s, const char *p)
{
    int64_t at, total = 0;
    const char *end = formats_digits(p, &at);
    const char *behind_pair = end && *end == '/' ? formats_digits(end + 1, &total) : NULL;
    end = behind_pair ? behind_pair : end;
    bool epoch = end && strncmp(end, "epoch", 5) == 0 && (end[5] == ' ' || end[5] == ':');
    if (epoch && !s->epoch && at <= (total > 0 ? total : at)) {
        s->event->epoch = some_int(at);
        if (total > 0)
            s->event->epochs = some_int(total);
        s->epoch = true;
        return s->epoch_end = end + 5;
    }
    struct scan_counter c = named(end, 5, 2, s->test);
    c.at = at;
    if (!end || behind_pair || !is_word(end, "batch") || p == s->line || p[-1] != '-')
        return NULL;
    offer(&s->step, &c);
    return end + 5;
}

// "valid on 'valid' subset  1000 / 1311 loss=1.60"; other numbers are skipped with their units.
static const char *read_bare_number(struct scan *s, const char *p)
{
    const char *suffixed = read_suffixed(s, p);
    if (suffixed)
        return suffixed;
    struct scan_counter c = named(p, 0, 0, true);
    const char *end = s->test && !s->step.known ? formats_pair(p, &c.at, &c.total) : NULL;
    if (end && *end == ' ') {
        offer(&s->step, &c);
        return end;
    }
    while (p < s->end && formats_in_word(*p))
        p++;
    return p;
}

void scan_line(struct scan *s)
{
    const char *p = s->line, *path = p; // the end of the path at p
    read_front(s);
    while (p < s->end) {
        char c = *p;
        if (formats_letter(c) || c == '_') {
            char word[FORMATS_WORD];
            size_t n;
            int rank = 0;
            bool test = false;
            const char *start = formats_word(p, s->end, word, &n);
            if (!start)
                return;
            enum formats_role role =
                n < FORMATS_WORD ? formats_role(word, n, &rank, &test) : ROLE_OTHER;
            if (start[n] == '.' && formats_letter(start[n + 1]) && role != ROLE_MODEL)
                role = ROLE_OTHER; // "train.py", but "model.bin"
            if (start[n] == '/' || (start > s->line && start[-1] == '/'))
                path = start + strcspn(start, " ");
            s->seen[role] = true;
            s->others += role == ROLE_OTHER && start >= path;
            s->leads |= (role == ROLE_NOW || role == ROLE_BEGIN) && s->others == 0;
            s->seen[ROLE_PLURAL] |= role == ROLE_OTHER && strchr(word, '_');
            const char *end = read_role(s, role, start, n, rank, test);
            s->limit = role == ROLE_LIMIT;
            p = end ? end : start + n;
        } else if (formats_digit(c)) {
            p = read_bare_number(s, p);
        } else if (c == '[') {
            p = read_bracket(s, p);
        } else {
            if (c == ',' || c == ';' || c == '|')
                s->test_next = false;
            char before = p > s->line ? p[-1] : ' ';
            if (p[1] == ' ' &&
                (c == ']' || (c == '>' && before == '>') || (c == '-' && before == ' ')))
                s->others = 0; // "[INFO] ...", ">> ...", "... - INFO - ..."
            p++;
        }
    }
}

void formats_figures(const char *text, struct event *event)
{
    struct event figures = {0};
    struct scan s = {.line = text, .end = text + strlen(text), .event = &figures};
    scan_line(&s);
#define TAKE(member) event->member = event->member.known ? event->member : figures.member
    TAKE(loss);
    TAKE(accuracy);
    TAKE(test_loss);
    TAKE(test_accuracy);
#undef TAKE
    event->generates |= figures.generates;
}
