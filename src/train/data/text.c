// SPDX-License-Identifier: Apache-2.0
#include "train/data/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/utf8.h"
#include "train/data/folder.h"

#define MAX_BYTES (INT64_C(1) << 30)

int text_windows(int32_t *tokens, int64_t count, int vocabulary, struct dataset *set,
                 struct err *err)
{
    set->tokens = tokens;
    set->token_stride = TEXT_STEP;
    set->time = TEXT_TIME;
    set->vocabulary = set->classes = vocabulary;
    set->count = (count - TEXT_TIME + TEXT_STEP - 1) / TEXT_STEP;
    set->labels = malloc((size_t)set->count * sizeof *set->labels);
    if (!set->labels)
        return err_memory(err);
    for (int64_t i = 0; i < set->count; i++)
        set->labels[i] = tokens[i * TEXT_STEP + TEXT_TIME];
    return 0;
}

int text_words(const uint32_t *characters, int count, char ***words, struct err *err)
{
    *words = malloc((size_t)count * (sizeof **words + UTF8_MAX + 1));
    if (!*words)
        return err_memory(err);
    char *text = (char *)(*words + count);
    for (int i = 0; i < count; i++) {
        (*words)[i] = text;
        text += utf8_put(characters[i], text);
        *text++ = '\0';
    }
    return 0;
}

static int check_text(const char *path, const struct buf *text, struct err *err)
{
    size_t bad = utf8_bad(text->data, text->len);
    if (bad == text->len)
        return 0;
    int64_t line = 1;
    for (size_t i = 0; i < bad; i++)
        line += text->data[i] == '\n';
    return err_set(err, ERR_FORMAT, "'%s', line %lld: byte %zu of the file is not UTF-8 (%02x)",
                   path, (long long)line, bad, (unsigned char)text->data[bad]);
}

// The code points of the `*count` characters, in lower case.
static int32_t *characters_of(const struct buf *text, int64_t *count, struct err *err)
{
    int32_t *all = malloc(text->len * sizeof *all);
    if (!all) {
        err_memory(err);
        return NULL;
    }
    *count = 0;
    for (size_t at = 0; at < text->len;) {
        uint32_t c;
        at += utf8_next(text->data + at, text->len - at, &c);
        all[(*count)++] = (int32_t)utf8_lower(c);
    }
    return all;
}

// Replaces characters by tokens: their ranks among the distinct ones.
static int number_them(int32_t *all, int64_t count, struct data_pair *pair, struct err *err)
{
    int32_t highest = 0;
    int n = 0;
    for (int64_t i = 0; i < count; i++)
        highest = all[i] > highest ? all[i] : highest;
    SCOPED(free_pointer) int32_t *token_of = calloc((size_t)highest + 1, sizeof *token_of);
    SCOPED(free_pointer) uint32_t *distinct = malloc(((size_t)highest + 1) * sizeof *distinct);
    if (!token_of || !distinct)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++)
        token_of[all[i]] = 1;
    for (int32_t c = 0; c <= highest; c++) {
        if (!token_of[c])
            continue;
        token_of[c] = n;
        distinct[n++] = (uint32_t)c;
    }
    for (int64_t i = 0; i < count; i++)
        all[i] = token_of[all[i]];
    pair->word_count = n;
    return text_words(distinct, n, &pair->words, err);
}

static int make_set(const char *path, const struct buf *text, struct data_pair *pair,
                    struct err *err)
{
    int64_t count;
    TRY(check_text(path, text, err));
    SCOPED(free_pointer) int32_t *all = characters_of(text, &count, err);
    if (!all)
        return ERR_MEMORY;
    if (count <= TEXT_TIME)
        return err_set(err, ERR_FORMAT, "'%s' has %lld characters; more than %d are needed", path,
                       (long long)count, TEXT_TIME);
    TRY(number_them(all, count, pair, err));
    if (pair->word_count < 2)
        return err_set(err, ERR_FORMAT, "'%s' has only one distinct character", path);
    int32_t *tokens = all;
    all = NULL; // the set's from now on
    return text_windows(tokens, count, pair->word_count, &pair->train, err);
}

static int text_find_file(const char *path, struct buf *file, struct err *err)
{
    static const char *const known[] = {"nietzsche.txt", NULL}, *const any[] = {".txt", NULL};
    if (folder_has_file(path)) {
        buf_adds(file, path);
        return buf_check(file, err);
    }
    SCOPED(folder_release) struct folder folder = {0};
    TRY(folder_open(&folder, path, err));
    struct err other = {0};
    int rc = folder_find(&folder, known, file, &other);
    if (rc == ERR_MISSING)
        rc = folder_find(&folder, any, file, err);
    else if (rc != 0)
        err_pass(err, rc, &other);
    if (rc == ERR_FORMAT)
        err_hint(err, "name the file itself instead of its folder");
    return rc;
}

int text_open(const char *path, const struct data_options *options, struct data_pair *pair,
              struct err *err)
{
    (void)options;
    SCOPED(buf_release) struct buf file = {0}, text = {0};
    struct identity identity;
    uint8_t sum[SHA256_BYTES];
    TRY(text_find_file(path, &file, err));
    TRY(gzip_load(buf_str(&file), MAX_BYTES, &text, sum, err));
    if (text.len == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", buf_str(&file));
    TRY(make_set(buf_str(&file), &text, pair, err));
    identity_init(&identity);
    identity_add(&identity, sum, "text.txt");
    pair->identity = identity_text(&identity, err);
    pair->source = buf_take(&file, err);
    return pair->identity && pair->source ? 0 : ERR_MEMORY;
}

// ==== tokens ====

#define TOKENS_MAX_BYTES (INT64_C(1) << 30) // of a text
#define HEADER_BYTES     1024
#define MAGIC            20240520
#define PIECES           256
#define PIECE_BYTES      (1 << 20)

// ---- bytes ----

// GPT-2 numbers the printable bytes first (! to ~, ¡ to ¬, ® to ÿ), then the others.
static bool is_printable(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
}

uint16_t tokens_of_byte(uint8_t byte)
{
    int before[2] = {0}; // bytes below this one: others, printable
    for (int b = 0; b < byte; b++)
        before[is_printable(b)]++;
    return (uint16_t)(is_printable(byte) ? before[1] : 188 + before[0]);
}

// The texts of the tokens 0 to 255, in one piece of memory.
static int byte_words(struct data_pair *pair, struct err *err)
{
    pair->words = malloc(256 * (sizeof *pair->words + 2));
    if (!pair->words)
        return err_memory(err);
    char *text = (char *)(pair->words + 256);
    for (int i = 0; i < 256; i++, text += 2) {
        uint16_t token = tokens_of_byte((uint8_t)i);
        pair->words[token] = text;
        text[0] = (char)i;
        text[1] = '\0';
    }
    pair->word_count = 256;
    return 0;
}

// ---- one file ----

// Tokens in memory that the pair owns, and the file's sum.
struct token_source {
    const uint16_t *stream;
    int64_t count;
    uint8_t sum[SHA256_BYTES];
};

static void hash_mapped(const uint8_t *bytes, int64_t size, uint8_t sum[SHA256_BYTES])
{
    struct sha256 sha;
    sha256_init(&sha);
    if (size <= TOKENS_HASHED) {
        sha256_add(&sha, bytes, (size_t)size);
    } else {
        sha256_add(&sha, &size, sizeof size);
        for (int64_t i = 0; i < PIECES; i++)
            sha256_add(&sha, bytes + (size - PIECE_BYTES) / (PIECES - 1) * i, PIECE_BYTES);
    }
    sha256_done(&sha, sum);
}

// The tokens behind a header of llm.c, or from the beginning.
static int find_tokens(const char *path, const uint8_t *bytes, int64_t size,
                       struct token_source *source, struct err *err)
{
    int32_t head[3] = {0};
    if (size >= HEADER_BYTES)
        memcpy(head, bytes, sizeof head);
    int64_t skip = head[0] == MAGIC ? HEADER_BYTES : 0;
    if (head[0] == MAGIC && head[1] != 1)
        return err_set(err, ERR_FORMAT, "'%s' has version %d of llm.c's header, not 1", path,
                       head[1]);
    if ((size - skip) % 2 != 0)
        return err_set(err, ERR_FORMAT, "'%s' has %lld bytes, which are not whole tokens of two",
                       path, (long long)size);
    source->stream = (const uint16_t *)(const void *)(bytes + skip);
    source->count = (size - skip) / 2;
    if (skip && head[2] != source->count)
        return err_set(err, ERR_FORMAT, "'%s' has %lld tokens, but its header says %d", path,
                       (long long)source->count, head[2]);
    return 0;
}

static int map_file(const char *path, struct token_memory *memory, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return err_errno(err, number, "cannot open '%s'", path);
    }
    void *bytes =
        st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    int number = errno;
    close(fd);
    if (st.st_size == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", path);
    if (bytes == MAP_FAILED)
        return err_errno(err, number, "cannot map '%s'", path);
    *memory = (struct token_memory){bytes, (size_t)st.st_size, true};
    return 0;
}

static int tokens_read_text(const char *path, struct token_memory *memory,
                            struct token_source *source, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    uint16_t token_of[256], *stream = NULL;
    int rc = gzip_load(path, TOKENS_MAX_BYTES, &text, source->sum, err);
    if (rc == 0 && !(stream = malloc((text.len + 1) * sizeof *stream)))
        rc = err_memory(err);
    for (int i = 0; i < 256; i++)
        token_of[i] = tokens_of_byte((uint8_t)i);
    for (size_t i = 0; rc == 0 && i < text.len; i++)
        stream[i] = token_of[(uint8_t)text.data[i]];
    source->stream = stream;
    source->count = (int64_t)text.len;
    *memory = (struct token_memory){stream, 0, false};
    return rc;
}

static int read_source(const char *path, struct data_pair *pair, int which,
                       struct token_source *source, struct err *err)
{
    struct token_memory *memory = &pair->memory[which];
    if (!folder_ends(path, ".bin")) {
        TRY(tokens_read_text(path, memory, source, err));
        return pair->words ? 0 : byte_words(pair, err);
    }
    TRY(map_file(path, memory, err));
    TRY(find_tokens(path, memory->bytes, (int64_t)memory->size, source, err));
    hash_mapped(memory->bytes, (int64_t)memory->size, source->sum);
    return 0;
}

// ---- the set ----

int tokens_windows(const uint16_t *stream, int64_t count, int context, struct dataset *set,
                   struct err *err)
{
    *set = (struct dataset){.count = (count - 1) / context,
                            .classes = TOKENS_VOCABULARY,
                            .time = context,
                            .vocabulary = TOKENS_VOCABULARY,
                            .stream = stream,
                            .token_stride = context};
    if (count <= context)
        return err_set(err, ERR_FORMAT, "there are %lld tokens; more than %d are needed",
                       (long long)count, context);
    return 0;
}

struct token_files {
    struct buf train, test; // paths; test: empty where there is none
};

static void found_release(struct token_files *found)
{
    buf_release(&found->train);
    buf_release(&found->test);
}

// Where there is none, `path` stays empty; several are ERR_FORMAT.
static int find_part(const struct folder *folder, const char *const parts[2], struct buf *path,
                     struct err *err)
{
    const char *found = NULL;
    SCOPED(buf_release) struct buf here = {0};
    for (size_t i = 0; i < folder->count; i++) {
        const char *name = folder->names[i];
        if (!strstr(name, parts[0]) && !(parts[1] && strstr(name, parts[1])))
            continue;
        TRY(folder_path(folder, name, &here, err));
        if (!folder_has_file(buf_str(&here)))
            continue;
        if (found) {
            err_set(err, ERR_FORMAT, "'%s' has two files for one part of the set: %s and %s",
                    folder->path, found, name);
            err_hint(err, "name one file instead of the folder");
            return ERR_FORMAT;
        }
        found = name;
    }
    return found ? folder_path(folder, found, path, err) : 0;
}

static int find_in_folder(const char *path, struct token_files *found, struct err *err)
{
    static const char *const train[2] = {"train"}, *const test[2] = {"val", "test"},
                             *const any[2] = {""};
    SCOPED(folder_release) struct folder folder = {0};
    TRY(folder_open(&folder, path, err));
    TRY(find_part(&folder, train, &found->train, err));
    if (found->train.len > 0)
        return find_part(&folder, test, &found->test, err);
    TRY(find_part(&folder, any, &found->train, err));
    if (found->train.len > 0)
        return 0;
    err_set(err, ERR_MISSING, "'%s' has no file of text or tokens", path);
    err_hint(err, "--data names a text, or a .bin of nanoGPT or llm.c");
    return ERR_MISSING;
}

static int open_parts(const struct token_files *found, int context, struct data_pair *pair,
                      struct err *err)
{
    struct identity identity;
    struct token_source train = {0}, test = {0};
    const char *path = buf_str(&found->train);
    TRY(read_source(path, pair, 0, &train, err));
    identity_init(&identity);
    identity_add(&identity, train.sum, "train");
    int64_t held_out = 0;
    if (found->test.len > 0) {
        path = buf_str(&found->test);
        TRY(read_source(path, pair, 1, &test, err));
        identity_add(&identity, test.sum, "val");
        held_out = test.count > 0 ? (test.count - 1) / context : 0;
    } else { // the last tenth, in whole windows
        held_out = train.count > 0 ? (train.count - 1) / context / 10 : 0;
        test.count = held_out > 0 ? held_out * context + 1 : 0;
        test.stream = train.stream + (train.count - test.count);
        train.count -= held_out * context;
    }
    if (tokens_windows(train.stream, train.count, context, &pair->train, err) != 0)
        return err_context(err, "'%s'", buf_str(&found->train));
    if (held_out > 0) {
        TRY(tokens_windows(test.stream, test.count, context, &pair->test, err));
        if (pair->test.count > TOKENS_HELD_OUT)
            pair->test.count = TOKENS_HELD_OUT;
    }
    pair->identity = identity_text(&identity, err);
    return pair->identity ? 0 : ERR_MEMORY;
}

int tokens_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err)
{
    SCOPED(found_release) struct token_files found = {{0}, {0}};
    int context = options && options->context > 0 ? options->context : TOKENS_CONTEXT;
    if (folder_has_file(path)) {
        buf_adds(&found.train, path);
        TRY(buf_check(&found.train, err));
    } else {
        TRY(find_in_folder(path, &found, err));
    }
    TRY(open_parts(&found, context, pair, err));
    pair->source = buf_take(&found.train, err);
    return pair->source ? 0 : ERR_MEMORY;
}
