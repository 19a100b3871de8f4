// SPDX-License-Identifier: Apache-2.0
#include "book/names.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "record/field.h"
#include "tables/columns.h"
#include "tables/files.h"

struct named {
    char *provider, *name, *short_name;
};

struct names {
    LIST_OF(struct named) rows; // given here, then shipped, then given since
    size_t shipped_from, shipped_to;
    struct index by_name; // provider and name → the number of its row
    struct index taken;   // provider and short name, lower case → the same
};

#define AT(member) offsetof(struct named, member)
static const struct column columns[] = {{"provider", COLUMN_TEXT, AT(provider)},
                                        {"name", COLUMN_TEXT, AT(name)},
                                        {"short", COLUMN_TEXT, AT(short_name)},
                                        {0}};
static const struct columns table = {columns, sizeof(struct named), true, NULL};

static void make_key(const char *provider, const char *name, bool lower, struct buf *key)
{
    buf_reset(key);
    buf_printf(key, "%s/%s", provider, name);
    for (size_t i = 0; lower && i < key->len; i++)
        key->data[i] = (char)tolower((unsigned char)key->data[i]);
}

// 1 and the row's number; 0: there is none; negative: no memory to look for it.
static int find_key(const struct index *index, const char *provider, const char *name, bool lower,
                    size_t *number)
{
    SCOPED(buf_release) struct buf key = {0};
    make_key(provider, name, lower, &key);
    return key.failed ? ERR_MEMORY : index_find(index, buf_str(&key), key.len, number);
}

// Enters the rows from `first` on. A machine that has a name already, and a name that another one
// has, are left out: of a name given here and a shipped one, the first counts.
static int enter_rows(struct names *names, size_t first, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    SCOPED(buf_release) struct buf taken = {0};
    size_t kept = first, number;
    for (size_t i = first; i < names->rows.count; i++) {
        struct named *row = &names->rows.items[i];
        make_key(row->provider, row->name, false, &name);
        make_key(row->provider, row->short_name, true, &taken);
        TRY(buf_check(&name, err));
        TRY(buf_check(&taken, err));
        struct named moved = *row;
        *row = (struct named){0};
        if (index_find(&names->by_name, buf_str(&name), name.len, &number) ||
            index_find(&names->taken, buf_str(&taken), taken.len, &number)) {
            free(moved.provider);
            free(moved.name);
            free(moved.short_name);
            continue;
        }
        names->rows.items[kept++] = moved;
        TRY(index_number(&names->by_name, buf_str(&name), name.len, &number, err));
        TRY(index_number(&names->taken, buf_str(&taken), taken.len, &number, err));
    }
    names->rows.count = kept;
    return 0;
}

void names_path(const char *book, struct buf *out)
{
    if (*book && strcmp(book, "-") != 0)
        buf_printf(out, "%s.names", book);
}

int names_open(struct names **out, const char *own, struct err *err)
{
    SCOPED(buf_release) struct buf shipped = {0};
    struct names *names = calloc(1, sizeof *names);
    *out = NULL;
    if (!names)
        return err_memory(err);
    int rc = files_shipped("names.csv", &shipped, err);
    if (rc == 0)
        rc = columns_load(&table, own && *own ? own : NULL, true, &names->rows, NULL, err);
    if (rc == 0)
        rc = enter_rows(names, 0, err);
    names->shipped_from = names->rows.count;
    if (rc == 0)
        rc = columns_load(&table, buf_str(&shipped), true, &names->rows, NULL,
                          err); // may be missing
    if (rc == 0)
        rc = enter_rows(names, names->shipped_from, err);
    names->shipped_to = names->rows.count;
    if (rc == 0)
        *out = names;
    else
        names_close(names);
    return rc;
}

void names_close_at(struct names **names)
{
    names_close(*names);
}

void names_close(struct names *names)
{
    if (!names)
        return;
    columns_release(&table, &names->rows);
    index_release(&names->by_name);
    index_release(&names->taken);
    free(names);
}

const char *names_short(const struct names *names, const char *provider, const char *name)
{
    size_t row;
    bool found = find_key(&names->by_name, provider, name, false, &row) > 0;
    return found ? names->rows.items[row].short_name : NULL;
}

const char *names_full(const struct names *names, const char *provider, const char *short_name)
{
    size_t row;
    bool found = find_key(&names->taken, provider, short_name, true, &row) > 0;
    return found ? names->rows.items[row].name : NULL;
}

// ---- making one ----

// Whose machines people know by the names of their types.
static const char *const known_by_type[] = {"aws", "azure", "gcp", "ibm", "oci", NULL};

static bool goes_by_type(const struct offer *offer)
{
    size_t i = 0;
    while (known_by_type[i] && strcmp(known_by_type[i], offer->provider) != 0)
        i++;
    return known_by_type[i] || offer->gpus_milli == 0;
}

static void cut(struct buf *buf, size_t len)
{
    buf->len = len;
    buf->data[len] = '\0';
}

// Lower case; everything but letters, digits, dots and plus signs is one hyphen.
static void add_plain(const char *text, struct buf *out)
{
    for (const char *p = text; *p; p++) {
        if (isalnum((unsigned char)*p) || *p == '.' || *p == '+')
            buf_addc(out, (char)tolower((unsigned char)*p));
        else if (out->len > 0 && out->data[out->len - 1] != '-')
            buf_addc(out, '-');
    }
    while (out->len > 0 && out->data[out->len - 1] == '-')
        cut(out, out->len - 1);
}

// A market puts the name of the cloud behind it first: "crusoe_A100-80GB". 0: it does not.
static size_t reseller_length(const struct offer *offer)
{
    const char *name = offer->name;
    size_t len = 0;
    while (isalpha((unsigned char)name[len]))
        len++;
    bool kind = strncmp(name, "gpu", len) == 0 || strncmp(name, "cpu", len) == 0;
    return name[len] == '_' && !kind ? len : 0;
}

static void add_base(const struct offer *offer, struct buf *out)
{
    static const char azure[] = "Standard_";
    if (goes_by_type(offer)) {
        bool prefix = strncmp(offer->name, azure, sizeof azure - 1) == 0;
        add_plain(offer->name + (prefix ? sizeof azure - 1 : 0), out);
        return;
    }
    for (size_t i = 0, len = reseller_length(offer); i < len; i++)
        buf_addc(out, (char)tolower((unsigned char)offer->name[i]));
    buf_adds(out, out->len > 0 ? "-" : "");
    add_plain(offer->gpu, out);
    if (offer->gpus_milli > 1000)
        buf_printf(out, "x%d", offer->gpus_milli / 1000);
}

// A newcomer whose name is taken gets a word of its own name, its size, or a number.
static void add_suffix(const struct offer *offer, int try, struct buf *out)
{
    SCOPED(buf_release) struct buf words = {0};
    int left = try, base = (int)out->len;
    add_plain(offer->name, &words);
    out->failed |= words.failed;
    for (char *rest = words.data, *word; rest && (word = strsep(&rest, "-"));) {
        size_t len = strlen(word);
        bool said = len < 2 || !isalpha((unsigned char)*word) || strcmp(word, "gpu") == 0 ||
                    strstr(buf_str(out), word);
        if (!said && --left == 0) {
            buf_printf(out, "-%s", word);
            return;
        }
    }
    if (offer->vcpus_milli >= 1000 && --left == 0)
        buf_printf(out, "-%dc", offer->vcpus_milli / 1000);
    else if (offer->memory_mib >= 1024 && --left == 0)
        buf_printf(out, "-%dc-%dg", offer->vcpus_milli / 1000, offer->memory_mib / 1024);
    else if ((int)out->len == base)
        buf_printf(out, "-%d", left + 1);
}

static int give_one(struct names *names, const struct offer *offer, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    size_t row;
    int known = find_key(&names->by_name, offer->provider, offer->name, false, &row), taken = 0;
    if (known > 0)
        return 0;
    TRY(known < 0 ? err_memory(err) : 0);
    add_base(offer, &name);
    size_t base = name.len;
    for (int try = 1; !name.failed; try++) {
        taken = find_key(&names->taken, offer->provider, buf_str(&name), true, &row);
        if (taken <= 0)
            break;
        cut(&name, base);
        add_suffix(offer, try, &name);
    }
    TRY(taken < 0 ? err_memory(err) : 0);
    TRY(buf_check(&name, err));
    struct named *added = LIST_ADD(&names->rows, err);
    TRY(added ? 0 : ERR_MEMORY);
    TRY(TEXTS_SET(err, {&added->provider, offer->provider}, {&added->name, offer->name},
                  {&added->short_name, buf_str(&name)}));
    return enter_rows(names, names->rows.count - 1, err);
}

static int by_size(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    int order = strcmp(x->provider, y->provider);
    order = order != 0 ? order : strcmp(x->gpu, y->gpu);
    order = order != 0 ? order : x->gpus_milli - y->gpus_milli;
    order = order != 0 ? order : x->vcpus_milli - y->vcpus_milli;
    return order != 0 ? order : strcmp(x->name, y->name);
}

int names_give(struct names *names, const struct offer *offers, size_t count, struct err *err)
{
    SCOPED(free_pointer) struct offer *sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return err_memory(err);
    memcpy(sorted, offers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    for (size_t i = 0; i < count; i++)
        TRY(give_one(names, &sorted[i], err));
    return 0;
}

int names_table(const struct names *names, bool all, struct buf *out, struct err *err)
{
    struct csv_writer w = {.out = out};
    for (const struct column *c = columns; c->name; c++)
        csv_put(&w, c->name);
    csv_end(&w);
    for (size_t i = 0; i < names->rows.count; i++) {
        const struct named *row = &names->rows.items[i];
        if (!all && i >= names->shipped_from && i < names->shipped_to)
            continue;
        csv_put(&w, row->provider);
        csv_put(&w, row->name);
        csv_put(&w, row->short_name);
        csv_end(&w);
    }
    return buf_check(out, err);
}
