// SPDX-License-Identifier: Apache-2.0
#include "train/data/sentiment.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "train/data/corpus.h"
#include "train/data/folder.h"

#define MAX_BYTES  (INT64_C(4) << 30) // the set has 65 MB
#define MAX_REVIEW ((size_t)1 << 20)  // the longest has 14 kB

// ---- words ----

static bool is_mark(unsigned char c)
{
    return (c >= '!' && c <= '/' && c != '\'') || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

int reviews_split(char *text, size_t len, reviews_word_fn *word, void *context, struct err *err)
{
    size_t begin = 0, end = 0; // of the word, which overwrites text already read
    for (size_t at = 0; at <= len;) {
        uint32_t c = ' '; // one behind the text, to end the last word
        size_t bytes = 1;
        if (at < len)
            bytes = utf8_next(text + at, len - at, &c);
        if (c == '<' && len - at >= 6 && memcmp(text + at, "<br />", 6) == 0) {
            bytes = 6;
            c = ' ';
        }
        at += bytes;
        if (utf8_space(c) || (c < 0x80 && is_mark((unsigned char)c))) {
            TRY(end > begin ? word(context, text + begin, end - begin, err) : 0);
            begin = end = at;
            continue;
        }
        char lower[UTF8_MAX];
        size_t put = utf8_put(utf8_lower(c), lower);
        assert(put <= bytes); // no capital of utf8_lower()'s has fewer bytes than its small letter
        memcpy(text + end, lower, put);
        end += put;
    }
    return 0;
}

// ---- collecting ----

struct reviews_reading {
    struct vocabulary vocabulary; // of the training part
    struct corpus train, test;    // word numbers, UNKNOWN, or START
    struct corpus *into;
    struct identity identity;
};
enum { NUMBER_START = -2, NUMBER_UNKNOWN = -1 };

static void reading_release(struct reviews_reading *r)
{
    vocabulary_release(&r->vocabulary);
    corpus_release(&r->train);
    corpus_release(&r->test);
}

static int reviews_add_word(void *context, const char *word, size_t len, struct err *err)
{
    struct reviews_reading *r = context;
    int32_t number = NUMBER_UNKNOWN;
    if (r->into == &r->train)
        TRY(vocabulary_add(&r->vocabulary, word, len, &number, err));
    else
        number = vocabulary_find(&r->vocabulary, word, len);
    return corpus_add(r->into, number, err);
}

static int add_review(struct reviews_reading *r, char *text, size_t len, int32_t label,
                      struct err *err)
{
    size_t bad = utf8_bad(text, len);
    if (bad < len)
        return err_set(err, ERR_FORMAT, "byte %zu of the text is not UTF-8 (%02x)", bad,
                       (unsigned char)text[bad]);
    TRY(corpus_add(r->into, NUMBER_START, err));
    TRY(reviews_split(text, len, reviews_add_word, r, err));
    return corpus_end(r->into, label, REVIEWS_TIME, err);
}

// ---- tables ----

static int reviews_read_row(struct reviews_reading *r, struct lines *lines, struct err *err)
{
    char *text = lines->text;
    char *end = text + lines->len;
    for (int i = 0; i < 3; i++) {
        text = memchr(text, '\t', (size_t)(end - text));
        if (!text)
            return err_set(err, ERR_FORMAT,
                           "%d columns instead of four: label, rating, number, text", i + 1);
        text++;
    }
    if (lines->text[1] != '\t' || (lines->text[0] != '0' && lines->text[0] != '1'))
        return err_set(err, ERR_FORMAT, "the label is neither 0 nor 1");
    return add_review(r, text, (size_t)(end - text), lines->text[0] - '0', err);
}

static int reviews_read_table(struct reviews_reading *r, const char *path, const char *name,
                              struct err *err)
{
    SCOPED(lines_release) struct lines lines = {0};
    uint8_t sum[SHA256_BYTES];
    int rc;
    TRY(lines_open(&lines, path, MAX_BYTES, MAX_REVIEW, err));
    while ((rc = lines_next(&lines, err)) > 0) {
        rc = reviews_read_row(r, &lines, err);
        if (rc != 0)
            return rc == ERR_MEMORY ? rc : lines_context(&lines, err);
    }
    TRY(rc);
    if (r->into->count == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", path);
    TRY(gzip_end(&lines.gzip, sum, err));
    identity_add(&r->identity, sum, name);
    return 0;
}

static int read_tables(struct reviews_reading *r, const struct folder *folder, struct err *err)
{
    static const char *const train[] = {"train.tsv", NULL}, *const test[] = {"test.tsv", NULL};
    SCOPED(buf_release) struct buf path = {0};
    r->into = &r->train;
    TRY(folder_find(folder, train, &path, err));
    TRY(reviews_read_table(r, buf_str(&path), train[0], err));
    r->into = &r->test;
    TRY(folder_find(folder, test, &path, err));
    return reviews_read_table(r, buf_str(&path), test[0], err);
}

// ---- one file per review ----

struct review_file {
    long number;
    int label;
    const char *name; // the folder's
};

static int by_review(const void *a_, const void *b_)
{
    const struct review_file *a = a_, *b = b_;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->label != b->label)
        return a->label - b->label;
    return strcmp(a->name, b->name);
}

// "123_7.txt" is number 123. Other names are ignored.
static bool parse_name(const char *name, long *number)
{
    char *end;
    if (!isdigit((unsigned char)name[0]))
        return false;
    *number = strtol(name, &end, 10);
    if (*end != '_' || !isdigit((unsigned char)end[1]))
        return false;
    strtol(end + 1, &end, 10);
    return strcmp(end, ".txt") == 0;
}

static size_t list_files(const struct folder *folder, int label, struct review_file *files)
{
    size_t count = 0;
    for (size_t i = 0; i < folder->count; i++) {
        struct review_file file = {.label = label, .name = folder->names[i]};
        if (parse_name(file.name, &file.number))
            files[count++] = file;
    }
    return count;
}

static int read_review(struct reviews_reading *r, const struct folder *folder,
                       const struct review_file *file, const char *part, struct buf *text,
                       struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    struct sha256 sha;
    uint8_t sum[SHA256_BYTES];
    char name[300];
    buf_reset(text);
    TRY(folder_path(folder, file->name, &path, err));
    TRY(fs_read(buf_str(&path), MAX_REVIEW, text, err));
    if (text->len == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", buf_str(&path));
    sha256_init(&sha); // before splitting, which modifies the text
    sha256_add(&sha, text->data, text->len);
    sha256_done(&sha, sum);
    snprintf(name, sizeof name, "%s/%s/%s", part, file->label ? "pos" : "neg", file->name);
    identity_add(&r->identity, sum, name);
    int rc = add_review(r, text->data, text->len, file->label, err);
    if (rc != 0 && rc != ERR_MEMORY)
        err_context(err, "'%s'", buf_str(&path));
    return rc;
}

static int read_part(struct reviews_reading *r, const char *dir, const char *part,
                     struct corpus *into, struct err *err)
{
    SCOPED(folder_release) struct folder negative = {0}, positive = {0};
    struct folder *const folders[2] = {&negative, &positive};
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    size_t count = 0;
    r->into = into;
    for (int label = 0; label < 2; label++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s/%s", dir, part, label ? "pos" : "neg");
        TRY(buf_check(&path, err));
        TRY(folder_open(folders[label], buf_str(&path), err));
    }
    size_t names = negative.count + positive.count;
    SCOPED(free_pointer) struct review_file *files = malloc((names ? names : 1) * sizeof *files);
    if (!files)
        return err_memory(err);
    for (int label = 0; label < 2; label++) {
        size_t more = list_files(folders[label], label, files + count);
        if (more == 0)
            return err_set(err, ERR_MISSING, "'%s' has no reviews (NUMBER_RATING.txt)",
                           folders[label]->path);
        count += more;
    }
    qsort(files, count, sizeof *files, by_review);
    for (size_t i = 0; i < count; i++)
        TRY(read_review(r, folders[files[i].label], &files[i], part, &text, err));
    return 0;
}

// ---- the set ----

// The last 100 tokens of each, zeros before.
static int reviews_fill(struct dataset *set, const struct corpus *from, const int32_t *ranks,
                        struct err *err)
{
    set->count = from->count;
    set->classes = 2;
    set->time = REVIEWS_TIME;
    set->vocabulary = REVIEWS_VOCABULARY;
    set->token_stride = REVIEWS_TIME;
    set->tokens = calloc((size_t)set->count * REVIEWS_TIME, sizeof *set->tokens);
    set->labels = malloc((size_t)set->count * sizeof *set->labels);
    if (!set->tokens || !set->labels)
        return err_memory(err);
    memcpy(set->labels, from->labels, (size_t)set->count * sizeof *set->labels);
    for (int64_t i = 0; i < set->count; i++) {
        int64_t len = from->starts[i + 1] - from->starts[i];
        int32_t *to = set->tokens + (i + 1) * REVIEWS_TIME - len;
        for (int64_t k = 0; k < len; k++) {
            int32_t number = from->tokens[from->starts[i] + k];
            if (number == NUMBER_START)
                to[k] = REVIEWS_START;
            else if (number == NUMBER_UNKNOWN ||
                     ranks[number] >= REVIEWS_VOCABULARY - REVIEWS_FIRST)
                to[k] = REVIEWS_UNKNOWN;
            else
                to[k] = REVIEWS_FIRST + ranks[number];
        }
    }
    return 0;
}

static int reviews_finish(struct reviews_reading *r, struct data_pair *pair, struct err *err)
{
    static const char *const special[] = {"<padding>", "<start>", "<unknown>"};
    SCOPED(free_pointer) int32_t *ranks = NULL;
    TRY(vocabulary_rank(&r->vocabulary, &ranks, err));
    TRY(reviews_fill(&pair->train, &r->train, ranks, err));
    TRY(reviews_fill(&pair->test, &r->test, ranks, err));
    TRY(vocabulary_words(&r->vocabulary, ranks, special, REVIEWS_FIRST, REVIEWS_VOCABULARY,
                         &pair->words, err));
    pair->word_count = REVIEWS_VOCABULARY;
    pair->identity = identity_text(&r->identity, err);
    return pair->identity ? 0 : ERR_MEMORY;
}

int reviews_open(const char *dir, const struct data_options *options, struct data_pair *pair,
                 struct err *err)
{
    (void)options;
    SCOPED(reading_release) struct reviews_reading r = {0};
    SCOPED(folder_release) struct folder folder = {0};
    SCOPED(buf_release) struct buf train = {0};
    identity_init(&r.identity);
    TRY(folder_open(&folder, dir, err));
    TRY(folder_path(&folder, "train", &train, err));
    if (folder_is(buf_str(&train))) {
        TRY(read_part(&r, dir, "train", &r.train, err));
        TRY(read_part(&r, dir, "test", &r.test, err));
    } else {
        TRY(read_tables(&r, &folder, err));
    }
    return reviews_finish(&r, pair, err);
}

// ==== tweets ====

#define TWEETS_MAX_BYTES (INT64_C(4) << 30) // the full set has 150 MB
#define MAX_LINE         ((size_t)1 << 20)
#define WORD_MAX         VOCABULARY_WORD_MAX

// ---- words ----

// Kinds of bytes.
enum { SPACE, LETTER, MARK }; // LETTER: anything that words are made of

static const uint8_t kinds[256] = {
    ['0' ... '9'] = LETTER, ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER, ['\''] = LETTER,
    ['`'] = LETTER,         ['('] = MARK,           [')'] = MARK,           [','] = MARK,
    ['!'] = MARK,           ['?'] = MARK,
};

// The cleaned text, one byte at a time: dropped bytes become spaces, runs are cut to two bytes.
struct clean {
    const char *text, *end;
    unsigned char ahead[3]; // the next ones; 0 behind the end
    unsigned char last;
    int run;
};

static unsigned char pull(struct clean *c)
{
    while (c->text < c->end) {
        unsigned char byte = (unsigned char)*c->text++;
        byte = kinds[byte] == SPACE ? ' ' : byte;
        c->run = byte == c->last ? c->run + 1 : 1;
        c->last = byte;
        if (c->run <= 2)
            return byte;
    }
    return 0;
}

static void advance(struct clean *c)
{
    c->ahead[0] = c->ahead[1];
    c->ahead[1] = c->ahead[2];
    c->ahead[2] = pull(c);
}

// Whether one of 's 've n't 're 'd 'll comes next.
static bool ending_begins(const unsigned char a[3])
{
    if (a[0] == 'n')
        return a[1] == '\'' && a[2] == 't';
    if (a[0] != '\'')
        return false;
    return a[1] == 's' || a[1] == 'd' || (a[1] == 'v' && a[2] == 'e') ||
           (a[1] == 'r' && a[2] == 'e') || (a[1] == 'l' && a[2] == 'l');
}

int tweets_split(const char *text, size_t len, tweets_word_fn *word, void *context, struct err *err)
{
    struct clean c = {.text = text, .end = text + len};
    char token[WORD_MAX];
    size_t have = 0;
    for (size_t i = 0; i < sizeof c.ahead; i++)
        advance(&c);
    for (; c.ahead[0] != 0; advance(&c)) {
        unsigned char byte = c.ahead[0];
        if (kinds[byte] != LETTER || ending_begins(c.ahead)) {
            if (have > 0)
                TRY(word(context, token, have, err));
            have = 0;
        }
        char mark = (char)byte;
        if (kinds[byte] == MARK)
            TRY(word(context, &mark, 1, err));
        else if (kinds[byte] == LETTER && have < sizeof token)
            token[have++] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
    }
    return have > 0 ? word(context, token, have, err) : 0;
}

// ---- reading ----

struct tweets_reading {
    struct vocabulary vocabulary;
    struct corpus corpus;
    int columns; // 2 or 4: which of the forms
};

static void tweets_release(struct tweets_reading *r)
{
    vocabulary_release(&r->vocabulary);
    corpus_release(&r->corpus);
}

static int tweets_add_word(void *context, const char *word, size_t len, struct err *err)
{
    struct tweets_reading *r = context;
    int32_t number;
    TRY(vocabulary_add(&r->vocabulary, word, len, &number, err));
    return corpus_add(&r->corpus, number, err);
}

static int tweets_header(struct tweets_reading *r, struct lines *lines, const char *path,
                         struct err *err)
{
    int rc = lines_next(lines, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", path);
    const char *text = lines->text;
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) // a byte order mark
        text += 3;
    if (strcasecmp(text, "label,text") == 0)
        r->columns = 2;
    else if (strcasecmp(text, "ItemID,Sentiment,SentimentSource,SentimentText") == 0)
        r->columns = 4;
    else
        return err_set(err, ERR_FORMAT,
                       "'%s', line 1: the header is neither 'label,text' nor "
                       "'ItemID,Sentiment,SentimentSource,SentimentText'",
                       path);
    return 0;
}

// Finds the label and where the text begins.
static int read_columns(const struct tweets_reading *r, const struct lines *lines, int32_t *label,
                        const char **text, struct err *err)
{
    const char *at = lines->text, *end = at + lines->len, *sentiment = at;
    for (int column = 1; column < r->columns; column++) {
        at = memchr(at, ',', (size_t)(end - at));
        if (!at)
            return err_set(err, ERR_FORMAT, "%d column%s instead of %d", column,
                           column == 1 ? "" : "s", r->columns);
        at++;
        if (column == 1 && r->columns == 4)
            sentiment = at;
    }
    if ((sentiment[0] != '0' && sentiment[0] != '1') || sentiment[1] != ',')
        return err_set(err, ERR_FORMAT, "the label is neither 0 nor 1");
    *label = sentiment[0] - '0';
    *text = at;
    return 0;
}

static bool odd_quotes(const char *text, const char *end)
{
    bool odd = false;
    while ((text = memchr(text, '"', (size_t)(end - text)))) {
        odd = !odd;
        text++;
    }
    return odd;
}

static int tweets_read_row(struct tweets_reading *r, struct lines *lines, struct err *err)
{
    const char *text = NULL;
    int32_t label = 0;
    int64_t first = lines->number;
    TRY(read_columns(r, lines, &label, &text, err));
    // A quoted text may continue on the next line. The cleaning removes the quotes.
    bool open = r->columns == 2 && *text == '"' && odd_quotes(text, lines->text + lines->len);
    for (;;) {
        const char *end = lines->text + lines->len;
        TRY(tweets_split(text, (size_t)(end - text), tweets_add_word, r, err));
        if (!open)
            return corpus_end(&r->corpus, label, INT64_MAX, err);
        int rc = lines_next(lines, err);
        if (rc == 0)
            return err_set(err, ERR_FORMAT, "the quote that begins in line %lld is never closed",
                           (long long)first);
        if (rc < 0)
            return rc;
        text = lines->text;
        open = !odd_quotes(text, text + lines->len);
    }
}

static int read_csv(struct tweets_reading *r, const char *path, struct identity *identity,
                    struct err *err)
{
    SCOPED(lines_release) struct lines lines = {0};
    uint8_t sum[SHA256_BYTES];
    int rc;
    TRY(lines_open(&lines, path, TWEETS_MAX_BYTES, MAX_LINE, err));
    TRY(tweets_header(r, &lines, path, err));
    while ((rc = lines_next(&lines, err)) > 0) {
        rc = lines.len > 0 ? tweets_read_row(r, &lines, err) : 0;
        if (rc != 0)
            return rc == ERR_FORMAT ? lines_context(&lines, err) : rc;
    }
    TRY(rc);
    TRY(gzip_end(&lines.gzip, sum, err));
    identity_add(identity, sum, "tweets.csv");
    return 0;
}

// ---- the set ----

// The tweets that order[0 .. count) names.
static int tweets_fill(struct dataset *set, const struct tweets_reading *r, const int32_t *ranks,
                       const int32_t *order, int64_t count, struct err *err)
{
    const struct corpus *from = &r->corpus;
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++)
        total += from->starts[order[i] + 1] - from->starts[order[i]];
    set->count = count;
    set->classes = 2;
    set->vocabulary = (int)r->vocabulary.words.count + 1;
    set->starts = malloc((size_t)(count + 1) * sizeof *set->starts);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    set->tokens = malloc((size_t)(total ? total : 1) * sizeof *set->tokens);
    if (!set->starts || !set->labels || !set->tokens)
        return err_memory(err);
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        set->starts[i] = at;
        set->labels[i] = from->labels[order[i]];
        for (int64_t k = from->starts[order[i]]; k < from->starts[order[i] + 1]; k++)
            set->tokens[at++] = 1 + ranks[from->tokens[k]];
        int64_t len = at - set->starts[i];
        set->time = len > set->time ? (int)len : set->time;
    }
    set->starts[count] = at;
    return 0;
}

static int tweets_hold_out(const struct tweets_reading *r, uint64_t seed, const int32_t *ranks,
                           struct data_pair *pair, struct err *err)
{
    int64_t count = r->corpus.count, held = count / 10;
    SCOPED(free_pointer) int32_t *order = dataset_shuffled("tweets held out", seed, count, err);
    if (!order)
        return ERR_MEMORY;
    TRY(tweets_fill(&pair->train, r, ranks, order, count - held, err));
    TRY(tweets_fill(&pair->test, r, ranks, order + (count - held), held, err));
    pair->test.time = pair->train.time;
    return 0;
}

static int tweets_finish(const struct tweets_reading *r, uint64_t seed, struct data_pair *pair,
                         struct err *err)
{
    static const char *const special[] = {"<padding>"};
    SCOPED(free_pointer) int32_t *ranks = NULL;
    TRY(vocabulary_rank(&r->vocabulary, &ranks, err));
    TRY(tweets_hold_out(r, seed, ranks, pair, err));
    pair->word_count = (int)r->vocabulary.words.count + 1;
    return vocabulary_words(&r->vocabulary, ranks, special, 1, pair->word_count, &pair->words, err);
}

// The file itself, or the largest of the folder's tables.
static int tweets_find_file(const char *path, struct buf *file, struct err *err)
{
    SCOPED(folder_release) struct folder folder = {0};
    SCOPED(buf_release) struct buf each = {0};
    int64_t largest = -1;
    if (folder_has_file(path)) {
        buf_adds(file, path);
        return buf_check(file, err);
    }
    TRY(folder_open(&folder, path, err));
    for (size_t i = 0; i < folder.count; i++) {
        struct stat st;
        if (!folder_ends(folder.names[i], ".csv"))
            continue;
        TRY(folder_path(&folder, folder.names[i], &each, err));
        if (stat(buf_str(&each), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= largest)
            continue;
        largest = st.st_size;
        buf_reset(file);
        buf_adds(file, buf_str(&each));
    }
    if (largest < 0)
        return err_set(err, ERR_MISSING, "'%s' has no file that ends in .csv", path);
    return buf_check(file, err);
}

int tweets_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err)
{
    SCOPED(tweets_release) struct tweets_reading r = {0};
    struct identity identity;
    SCOPED(buf_release) struct buf file = {0};
    identity_init(&identity);
    TRY(tweets_find_file(path, &file, err));
    TRY(read_csv(&r, buf_str(&file), &identity, err));
    if (r.corpus.count < 10 || r.corpus.count > INT32_MAX)
        return err_set(err, ERR_FORMAT,
                       "'%s' has %lld tweets; at least 10 are needed, of which one is held out",
                       buf_str(&file), (long long)r.corpus.count);
    TRY(tweets_finish(&r, options->seed, pair, err));
    if (pair->train.time == 0)
        return err_set(err, ERR_FORMAT, "'%s': no tweet has a word", buf_str(&file));
    pair->identity = identity_text(&identity, err);
    pair->source = buf_take(&file, err);
    return pair->identity && pair->source ? 0 : ERR_MEMORY;
}
