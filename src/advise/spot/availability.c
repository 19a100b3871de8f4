// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/availability.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/tree.h"
#include "tables/files.h"
#include "record/field.h"

#define FILE_MOST    ((size_t)256 << 20)
#define SAMPLES_MOST 4000000
#define SINGLE_NS    (600 * NS_PER_S)
#define MINUTE_NS    (60 * NS_PER_S)
#define LONGEST_S    (INT64_C(200) * 365 * 86400)

enum { INDEX, TIME, AWAY, COLUMNS };
static const char *const columns[] = {"index", "timestamp", "x", NULL};

struct reading {
    struct availability *out;
    size_t samples_cap, up_cap;
    int64_t last_s, gap_s; // of the last sample; the gap before it
};

static int add_sample(struct reading *r, const struct csv *csv, struct err *err)
{
    struct availability *a = r->out;
    const char *x = csv_text(csv, AWAY);
    int64_t index, at_s;
    if (!text_int(csv_text(csv, INDEX), &index))
        return csv_fault(csv, INDEX, err, "expected a whole number");
    if (!clock_parse(csv_text(csv, TIME), &at_s))
        return csv_fault(csv, TIME, err, "expected a time such as 2022-10-26T22:05:04Z");
    if (strcmp(x, "0") != 0 && strcmp(x, "1") != 0)
        return csv_fault(csv, AWAY, err, "expected 0 (could be had) or 1 (could not)");
    if (a->sample_count > 0 && at_s <= r->last_s)
        return csv_fault(csv, TIME, err, "expected a later time than on the line before");
    if (a->sample_count == SAMPLES_MOST)
        return csv_fault(csv, -1, err, "over %d samples", SAMPLES_MOST);
    if (a->sample_count == 0)
        a->first_s = at_s;
    else
        r->gap_s = at_s - r->last_s;
    if (at_s - a->first_s > LONGEST_S)
        return csv_fault(csv, TIME, err, "over 200 years after the first sample");
    TRY(array_grow(&a->samples, a->sample_count, &r->samples_cap, 1, err));
    TRY(array_grow(&a->up, a->count, &r->up_cap, sizeof *a->up, err));
    bool had = *x == '0', before = a->sample_count > 0 && a->samples[a->sample_count - 1];
    int64_t at_ns = (at_s - a->first_s) * NS_PER_S;
    if (before && !had)
        a->up[a->count - 1].until_ns = at_ns;
    if (had && !before)
        a->up[a->count++] = (struct availability_span){at_ns, at_ns};
    a->samples[a->sample_count++] = had;
    r->last_s = at_s;
    return 0;
}

static int finish(struct reading *r, const char *name, struct err *err)
{
    struct availability *a = r->out;
    if (a->sample_count == 0)
        return err_set(err, ERR_FORMAT, "%s: no samples", name);
    int64_t last_ns = r->gap_s > 0 ? r->gap_s * NS_PER_S : SINGLE_NS;
    a->length_ns = (r->last_s - a->first_s) * NS_PER_S + last_ns;
    if (a->samples[a->sample_count - 1])
        a->up[a->count - 1].until_ns = a->length_ns;
    a->tick_ns = a->length_ns / (int64_t)a->sample_count;
    if (a->tick_ns > MINUTE_NS)
        a->tick_ns = (a->tick_ns + MINUTE_NS / 2) / MINUTE_NS * MINUTE_NS;
    const char *base = strrchr(name, '/');
    return text_set(&a->name, base ? base + 1 : name, err);
}

int availability_read(const char *name, const char *text, size_t len, struct availability *out,
                      struct err *err)
{
    const struct csv_options options = {.names = columns};
    struct reading r = {.out = out};
    struct csv csv;
    *out = (struct availability){0};
    int rc = csv_init_text(&csv, name, text, len, &options, err);
    if (rc != 0)
        return rc;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = add_sample(&r, &csv, err);
    if (rc == 0)
        rc = finish(&r, name, err);
    csv_release(&csv);
    if (rc != 0)
        availability_release(out);
    return rc;
}

int availability_open(const char *path, struct availability *out, struct err *err)
{
    struct buf text = {0};
    *out = (struct availability){0};
    int rc = fs_read(path, FILE_MOST, &text, err);
    if (rc == 0)
        rc = availability_read(path, buf_str(&text), text.len, out, err);
    buf_release(&text);
    return rc;
}

void availability_release(struct availability *a)
{
    free(a->name);
    free(a->up);
    free(a->samples);
    *a = (struct availability){0};
}

// "0,2022-10-26T22:05:04.000Z,0": a number, a time, 0 or 1, and the end of the line.
bool availability_knows(const char *head, size_t len)
{
    char line[96], *comma, *second;
    const char *end = memchr(head, '\n', len);
    size_t length = end ? (size_t)(end - head) : len;
    int64_t number, at_s;
    if (length >= sizeof line)
        return false;
    memcpy(line, head, length);
    line[length] = '\0';
    line[strcspn(line, "\r")] = '\0';
    comma = strchr(line, ',');
    second = comma ? strchr(comma + 1, ',') : NULL;
    if (!second)
        return false;
    *comma = *second = '\0';
    return text_int(line, &number) && clock_parse(comma + 1, &at_s) &&
           (strcmp(second + 1, "0") == 0 || strcmp(second + 1, "1") == 0);
}

bool availability_file(const char *path)
{
    char head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    return len > 0 && availability_knows(head, (size_t)len);
}

double availability_share(const struct availability *a)
{
    double up = 0;
    for (size_t i = 0; i < a->count; i++)
        up += (double)(a->up[i].until_ns - a->up[i].from_ns);
    return a->length_ns > 0 ? up / (double)a->length_ns : 0;
}

double availability_mean_s(const struct availability *a)
{
    return a->count > 0 ? availability_share(a) * (double)a->length_ns / 1e9 / (double)a->count : 0;
}

// ---- kept files

struct parts { // of a name
    char zone[64], gpu[64];
    int64_t gpus;
};

// "2022-10-26_us-west-2a_v100_1.txt"
static bool parse_name(const char *name, struct parts *out)
{
    char copy[256], *fields[4];
    int64_t at_s;
    const char *base = strrchr(name, '/');
    int len = snprintf(copy, sizeof copy, "%s", base ? base + 1 : name);
    if (len < 0 || (size_t)len >= sizeof copy)
        return false;
    char *dot = strrchr(copy, '.'), *at = copy;
    if (dot)
        *dot = '\0';
    for (int i = 0; i < 4; i++) {
        fields[i] = at;
        char *end = at ? strchr(at, '_') : NULL;
        if (!at || (i < 3) != (end != NULL))
            return false;
        if (end)
            *end++ = '\0';
        at = end;
    }
    if (!clock_parse(fields[0], &at_s) || !text_int(fields[3], &out->gpus) || out->gpus < 1)
        return false;
    int a = snprintf(out->zone, sizeof out->zone, "%s", fields[1]);
    int b = snprintf(out->gpu, sizeof out->gpu, "%s", fields[2]);
    return a > 0 && (size_t)a < sizeof out->zone && b > 0 && (size_t)b < sizeof out->gpu;
}

bool availability_fits(const char *name, const struct offer *offer)
{
    struct parts p;
    if (!parse_name(name, &p) || p.gpus > 1000000 || offer->gpus_milli != p.gpus * 1000 ||
        strcasecmp(p.gpu, offer->gpu) != 0)
        return false;
    size_t region = strlen(offer->region);
    if (*offer->zone)
        return strcasecmp(p.zone, offer->zone) == 0;
    return region > 0 && strncasecmp(p.zone, offer->region, region) == 0;
}

static int kept_folder(struct buf *out, struct err *err)
{
    TRY(folder_data(out, err));
    buf_adds(out, "/availability");
    return buf_check(out, err);
}

int availability_named(const char *path, struct err *err)
{
    struct parts parts;
    if (parse_name(path, &parts))
        return 0;
    err_set(err, ERR_FORMAT, "'%s' does not say which machine its samples are of", path);
    return err_hint(err, "name it DATE_ZONE_GPU_COUNT.txt: 2022-10-26_us-west-2a_v100_1.txt");
}

int availability_keep(const char *path, struct err *err)
{
    struct buf text = {0}, to = {0};
    const char *base = strrchr(path, '/');
    int rc = kept_folder(&to, err);
    if (rc == 0)
        rc = fs_mkdirs(buf_str(&to), err);
    buf_printf(&to, "/%s", base ? base + 1 : path);
    if (rc == 0)
        rc = buf_check(&to, err);
    if (rc == 0)
        rc = fs_read(path, FILE_MOST, &text, err);
    if (rc == 0)
        rc = fs_write(buf_str(&to), buf_str(&text), text.len, err);
    buf_release(&text);
    buf_release(&to);
    return rc;
}

struct choosing {
    const struct offer *offer;
    struct buf path; // the last that fits: names begin with their date
};

static int consider(void *arg, const char *path, struct err *err)
{
    struct choosing *c = arg;
    if (!availability_fits(path, c->offer))
        return 0;
    buf_reset(&c->path);
    buf_adds(&c->path, path);
    return buf_check(&c->path, err);
}

int availability_find(const struct offer *offer, struct availability *out, bool *found,
                      struct err *err)
{
    struct choosing c = {.offer = offer};
    struct buf dir = {0};
    *out = (struct availability){0};
    *found = false;
    int rc = kept_folder(&dir, NULL);
    if (rc == ERR_MEMORY)
        err_memory(err);
    else
        rc = rc == 0 ? files_each(buf_str(&dir), ".txt", consider, &c, err) : 0; // no home: none
    if (rc == 0 && c.path.len > 0) {
        rc = availability_open(buf_str(&c.path), out, err);
        *found = rc == 0;
    }
    buf_release(&c.path);
    buf_release(&dir);
    return rc;
}
