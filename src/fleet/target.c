// SPDX-License-Identifier: Apache-2.0
#include "fleet/target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/utf8.h"

#define ROW(name, words) &target_##name,
const struct target *const targets[] = {TARGETS(ROW) NULL};
#undef ROW

void target_release(struct place *place)
{
    if (place->target && place->target->release)
        place->target->release(place);
    free(place->name);
    free(place->value);
    free(place->offer);
    place_words_release(&place->words);
    *place = (struct place){0};
}

void places_release(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        target_release(&places->items[i]);
    free(places->items);
    *places = (struct places){0};
}

struct place *places_add(struct places *places, const struct target *target, const char *value,
                         const char *offer, struct err *err)
{
    struct buf name = {0};
    if (array_grow(&places->items, places->count, &places->capacity, sizeof *places->items, err))
        return NULL;
    struct place *place = &places->items[places->count];
    *place = (struct place){.target = target, .hour_nano = -1, .at_once = 1};
    buf_printf(&name, "%s%s%s", target->name, value ? ":" : "", value ? value : "");
    place->name = buf_take(&name, err);
    place->value = value ? text_copy(value, err) : NULL;
    place->offer = offer ? text_copy(offer, err) : NULL;
    if (!place->name || (value && !place->value) || (offer && !place->offer)) {
        target_release(place);
        return NULL;
    }
    places->count++;
    return place;
}

void task_report_release(struct task_report *report)
{
    buf_release(&report->records);
    buf_release(&report->words);
    buf_release(&report->warning);
}

// The target whose name the text begins with, followed by ':', ',' or the end; null: none.
static const struct target *target_named(const char *text)
{
    size_t len = strcspn(text, ":,");
    for (size_t i = 0; targets[i]; i++)
        if (strlen(targets[i]->name) == len && memcmp(targets[i]->name, text, len) == 0)
            return targets[i];
    return NULL;
}

static int unknown_target(const char *word, struct err *err)
{
    SCOPED(buf_release) struct buf names = {0};
    for (size_t i = 0; targets[i]; i++)
        buf_printf(&names, "%s%s%s%s", i > 0 ? ", " : "", targets[i]->name,
                   targets[i]->value ? ":" : "", targets[i]->value ? targets[i]->value : "");
    err_set(err, ERR_USAGE, "--on: '%.100s' names no target", word);
    err_hint(err, "%s; a host is ssh:HOST", buf_str(&names));
    return ERR_USAGE;
}

int target_parse(const char *word, struct places *places, struct err *err)
{
    const struct target *target = target_named(word);
    if (!target)
        return unknown_target(word, err);
    const char *value = word + strlen(target->name);
    const char *end = value;
    while (*end && !(*end == ',' && target_named(end + 1)))
        end++;
    SCOPED(buf_release) struct buf text = {0};
    buf_add(&text, value, (size_t)(end - value));
    int rc = buf_check(&text, err);
    if (rc == 0)
        rc = target->parse(*value == ':'  ? buf_str(&text) + 1
                           : text.len > 0 ? buf_str(&text)
                                          : NULL,
                           places, err);
    if (rc != 0 || *end == '\0')
        return rc;
    return target_parse(end + 1, places, err);
}

// ==== task ====

const char *const task_states[] = {
    [TASK_WAITING] = "waiting", [TASK_STARTING] = "starting", [TASK_RUNNING] = "running",
    [TASK_DONE] = "done",       [TASK_FAILED] = "failed",     [TASK_CANCELLED] = "cancelled",
    [TASK_CANCELLED + 1] = NULL};

enum task_state task_state(const struct task *task)
{
    for (int i = 0; task->now.state && task_states[i]; i++)
        if (strcmp(task_states[i], task->now.state) == 0)
            return (enum task_state)i;
    return TASK_WAITING;
}

bool task_over(const struct task *task)
{
    return task_state(task) >= TASK_DONE;
}

bool task_begun(const struct task *task)
{
    enum task_state state = task_state(task);
    return state == TASK_STARTING || state == TASK_RUNNING;
}

bool task_unsettled(const struct task *task)
{
    return task->now.unsettled.known && task->now.unsettled.v;
}

bool task_left(const struct task *task)
{
    bool cleaned = task->now.cleaned.known && task->now.cleaned.v;
    return task_over(task) && task_state(task) != TASK_CANCELLED && !task_unsettled(task) &&
           task->now.attempts.v > 0 && !cleaned;
}

int task_set_state(struct task *task, enum task_state state, struct err *err)
{
    char date[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), date);
    return TEXTS_SET(err, {&task->now.state, task_states[state]}, {&task->now.since, date});
}

void task_key(const struct dispatch *dispatch, const struct task *task, char out[TASK_KEY_BYTES])
{
    snprintf(out, TASK_KEY_BYTES, "%.12s-%lld-%lld", dispatch->id, (long long)task->number.v,
             (long long)task->now.attempts.v);
}

// ---- words

static void write_word(const char *word, struct buf *out)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)word[i];
        bool plain = c > ' ' && c < 0x7F && c != '%';
        if (plain || (c == ' ' && i > 0 && i + 1 < len))
            buf_addc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
    if (len == 0)
        buf_addc(out, '%');
}

int task_word_add(void *texts, const char *word, struct err *err)
{
    struct buf text = {0};
    write_word(word, &text);
    return texts_take(texts, &text, err);
}

int task_word_set(char **member, const char *word, struct err *err)
{
    struct buf text = {0};
    write_word(word, &text);
    return text_take(member, &text, err);
}

static int digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void task_word(const char *written, struct buf *out)
{
    for (const char *p = written; *p; p++) {
        int high = *p == '%' ? digit(p[1]) : -1, low = high >= 0 ? digit(p[2]) : -1;
        if (low >= 0 && (high | low) != 0) {
            buf_addc(out, (char)(high << 4 | low));
            p += 2;
        } else if (*p != '%') {
            buf_addc(out, *p);
        }
    }
}

// ==== place_words ====

void place_words_release(struct place_words *words)
{
    free(words->text);
    *words = (struct place_words){0};
}

static int usage(const char *target, const char *const *keys, const char *problem,
                 const char *setting, struct err *err)
{
    SCOPED(buf_release) struct buf list = {0};
    err_set(err, ERR_USAGE, "--on %s: %s%s%.80s%s", target, problem, *setting ? " '" : "", setting,
            *setting ? "'" : "");
    for (size_t i = 0; keys[i]; i++)
        buf_printf(&list, "%s%s=", i > 0 ? ", " : "", keys[i]);
    err_hint(err, "settings come after commas: %s", buf_str(&list));
    return ERR_USAGE;
}

static bool steers(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c;
        i += utf8_next(text + i, len - i, &c);
        if (utf8_steers(c))
            return true;
    }
    return false;
}

// One "key=value".
static int read_setting(struct place_words *words, const char *target, char *setting,
                        const char *const *keys, struct err *err)
{
    char *equals = strchr(setting, '=');
    size_t len = equals ? (size_t)(equals - setting) : 0;
    for (size_t i = 0; keys[i] && equals; i++)
        if (strlen(keys[i]) == len && strncmp(keys[i], setting, len) == 0) {
            if (words->values[i])
                return usage(target, keys, "given twice:", keys[i], err);
            if (equals[1] == '\0')
                return usage(target, keys, "a setting without a value:", keys[i], err);
            words->values[i] = equals + 1;
            return 0;
        }
    return usage(target, keys, "unknown setting", *setting ? setting : ",", err);
}

int place_words_read(struct place_words *words, const char *target, const char *value,
                     const char *const *keys, struct err *err)
{
    *words = (struct place_words){0};
    words->text = text_copy(value ? value : "", err);
    if (!words->text)
        return ERR_MEMORY;
    size_t len = strlen(words->text);
    int rc = 0;
    if (utf8_bad(words->text, len) != len || steers(words->text, len))
        rc = usage(target, keys, "a value has characters that cannot be printed", "", err);
    words->head = words->text;
    char *next = strchr(words->text, ',');
    while (rc == 0 && next) {
        char *setting = next + 1;
        *next = '\0';
        next = strchr(setting, ',');
        if (next)
            *next = '\0';
        rc = read_setting(words, target, setting, keys, err);
        if (next)
            *next = ','; // the loop cuts it again
    }
    if (rc != 0)
        place_words_release(words);
    return rc;
}

// ==== frame ====

#define MARK "fare-frame "
enum { LINE = 800, PIECE = LINE / 4 * 3, KEY_MOST = 64 };

void frame_write(struct buf *out, const char *key, const void *bytes, size_t len)
{
    char sum[SHA256_HEX_BYTES];
    size_t lines = 0;
    sha256_hex_of(bytes, len, sum);
    for (size_t at = 0; at < len; at += PIECE) {
        buf_printf(out, MARK "%s %zu ", key, ++lines);
        base64_write(out, (const char *)bytes + at, len - at < PIECE ? len - at : PIECE);
        buf_addc(out, '\n');
    }
    buf_printf(out, MARK "%s end %zu %s\n", key, lines, sum);
}

void frame_script(struct buf *out)
{
    buf_printf(out,
               "fare_frame() {\n"
               "    n=0\n"
               "    base64 <\"$2\" | tr -d '\\n' | fold -w %d >\"$2.base64\"\n"
               "    echo >>\"$2.base64\"\n"
               "    while read -r line; do\n"
               "        n=$((n + 1))\n"
               "        echo \"" MARK "$1 $n $line\"\n"
               "    done <\"$2.base64\"\n"
               "    echo \"" MARK "$1 end $n $(sha256sum <\"$2\" | cut -c 1-64)\"\n"
               "}\n",
               LINE);
}

// ---- reading

static size_t word_length(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (base64_value(text[n]) >= 0 || text[n] == '='))
        n++;
    return n;
}

// A number below a million, and the space behind it; 0: none.
static size_t take_number(const char **text, size_t *len)
{
    size_t n = 0, digits = 0;
    while (digits < *len && digits < 7 && (*text)[digits] >= '0' && (*text)[digits] <= '9')
        n = n * 10 + (size_t)((*text)[digits++] - '0');
    if (digits == 0 || digits == 7 || digits == *len || (*text)[digits] != ' ')
        return 0;
    *text += digits + 1;
    *len -= digits + 1;
    return n;
}

// One line behind the mark and the key. `*next` is the number of the line that must follow. True:
// the frame is whole.
static bool read_frame_line(const char *text, size_t len, struct buf *bytes, size_t *next)
{
    if (len > 4 && memcmp(text, "end ", 4) == 0) {
        char sum[SHA256_HEX_BYTES];
        text += 4;
        len -= 4;
        size_t lines = take_number(&text, &len);
        sha256_hex_of(buf_str(bytes), bytes->len, sum);
        bool whole = lines > 0 && lines == *next - 1 && len >= SHA256_HEX_BYTES - 1 &&
                     memcmp(text, sum, SHA256_HEX_BYTES - 1) == 0 && !bytes->failed;
        *next = 1;
        return whole;
    }
    size_t number = take_number(&text, &len);
    if (number == 1) { // it begins, perhaps again
        buf_reset(bytes);
        *next = 1;
    }
    if (number == 0 || number != *next)
        return false;
    *next = base64_read(text, word_length(text, len), bytes) ? number + 1 : 0;
    return false;
}

bool frame_read(const char *text, size_t len, const char *key, struct buf *out)
{
    char mark[sizeof MARK + KEY_MOST];
    int mark_len = snprintf(mark, sizeof mark, MARK "%s ", key);
    const char *end = text + len;
    SCOPED(buf_release) struct buf bytes = {0};
    size_t next = 1;
    bool whole = false;
    while (text < end && !whole) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            break; // cut
        const char *found = memmem(text, (size_t)(newline - text), mark, (size_t)mark_len);
        if (found) {
            found += mark_len;
            whole = read_frame_line(found, (size_t)(newline - found), &bytes, &next);
        }
        text = newline + 1;
    }
    if (whole)
        buf_add(out, buf_str(&bytes), bytes.len);
    return whole;
}
