// SPDX-License-Identifier: Apache-2.0
// Progress bars:
//
//     Epoch 2:  45%|████▌     | 211/469 [00:03<00:04, 65.2it/s, v_num=0, loss=0.1]      tqdm
//     375it [00:12, 29.5it/s]
//     Epoch 0/2  ━━━━━━━━━━━━ 145/200 0:00:01 • 0:00:00 826.49it/s train_loss: 1.126    rich,
//     Lightning 118/469 [======>.....] - ETA: 3s - loss: 0.2312 - accuracy: 0.9301 Keras 2 118/469
//     ━━━━━━━━━━━━━━ 1s 3ms/step - accuracy: 0.8557 - loss: 0.5021              Keras 3 469/469 -
//     3s - 7ms/step - loss: 0.2312                                            its verbose=2 4/300
//     0G   3.661   5.701   4.24   213   640: 100% ━━━━━━━━━━━━ 8/8 0.1it/s 1:24 Ultralytics [
//     22/290 02:50 < 38:04, 0.12 it/s, Epoch 0.36/5]                                  a notebook's
//     text
#include <string.h>

#include "follow/formats.h"
#include "train/meter.h"

struct bar {
    const char *label;
    size_t label_len;
    int64_t done, total; // total 0: unknown
    const char *rest;    // behind the counter: times, speed, figures
    const char *source;
};

// ---- labels

// The number behind the word at `p`: "Epoch 3", "Epoch: [3/20]", "epoch=3".
static const char *number_behind(const char *p)
{
    while (*p == ' ' || *p == ':' || *p == '=' || *p == '#' || *p == '[' || *p == '(')
        p++;
    return p;
}

static void read_epoch(const char *p, struct event *event)
{
    int64_t at, total;
    if (formats_pair(p, &at, &total)) {
        event->epoch = some_int(at);
        event->epochs = some_int(total);
    } else if (formats_count(p, &at)) {
        event->epoch = some_int(at);
    }
}

static enum event_counts read_label(const struct bar *bar, struct event *event)
{
    const char *end = bar->label + bar->label_len;
    enum event_counts counts = COUNTS_UNKNOWN;
    char word[FORMATS_WORD];
    size_t n, words = 0;
    int64_t a, b;
    for (const char *p = bar->label; (p = formats_word(p, end, word, &n)); p += n, words++) {
        const char *number = number_behind(p + n);
        bool counted = number < end && formats_digit(*number);
        bool episode = strcmp(word, "episode") == 0; // OpenRLHF: each step of it has other bars
        bool epoch = strcmp(word, "epoch") == 0 || strcmp(word, "ep") == 0 || episode;
        bool train = strcmp(word, "train") == 0 || strcmp(word, "training") == 0;
        if (counted && (epoch || (train && formats_pair(number, &a, &b))))
            read_epoch(number, event);
        if (counted && episode)
            counts = COUNTS_STEPS;
        else if (counted && epoch)
            continue;
        else if ((epoch || strcmp(word, "epochs") == 0) && words == 0)
            counts = COUNTS_EPOCHS;
        else if (strncmp(word, "step", 4) == 0 || strncmp(word, "iter", 4) == 0 ||
                 strncmp(word, "batch", 5) == 0)
            counts = COUNTS_STEPS;
        event->whole |= strcmp(word, "progress") == 0; // verl's "Training Progress"
    }
    // torchtune: "1|25|Loss: 1.26" is epoch 1, step 25.
    const char *loss = memmem(bar->label, bar->label_len, "|Loss: ", 7);
    double v;
    if (loss && formats_real(loss + 7, &v)) {
        event->loss = some_real(v);
        const char *step = loss;
        while (step > bar->label && formats_digit(step[-1]))
            step--;
        const char *epoch = step > bar->label && step[-1] == '|' ? step - 1 : bar->label;
        while (epoch > bar->label && formats_digit(epoch[-1]))
            epoch--;
        read_epoch(epoch, event);
        return COUNTS_STEPS;
    }
    // Ultralytics: columns that begin with the epoch.
    const char *after = formats_pair(bar->label, &a, &b);
    if (after && after[0] == ' ' && after[1] == ' ') {
        read_epoch(bar->label, event);
        return COUNTS_STEPS;
    }
    return counts;
}

// ---- units

// The unit in "[00:12<00:21, 29.50it/s, loss=0.5]" or "826.49it/s": "it"; empty if there is none.
static size_t read_unit(const char *rest, const char **unit)
{
    const char *slash = rest;
    while ((slash = strchr(slash, '/'))) {
        const char *start = slash;
        while (start > rest && formats_letter(start[-1]))
            start--;
        const char *number = start > rest && start[-1] == ' ' ? start - 1 : start;
        bool speed = number > rest && (formats_digit(number[-1]) || number[-1] == '?');
        if (speed && slash[1] == 's' && !formats_in_word(slash[2])) {
            *unit = start;
            return (size_t)(slash - start);
        }
        if (speed && slash - start == 1 && *start == 's' && formats_letter(slash[1])) {
            *unit = slash + 1;
            size_t n = 0;
            while (formats_letter(slash[1 + n]))
                n++;
            return n;
        }
        slash++;
    }
    return 0;
}

// False: bytes.
static bool read_counts(const char *rest, enum event_counts *counts)
{
    static const struct {
        const char *unit;
        enum event_counts counts;
    } units[] = {
        {"step", COUNTS_STEPS},    {"steps", COUNTS_STEPS},    {"batch", COUNTS_STEPS},
        {"batches", COUNTS_STEPS}, {"iter", COUNTS_STEPS},     {"epoch", COUNTS_EPOCHS},
        {"epochs", COUNTS_EPOCHS}, {"sample", COUNTS_SAMPLES}, {"samples", COUNTS_SAMPLES},
        {"img", COUNTS_SAMPLES},   {"image", COUNTS_SAMPLES},  {"images", COUNTS_SAMPLES},
        {"example", COUNTS_OTHER}, {"examples", COUNTS_OTHER}, {"file", COUNTS_OTHER},
        {"files", COUNTS_OTHER},   {"doc", COUNTS_OTHER},      {"docs", COUNTS_OTHER},
        {"row", COUNTS_OTHER},     {"rows", COUNTS_OTHER},     {"shard", COUNTS_OTHER},
        {"shards", COUNTS_OTHER},  {"lines", COUNTS_OTHER},    {"url", COUNTS_OTHER},
        {"tables", COUNTS_OTHER},  {"obj", COUNTS_OTHER},
    };
    const char *unit = "";
    size_t n = read_unit(rest, &unit);
    if (n > 2 && strchr("kMGT", *unit) && unit[1] != 'B') { // "11.2ksample/s"
        unit++;
        n--;
    }
    if (n > 0 && n <= 3 && (unit[n - 1] == 'B' || (n > 1 && unit[n - 1] == 'b')))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n && strncmp(units[i].unit, unit, n) == 0)
            *counts = units[i].counts;
    return true;
}

static enum event_result bars_fill(struct bar *bar, struct event *event)
{
    while (bar->label_len > 0 && (bar->label[0] == ' ' || bar->label[0] == '|')) {
        bar->label++;
        bar->label_len--;
    }
    while (bar->label_len > 0 && strchr(" :|", bar->label[bar->label_len - 1]))
        bar->label_len--;
    enum event_counts counts = read_label(bar, event);
    if (!read_counts(bar->rest, &counts))
        return EVENT_NONE;
    int phase = formats_phase(bar->label, bar->label_len);
    if (counts == COUNTS_OTHER && phase < 0)
        phase = METER_LOAD;
    if (phase == METER_LOAD)
        counts = COUNTS_OTHER;
    if (phase >= 0)
        event->phase = some_int(phase);
    event->step = some_int(bar->done);
    if (bar->total > 0)
        event->total_steps = some_int(bar->total);
    event->counts = counts;
    // Bars without label differ by their totals: a Trainer's training and its evaluation.
    event->bar = formats_counter(bar->label, bar->label_len, bar->total);
    event->source = bar->source;
    if (bar->label_len > 0) {
        event->label = bar->label;
        event->label_len = bar->label_len;
    }
    formats_figures(bar->rest, event);
    if (phase == METER_EVALUATE && !event->test_loss.known) {
        event->test_loss = event->loss;
        event->loss.known = false;
    }
    return EVENT_READ;
}

// ---- tqdm, Ultralytics

// One of ━ ─ ╸ ╺ ╾ ╼, not of the lines of tables.
static bool line_piece(const char *p)
{
    static const char pieces[][4] = {"━", "─", "╸", "╺", "╾", "╼"};
    if (*p != '\xe2')
        return false;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (strncmp(p, pieces[i], 3) == 0)
            return true;
    return false;
}

static const char *skip_pieces(const char *p)
{
    while (*p == ' ' || line_piece(p))
        p += *p == ' ' ? 1 : 3;
    return p;
}

// "4.00k/5.00k", as tqdm scales them.
static const char *read_scaled(const char *p, int64_t *out)
{
    static const char units[] = "kMGT";
    double v, scale = 1;
    p = formats_real(p, &v);
    if (!p || !(v >= 0 && v < 1e6))
        return NULL;
    const char *unit = *p ? strchr(units, *p) : NULL;
    for (int i = unit ? (int)(unit - units) : -1; i >= 0; i--)
        scale *= 1000;
    *out = (int64_t)(v * scale + 0.5);
    return p + (unit != NULL);
}

static const char *scaled_pair(const char *p, int64_t *at, int64_t *total)
{
    p = read_scaled(p, at);
    p = p && *p == '/' ? read_scaled(p + 1, total) : NULL;
    return p && *total > 0 && *at <= *total ? p : NULL;
}

static bool percent_bar(const char *line, struct bar *bar)
{
    const char *percent = line;
    for (int tries = 0; tries < 8 && (percent = strchr(percent, '%')); tries++, percent++) {
        const char *start = percent;
        while (start > line && (formats_digit(start[-1]) || start[-1] == '.'))
            start--;
        const char *p = percent + 1;
        if (start == percent)
            continue;
        bool drawn = *p == '|';
        if (drawn)
            p = strchr(p + 1, '|');
        if (!p)
            continue;
        p = drawn ? p + 1 : p;
        const char *pieces = p;
        p = skip_pieces(p);
        drawn |= line_piece(formats_blanks(pieces));
        bool bracket = *p == '['; // fastprogress: 45.67% [45/99 00:12<00:15 0.3456]
        const char *end = formats_pair(p + bracket, &bar->done, &bar->total);
        if (!end && drawn)
            end = scaled_pair(p, &bar->done, &bar->total);
        if (!end || (*end != ' ' && *end != '\0') ||
            (!drawn && !bracket && strncmp(end, " [", 2) != 0))
            continue;
        bar->label = line;
        bar->label_len = (size_t)(start - line);
        bar->rest = end;
        bar->source = line_piece(formats_blanks(pieces)) ? "Ultralytics" : "tqdm";
        return true;
    }
    return false;
}

// "375it [00:12, 29.5it/s]", "Steps: : 3663it [44:35,  1.85it/s, loss=0.145]".
static bool open_bar(const char *line, struct bar *bar)
{
    const char *times = line;
    for (int tries = 0; tries < 4 && (times = strstr(times, " [")); tries++, times++) {
        const char *minutes = times + 2 + strspn(times + 2, "0123456789");
        if (minutes == times + 2 || *minutes != ':')
            continue;
        const char *p = times;
        while (p > line && formats_letter(p[-1]))
            p--;
        if (p == times)
            continue;
        if (p > line && p[-1] == ' ')
            p--;
        const char *number = p;
        while (number > line && formats_digit(number[-1]))
            number--;
        if (formats_digits(number, &bar->done) != p || (number > line && number[-1] != ' '))
            continue;
        bar->label = line;
        bar->label_len = (size_t)(number - line);
        bar->total = 0;
        bar->rest = times + 1;
        bar->source = "tqdm";
        return strchr(times, '/') != NULL;
    }
    return false;
}

// ---- rich, Keras

static bool names_training(const struct bar *bar)
{
    const char *p = bar->label, *end = bar->label + bar->label_len;
    char word[FORMATS_WORD];
    for (size_t n; (p = formats_word(p, end, word, &n)); p += n)
        if (strncmp(word, "train", 5) == 0 || strncmp(word, "epoch", 5) == 0 ||
            strncmp(word, "step", 4) == 0)
            return true;
    return false;
}

static bool drawn_bar(const char *line, struct bar *bar)
{
    const char *piece = line;
    while ((piece = strchr(piece, '\xe2')) && !line_piece(piece))
        piece++;
    if (!piece)
        return false;
    bar->label = line;
    bar->label_len = (size_t)(piece - line);
    bar->source = "rich";
    const char *p = skip_pieces(piece), *end = formats_pair(p, &bar->done, &bar->total);
    if (!end) {
        // rich.progress.track() shows a percentage only. pip's bars have no label.
        end = formats_digits(p, &bar->done);
        end = end && *end == '%' && bar->done <= 100 && names_training(bar) ? end + 1 : NULL;
        bar->total = 100;
    }
    bar->rest = end;
    return end && *end == ' ';
}

static enum event_result read_rich(const char *line, struct event *event)
{
    struct bar bar = {0};
    if (!drawn_bar(line, &bar))
        return EVENT_NONE;
    enum event_result result = bars_fill(&bar, event);
    if (result == EVENT_READ && event->epochs.known) { // Lightning: Epoch 0/2 is the first of three
        event->epochs.v++;
        event->source = "Lightning";
        // The label has the epoch's number only: one counter through all epochs.
        event->counts = COUNTS_STEPS;
    }
    return result;
}

// Returns the text behind a Keras counter, or null.
static const char *keras_bar(const char *line, struct bar *bar, bool *summary)
{
    const char *p = formats_digits(formats_blanks(line), &bar->done);
    if (!p || *p != '/')
        return NULL;
    bool open = strncmp(p + 1, "Unknown", 7) == 0; // the first epoch of a generator
    p = open ? p + 8 : formats_digits(p + 1, &bar->total);
    if (!p || (!open && (bar->total == 0 || bar->done > bar->total)))
        return NULL;
    p = formats_blanks(p);
    *summary = p[0] == '-' && p[1] == ' ' && formats_digit(p[2]) && bar->done == bar->total;
    bool drawn = line_piece(p) || (*p == '[' && p[1] && strchr("=>.", p[1]));
    bool unknown = open && p[0] == '-' && p[1] == ' ';
    return drawn || unknown || *summary ? p : NULL;
}

static enum event_result read_keras(const char *line, struct event *event)
{
    struct bar bar = {0};
    bool summary;
    const char *p = keras_bar(line, &bar, &summary);
    if (!p)
        return EVENT_NONE;
    event->source = "Keras";
    event->counts = COUNTS_STEPS;
    formats_figures(p, event);
    // Downloads and predictions have such bars too, but no loss.
    if (!event->loss.known && !strstr(p, "loss: "))
        return EVENT_NONE;
    if (summary) { // verbose=2: one line for each epoch
        event->steps = some_int(bar.done);
        event->epoch_ended = true;
        return EVENT_READ;
    }
    event->step = some_int(bar.done);
    if (bar.total > 0)
        event->total_steps = some_int(bar.total);
    event->bar = formats_counter("keras", 5, 0);
    return EVENT_READ;
}

// ---- llama.cpp: a bar for each epoch, without its number
//
//     train: [=====>          ] data=0000160/0003040 loss=2.31256±0.01234 acc=41.20±0.22%
//     t=00:00:07

static enum event_result read_ggml(const char *line, struct event *event)
{
    bool trains = strncmp(line, "train: [", 8) == 0, tests = strncmp(line, "val:   [", 8) == 0;
    const char *p = trains || tests ? strstr(line, "] data=") : NULL;
    struct bar bar = {.label = line, .label_len = trains ? 5 : 3, .source = "llama.cpp"};
    bar.rest = p ? formats_pair(p + 7, &bar.done, &bar.total) : NULL;
    if (!bar.rest || bars_fill(&bar, event) != EVENT_READ)
        return EVENT_NONE;
    event->per_epoch = true;
    event->counts = COUNTS_SAMPLES;
    return EVENT_READ;
}

// ---- fastText and word2vec
//
//     Progress:  2.7%  words/sec/thread: 6565  lr: 0.097276  loss: 0.616644  eta: 18h4m
//     Alpha: 0.000121  Progress: 99.58%  Words/thread/sec: 100.11k

static enum event_result read_progress(const char *line, struct event *event)
{
    const char *word = strncmp(line, "Alpha: ", 7) == 0 ? strstr(line, "Progress:") : line;
    struct bar bar = {.label = word, .label_len = 8, .total = 100};
    double share, left_s, unit_s;
    if (!word || strncmp(word, "Progress:", 9) != 0)
        return EVENT_NONE;
    const char *start = formats_blanks(word + 9), *p = formats_real(start, &share);
    if (!p || *p != '%' || !(share >= 0 && share <= 100))
        return EVENT_NONE;
    for (const char *q = memchr(start, '.', (size_t)(p - start)); q && q + 1 < p && share < 1e6;
         q++) {
        share *= 10;
        bar.total *= 10;
    }
    bar.done = (int64_t)(share + 0.5);
    bar.rest = p + 1;
    bool vectors = word != line;
    bar.source = vectors ? "word2vec" : strstr(p, "words/sec") ? "fastText" : "percentage";
    const char *eta = strcasestr(p, "eta:");
    bool told = eta && formats_span(eta + 4, &left_s, &unit_s);
    if (bars_fill(&bar, event) != EVENT_READ || (!event->loss.known && !told && !vectors))
        return EVENT_NONE;
    event->whole = true;
    return EVENT_READ;
}

// ---- a Trainer in a notebook: [ 22/290 02:50 < 38:04, 0.12 it/s, Epoch 0.36/5]

static enum event_result read_notebook(const char *line, struct event *event)
{
    struct bar bar = {.source = "Hugging Face Trainer"};
    const char *p = formats_blanks(line);
    if (*p != '[' || !strstr(p, " < ") || !strstr(p, "it/s"))
        return EVENT_NONE;
    p = formats_pair(formats_blanks(p + 1), &bar.done, &bar.total);
    const char *epoch = p ? strstr(p, "Epoch ") : NULL;
    if (!p || !epoch)
        return EVENT_NONE;
    bar.label = line;
    bar.rest = p;
    bars_fill(&bar, event);
    double at;
    int64_t epochs;
    p = formats_real(epoch + 6, &at);
    if (p && at >= 0 && at < 1e9 && *p == '/' && formats_digits(p + 1, &epochs)) {
        event->epoch_at = some_real(at);
        event->epochs = some_int(epochs);
    }
    event->counts = COUNTS_STEPS;
    return EVENT_READ;
}

static enum event_result read_any(const char *line, size_t len, struct event *event)
{
    const char *start = formats_blanks(line);
    struct bar bar = {0};
    if (formats_digit(*start) && memchr(line, '/', len) && read_keras(line, event) == EVENT_READ)
        return EVENT_READ;
    if (memchr(line, '%', len) && percent_bar(line, &bar))
        return bars_fill(&bar, event);
    if ((*line == 'P' || *line == 'A') && read_progress(line, event) == EVENT_READ)
        return EVENT_READ;
    *event = (struct event){0};
    if ((*line == 't' || *line == 'v') && read_ggml(line, event) == EVENT_READ)
        return EVENT_READ;
    if (memchr(line, '\xe2', len) && read_rich(line, event) == EVENT_READ)
        return EVENT_READ;
    if (!memchr(line, '[', len))
        return EVENT_NONE;
    return open_bar(line, &bar) ? bars_fill(&bar, event) : read_notebook(line, event);
}

enum event_result formats_bar(const char *line, size_t len, struct event *event)
{
    if (len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    enum event_result result = read_any(line, len, event);
    if (result == EVENT_NONE)
        *event = (struct event){0};
    return result;
}
