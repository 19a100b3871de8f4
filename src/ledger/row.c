// SPDX-License-Identifier: Apache-2.0
#include "ledger/row.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "record/correct.h"
#include "record/judge.h"
#include "record/read.h"

#define TEXT(member) FIELD(FIELD_TEXT, T, member, "")
// Amounts have no bound of their own, so that sums can name a run whose amount is out of range.
#define MONEY(member)   FIELD_NUMBER(FIELD_AMOUNT, T, member, &range_money, "")
#define SECONDS(member) FIELD_NUMBER(FIELD_REAL, T, member, &range_s, "")
#define MILLIS(member)  FIELD_NUMBER(FIELD_REAL, T, member, &range_ms, "")
#define DEVICES(member) FIELD_NUMBER(FIELD_INT, T, member, &range_devices, "")

#define T struct run_label
static const struct field label_fields[] = {TEXT(key), TEXT(value), FIELD_END};
#undef T
#define T struct row_machine
static const struct field machine_head_fields[] = {
    TEXT(fingerprint), TEXT(name),          TEXT(cpu),    TEXT(gpu), DEVICES(gpus),
    TEXT(provider),    TEXT(instance_type), TEXT(region), FIELD_END,
};
#undef T
#define T struct row_spent
static const struct field spent_head_fields[] = {MONEY(usd), TEXT(offer), TEXT(resource),
                                                 FIELD_END};
#undef T
#define T struct row_live
static const struct field live_head_fields[] = {SECONDS(elapsed_s), MONEY(bill_usd), FIELD_END};
#undef T
#define T struct row_saving
static const struct field saving_head_fields[] = {
    FIELD_SUB(FIELD_LIST, T, attempts, run_attempt_fields, ""), FIELD_END};
#undef T
#define T struct row_use
static const struct field use_head_fields[] = {DEVICES(gpus), FIELD_END};
#undef T
#define T struct row
static const struct field row_fields[] = {
    TEXT(schema),
    TEXT(id),
    TEXT(started),
    TEXT(name),
    TEXT(workload),
    TEXT(framework),
    FIELD_IN(T, machine, machine_head_fields, ""),
    TEXT(host),
    TEXT(user),
    TEXT(project),
    FIELD_SUB(FIELD_LIST, T, labels, label_fields, ""),
    TEXT(ended),
    TEXT(boot_from),
    FIELD(FIELD_TEXTS, T, corrected, ""),
    FIELD_IN(T, live, live_head_fields, ""),
    FIELD_IN(T, saving, saving_head_fields, ""),
    FIELD_IN(T, spent, spent_head_fields, ""),
    FIELD(FIELD_BOOL, T, full, ""),
    MILLIS(step_ms),
    FIELD_IN(T, phases, run_phase_fields, ""),
    FIELD_IN(T, steady, run_steady_fields, ""),
    FIELD_IN(T, projection, run_projection_fields, ""),
    FIELD_IN(T, use, use_head_fields, ""),
    FIELD_END,
};
#undef T

static bool is_id(const char *id)
{
    size_t len = strlen(id);
    if (len == 0 || len > 120 || id[0] == '.')
        return false;
    for (; *id; id++)
        if (!isalnum((unsigned char)*id) && !strchr("._:-", *id))
            return false;
    return true;
}

// `text` was checked before.
static int read_head(const char *text, size_t len, struct row *row, struct err *err)
{
    struct buf corrected = {0};
    memset(row, 0, sizeof *row);
    int rc = run_correct(text, len, &corrected, err);
    bool other = corrected.len > 0;
    if (rc == 0)
        rc = record_from_checked(row_fields, other ? buf_str(&corrected) : text,
                                 other ? corrected.len : len, row, err);
    buf_release(&corrected);
    if (rc == 0 && row->schema && strcmp(row->schema, RUN_SCHEMA) != 0 &&
        strcmp(row->schema, RUN_SCHEMA_1) != 0)
        rc = err_set(err, ERR_FORMAT, "schema: '%s' is not %s", row->schema, RUN_SCHEMA);
    if (rc == 0 && !row->id)
        rc = err_set(err, ERR_FORMAT, "id: a run needs one");
    if (rc == 0 && !is_id(row->id))
        rc = err_set(err, ERR_FORMAT, "id: '%s' is not one", row->id);
    if (rc != 0)
        row_release(row);
    return rc;
}

int row_read(const char *text, size_t len, struct row *row, struct err *err)
{
    memset(row, 0, sizeof *row);
    TRY(record_from_text(run_fields, text, len, NULL, err));
    return read_head(text, len, row, err);
}

// Lists of runs hold the heads of fifty at a time.
static int judge_size(const struct row *row, const char *text, size_t len, struct err *err)
{
    struct buf head = {0};
    if (len <= RUN_HEAD_BYTES_MOST)
        return 0;
    size_t head_len = row_head(row, text, len, &head) ? head.len : len;
    int rc = buf_check(&head, err);
    buf_release(&head);
    if (rc == 0 && head_len > RUN_HEAD_BYTES_MOST)
        rc = err_set(err, ERR_FORMAT,
                     "the record: more than %d bytes without its lists of epochs, step times and "
                     "samples",
                     RUN_HEAD_BYTES_MOST);
    return rc;
}

// The price that a label gives.
static int judge_price(const struct row *row, struct err *err)
{
    const char *price = row_label(row, RUN_PRICE_LABEL);
    if (!price || !amount_too_large(price))
        return 0;
    return err_set(err, ERR_FORMAT, "labels: " RUN_PRICE_LABEL ": '%.40s' is %s", price,
                   range_amount.not_so);
}

int row_judge(const char *text, size_t len, struct row *row, struct err *err)
{
    memset(row, 0, sizeof *row);
    if (len > RUN_BYTES_MOST)
        return err_set(err, ERR_FORMAT, "the record: more than %d bytes", RUN_BYTES_MOST);
    TRY(record_judge_text(run_fields, text, len, err));
    TRY(read_head(text, len, row, err));
    int rc = judge_size(row, text, len, err);
    if (rc == 0)
        rc = judge_price(row, err);
    if (rc == 0)
        rc = run_judge(row->started, row->full, &row->phases, &row->projection, &row->steady,
                       clock_date_s(), err);
    if (rc != 0)
        row_release(row);
    return rc;
}

void row_release(struct row *row)
{
    record_release(row_fields, row);
}

const char *row_label(const struct row *row, const char *key)
{
    for (size_t i = 0; i < row->labels.count; i++)
        if (row->labels.items[i].key && strcmp(row->labels.items[i].key, key) == 0)
            return row->labels.items[i].value;
    return NULL;
}

bool row_wall_s(const struct row *row, double *seconds)
{
    if (row->full.known && row->full.v && row->phases.wall_ns.known)
        *seconds = (double)row->phases.wall_ns.v / 1e9;
    else if (row->projection.wall_s.known)
        *seconds = row->projection.wall_s.v;
    else
        return false;
    return true;
}

// ---- the head

#define SHORT_RECORD 2048 // bytes; below, a head would save no time

static const char *after_space(const char *p)
{
    return p + strspn(p, " \t\n\r");
}

// Skips a string. The record was checked: its quotes and brackets match.
static const char *after_text(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        p += *p == '\\' && p[1];
    return *p ? p + 1 : p;
}

// Skips a value: a string, a number, a word, an array or an object.
static const char *after_value(const char *p)
{
    int depth = 0;
    do {
        p += strcspn(p, depth ? "\"[]{}" : "\"[]{},");
        if (*p == '"')
            p = after_text(p);
        else if (*p == '[' || *p == '{')
            depth++, p++;
        else if (depth && *p)
            depth--, p++;
        else
            break; // the comma or bracket after it
    } while (depth > 0 && *p);
    return p;
}

// Whether a member, from its key to `end`, is one of those left out.
static bool is_long(const struct row *row, const char *key, size_t len, const char *end)
{
    static const char *const names[] = {"\"step_plot_ms\"", "\"samples\"", "\"stages\"",
                                        "\"checks\"",       "\"drift\"",   "\"epoch_list\""};
    size_t count = sizeof names / sizeof *names;
    if (row->full.known && row->full.v && !row->phases.wall_ns.known &&
        (memmem(key, (size_t)(end - key), "\"train_ns\"", strlen("\"train_ns\"")) ||
         memchr(key, '\\', (size_t)(end - key)))) // an escaped key?
        count--;                                  // the last: only the epochs tell the time
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], key, len) == 0)
            return true;
    return false;
}

// Of a list of numbers, from its key to `end`, a few: enough for a line as wide as a word.
static void add_few(struct buf *head, const char *key, const char *end)
{
    enum { FEW = 32 };
    const char *from = memchr(key, '[', (size_t)(end - key));
    size_t count = 1, at = 0;
    if (!from)
        return;
    for (const char *p = from; p < end; p++)
        count += *p == ',';
    size_t every = (count + FEW - 1) / FEW;
    buf_adds(head, head->len > 1 ? ",\"step_plot_ms\":[" : "\"step_plot_ms\":[");
    for (const char *p = from + 1; p < end && *p != ']'; at++) {
        size_t len = strcspn(p, ",]");
        if (at % every == 0)
            buf_printf(head, "%s%.*s", at ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
    buf_addc(head, ']');
}

static bool is_steps(const char *key, size_t len)
{
    static const char name[] = "\"step_plot_ms\"";
    return len == sizeof name - 1 && memcmp(key, name, len) == 0;
}

bool row_head(const struct row *row, const char *text, size_t len, struct buf *head)
{
    size_t left_out = 0;
    const char *p = after_space(text);
    buf_reset(head);
    if (len < SHORT_RECORD)
        return false;
    buf_addc(head, '{');
    p += *p == '{';
    while (*(p = after_space(p)) == '"') {
        const char *key = p, *behind = after_text(p);
        p = after_value(after_space(after_space(behind) + 1)); // the colon
        if (is_long(row, key, (size_t)(behind - key), p)) {
            left_out += (size_t)(p - key);
            if (is_steps(key, (size_t)(behind - key)))
                add_few(head, key, p);
        } else {
            if (head->len > 1)
                buf_addc(head, ',');
            buf_add(head, key, (size_t)(p - key));
        }
        p = after_space(p);
        p += *p == ',';
    }
    buf_addc(head, '}');
    if (left_out >= len / 2)
        return true;
    buf_reset(head);
    return false;
}
