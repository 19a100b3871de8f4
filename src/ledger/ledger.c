// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "ledger/inside.h"
#include "ledger/row.h"
#include "ledger/spend.h"
#include "record/mask.h"

enum { RECORD_MAX = 64 << 20 };

int ledger_new(struct ledger **out, const char *where, struct err *err)
{
    *out = NULL;
    struct ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger)
        return err_memory(err);
    int rc = place_find(&ledger->place, where, err);
    if (rc != 0) {
        free(ledger);
        return rc;
    }
    *out = ledger;
    return 0;
}

void ledger_disconnect(struct ledger *ledger)
{
    file_release(&ledger->file);
    if (ledger->db)
        ledger->place.backend->close(ledger->db);
    ledger->db = NULL;
    ledger->in_memory = false;
}

// The file that was the ledger gets what is in its log: it may have been moved, and the log stays
// behind. An empty log does no harm to a file that is put into its place later.
static void leave_file(struct ledger *ledger)
{
    struct err ignored = {0};
    if (ledger->file.log != 0 &&
        ledger_sql(ledger, "PRAGMA wal_checkpoint(TRUNCATE)", &ignored) != 0) {
        // Who else has it open may do that.
    }
    file_clear(ledger->place.where, false);
    ledger_disconnect(ledger);
}

// Whether `db` is open, and is still the ledger of that name.
static bool is_connected(struct ledger *ledger)
{
    if (ledger->db && file_replaced(&ledger->file, ledger->place.where))
        leave_file(ledger);
    return ledger->db && !ledger->in_memory;
}

// After a commit: it counts only if the file is still the ledger.
static int check_file(const struct ledger *ledger, struct err *err)
{
    if (!file_replaced(&ledger->file, ledger->place.where))
        return 0;
    return err_set(err, ERR_IO, "the ledger '%s' was removed or replaced while it was written to",
                   ledger->place.name);
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    ledger_disconnect(ledger);
    place_release(&ledger->place);
    free(ledger);
}

const char *ledger_name(const struct ledger *ledger)
{
    return ledger->place.name;
}

size_t ledger_spooled(const struct ledger *ledger, const char **dir)
{
    struct spool_list list;
    struct err ignored = {0};
    size_t count = 0;
    if (dir)
        *dir = ledger->place.spools[0];
    if (spool_list(&ledger->place, &list, &ignored) == 0)
        count = list.count;
    spool_list_release(&list);
    return count;
}

int ledger_sql(struct ledger *ledger, const char *text, struct err *err)
{
    return ledger_do(ledger, text, NO_VALUES, NULL, err);
}

int ledger_do(struct ledger *ledger, const char *text, const char *const *values, size_t count,
              int64_t *changed, struct err *err)
{
    return ledger->place.backend->run(ledger->db, text, values, count, NULL, NULL, changed, err);
}

int ledger_rows(struct ledger *ledger, const char *text, const char *const *values, size_t count,
                backend_row_fn *row, void *arg, struct err *err)
{
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(ledger->db, text, values, count, row, arg, NULL, err);
}

int ledger_begin(struct ledger *ledger, struct err *err)
{
    return ledger_sql(ledger, ledger->place.backend->begin, err);
}

static void ledger_roll_back(struct ledger *ledger)
{
    struct err ignored = {0};
    if (ledger->db && ledger_sql(ledger, "ROLLBACK", &ignored) != 0)
        return; // the connection was lost, and its transaction with it
}

int ledger_commit(struct ledger *ledger, int rc, struct err *err)
{
    if (rc == 0)
        rc = ledger_sql(ledger, "COMMIT", err);
    if (rc != 0)
        ledger_roll_back(ledger);
    return rc;
}

// ---- writing

int ledger_line(const struct run *run, struct buf *out, struct err *err)
{
    return record_to_line(run_fields, run, out, err);
}

void ledger_date(const char *text, char out[CLOCK_ISO_BYTES])
{
    int64_t date;
    out[0] = '\0';
    if (text && clock_parse(text, &date))
        clock_iso(date, out);
}

static void number(char out[32], bool known, double value, const char **text)
{
    *text = known ? out : NULL;
    if (known)
        snprintf(out, 32, "%.12g", value);
}

static int insert_labels(struct ledger *ledger, const struct run *row, struct err *err)
{
    for (size_t i = 0; i < row->labels.count; i++) {
        const struct run_label *label = &row->labels.items[i];
        if (label->key)
            TRY(ledger_do(ledger,
                          "INSERT INTO fare_label (name, value, run) VALUES ($1, $2, $3) "
                          "ON CONFLICT DO NOTHING",
                          VALUES(label->key, label->value ? label->value : "", row->id), NULL,
                          err));
    }
    return 0;
}

static int insert_head(struct ledger *ledger, const struct run *row, const char *text,
                       struct err *err)
{
    SCOPED(buf_release) struct buf head = {0};
    if (!row_head(row, text, strlen(text), &head))
        return 0;
    TRY(buf_check(&head, err));
    return ledger_do(ledger, SCHEMA_INSERT_HEAD, VALUES(row->id, buf_str(&head)), NULL, err);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

// Within the open transaction. `text` ends in a NUL.
static int insert(struct ledger *ledger, const struct run *row, const char *text, bool *added,
                  struct err *err)
{
    char started[CLOCK_ISO_BYTES], step[32], wall[32];
    double wall_s = 0;
    bool has_wall = row_wall_s(row, &wall_s);
    bool has_steady = row->steady.step_ms.known;
    ledger_date(row->started, started);
    SCOPED(buf_release) struct buf machine = {0};
    buf_printf(&machine, "%s %s %s %s", or_empty(row->machine.name),
               or_empty(row->machine.instance_type), or_empty(row->machine.cpu),
               or_empty(row->machine.fingerprint));
    TRY(buf_check(&machine, err));
    const char *values[] = {row->id,
                            started,
                            or_empty(row->name ? row->name : row->workload),
                            or_empty(row->workload),
                            or_empty(row->framework),
                            or_empty(row->ended),
                            buf_str(&machine),
                            or_empty(row->machine.gpu),
                            NULL,
                            NULL,
                            text};
    number(step, has_steady || row->step_ms.known,
           has_steady ? row->steady.step_ms.v : row->step_ms.v, &values[8]);
    number(wall, has_wall, wall_s, &values[9]);
    int64_t changed = 0;
    TRY(ledger_do(
        ledger,
        "INSERT INTO fare_run (id, started, name, workload, framework, ended, machine, gpu, "
        "step_ms, wall_s, record) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
        "ON CONFLICT DO NOTHING",
        values, sizeof values / sizeof *values, &changed, err));
    *added = changed > 0;
    if (!*added)
        return 0;
    TRY(insert_labels(ledger, row, err));
    TRY(insert_head(ledger, row, text, err));
    return spend_insert(ledger, row, err);
}

static int insert_one(struct ledger *ledger, const struct run *row, const char *text, bool *added,
                      struct err *err)
{
    *added = false;
    TRY(ledger_begin(ledger, err));
    TRY(ledger_commit(ledger, insert(ledger, row, text, added, err), err));
    return check_file(ledger, err);
}

static void say_killed(const struct run *row, struct buf *says)
{
    if (says && row->ended && strcmp(row->ended, "killed") == 0)
        buf_printf(says, "%s was killed while it ran; its record up to then is saved as %s\n",
                   row->name ? row->name : "a run", row->id);
}

static void say_mended(const struct run *row, struct buf *says)
{
    if (says)
        buf_printf(
            says,
            "run %s had figures that cannot be true: 'fare runs %s' shows what was corrected "
            "or left out\n",
            row->id, row->id);
}

// Delivers one file. On failure `*bad` tells whether the file is at fault or the database.
static int deliver_file(struct ledger *ledger, const char *path, bool *bad, struct buf *says,
                        struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, right = {0};
    SCOPED(row_release) struct run row = {0};
    bool added = false;
    *bad = true;
    struct err reading = {0};
    int rc = fs_read(path, RECORD_MAX, &text, &reading);
    if (rc == ERR_MISSING) // another process has delivered it
        return 0;
    if (rc != 0)
        err_pass(err, rc, &reading);
    buf_trim(&text);
    if (rc == 0)
        rc = mend_record(buf_str(&text), text.len, &row, &right, err);
    if (rc == 0) {
        *bad = false;
        rc = insert_one(ledger, &row, buf_str(right.len > 0 ? &right : &text), &added, err);
    }
    if (rc == 0)
        unlink(path);
    if (rc == 0 && added)
        say_killed(&row, says);
    if (rc == 0 && added && right.len > 0)
        say_mended(&row, says);
    return rc;
}

// Delivers the spooled runs. Those that fail stay, with the reason in `says`.
static void deliver(struct ledger *ledger, struct buf *says)
{
    if (ledger->only_look)
        return;
    struct spool_list list;
    struct err err = {0};
    if (ledger->in_memory)
        return;
    spool_adopt(&ledger->place);
    if (spool_list(&ledger->place, &list, &err) != 0) {
        if (says)
            buf_printf(says, "cannot read the spool: %s\n", err.text);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        struct err why = {0};
        bool bad;
        if (deliver_file(ledger, list.paths[i], &bad, says, &why) == 0)
            continue;
        if (says)
            buf_printf(says, "%zu run%s wait%s in '%s': %s\n", bad ? 1 : list.count - i,
                       bad || list.count - i == 1 ? "" : "s", bad || list.count - i == 1 ? "s" : "",
                       list.paths[i], why.text);
        if (!bad)
            break; // the database is at fault: the other files would fail too
    }
    spool_list_release(&list);
}

static int open_in(struct ledger *ledger, const char *where, struct err *err)
{
    const struct ledger_place *place = &ledger->place;
    bool file = place->backend == &backend_sqlite && where == place->where;
    if (file) {
        file_clear(where, false);
        file_note(&ledger->file, where);
    }
    int rc = place->backend->open(where, place->name, &ledger->db, err);
    if (rc == 0)
        rc = schema_migrate(ledger, err);
    if (rc != 0)
        ledger_disconnect(ledger);
    else if (file)
        file_note_log(&ledger->file, where);
    return rc;
}

static int make_folder(const struct ledger_place *place, struct err *err)
{
    SCOPED(buf_release) struct buf folder = {0};
    buf_add(&folder, place->where, (size_t)(strrchr(place->where, '/') - place->where));
    TRY(buf_check(&folder, err));
    return folder.len > 0 ? fs_mkdirs_private(buf_str(&folder), err) : 0;
}

static bool exists(const struct ledger_place *place)
{
    return place->backend != &backend_sqlite || access(place->where, F_OK) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

// Counts the runs that are spooled and those that are still running.
static int count_pending(const struct ledger_place *place, size_t *spooled, size_t *running,
                         struct err *err)
{
    struct spool_list list;
    bool dead;
    spool_adopt(place);
    int rc = spool_list(place, &list, err);
    *spooled = list.count;
    spool_list_release(&list);
    if (rc == 0)
        rc = spool_running(place, &list, &dead, err);
    *running = list.count;
    spool_list_release(&list);
    return rc;
}

int ledger_make(struct ledger *ledger, struct buf *says, struct err *err)
{
    if (is_connected(ledger))
        return 0;
    ledger_disconnect(ledger);
    if (ledger->place.backend == &backend_sqlite) {
        TRY(make_folder(&ledger->place, err));
        file_clear(ledger->place.where, true);
    }
    TRY(open_in(ledger, ledger->place.where, err));
    deliver(ledger, says);
    return 0;
}

void ledger_only_look(struct ledger *ledger)
{
    ledger->only_look = true;
}

int ledger_connect(struct ledger *ledger, struct buf *says, struct err *err)
{
    if (is_connected(ledger))
        return 0;
    bool there = exists(&ledger->place);
    size_t spooled = there, running = 0;
    int rc =
        there || ledger->only_look ? 0 : count_pending(&ledger->place, &spooled, &running, err);
    if (rc != 0)
        return rc;
    if (spooled > 0)
        return ledger_make(ledger, says, err);
    if (ledger->place.named && running == 0) {
        ledger_disconnect(ledger);
        err_set(err, ERR_MISSING, "there is no ledger at '%s'", ledger->place.name);
        return err_hint(err, "the first run measured or imported there creates it");
    }
    rc = ledger->db ? 0 : open_in(ledger, ":memory:", err);
    ledger->in_memory = rc == 0;
    return rc;
}

// The id in a spool file's name.
static void id_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    snprintf(out, size, "%.*s", dot ? (int)(dot - name) : 0, name);
}

int ledger_running(struct ledger *ledger, const char *id, ledger_visit_fn *visit, void *arg,
                   struct err *err)
{
    struct spool_list list;
    bool dead;
    int rc = ledger_connect(ledger, NULL, err);
    if (rc == 0)
        rc = spool_running(&ledger->place, &list, &dead, err);
    if (rc != 0)
        return rc;
    if (dead)
        deliver(ledger, NULL);
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        char own[128];
        SCOPED(buf_release) struct buf text = {0};
        id_of(list.paths[i], own, sizeof own);
        int got = ERR_MISSING;
        if (!id || strcmp(id, own) == 0)
            got = fs_read(list.paths[i], RECORD_MAX, &text, NULL);
        if (got == 0)
            rc = visit(arg, own, buf_str(&text), err);
        else if (got == ERR_MEMORY) // after other errors the run has just ended
            rc = err_memory(err);
    }
    spool_list_release(&list);
    return rc;
}

// Bypasses a spool that failed.
static int record_directly(struct ledger *ledger, const struct run *row, const char *text,
                           const struct err *spool, struct err *err)
{
    struct err why = {0};
    bool added;
    int rc = ledger_make(ledger, NULL, &why);
    if (rc == 0)
        rc = insert_one(ledger, row, text, &added, &why);
    if (rc == 0)
        return 0;
    err_set(err, rc, "the run is not recorded: %s; and %s", why.text, spool->text);
    return err_hint(err, "free some disk space, or name another ledger with --ledger");
}

int ledger_record(struct ledger *ledger, const struct run *run, struct buf *says, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, right = {0};
    struct err spool = {0};
    SCOPED(row_release) struct run row = {0};
    char *path = NULL;
    int rc = ledger_line(run, &text, err);
    if (rc == 0) // checks the id before it becomes a file name
        rc = mend_record(buf_str(&text), text.len, &row, &right, err);
    if (rc != 0)
        goto out;
    const struct buf *stored = right.len > 0 ? &right : &text;
    if (right.len > 0)
        say_mended(&row, says);
    if (spool_put(&ledger->place, row.id, buf_str(stored), stored->len, &path, &spool) != 0) {
        rc = record_directly(ledger, &row, buf_str(stored), &spool, err);
        goto out;
    }
    if (is_connected(ledger)) {
        deliver(ledger, says);
    } else {
        struct err why = {0};
        if (ledger_make(ledger, says, &why) != 0 && says)
            buf_printf(says, "the run is saved in '%s' until the ledger can be reached: %s%s%s\n",
                       path, why.text, why.hint[0] ? "; " : "", why.hint);
    }
out:
    free(path);
    return rc;
}

int ledger_import_begin(struct ledger *ledger, struct err *err)
{
    TRY(ledger_make(ledger, NULL, err));
    if (ledger->place.backend->bulk_begin)
        TRY(ledger_sql(ledger, ledger->place.backend->bulk_begin, err));
    return ledger_begin(ledger, err);
}

// If it fails it costs only memory.
static void bulk_end(struct ledger *ledger)
{
    const char *sql = ledger->place.backend->bulk_end;
    struct err ignored = {0};
    if (sql && ledger->db && ledger_sql(ledger, sql, &ignored) != 0)
        return;
}

int ledger_check(const char *text, size_t len, struct err *err)
{
    SCOPED(row_release) struct run row = {0};
    return row_judge(text, len, &row, err);
}

int ledger_import_add(struct ledger *ledger, const char *text, size_t len, bool *added,
                      struct err *err)
{
    SCOPED(row_release) struct run row = {0};
    SCOPED(buf_release) struct buf masked = {0};
    *added = false;
    TRY(memchr(text, '\0', len) ? 0 : mask_json(NULL, text, &masked, err));
    if (masked.len > 0) {
        text = buf_str(&masked);
        len = masked.len;
    }
    TRY(row_judge(text, len, &row, err));
    return insert(ledger, &row, text, added, err);
}

int ledger_import_end(struct ledger *ledger, struct err *err)
{
    int rc = ledger_commit(ledger, 0, err);
    bulk_end(ledger);
    return rc == 0 ? check_file(ledger, err) : rc;
}

void ledger_import_abandon(struct ledger *ledger)
{
    ledger_roll_back(ledger);
    bulk_end(ledger);
}

// ---- where ledgers and spools lie

static bool is_url(const char *where)
{
    return strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
}

void place_public(const char *url, struct buf *out)
{
    const char *host = strstr(url, "//") + 2;
    size_t authority = strcspn(host, "/?#");
    const char *query = strchr(host + authority, '?');
    const char *at = NULL; // the last one, so that no part of a password with '@' is shown
    for (const char *p = host; p < host + authority; p++)
        if (*p == '@')
            at = p;
    if (!at && strchr(host, '@')) { // an '@' after a slash: hide everything
        buf_add(out, url, (size_t)(host - url));
        buf_adds(out, "...");
        return;
    }
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    const char *rest = at ? at : host;
    buf_add(out, url, (size_t)(colon ? colon - url : rest - url));
    bool secret = query && strstr(query, "pass");
    buf_add(out, rest, secret ? (size_t)(query - rest) : strlen(rest));
}

static int data_folder(struct buf *out, struct err *err)
{
    int rc = folder_data(out, err);
    if (rc == ERR_MISSING) {
        err_context(err, "nowhere to put the ledger");
        return err_hint(err, "set one of them, or name a file with --ledger");
    }
    return rc;
}

// An absolute path, so that one file is one ledger from every working directory.
static int absolute(const char *path, struct buf *out, struct err *err)
{
    char here[PATH_MAX];
    if (path[0] != '/') {
        if (!getcwd(here, sizeof here))
            return err_set(err, ERR_MISSING, "cannot find the current folder");
        buf_printf(out, "%s/", here);
    }
    buf_adds(out, path);
    return buf_check(out, err);
}

static int set_spools(struct ledger_place *place, const char *folder, struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    sha256_hex_of(place->name, strlen(place->name), sum);
    const char *temporary = getenv("TMPDIR");
    struct buf path = {0};
    buf_printf(&path, "%s/spool/%.12s", folder, sum);
    place->spools[0] = buf_take(&path, err);
    buf_printf(&path, "%s/fare-spool-%ld/%.12s",
               temporary && temporary[0] == '/' ? temporary : "/tmp", (long)geteuid(), sum);
    place->spools[1] = buf_take(&path, err);
    return place->spools[0] && place->spools[1] ? 0 : ERR_MEMORY;
}

int place_find(struct ledger_place *place, const char *where, struct err *err)
{
    memset(place, 0, sizeof *place);
    SCOPED(buf_release) struct buf folder = {0}, path = {0};
    place->named = where && *where;
    if (!place->named)
        where = getenv("FARE_LEDGER");
    bool given = where && *where;
    int rc = 0;
    if (given && is_url(where)) {
        place->backend = &backend_postgres;
        place->where = text_copy(where, err);
        place_public(where, &path);
    } else if (given && strstr(where, "://")) {
        rc = err_set(err, ERR_USAGE, "a ledger is a file or a postgresql:// URL");
    } else {
        place->backend = &backend_sqlite;
        rc = given ? absolute(where, &path, err) : data_folder(&path, err);
        if (rc == 0 && !given)
            buf_adds(&path, "/ledger.db");
        if (rc == 0)
            place->where = text_copy(buf_str(&path), err);
    }
    if (rc == 0)
        rc = place->where ? buf_check(&path, err) : ERR_MEMORY;
    if (rc == 0) {
        place->name = buf_take(&path, err);
        rc = place->name ? data_folder(&folder, NULL) : ERR_MEMORY;
        if (rc == ERR_MEMORY)
            err_memory(err);
        else // without a home folder only the last spool works: below a file nobody makes folders
            rc = set_spools(place, rc == 0 ? buf_str(&folder) : "/dev/null", err);
    }
    if (rc != 0)
        place_release(place);
    return rc;
}

void place_release(struct ledger_place *place)
{
    free(place->where);
    free(place->name);
    for (int i = 0; i < PLACE_SPOOLS; i++)
        free(place->spools[i]);
    memset(place, 0, sizeof *place);
}

// ==== the spool ====

// Anyone can create a folder in /tmp, so check that this one is ours alone.
static int own_folder(const char *dir, struct err *err)
{
    struct buf above = {0};
    const char *slash = strrchr(dir, '/');
    buf_add(&above, dir, (size_t)(slash - dir));
    int rc = buf_check(&above, err);
    struct stat st;
    if (rc == 0 && mkdir(buf_str(&above), 0700) != 0 && errno != EEXIST)
        rc = err_errno(err, errno, "cannot create the folder '%s'", buf_str(&above));
    if (rc == 0 && (lstat(buf_str(&above), &st) != 0 || !S_ISDIR(st.st_mode) ||
                    st.st_uid != geteuid() || (st.st_mode & 022) != 0))
        rc = err_set(err, ERR_IO, "'%s' is not a folder that belongs to this user alone",
                     buf_str(&above));
    if (rc == 0 && mkdir(dir, 0700) != 0 && errno != EEXIST)
        rc = err_errno(err, errno, "cannot create the folder '%s'", dir);
    buf_release(&above);
    return rc;
}

int spool_folder(const struct ledger_place *place, int i, struct err *err)
{
    return i > 0 ? own_folder(place->spools[i], err) : fs_mkdirs_private(place->spools[i], err);
}

static int put_in(const struct ledger_place *place, int i, const char *id, const char *text,
                  size_t len, char **path, struct err *err)
{
    int rc = spool_folder(place, i, err);
    if (rc != 0)
        return rc;
    struct buf name = {0};
    buf_printf(&name, "%s/%s.json", place->spools[i], id);
    *path = buf_take(&name, err);
    if (!*path)
        return ERR_MEMORY;
    rc = fs_write_private(*path, text, len, err);
    if (rc != 0) {
        free(*path);
        *path = NULL;
    }
    return rc;
}

int spool_put(const struct ledger_place *place, const char *id, const char *text, size_t len,
              char **path, struct err *err)
{
    struct err first = {0};
    *path = NULL;
    for (int i = 0; i < PLACE_SPOOLS; i++) {
        struct err why = {0};
        int rc = put_in(place, i, id, text, len, path, &why);
        if (rc == 0)
            return 0;
        if (i == 0)
            first = why;
    }
    return err_pass(err, first.code, &first);
}

static int add_path(struct spool_list *list, const char *dir, const char *name, struct err *err)
{
    char **paths = realloc(list->paths, (list->count + 1) * sizeof *paths);
    if (!paths)
        return err_memory(err);
    list->paths = paths;
    struct buf path = {0};
    buf_printf(&path, "%s/%s", dir, name);
    paths[list->count] = buf_take(&path, err);
    if (!paths[list->count])
        return ERR_MEMORY;
    list->count++;
    return 0;
}

static bool is_ours(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The files with this extension. Names with a leading dot are incomplete files.
static int list_files(const struct ledger_place *place, const char *end, struct spool_list *list,
                      struct err *err)
{
    memset(list, 0, sizeof *list);
    int rc = 0;
    for (int i = 0; i < PLACE_SPOOLS && rc == 0; i++) {
        if (i > 0 && !is_ours(place->spools[i]))
            continue;
        DIR *dir = opendir(place->spools[i]);
        if (!dir)
            continue;
        for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
            const char *dot = strrchr(entry->d_name, '.');
            if (dot && dot > entry->d_name && entry->d_name[0] != '.' && strcmp(dot, end) == 0)
                rc = add_path(list, place->spools[i], entry->d_name, err);
        }
        closedir(dir);
    }
    if (rc == 0 && list->count > 0)
        qsort(list->paths, list->count, sizeof *list->paths, by_text);
    if (rc != 0)
        spool_list_release(list);
    return rc;
}

int spool_list(const struct ledger_place *place, struct spool_list *list, struct err *err)
{
    return list_files(place, ".json", list, err);
}

// The path of ID.lock or ID.part with another extension; both have five characters.
static char *sibling(const char *path, const char *extension, struct err *err)
{
    struct buf out = {0};
    buf_add(&out, path, strlen(path) - strlen(".lock"));
    buf_adds(&out, extension);
    return buf_take(&out, err);
}

// Adopts one run if nobody holds its lock. A run recorded before its process was killed keeps that
// record: its .json still exists or was delivered, and an id is delivered once.
static void adopt(const char *lock)
{
    char *part = sibling(lock, ".part", NULL), *whole = sibling(lock, ".json", NULL),
         *half = sibling(lock, ".tmp", NULL);
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && part && whole && half && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (access(whole, F_OK) == 0 || rename(part, whole) == 0 || errno == ENOENT) {
            unlink(half);
            unlink(part);
            unlink(lock);
        }
    }
    if (fd >= 0)
        close(fd);
    free(part);
    free(whole);
    free(half);
}

void spool_adopt(const struct ledger_place *place)
{
    struct spool_list list;
    if (list_files(place, ".lock", &list, NULL) != 0)
        return; // the next start tries again
    for (size_t i = 0; i < list.count; i++)
        adopt(list.paths[i]);
    spool_list_release(&list);
}

// The writer of a journal holds its lock. Test it only if the journal exists: the test itself
// locks for a moment and could make a starting run fail.
static int is_locked(const char *part, bool *held, struct err *err)
{
    char *lock = sibling(part, ".lock", err);
    if (!lock)
        return ERR_MEMORY;
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    free(lock);
    return 0;
}

int spool_running(const struct ledger_place *place, struct spool_list *list, bool *dead,
                  struct err *err)
{
    size_t running = 0;
    int rc = list_files(place, ".part", list, err);
    *dead = false;
    for (size_t i = 0; i < list->count; i++) {
        bool held = false;
        if (rc == 0)
            rc = is_locked(list->paths[i], &held, err);
        *dead |= !held;
        if (held)
            list->paths[running++] = list->paths[i];
        else
            free(list->paths[i]);
    }
    list->count = running;
    if (rc != 0)
        spool_list_release(list);
    return rc;
}

void spool_list_release(struct spool_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    memset(list, 0, sizeof *list);
}
