// SPDX-License-Identifier: Apache-2.0
#include "data/tweets.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/rng.h"
#include "data/corpus.h"
#include "data/folder.h"
#include "data/identity.h"
#include "data/lines.h"
#include "data/vocabulary.h"

#define MAX_BYTES (INT64_C(4) << 30) // the full set has 150 MB
#define MAX_LINE  ((size_t)1 << 20)
#define WORD_MAX  VOCABULARY_WORD_MAX

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
    int rc = 0;
    for (size_t i = 0; i < sizeof c.ahead; i++)
        advance(&c);
    for (; rc == 0 && c.ahead[0] != 0; advance(&c)) {
        unsigned char byte = c.ahead[0];
        if (kinds[byte] != LETTER || ending_begins(c.ahead)) {
            if (have > 0)
                rc = word(context, token, have, err);
            have = 0;
        }
        char mark = (char)byte;
        if (kinds[byte] == MARK && rc == 0)
            rc = word(context, &mark, 1, err);
        else if (kinds[byte] == LETTER && have < sizeof token)
            token[have++] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
    }
    if (rc == 0 && have > 0)
        rc = word(context, token, have, err);
    return rc;
}

// ---- reading ----

struct reading {
    struct vocabulary vocabulary;
    struct corpus corpus;
    int columns; // 2 or 4: which of the forms
};

static int add_word(void *context, const char *word, size_t len, struct err *err)
{
    struct reading *r = context;
    int32_t number;
    TRY(vocabulary_add(&r->vocabulary, word, len, &number, err));
    return corpus_add(&r->corpus, number, err);
}

static int read_header(struct reading *r, struct lines *lines, const char *path, struct err *err)
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
static int read_columns(const struct reading *r, const struct lines *lines, int32_t *label,
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

static int read_row(struct reading *r, struct lines *lines, struct err *err)
{
    const char *text = NULL;
    int32_t label = 0;
    int64_t first = lines->number;
    int rc = read_columns(r, lines, &label, &text, err);
    if (rc != 0)
        return rc;
    // A quoted text may continue on the next line. The cleaning removes the quotes.
    bool open = r->columns == 2 && *text == '"' && odd_quotes(text, lines->text + lines->len);
    for (;;) {
        const char *end = lines->text + lines->len;
        rc = tweets_split(text, (size_t)(end - text), add_word, r, err);
        if (rc != 0 || !open)
            break;
        rc = lines_next(lines, err);
        if (rc == 0)
            rc = err_set(err, ERR_FORMAT, "the quote that begins in line %lld is never closed",
                         (long long)first);
        if (rc < 0)
            break;
        text = lines->text;
        open = !odd_quotes(text, text + lines->len);
    }
    return rc == 0 ? corpus_end(&r->corpus, label, INT64_MAX, err) : rc;
}

static int read_csv(struct reading *r, const char *path, struct identity *identity, struct err *err)
{
    struct lines lines;
    uint8_t sum[SHA256_BYTES];
    int rc = lines_open(&lines, path, MAX_BYTES, MAX_LINE, err);
    if (rc != 0)
        return rc;
    rc = read_header(r, &lines, path, err);
    while (rc == 0 && (rc = lines_next(&lines, err)) > 0) {
        rc = lines.len > 0 ? read_row(r, &lines, err) : 0;
        if (rc == ERR_FORMAT)
            lines_context(&lines, err);
    }
    if (rc == 0)
        rc = gzip_end(&lines.gzip, sum, err);
    if (rc == 0)
        identity_add(identity, sum, "tweets.csv");
    lines_release(&lines);
    return rc;
}

// ---- the set ----

// The tweets that order[0 .. count) names.
static int fill(struct dataset *set, const struct reading *r, const int32_t *ranks,
                const int32_t *order, int64_t count, struct err *err)
{
    const struct corpus *from = &r->corpus;
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++)
        total += from->starts[order[i] + 1] - from->starts[order[i]];
    set->count = count;
    set->classes = 2;
    set->vocabulary = r->vocabulary.count + 1;
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

static int split(const struct reading *r, uint64_t seed, const int32_t *ranks,
                 struct data_pair *pair, struct err *err)
{
    int64_t count = r->corpus.count, held = count / 10;
    int32_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++)
        order[i] = (int32_t)i;
    struct rng root, shuffle;
    rng_init(&root, seed);
    rng_split(&root, "tweets held out", 0, &shuffle);
    rng_shuffle(&shuffle, order, (size_t)count, sizeof *order);
    int rc = fill(&pair->train, r, ranks, order, count - held, err);
    if (rc == 0)
        rc = fill(&pair->test, r, ranks, order + (count - held), held, err);
    pair->test.time = pair->train.time;
    free(order);
    return rc;
}

static int finish(const struct reading *r, uint64_t seed, struct data_pair *pair, struct err *err)
{
    static const char *const special[] = {"<padding>"};
    int32_t *ranks = NULL;
    int rc = vocabulary_rank(&r->vocabulary, &ranks, err);
    if (rc == 0)
        rc = split(r, seed, ranks, pair, err);
    if (rc == 0)
        rc = vocabulary_words(&r->vocabulary, ranks, special, 1, r->vocabulary.count + 1,
                              &pair->words, err);
    free(ranks);
    if (rc != 0)
        return rc;
    pair->word_count = r->vocabulary.count + 1;
    return 0;
}

// The file itself, or the largest of the folder's tables.
static int find_file(const char *path, struct buf *file, struct err *err)
{
    struct folder folder;
    struct buf each = {0};
    int64_t largest = -1;
    if (folder_has_file(path)) {
        buf_adds(file, path);
        return buf_check(file, err);
    }
    int rc = folder_open(&folder, path, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < folder.count; i++) {
        struct stat st;
        if (!folder_ends(folder.names[i], ".csv"))
            continue;
        rc = folder_path(&folder, folder.names[i], &each, err);
        if (rc != 0 || stat(buf_str(&each), &st) != 0 || !S_ISREG(st.st_mode) ||
            st.st_size <= largest)
            continue;
        largest = st.st_size;
        buf_reset(file);
        buf_adds(file, buf_str(&each));
        rc = buf_check(file, err);
    }
    if (rc == 0 && largest < 0)
        rc = err_set(err, ERR_MISSING, "'%s' has no file that ends in .csv", path);
    buf_release(&each);
    folder_release(&folder);
    return rc;
}

int tweets_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err)
{
    struct reading r = {0};
    struct identity identity;
    struct buf file = {0};
    identity_init(&identity);
    int rc = find_file(path, &file, err);
    if (rc == 0)
        rc = read_csv(&r, buf_str(&file), &identity, err);
    if (rc == 0 && (r.corpus.count < 10 || r.corpus.count > INT32_MAX))
        rc = err_set(err, ERR_FORMAT,
                     "'%s' has %lld tweets; at least 10 are needed, of which one is held out",
                     buf_str(&file), (long long)r.corpus.count);
    if (rc == 0)
        rc = finish(&r, options->seed, pair, err);
    if (rc == 0 && pair->train.time == 0)
        rc = err_set(err, ERR_FORMAT, "'%s': no tweet has a word", buf_str(&file));
    if (rc == 0) {
        pair->identity = identity_text(&identity, err);
        pair->source = buf_take(&file, err);
        rc = pair->identity && pair->source ? 0 : ERR_MEMORY;
    }
    buf_release(&file);
    vocabulary_release(&r.vocabulary);
    corpus_release(&r.corpus);
    return rc;
}
