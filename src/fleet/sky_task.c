// SPDX-License-Identifier: Apache-2.0
// The task files of SkyPilot: its reference "SkyPilot YAML" (docs.skypilot.co), tried with the
// validator of version 0.14.1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "fleet/target.h"
#include "fleet/script.h"
#include "base/buf.h"
#include "fleet/queues.h"
#include "book/book.h"
#include "book/listing.h"

enum { IDLE_MINUTES = 10 };

// ---- offers

bool sky_takes_down(const char *cloud)
{
    bool keeps = true;
    return listing_in_sky(cloud, &keeps) && !keeps;
}

// Slashes separate the parts of SkyPilot's `infra`.
static bool is_part(const char *text)
{
    size_t len = strlen(text);
    return !strchr(text, '/') && utf8_bad(text, len) == len && strcmp(text, "*") != 0;
}

bool sky_rents(const struct offer *offer, struct err *err)
{
    if (!listing_in_sky(offer->provider, NULL))
        err_set(err, ERR_USAGE, "SkyPilot does not rent machines of %s", offer->provider);
    else if (offer->kind == OFFER_MONTHLY)
        err_set(err, ERR_USAGE, "%s/%s is rented by the month, SkyPilot rents by the hour",
                offer->provider, offer->name);
    else if (!is_part(offer->region) || !is_part(offer->zone) || !*offer->name)
        err_set(err, ERR_USAGE, "%s/%s has a region that SkyPilot cannot be told", offer->provider,
                offer->name);
    else
        return true;
    return false;
}

void sky_offer_release(struct sky_offer *offer)
{
    free(offer->name);
    free(offer->cloud);
    free(offer->region);
    free(offer->zone);
    free(offer->instance);
    free(offer->accelerators);
    *offer = (struct sky_offer){0};
}

// "n1-standard-8+1xT4": the book's name for GPUs attached to a machine of Google's.
static int split_attached(struct sky_offer *out, struct err *err)
{
    char *plus = strchr(out->instance, '+'), *x = plus ? strchr(plus, 'x') : NULL;
    struct buf text = {0};
    if (!x)
        return 0;
    *plus = '\0';
    buf_printf(&text, "%s:%.*s", x + 1, (int)(x - plus - 1), plus + 1);
    free(out->accelerators);
    out->accelerators = buf_take(&text, err);
    return out->accelerators ? 0 : ERR_MEMORY;
}

int sky_offer_of(const struct offer *offer, struct sky_offer *out, struct err *err)
{
    struct buf name = {0};
    *out = (struct sky_offer){.spot = offer->kind == OFFER_SPOT};
    book_name(offer, &name);
    out->name = buf_take(&name, err);
    out->cloud = text_copy(offer->provider, err);
    out->region = text_copy(offer->region, err);
    out->zone = text_copy(offer->zone, err);
    out->instance = text_copy(offer->name, err);
    out->accelerators = text_copy("", err);
    int rc =
        out->name && out->cloud && out->region && out->zone && out->instance && out->accelerators
            ? 0
            : ERR_MEMORY;
    if (rc == 0 && strcmp(out->cloud, "gcp") == 0)
        rc = split_attached(out, err);
    if (rc != 0)
        sky_offer_release(out);
    return rc;
}

// ---- names

void sky_cluster(const struct dispatch *dispatch, const struct place *place,
                 char out[SKY_CLUSTER_BYTES])
{
    char sum[SHA256_HEX_BYTES];
    sha256_hex_of(place->name, strlen(place->name), sum);
    snprintf(out, SKY_CLUSTER_BYTES, "fare-%.12s-%.8s", dispatch->id, sum);
}

void sky_folder(const struct fleet *fleet, const struct task *task, struct buf *out)
{
    char key[TASK_KEY_BYTES];
    task_key(fleet->dispatch, task, key);
    buf_printf(out, "%s/sky/%s", fleet->folder, key);
}

// ---- the file

int yaml_quote(struct buf *out, const char *text, struct err *err)
{
    size_t len = strlen(text);
    if (utf8_bad(text, len) != len)
        return err_set(err, ERR_FORMAT, "'%.80s' is not UTF-8, as SkyPilot's files have to be",
                       text);
    buf_addc(out, '"');
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = utf8_next(text + i, len - i, &c);
        // Line breaks of YAML 1.1, the mark of an encoding, and what is not printable there.
        bool escape = c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
                      c == 0xFEFF || (c & 0xFFFE) == 0xFFFE;
        if (escape)
            buf_printf(out, c > 0xFFFF ? "\\U%08X" : "\\u%04X", (unsigned)c);
        else if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (char)c);
        else
            buf_add(out, text + i, n);
        i += n;
    }
    buf_addc(out, '"');
    return 0;
}

static int add_text(struct buf *out, const char *key, const char *text, struct err *err)
{
    buf_adds(out, key);
    TRY(yaml_quote(out, text, err));
    buf_addc(out, '\n');
    return 0;
}

static int add_resources(const struct sky_offer *offer, struct buf *out, struct err *err)
{
    struct buf infra = {0};
    buf_adds(&infra, offer->cloud);
    if (*offer->region)
        buf_printf(&infra, "/%s", offer->region);
    if (*offer->region && *offer->zone)
        buf_printf(&infra, "/%s", offer->zone);
    buf_adds(out, "resources:\n");
    int rc = add_text(out, "  infra: ", buf_str(&infra), err);
    buf_drop(out, &infra);
    if (rc == 0)
        rc = add_text(out, "  instance_type: ", offer->instance, err);
    if (rc == 0 && *offer->accelerators)
        rc = add_text(out, "  accelerators: ", offer->accelerators, err);
    if (offer->spot)
        buf_adds(out, "  use_spot: true\n");
    if (sky_takes_down(offer->cloud))
        buf_printf(out, "  autostop:\n    idle_minutes: %d\n    down: true\n", IDLE_MINUTES);
    return rc;
}

// The lines of a shell text as a block scalar: they are ours, so plain ASCII without tabs.
static void add_block(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s: |\n", key);
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            buf_printf(out, "  %.*s", (int)len, text);
        buf_addc(out, '\n');
        text += len + (text[len] == '\n');
    }
}

// Unpacked beside, then renamed; a machine that has it already keeps it.
static void setup_text(const struct fleet *fleet, struct buf *out)
{
    const struct dispatch_bundle *b = &fleet->dispatch->bundle;
    buf_printf(out,
               "to=$HOME/.cache/fare/bundle/%s-%.12s\n"
               "if [ ! -x \"$to/fare\" ]; then\n"
               "  echo '%s  fare-in/bundle.tar.gz' | (cd && sha256sum -c -) || exit 1\n"
               "  rm -rf \"$to.new\" && mkdir -p \"$to.new\" || exit 1\n"
               "  tar -C \"$to.new\" --strip-components=1 -xzf ~/fare-in/bundle.tar.gz || exit 1\n"
               "  mv -T \"$to.new\" \"$to\" || exit 1\n"
               "fi\n",
               b->version, b->sha256, b->sha256);
}

// A job that was submitted twice measures once; both print the result. The first task of a machine
// is charged for its boot: FARE_ORDERED has the time of the order, which is now.
static void run_text(const struct fleet *fleet, const char *key, struct buf *out)
{
    const struct dispatch_bundle *b = &fleet->dispatch->bundle;
    buf_printf(
        out,
        "in=$HOME/fare-in/%s\n"
        "dir=$HOME/.cache/fare/tasks/%s\n"
        "export FARE_ORDERED=0\n"
        "mkdir \"$HOME/.cache/fare/tasks\" 2>/dev/null && FARE_ORDERED=%lld\n"
        "if mkdir \"$dir\" 2>/dev/null; then\n"
        "  FARE_PROGRAM=$HOME/.cache/fare/bundle/%s-%.12s/fare sh \"$in/begin.sh\" \"$dir\"\n"
        "fi\n"
        "sh \"$in/reply.sh\" \"$dir\"\n",
        key, key, (long long)clock_date_s(), b->version, b->sha256);
}

static int sky_yaml(const struct fleet *fleet, const struct sky_offer *offer,
                    const struct task *task, struct buf *out, struct err *err)
{
    char key[TASK_KEY_BYTES];
    SCOPED(buf_release) struct buf text = {0}, folder = {0};
    task_key(fleet->dispatch, task, key);
    sky_folder(fleet, task, &folder);
    buf_adds(&folder, "/in");
    buf_adds(out, "# Written by fare for SkyPilot.\n");
    TRY(add_text(out, "name: ", key, err));
    TRY(add_resources(offer, out, err));
    buf_adds(out, "file_mounts:\n");
    TRY(add_text(out, "  ~/fare-in/bundle.tar.gz: ", fleet->dispatch->bundle.file, err));
    if (fleet->dispatch->folder.file)
        TRY(add_text(out, "  ~/fare-in/folder.tar.gz: ", fleet->dispatch->folder.file, err));
    buf_printf(out, "  ~/fare-in/%s: ", key);
    TRY(yaml_quote(out, buf_str(&folder), err));
    buf_addc(out, '\n');
    setup_text(fleet, &text);
    add_block(out, "setup", buf_str(&text));
    buf_reset(&text);
    run_text(fleet, key, &text);
    add_block(out, "run", buf_str(&text));
    buf_drop(out, &text);
    buf_drop(out, &folder);
    return buf_check(out, err);
}

// ---- the files

static void begin_text(const struct fleet *fleet, const struct place *place,
                       const struct task *task, struct buf *out)
{
    buf_adds(out, "cd \"$1\" && mkdir work || exit 1\n"
                  "fare=$FARE_PROGRAM\n");
    if (fleet->dispatch->folder.file)
        buf_adds(out, "tar -C work -xzf ~/fare-in/folder.tar.gz || exit 1\n");
    script_run(out, fleet, place, task);
}

// Waits for the one that measures, if that is another job, then prints the result.
static void reply_text(const char *key, struct buf *out)
{
    script_reply(out);
    frame_script(out);
    buf_printf(out,
               "while [ ! -f \"$1/code\" ] && grep -qsF 'FARE_TASK=%s.' /proc/[0-9]*/environ; do\n"
               "  sleep 2\n"
               "done\n"
               "if [ -f \"$1/code\" ]; then fare_reply %s \"$1\"\n"
               "else printf 'fare-reply %s %%s\\n' lost end; fi >\"$1/reply\"\n"
               "fare_frame %s \"$1/reply\"\n",
               key, key, key, key);
}

int sky_write(const struct fleet *fleet, const struct place *place, const struct sky_offer *offer,
              const struct task *task, struct err *err)
{
    char key[TASK_KEY_BYTES];
    SCOPED(buf_release) struct buf folder = {0}, in = {0}, yaml = {0}, begin = {0}, reply = {0};
    task_key(fleet->dispatch, task, key);
    sky_folder(fleet, task, &folder);
    buf_printf(&in, "%s/in", buf_str(&folder));
    TRY(buf_check(&in, err));
    TRY(fs_mkdirs_private(buf_str(&in), err));
    begin_text(fleet, place, task, &begin);
    reply_text(key, &reply);
    TRY(script_write(buf_str(&in), "begin.sh", &begin, err));
    TRY(script_write(buf_str(&in), "reply.sh", &reply, err));
    TRY(sky_yaml(fleet, offer, task, &yaml, err));
    return script_write(buf_str(&folder), "task.yaml", &yaml, err);
}
