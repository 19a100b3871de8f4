// SPDX-License-Identifier: Apache-2.0
// Log lines, by one grammar. Counters are known words with a number: "iter 10", "step=40",
// "Epoch: [0][ 10/5005]", "num_updates": "1400". Figures are known words with a value: "lm loss:
// 2.37E+00". A few words say what a line is about. scan_line() collects them, and judge() decides
// what the line reports. A counter alone is not progress: "Step 3/10 : RUN pip install" has no
// figure.
#include <math.h>
#include <string.h>
#include <strings.h>

#include "follow/formats.h"
#include "train/meter.h"

struct scan_counter {
    bool known;
    int64_t at, total; // total 0: unknown
    struct maybe_int epoch;
    int rank;
    bool evaluates;
    enum event_counts counts;
    const char *label;
    size_t label_len;
};

struct line_scan {
    const char *line, *end;
    struct event *event; // gets the figures
    struct scan_counter step;
    struct scan_counter bare; // a number in brackets or in front, without a word
    bool epoch, fraction;     // an epoch is known; with a fraction
    const char *epoch_end;    // behind its number
    bool test;                // a word about evaluations, since the last figure
    bool test_next;           // it is about the next figure: "val loss"
    bool limit;               // the last word was a limit
    bool diverged;            // a loss is NaN
    bool tempo;               // a learning rate, a time
    bool learns;              // CatBoost's "learn", or the names of XGBoost and LightGBM
    bool seen[ROLE_COUNT];
    int others; // unknown words, without those of paths and of a logger's prefix
    bool leads; // "Validating" or "begin" is the first word
};

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
static const char *read_inner(struct line_scan *s, const char *p, const char *label, size_t len)
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

static const char *read_epoch(struct line_scan *s, const char *word, size_t n)
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

static const char *read_step(struct line_scan *s, const char *word, size_t n, int rank, bool test)
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
static const char *read_loop(struct line_scan *s, const char *word, size_t n)
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

static const char *read_figure(struct line_scan *s, const char *p, bool loss, bool test)
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

static void read_left(struct line_scan *s, const char *p)
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
static const char *read_took(struct line_scan *s, const char *p)
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

static const char *read_role(struct line_scan *s, enum formats_role role, const char *word,
                             size_t n, int rank, bool test)
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
static const char *read_bracket(struct line_scan *s, const char *p)
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
static void read_front(struct line_scan *s)
{
    struct scan_counter c = named(s->line, 0, 0, false);
    const char *p = formats_count(formats_blanks(s->line), &c.at);
    if (p && ((p[0] == ':' && p[1] == ' ') || (p[0] == ' ' && p[1] == '|')))
        s->bare = c;
}

// ESPnet's "8/20epoch started", "1epoch:train:1-682batch: ... loss=123.9". Null if it is none.
static const char *read_suffixed(struct line_scan *s, const char *p)
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
static const char *read_bare_number(struct line_scan *s, const char *p)
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

// `line`, `end` and `event` are set, the rest is zero.
static void scan_line(struct line_scan *s)
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
    struct line_scan s = {.line = text, .end = text + strlen(text), .event = &figures};
    scan_line(&s);
#define TAKE(member) event->member = event->member.known ? event->member : figures.member
    TAKE(loss);
    TAKE(accuracy);
    TAKE(test_loss);
    TAKE(test_accuracy);
#undef TAKE
    event->generates |= figures.generates;
}

// ---- What a line says

#define OTHERS_MAX      4 // unknown words in a report of a checkpoint: more are prose
#define WORD_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void move(struct maybe_real *to, struct maybe_real *from)
{
    if (to->known)
        return;
    *to = *from;
    from->known = false;
}

static void mark(struct line_scan *s, enum meter_phase phase, bool begins)
{
    struct event *e = s->event;
    e->phase = some_int(phase);
    e->begins = begins;
    if (s->step.known) {
        e->at_step = some_int(s->step.at);
        if (s->step.total > 0 && !s->step.evaluates && !s->epoch)
            e->total_steps = some_int(s->step.total);
    }
    if (phase == METER_EVALUATE && !s->seen[ROLE_TRAIN]) {
        move(&e->test_loss, &e->loss);
        move(&e->test_accuracy, &e->accuracy);
    }
}

static void count(struct line_scan *s)
{
    struct event *e = s->event;
    e->step = some_int(s->step.at);
    if (s->step.total > 0)
        e->total_steps = some_int(s->step.total);
    e->counts = s->step.counts;
    if (s->step.evaluates)
        mark(s, METER_EVALUATE, false);
    e->at_step.known = false;
    bool named = s->step.label_len > 0;
    if (named) {
        e->label = s->step.label;
        e->label_len = s->step.label_len;
    }
    e->bar = formats_counter(named ? s->step.label : "bare", named ? s->step.label_len : 4,
                             s->step.evaluates);
    // {"step": 10, "total_steps": 1000, "loss": 2.5}
    struct event told = {0};
    if (s->seen[ROLE_PLURAL] && s->step.total == 0 && !e->phase.known &&
        formats_announced(s->line, (size_t)(s->end - s->line), &told) && told.total_steps.known &&
        told.total_steps.v >= e->step.v)
        e->total_steps = told.total_steps;
}

static bool judge_step(struct line_scan *s, bool trains, bool tests)
{
    bool pure = s->others == 0 && s->step.total > 0;
    if (!trains && !tests && !s->tempo && !pure && s->step.rank < 10)
        return false;
    if (s->step.evaluates && s->step.total > 0)
        count(s);
    else if (s->step.evaluates || (tests && !s->learns && (!trains || !s->tempo)))
        mark(s, METER_EVALUATE, false);
    else
        count(s);
    return true;
}

static bool judge_epoch(struct line_scan *s, bool trains, bool tests)
{
    struct event *e = s->event;
    if (s->fraction)
        return trains || tests;
    if (s->test || (tests && !trains)) {
        if (!trains && !tests)
            return false;
        mark(s, METER_EVALUATE, false);
    } else if (trains || s->seen[ROLE_DONE]) {
        e->step = e->epoch;
        e->total_steps = e->epochs;
        e->counts = COUNTS_EPOCHS;
        e->bar = formats_counter("epoch", 5, 0);
        e->epoch_ended = true;
    } else {
        // "ggml_opt_fit: epoch 0001/0002:", "(trainer:184) INFO: 8/20epoch started. Estimated time"
        bool ends = s->epoch_end && !s->epoch_end[strcspn(s->epoch_end, WORD_CHARACTERS)];
        return s->others == 0 || (e->epochs.known && ends && s->others <= 1) ||
               (e->epochs.known && s->seen[ROLE_BEGIN] && s->others <= OTHERS_MAX);
    }
    return true;
}

static bool judge(struct line_scan *s)
{
    struct event *e = s->event;
    bool trains = e->loss.known || e->accuracy.known || s->diverged;
    bool tests = e->test_loss.known || e->test_accuracy.known;
    const bool *seen = s->seen;
    if (!s->step.known && s->bare.known && (trains || tests)) {
        s->step = s->bare;
        e->epoch = e->epoch.known ? e->epoch : s->bare.epoch;
        s->epoch |= s->bare.epoch.known;
    }
    if ((seen[ROLE_SAVING] || seen[ROLE_SAVED]) && seen[ROLE_MODEL] && !seen[ROLE_NOT] &&
        s->others <= OTHERS_MAX && !(s->step.known && trains)) {
        mark(s, METER_CHECKPOINT, !seen[ROLE_SAVED] && !seen[ROLE_DONE]);
        return true;
    }
    if (s->step.known && judge_step(s, trains, tests))
        return true;
    if (s->epoch && judge_epoch(s, trains, tests))
        return true;
    bool now = seen[ROLE_NOW] || (seen[ROLE_BEGIN] && seen[ROLE_EVALUATION]);
    now = now && s->leads && !seen[ROLE_NOT] && !s->tempo && s->others <= 1 + 2 * seen[ROLE_BEGIN];
    if (now && !s->epoch && !s->step.known) {
        mark(s, METER_EVALUATE, true);
        return true;
    }
    if (seen[ROLE_PLURAL] && !seen[ROLE_OVER] && !trains && !tests &&
        formats_announced(s->line, (size_t)(s->end - s->line), e))
        return true;
    if (s->epoch || s->step.known)
        return false;
    // A line that begins far to the right is the rest of a bar that a terminal wrapped.
    if ((tests || (s->test && trains)) && strspn(s->line, " ") < 16) {
        mark(s, METER_EVALUATE, false);
        return true;
    }
    if (e->loops && s->others <= OTHERS_MAX)
        return true;
    // "  • Loss: 0.0912", between the steps of other lines
    return e->generates || (e->loss.known && s->others == 0 && !s->test);
}

// Only an evaluation or a checkpoint that ended took a time.
static void drop_time(struct event *event)
{
    if (!event->phase.known || event->step.known)
        event->took_s.known = false;
}

static void name_source(const char *line, struct event *event)
{
    static const struct {
        const char *text, *name;
    } sources[] = {
        {"consumed samples:", "Megatron"},
        {"d2.utils.events", "detectron2"},
        {"completed step:", "MaxText"},
        {"[titan]", "torchtitan"},
        {"num_updates", "fairseq"},
        {"reduced_train_loss", "NeMo"},
        {"mmengine", "MMEngine"},
        {"[Rank 0] step=", "DeepSpeed"},
        {"It/sec", "MLX"},
        {"remaining:", "CatBoost"},
        {", mfu ", "nanoGPT"},
        {"[TRAIN] epoch: ", "PaddleSeg"},
        {"ppdet.engine", "PaddleDetection"},
        {"ppocr INFO", "PaddleOCR"},
        {"epoch:train:", "ESPnet"},
        {"train_opt_callback", "llama.cpp"},
        {"response_length/mean", "verl"},
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources && !event->source; i++)
        if (strstr(line, sources[i].text))
            event->source = sources[i].name;
    // Its iterations count through all epochs.
    event->whole = event->source && strcmp(event->source, "PaddleSeg") == 0;
}

enum event_result formats_line(const char *line, size_t len, struct event *event)
{
    if (len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    struct line_scan s = {.line = line, .end = line + len, .event = event};
    scan_line(&s);
    if (!judge(&s)) {
        *event = (struct event){0};
        return EVENT_NONE;
    }
    drop_time(event);
    name_source(line, event);
    return EVENT_READ;
}

// Hugging Face's Trainer, with numbers or, since version 5, texts:
//
//     {'loss': 0.5213, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.5}
//     {'eval_loss': '0.41', 'eval_runtime': '12.3', 'epoch': '1'}
enum event_result formats_trainer(const char *line, size_t len, struct event *event)
{
    const char *p = formats_blanks(line);
    if (p[0] != '{' || p[1] != '\'' || len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    struct line_scan s = {.line = line, .end = line + len, .event = event};
    scan_line(&s);
    bool tests = event->test_loss.known || event->test_accuracy.known || event->took_s.known;
    if (!s.epoch || strstr(p, "'train_runtime'")) {
        *event = (struct event){0};
        return EVENT_NONE;
    }
    if (!s.fraction) { // '1' instead of '1.0'
        event->epoch_at = some_real((double)event->epoch.v);
        event->epoch = some_int(event->epoch.v > 0 ? event->epoch.v : 1);
    }
    if (tests && !event->loss.known)
        mark(&s, METER_EVALUATE, false);
    else if (s.step.known)
        count(&s);
    drop_time(event);
    return EVENT_READ;
}
