// SPDX-License-Identifier: Apache-2.0
// Invoices in FOCUS, the FinOps Foundation's open specification for cost data, versions 1.0 to 1.2,
// as AWS, Google and Microsoft export it, and as `fare quote --format focus` writes it.
//
// Credits, refunds and corrections are lines with negative amounts. Amounts may have exponents and
// more than nine decimals; they are rounded once, half to even, to nano-units.
#include "ledger/import.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "base/sha256.h"

// The first ones must be there.
#define COLUMNS(X)                                                                                 \
    X(BilledCost)                                                                                  \
    X(BillingCurrency)                                                                             \
    X(ChargePeriodStart)                                                                           \
    X(ChargePeriodEnd)                                                                             \
    X(EffectiveCost)                                                                               \
    X(ChargeCategory)                                                                              \
    X(ChargeDescription)                                                                           \
    X(ProviderName)                                                                                \
    X(PublisherName)                                                                               \
    X(InvoiceIssuerName)                                                                           \
    X(ResourceId)                                                                                  \
    X(ResourceName)                                                                                \
    X(ResourceType)                                                                                \
    X(RegionId)                                                                                    \
    X(SkuPriceDetails)                                                                             \
    X(x_InstanceType)                                                                              \
    X(x_SkuInstanceType)                                                                           \
    X(Tags)
#define ENUM(name) name,
#define NAME(name) #name,
enum { COLUMNS(ENUM) COLUMN_COUNT, NEEDED = ChargePeriodEnd + 1 };
static const char *const columns[] = {COLUMNS(NAME)};

// What a line is for. Not its amounts, quantities and prices, nor the number of the invoice, which
// it gets at the end of the month: a provider may issue it again with others.
static const char *const identity[] = {"AvailabilityZone",
                                       "BillingAccountId",
                                       "BillingCurrency",
                                       "BillingPeriodStart",
                                       "CapacityReservationId",
                                       "ChargeCategory",
                                       "ChargeClass",
                                       "ChargeDescription",
                                       "ChargeFrequency",
                                       "ChargePeriodEnd",
                                       "ChargePeriodStart",
                                       "CommitmentDiscountId",
                                       "CommitmentDiscountStatus",
                                       "ConsumedUnit",
                                       "InvoiceIssuerName",
                                       "PricingCategory",
                                       "PricingUnit",
                                       "ProviderName",
                                       "PublisherName",
                                       "RegionId",
                                       "ResourceId",
                                       "ServiceName",
                                       "SkuId",
                                       "SkuMeter",
                                       "SkuPriceId",
                                       "SubAccountId",
                                       "Tags",
                                       "x_Operation",
                                       "x_UsageType"};
enum { IDENTITY_COUNT = sizeof identity / sizeof *identity };

// Commas as the specification has them; some tools write semicolons or tabs.
static char separator_of(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    return memchr(text, ',', line) ? ',' : memchr(text, ';', line) ? ';' : '\t';
}

static bool knows(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    return line > 0 && text[0] != '{' && memmem(text, line, "BilledCost", 10) &&
           memmem(text, line, "ChargePeriodStart", 17);
}

// ---- values

// "12.45", "-3.00", "6.123E-7", "0.0000000001234": exact decimals to nano-units. False if it is no
// number or too large.
static bool read_amount(const char *text, int64_t *nano)
{
    char digits[64];
    size_t count = 0;
    long point = 0, exponent = 0;
    bool negative = *text == '-', seen = false, dot = false, cut = false;
    text += *text == '-' || *text == '+';
    for (; isdigit((unsigned char)*text) || (*text == '.' && !dot); text++) {
        if (*text == '.') {
            dot = true;
            continue;
        }
        seen = true;
        if (count == 0 && *text == '0') { // leading
            point -= dot;
        } else if (count < sizeof digits) {
            digits[count++] = (char)(*text - '0');
            point += !dot;
        } else {
            cut |= *text != '0';
            point += !dot;
        }
        if (point > 1000 || point < -1000)
            return false;
    }
    if (!seen)
        return false;
    if (*text == 'e' || *text == 'E') {
        char *end;
        if (!isdigit((unsigned char)text[1]) &&
            !(strchr("+-", text[1]) && text[1] && isdigit((unsigned char)text[2])))
            return false;
        exponent = strtol(text + 1, &end, 10);
        text = end;
    }
    if (*text != '\0' || exponent > 1000 || exponent < -1000)
        return false;
    // The digits are a number with its point behind `keep` of them, in nano-units.
    long keep = point + exponent + 9;
    int64_t value = 0;
    for (long i = 0; i < keep && count > 0; i++) {
        int digit = i < (long)count ? digits[i] : 0;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (keep >= 0 && keep < (long)count) {
        bool more = cut;
        for (size_t i = (size_t)keep + 1; i < count; i++)
            more |= digits[i] != 0;
        int next = digits[keep];
        bool up = next > 5 || (next == 5 && (more || value % 2 == 1));
        if (__builtin_add_overflow(value, up, &value))
            return false;
    }
    *nano = negative ? -value : value;
    return true;
}

// As specified ("2024-09-01T00:00:00Z"), with a space ("2026-09-12 01:00:00", "... UTC"), or
// without seconds ("2024-04-01T00:00Z").
static bool read_date(const char *text, char out[CLOCK_ISO_BYTES])
{
    char iso[48];
    int64_t date;
    size_t len = strlen(text);
    if (len > 4 && strcmp(text + len - 4, " UTC") == 0)
        len -= 4;
    if (len > 40)
        return false;
    snprintf(iso, sizeof iso, "%.*s", (int)len, text);
    if (len > 10 && iso[10] == ' ')
        iso[10] = 'T';
    if (len > 10 && len <= 17 && len >= 16 && (len == 16 || iso[16] == 'Z'))
        snprintf(iso + 16, sizeof iso - 16, ":00Z");
    else if (len > 18 && strspn(iso + 11, "0123456789:.") == len - 11)
        snprintf(iso + len, sizeof iso - len, "Z");
    if (!clock_parse(iso, &date))
        return false;
    clock_iso(date, out);
    return out[0] != '\0';
}

struct texts { // of one line
    char began[CLOCK_ISO_BYTES], ended[CLOCK_ISO_BYTES], currency[8];
    char run[128], project[256], product[128], id[SHA256_HEX_BYTES];
};

// The words of a tag's key behind its prefix: "user:fare_run" is "fare_run".
static bool is_tag(const char *key, const char *const *names)
{
    const char *last = key;
    for (; *key; key++)
        if (*key == ':' || *key == '/')
            last = key + 1;
    for (; *names; names++)
        if (strcasecmp(last, *names) == 0)
            return true;
    return false;
}

static void copy_text(char *to, size_t size, const json_t *value)
{
    const char *text = json_string_value(value);
    if (text && !*to)
        snprintf(to, size, "%s", text);
}

// A cell that holds JSON; null if it does not.
static int read_json(const char *text, json_t **out, struct err *err)
{
    int line;
    struct err why = {0};
    *out = text && *text == '{' ? import_json(text, strlen(text), &line, &why) : NULL;
    return why.code == ERR_MEMORY ? err_memory(err) : 0;
}

static int read_tags(const char *text, struct texts *t, struct err *err)
{
    static const char *const runs[] = {"fare_run", "fare-run", "run", NULL};
    static const char *const projects[] = {"fare_project", "fare-project", "project", NULL};
    json_t *tags, *value;
    const char *key;
    TRY(read_json(text, &tags, err));
    json_object_foreach(tags, key, value)
    {
        if (is_tag(key, runs))
            copy_text(t->run, sizeof t->run, value);
        if (is_tag(key, projects))
            copy_text(t->project, sizeof t->project, value);
    }
    json_decref(tags);
    return 0;
}

// The machine's type.
static int read_product(const struct csv *csv, const int at[COLUMN_COUNT], struct texts *t,
                        struct err *err)
{
    json_t *json;
    TRY(read_json(csv_text(csv, at[SkuPriceDetails]), &json, err));
    copy_text(t->product, sizeof t->product, json_object_get(json, "InstanceType"));
    json_decref(json);
    const int others[] = {at[x_InstanceType], at[x_SkuInstanceType]};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text = csv_text(csv, others[i]);
        if (text && *text && !t->product[0])
            snprintf(t->product, sizeof t->product, "%s", text);
    }
    return 0;
}

static void set_id(const struct csv *csv, const int at[IDENTITY_COUNT], char id[SHA256_HEX_BYTES])
{
    struct sha256 sha;
    uint8_t sum[SHA256_BYTES];
    sha256_init(&sha);
    for (size_t i = 0; i < IDENTITY_COUNT; i++) {
        const char *text = csv_text(csv, at[i]);
        sha256_add(&sha, text ? text : "", (text ? strlen(text) : 0) + (text != NULL));
        sha256_add(&sha, "\x1f", 1);
    }
    sha256_done(&sha, sum);
    for (size_t i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", sum[i]);
}

static int read_amounts(const struct csv *csv, const int at[COLUMN_COUNT], struct ledger_charge *c,
                        struct err *err)
{
    const char *billed = csv_text(csv, at[BilledCost]), *spread = csv_text(csv, at[EffectiveCost]);
    if (!read_amount(billed, &c->billed))
        return csv_fault(csv, at[BilledCost], err, "bad amount '%.40s'", billed);
    if (!spread || !*spread)
        return 0;
    c->effective_known = read_amount(spread, &c->effective);
    return c->effective_known
               ? 0
               : csv_fault(csv, at[EffectiveCost], err, "bad amount '%.40s'", spread);
}

static int read_texts(const struct csv *csv, const int at[COLUMN_COUNT], struct texts *t,
                      struct err *err)
{
    const char *began = csv_text(csv, at[ChargePeriodStart]);
    const char *ended = csv_text(csv, at[ChargePeriodEnd]);
    const char *currency = csv_text(csv, at[BillingCurrency]);
    if (!read_date(began, t->began))
        return csv_fault(csv, at[ChargePeriodStart], err, "bad date '%.40s'", began);
    if (!read_date(ended, t->ended))
        return csv_fault(csv, at[ChargePeriodEnd], err, "bad date '%.40s'", ended);
    if (strcmp(t->ended, t->began) < 0)
        return csv_fault(csv, at[ChargePeriodEnd], err, "it is before ChargePeriodStart");
    if (strlen(currency) != 3)
        return csv_fault(csv, at[BillingCurrency], err, "bad currency '%.40s'", currency);
    for (size_t i = 0; i < 3; i++) {
        if (!isalpha((unsigned char)currency[i]))
            return csv_fault(csv, at[BillingCurrency], err, "bad currency '%.40s'", currency);
        t->currency[i] = (char)toupper((unsigned char)currency[i]);
    }
    TRY(read_tags(csv_text(csv, at[Tags]), t, err));
    return read_product(csv, at, t, err);
}

static int read_charge(const struct csv *csv, const int at[COLUMN_COUNT],
                       const int identity_at[IDENTITY_COUNT], const char *source,
                       import_charge_fn *put, void *arg, struct err *err)
{
    struct texts t = {.began = ""};
    const char *cells[COLUMN_COUNT];
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const char *text = csv_text(csv, at[i]);
        bool absent = !text || strcasecmp(text, "null") == 0;
        cells[i] = absent ? "" : text;
    }
    TRY(read_texts(csv, at, &t, err));
    set_id(csv, identity_at, t.id);
    // fare's own rows have the run as the resource.
    if (!t.run[0] && strcmp(cells[ResourceType], "Training run") == 0)
        snprintf(t.run, sizeof t.run, "%s", cells[ResourceId]);
    struct ledger_charge c = {
        .id = t.id,
        .began = t.began,
        .ended = t.ended,
        .category = cells[ChargeCategory],
        .provider = *cells[ProviderName]        ? cells[ProviderName]
                    : *cells[InvoiceIssuerName] ? cells[InvoiceIssuerName]
                                                : cells[PublisherName],
        .resource = cells[ResourceId],
        .name = cells[ResourceName],
        .region = cells[RegionId],
        .product = t.product,
        .what = cells[ChargeDescription],
        .run = t.run,
        .project = t.project,
        .source = source,
        .currency = t.currency,
    };
    TRY(read_amounts(csv, at, &c, err));
    return put(arg, &c, err);
}

static int read_invoice(const char *file, const char *text, size_t len, import_charge_fn *put,
                        void *arg, struct err *err)
{
    struct csv csv;
    int at[COLUMN_COUNT], identity_at[IDENTITY_COUNT];
    const char *slash = strrchr(file, '/'), *source = slash ? slash + 1 : file;
    const struct csv_options options = {.separator = separator_of(text, len)};
    TRY(csv_init_text(&csv, file, text, len, &options, err));
    int rc = csv_find(&csv, columns, COLUMN_COUNT, NEEDED, at, err);
    if (rc == 0)
        rc = csv_find(&csv, identity, IDENTITY_COUNT, 0, identity_at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_charge(&csv, at, identity_at, source, put, arg, err);
    csv_release(&csv);
    return rc;
}

const struct importer importer_focus = {
    .name = "focus",
    .about = "an invoice in FOCUS (CSV), of any provider",
    .knows = knows,
    .read_charges = read_invoice,
};
