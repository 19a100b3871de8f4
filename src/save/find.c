// SPDX-License-Identifier: Apache-2.0
#include "save/find.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"

// A folder with all that is below it, up to WHOLE_FILES files.
#define WHOLE_FILES 20000

#define HEADER_MAX ((int64_t)100 << 20) // of safetensors, by its specification
#define END_MAX    (22 + 65535)         // of a zip file's last record, with its comment
#define INDEX_MAX  ((size_t)64 << 20)
#define DEPTH_MAX  8

// ---- Whether a file is whole

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool read_at(int fd, void *out, size_t len, int64_t at)
{
    return at >= 0 && pread(fd, out, len, at) == (ssize_t)len;
}

// The record for files over 4 GiB lies before the last one; a locator of 20 bytes between them
// says where.
static bool zip64_fits(int fd, int64_t end)
{
    unsigned char locator[20], record[56];
    if (!read_at(fd, locator, sizeof locator, end - 20) || memcmp(locator, "PK\6\7", 4) != 0)
        return false;
    int64_t at = (int64_t)little(locator + 8, 8);
    if (!read_at(fd, record, sizeof record, at) || memcmp(record, "PK\6\6", 4) != 0)
        return false;
    return little(record + 40, 8) + little(record + 48, 8) == (uint64_t)at;
}

static bool zip_fits(int fd, int64_t end, const unsigned char *record)
{
    uint64_t size = little(record + 12, 4), start = little(record + 16, 4);
    if (size == UINT32_MAX || start == UINT32_MAX || little(record + 10, 2) == UINT16_MAX)
        return zip64_fits(fd, end);
    // With a record for large files beside it, the directory ends before that one.
    return (int64_t)(start + size) == end || zip64_fits(fd, end);
}

static enum whole whole_zip(int fd, int64_t size)
{
    int64_t len = size < END_MAX ? size : END_MAX;
    SCOPED(free_pointer) unsigned char *tail = malloc((size_t)len);
    if (!tail || !read_at(fd, tail, (size_t)len, size - len))
        return WHOLE_NO;
    for (int64_t i = len - 22; i >= 0; i--)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 &&
            i + 22 + (int64_t)little(tail + i + 20, 2) == len &&
            zip_fits(fd, size - len + i, tail + i))
            return WHOLE_YES;
    return WHOLE_NO;
}

// The header names where each tensor ends.
static int64_t last_offset(const char *header, size_t len)
{
    json_auto_t *json = json_loadb(header, len, 0, NULL);
    json_t *tensor;
    const char *name;
    int64_t last = json_is_object(json) ? 0 : -1;
    json_object_foreach(json, name, tensor)
    {
        json_int_t end =
            json_integer_value(json_array_get(json_object_get(tensor, "data_offsets"), 1));
        last = last >= 0 && end > last ? end : last;
    }
    return last;
}

static enum whole whole_safetensors(int fd, int64_t size, int64_t header)
{
    SCOPED(free_pointer) char *text = header <= size - 8 ? malloc((size_t)header) : NULL;
    int64_t last =
        text && read_at(fd, text, (size_t)header, 8) ? last_offset(text, (size_t)header) : -1;
    return last >= 0 && 8 + header + last == size ? WHOLE_YES : WHOLE_NO;
}

// The library writes the length when it flushes; more may follow until it closes the file.
static enum whole whole_hdf5(int fd, int64_t size)
{
    unsigned char block[52];
    if (!read_at(fd, block, sizeof block, 0))
        return WHOLE_NO;
    int version = block[8], at = version == 0 ? 40 : version == 1 ? 44 : 28;
    bool wide = (version < 2 ? block[13] : block[9]) == 8; // bytes of an address
    if (version > 3 || !wide)
        return WHOLE_UNKNOWN;
    return little(block + at, 8) == (uint64_t)size ? WHOLE_LIKELY : WHOLE_NO;
}

static enum whole whole_open(int fd)
{
    struct stat st;
    unsigned char head[9];
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return WHOLE_NO;
    if (!read_at(fd, head, sizeof head, 0))
        return st.st_size == 0 ? WHOLE_NO : WHOLE_UNKNOWN; // a program has just made it
    if (memcmp(head, "PK\3\4", 4) == 0)
        return whole_zip(fd, st.st_size);
    if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
        return whole_hdf5(fd, st.st_size);
    int64_t header = (int64_t)little(head, 8);
    if (head[8] == '{' && header > 1 && header <= HEADER_MAX)
        return whole_safetensors(fd, st.st_size, header);
    return WHOLE_UNKNOWN;
}

// The kernel grants a read lease only while nobody has the file open for writing. Some file systems
// know no leases, and then nothing is known.
static enum whole without_writer(int fd)
{
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return WHOLE_LIKELY;
    }
    return errno == EAGAIN ? WHOLE_NO : WHOLE_UNKNOWN;
}

enum whole whole_file(const char *path)
{
    SCOPED(fs_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum whole result = fd < 0 ? WHOLE_NO : whole_open(fd);
    return result == WHOLE_UNKNOWN || result == WHOLE_LIKELY ? without_writer(fd) : result;
}

// ---- Whether a folder is whole

struct folder_seen {
    int files;
    bool broken;  // one is known to be incomplete
    bool unknown; // one is of no known format and has the size of tensors
    bool state;   // trainer_state.json
    bool metadata;
    bool latest; // DeepSpeed's
    bool weights;
};

bool whole_is_temporary(const char *name)
{
    static const char *const ends[] = {".tmp",  ".temp",    ".part",     ".partial", ".incomplete",
                                       ".lock", ".writing", ".inflight", "~"};
    bool found = strncmp(name, ".fare-tmp-", 10) == 0 || strncmp(name, "tmp-", 4) == 0 ||
                 strncmp(name, "tmp_", 4) == 0 || strncmp(name, ".tmp", 4) == 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        found |= name[0] && text_ends(name + 1, ends[i]);
    return found;
}

// Every file that an index of shards names is there.
static bool shards_are_there(const char *folder, const char *index)
{
    SCOPED(buf_release) struct buf text = {0}, path = {0};
    buf_printf(&path, "%s/%s", folder, index);
    json_auto_t *json = NULL;
    json_t *shard;
    const char *name;
    if (fs_read(buf_str(&path), INDEX_MAX, &text, NULL) == 0)
        json = json_loadb(buf_str(&text), text.len, 0, NULL);
    const json_t *map = json_object_get(json, "weight_map");
    bool good = json_is_object(map);
    const char *last = "";
    json_object_foreach((json_t *)(uintptr_t)map, name, shard)
    {
        const char *file = json_string_value(shard);
        if (!good || !file || strcmp(file, last) == 0)
            continue;
        buf_reset(&path);
        buf_printf(&path, "%s/%s", folder, file);
        good = access(buf_str(&path), R_OK) == 0;
        last = file;
    }
    return good;
}

static void look_at_file(struct folder_seen *f, const char *folder, const char *name,
                         const char *path)
{
    f->state |= strcmp(name, "trainer_state.json") == 0;
    f->metadata |= strcmp(name, ".metadata") == 0;
    f->latest |= strcmp(name, "latest") == 0;
    if (text_ends(name, ".index.json"))
        f->broken |= !shards_are_there(folder, name);
    bool text = text_ends(name, ".json") || text_ends(name, ".txt") || text_ends(name, ".md") ||
                text_ends(name, ".yaml") || text_ends(name, ".model");
    enum whole one = whole_file(path);
    struct stat st;
    bool empty = stat(path, &st) == 0 && st.st_size == 0;
    if (one == WHOLE_NO && !(text && empty))
        f->broken |= !empty || text_ends(name, ".bin") || text_ends(name, ".pt") ||
                     text_ends(name, ".safetensors") || text_ends(name, ".pth");
    f->unknown |= one != WHOLE_YES && !text;
    f->weights |= one == WHOLE_YES;
}

static void walk(struct folder_seen *f, const char *path, int depth)
{
    SCOPED(fs_close_folder) DIR *dir = opendir(path);
    f->broken |= !dir || depth > DEPTH_MAX;
    for (const char *name; !f->broken && (name = fs_next(dir));) {
        SCOPED(buf_release) struct buf below = {0};
        struct stat st;
        buf_printf(&below, "%s/%s", path, name);
        if (whole_is_temporary(name) || lstat(buf_str(&below), &st) != 0 ||
            ++f->files > WHOLE_FILES)
            f->broken = true;
        else if (S_ISDIR(st.st_mode))
            walk(f, buf_str(&below), depth + 1);
        else if (S_ISREG(st.st_mode))
            look_at_file(f, path, name, buf_str(&below));
        f->broken |= below.failed;
    }
}

enum whole whole_folder(const char *path)
{
    struct folder_seen f = {0};
    walk(&f, path, 0);
    if (f.broken || f.files == 0)
        return WHOLE_NO;
    if (f.metadata)
        return WHOLE_YES; // torch.distributed.checkpoint renames it into place last
    // The Trainer of some versions writes the state of random numbers after its own; Lightning may
    // write after DeepSpeed.
    return (f.state || f.latest) && f.weights ? WHOLE_LIKELY : WHOLE_UNKNOWN;
}

// ---- Watching the folder

#define FIND_DEPTH_MAX 5     // folders between the given one and an item
#define ENTRIES_MAX    20000 // looked at in one look

struct find_known {
    char *path;
    bool folder;
    bool seen; // in this look
    bool told; // by the program
    int64_t step, bytes, newest_ns, entries;
    bool shrinks;                   // its last change of number was to fewer files
    uint64_t state, checked, taken; // of its files: now, when it was checked, when it was taken
    int64_t first_ns, changed_ns; // by clock_now_ns(): its first change since it was complete, the
                                  // last one
    bool settled;                 // it was complete
    enum whole whole;
    bool tracked;          // a file beside it says which one is complete
    struct beside *beside; // (optional) that file, where it says that this one is
};

struct finder {
    char *path, *real; // as given, and without links (optional)
    bool first;        // what is there now is old
    int entries;
    struct find_known *items;
    size_t count, cap;
    int64_t taken_ns; // the newest change of what was taken: older items do not count
};

// ---- names

static const char *const ends[] = {".pt",    ".pth",  ".ckpt", ".safetensors", ".bin",   ".keras",
                                   ".h5",    ".hdf5", ".npz",  ".npy",         ".pkl",   ".pickle",
                                   ".model", ".tar",  ".zip",  ".msgpack",     ".joblib"};
static const char *const words[] = {"checkpoint", "ckpt", "step",      "global_step", "epoch",
                                    "iter",       "save", "iteration", "snapshot",    "state"};

static bool has_ending(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (len > end && strcasecmp(name + len - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static bool is_file_name(const char *name)
{
    if (has_ending(name))
        return true;
    // Without an ending: "ckpt-500", "checkpoint".
    for (size_t i = 0; !strchr(name, '.') && i < sizeof words / sizeof *words; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

// "checkpoint-500", "global_step1000", "epoch=3", "last.ckpt".
static bool is_folder_name(const char *name)
{
    if (has_ending(name))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (strncasecmp(name, words[i], len) != 0)
            continue;
        const char *rest = name + len;
        rest += *rest == '-' || *rest == '_' || *rest == '=' || *rest == '.';
        if (isdigit((unsigned char)*rest))
            return true;
    }
    return false;
}

bool find_is_name(const char *name)
{
    return is_file_name(name) || is_folder_name(name);
}

int64_t find_step(const char *name)
{
    const char *at = NULL;
    for (const char *s = name; (s = strcasestr(s, "step")) != NULL; s += 4)
        if (isdigit((unsigned char)s[4 + (s[4] == '=' || s[4] == '-' || s[4] == '_')]))
            at = s + 4 + !isdigit((unsigned char)s[4]);
    for (const char *s = name; !at && *s; s++) // else its last number
        if (isdigit((unsigned char)*s)) {
            const char *end = s + strspn(s, "0123456789");
            if (!strpbrk(end, "0123456789"))
                at = s;
            s = end - 1;
        }
    if (!at || strspn(at, "0123456789") > 18)
        return -1;
    return strtoll(at, NULL, 10);
}

// ---- one look

static uint64_t mix(uint64_t state, uint64_t value)
{
    state ^= value + 0x9e3779b97f4a7c15u + (state << 6) + (state >> 2);
    return state * 0xff51afd7ed558ccdu;
}

static int64_t time_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
}

static void add_state(struct find_known *k, const struct stat *st, const char *name)
{
    for (const char *c = name; *c; c++)
        k->state = mix(k->state, (unsigned char)*c);
    k->state = mix(k->state, (uint64_t)st->st_size);
    k->state = mix(k->state, (uint64_t)time_of(st));
    k->state = mix(k->state, st->st_ino);
    k->bytes += S_ISREG(st->st_mode) ? st->st_size : 0;
    k->entries++;
    if (S_ISREG(st->st_mode) && time_of(st) > k->newest_ns)
        k->newest_ns = time_of(st);
}

static void add_tree(struct finder *f, struct find_known *k, const char *path, int depth)
{
    SCOPED(fs_close_folder) DIR *dir = depth <= FIND_DEPTH_MAX ? opendir(path) : NULL;
    uint64_t sum = 0; // whatever the order of the entries
    uint64_t outer = k->state;
    for (const char *name; (name = fs_next(dir)) && f->entries < ENTRIES_MAX;) {
        SCOPED(buf_release) struct buf below = {0};
        struct stat st;
        f->entries++;
        k->state = 0;
        buf_printf(&below, "%s/%s", path, name);
        if (!below.failed && lstat(buf_str(&below), &st) == 0) {
            add_state(k, &st, name);
            if (S_ISDIR(st.st_mode))
                add_tree(f, k, buf_str(&below), depth + 1);
        }
        sum += k->state;
    }
    k->state = mix(outer, sum);
}

static struct find_known *known_of(struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->items[i].path, path) == 0)
            return &f->items[i];
    if (array_grow(&f->items, f->count, &f->cap, sizeof *f->items, NULL) != 0)
        return NULL;
    char *copy = text_copy(path, NULL);
    if (!copy)
        return NULL;
    f->items[f->count] = (struct find_known){.path = copy, .step = find_step(fs_name(path))};
    return &f->items[f->count++];
}

// The files of one item as they are now, and the file beside it if that names it.
static void read_item(struct finder *f, const char *path, const struct stat *st,
                      const struct beside *beside, struct find_known *out)
{
    out->folder = S_ISDIR(st->st_mode);
    out->state = 0;
    out->bytes = out->newest_ns = out->entries = 0;
    if (out->folder)
        add_tree(f, out, path, 1);
    else
        add_state(out, st, "");
    if (beside) {
        out->state = mix(out->state, (uint64_t)beside->modified_ns);
        for (const char *c = beside->text; *c; c++)
            out->state = mix(out->state, (unsigned char)*c);
    }
}

static bool keep_beside(struct find_known *k, const struct beside *beside)
{
    if (!beside) {
        free(k->beside);
        k->beside = NULL;
        return true;
    }
    if (!k->beside)
        k->beside = malloc(sizeof *k->beside);
    if (k->beside)
        *k->beside = *beside;
    return k->beside != NULL;
}

// `beside`: of its folder; its name is null where there is none.
static void note_item(struct finder *f, const char *path, const struct stat *st,
                      const struct beside *beside)
{
    struct find_known *k = known_of(f, path);
    bool named = beside->name && strcmp(beside->item, fs_name(path)) == 0;
    if (!k || !keep_beside(k, named ? beside : NULL))
        return; // out of memory: the next look may have some
    uint64_t before = k->state;
    int64_t entries = k->entries;
    k->seen = true;
    read_item(f, path, st, k->beside, k);
    if (k->entries != entries)
        k->shrinks = k->entries < entries;
    k->tracked = beside->name && (k->folder || named);
    if (k->state != before) {
        k->changed_ns = clock_now_ns();
        if (k->settled || k->first_ns == 0 || before == k->taken) // begun, or begun anew
            k->first_ns = k->changed_ns;
        k->settled = false;
    }
    if (f->first)
        k->taken = k->state;
}

// A link to what is found by its own name.
static bool is_second_name(const struct finder *f, const char *path)
{
    struct stat st;
    char target[PATH_MAX];
    size_t len = f->real ? strlen(f->real) : 0;
    return len > 0 && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, target) &&
           strncmp(target, f->real, len) == 0 && (target[len] == '/' || !target[len]);
}

// Shards alone make a folder a checkpoint, whatever its name.
static bool has_shards(struct finder *f, const char *path)
{
    bool found = false;
    SCOPED(fs_close_folder) DIR *dir = opendir(path);
    for (const char *name; !found && (name = fs_next(dir)) && f->entries++ < ENTRIES_MAX;)
        found = beside_is_shard(name);
    return found;
}

static void look_below(struct finder *f, const char *path, int depth);

static void look_at(struct finder *f, const char *path, const struct beside *beside, int depth)
{
    struct stat st;
    const char *name = fs_name(path);
    if (stat(path, &st) != 0 || is_second_name(f, path))
        return;
    if (S_ISREG(st.st_mode) && is_file_name(name) && !(beside->name && !strcmp(name, beside->name)))
        note_item(f, path, &st, beside);
    else if (S_ISDIR(st.st_mode) &&
             (is_folder_name(name) || (beside->name && strcmp(name, beside->item) == 0) ||
              has_shards(f, path)))
        note_item(f, path, &st, beside);
    else if (S_ISDIR(st.st_mode))
        look_below(f, path, depth + 1);
}

static void look_below(struct finder *f, const char *path, int depth)
{
    SCOPED(fs_close_folder) DIR *dir = depth <= FIND_DEPTH_MAX ? opendir(path) : NULL;
    struct beside beside = {0};
    if (dir)
        (void)beside_read(path, &beside);
    for (const char *name; (name = fs_next(dir)) && f->entries++ < ENTRIES_MAX;) {
        SCOPED(buf_release) struct buf below = {0};
        if (name[0] == '.' || whole_is_temporary(name))
            continue;
        buf_printf(&below, "%s/%s", path, name);
        if (!below.failed)
            look_at(f, buf_str(&below), &beside, depth);
    }
}

static void release_item(struct find_known *k)
{
    free(k->path);
    free(k->beside);
}

static void forget_gone(struct finder *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].seen)
            f->items[kept++] = f->items[i];
        else
            release_item(&f->items[i]);
    }
    f->count = kept;
}

static void find_look(struct finder *f)
{
    struct stat st;
    const struct beside none = {0};
    f->entries = 0;
    if (!f->real)
        f->real = realpath(f->path, NULL);
    for (size_t i = 0; i < f->count; i++)
        f->items[i].seen = false;
    if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode))
        look_below(f, f->path, 1);
    else if (stat(f->path, &st) == 0)
        note_item(f, f->path, &st, &none);
    for (size_t i = 0; i < f->count; i++) // told ones may lie elsewhere
        if (!f->items[i].seen && f->items[i].told && stat(f->items[i].path, &st) == 0)
            note_item(f, f->items[i].path, &st, &none);
    forget_gone(f);
}

// ---- which one

// Another one was begun after it.
static bool has_follower(const struct finder *f, const struct find_known *k)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].newest_ns > k->newest_ns && f->items[i].first_ns > k->changed_ns &&
            f->items[i].folder == k->folder)
            return true;
    return false;
}

// What it is by its own files and the one beside it.
static enum whole judge(const struct find_known *k)
{
    enum whole whole = k->folder ? whole_folder(k->path) : whole_file(k->path);
    if (!k->tracked)
        return whole > WHOLE_UNKNOWN && k->folder && beside_is_awaited(fs_name(k->path))
                   ? WHOLE_UNKNOWN
                   : whole;
    bool named = k->beside && k->beside->modified_ns >= k->newest_ns;
    return named && whole != WHOLE_NO ? WHOLE_YES : WHOLE_NO;
}

static bool is_complete(const struct finder *f, struct find_known *k, int64_t quiet_ns,
                        int64_t silent_ns, int64_t until_ns)
{
    int64_t still_ns = (until_ns > 0 ? until_ns : clock_now_ns()) - k->changed_ns;
    if (k->told)
        return true;
    if (k->checked != k->state || k->whole == WHOLE_NO) {
        k->whole = judge(k);
        k->checked = k->state;
    }
    if (k->shrinks && still_ns < quiet_ns)
        return false; // trainers delete older ones, file by file: what is left may look whole
    return k->whole == WHOLE_YES ||
           (k->whole == WHOLE_LIKELY && (still_ns >= quiet_ns || has_follower(f, k))) ||
           (k->whole == WHOLE_UNKNOWN && still_ns >= silent_ns);
}

bool finder_look(struct finder *f, int64_t quiet_ns, int64_t silent_ns, int64_t until_ns,
                 struct find_item *item, bool *writing)
{
    const struct find_known *best = NULL;
    bool busy = false;
    find_look(f);
    for (size_t i = 0; i < f->count; i++) {
        struct find_known *k = &f->items[i];
        if (k->state == k->taken || k->newest_ns < f->taken_ns)
            continue;
        if (!is_complete(f, k, quiet_ns, silent_ns, until_ns)) {
            busy = true;
            continue;
        }
        k->settled = true;
        if (!best || k->newest_ns > best->newest_ns ||
            (k->newest_ns == best->newest_ns && k->step > best->step))
            best = k;
    }
    if (writing)
        *writing = busy;
    if (best)
        *item = (struct find_item){.path = best->path,
                                   .step = best->step,
                                   .bytes = best->bytes,
                                   .began_ns = best->first_ns,
                                   .whole_ns = clock_now_ns(),
                                   .state = best->state,
                                   .beside = best->beside};
    return best != NULL;
}

bool finder_same(struct finder *f, const struct find_item *item)
{
    struct stat st;
    struct find_known now = {0};
    struct beside beside = {0};
    f->entries = 0;
    if (stat(item->path, &st) != 0)
        return false;
    if (item->beside) {
        SCOPED(buf_release) struct buf folder = {0};
        buf_add(&folder, item->path, (size_t)(fs_name(item->path) - item->path));
        bool read = !folder.failed && beside_read(buf_str(&folder), &beside) &&
                    strcmp(beside.item, fs_name(item->path)) == 0;
        if (!read)
            return false;
    }
    read_item(f, item->path, &st, item->beside ? &beside : NULL, &now);
    return now.state == item->state;
}

const char *finder_place(const struct finder *f, const struct find_item *item, struct buf *out)
{
    size_t len = strlen(f->path), end = (size_t)(fs_name(item->path) - item->path);
    if (strncmp(item->path, f->path, len) == 0 && item->path[len] == '/' && end > len + 1)
        buf_add(out, item->path + len + 1, end - len - 2);
    return buf_str(out);
}

void finder_took(struct finder *f, const struct find_item *item)
{
    for (size_t i = 0; i < f->count; i++) {
        struct find_known *k = &f->items[i];
        if (k->path != item->path)
            continue;
        k->taken = item->state;
        k->told = false;
        if (k->newest_ns > f->taken_ns)
            f->taken_ns = k->newest_ns;
    }
}

int finder_told(struct finder *f, const char *path, struct err *err)
{
    struct find_known *k = known_of(f, path);
    if (!k)
        return err_memory(err);
    k->told = true;
    return 0;
}

// ---- together

int finder_open(struct finder **out, const char *path, struct err *err)
{
    struct finder *f = calloc(1, sizeof *f);
    *out = f;
    if (!f)
        return err_memory(err);
    f->path = text_copy(path, err);
    if (!f->path) {
        finder_free(f);
        *out = NULL;
        return ERR_MEMORY;
    }
    for (size_t len = strlen(f->path); len > 1 && f->path[len - 1] == '/'; len--)
        f->path[len - 1] = '\0';
    f->real = realpath(f->path, NULL);
    if (!f->real && access(f->path, F_OK) == 0) {
        finder_free(f);
        *out = NULL;
        return err_memory(err);
    }
    f->first = true;
    find_look(f);
    f->first = false;
    return 0;
}

void finder_free(struct finder *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->count; i++)
        release_item(&f->items[i]);
    free(f->items);
    free(f->path);
    free(f->real);
    free(f);
}
