// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/modules.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "train/engine/cuda/driver.h"

#define CODE_MAX ((size_t)16 << 20) // bytes of a file of machine code

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

static int capability(const struct modules *m)
{
    return 10 * m->about->major + m->about->minor;
}

// ---- the texts ----

// Each file, with a zero at its end. FARE_PTX is the build's folder; the build also writes the
// list.
#define PTX(name, capability, alone, precision, version)                                           \
    __asm__(".pushsection .rodata\n.balign 16\nptx_" #name ":\n"                                   \
            ".incbin \"" FARE_PTX "/" #name ".ptx\"\nptx_end_" #name ":\n.byte 0\n.popsection\n"); \
    extern const char ptx_##name[] __attribute__((visibility("hidden")));                          \
    extern const char ptx_end_##name[] __attribute__((visibility("hidden")));
#include "ptx_list.h"
#undef PTX

// PRECISION of the kernels' source.
enum { PRECISION_0 = ENGINE_F32, PRECISION_1 = ENGINE_TF32, PRECISION_2 = ENGINE_BF16 };

const struct ptx_text ptx_texts[] = {
#define PTX(name, capability, alone, precision, version)                                           \
    {#name,                                                                                        \
     ptx_##name,                                                                                   \
     ptx_end_##name,                                                                               \
     capability,                                                                                   \
     sizeof alone > 1,                                                                             \
     version,                                                                                      \
     (enum engine_precision)PRECISION_##precision},
#include "ptx_list.h"
#undef PTX
};
const int ptx_text_count = sizeof ptx_texts / sizeof *ptx_texts;
_Static_assert(sizeof ptx_texts / sizeof *ptx_texts <= PTX_TEXTS_MAX, "PTX_TEXTS_MAX is too small");

// The CUDA that brought a PTX version, by the release notes in the PTX manual.
static int driver_for(int version)
{
    static const int brought[][2] = {{63, 10000}, {70, 11000}, {78, 11080}, {80, 12000}};
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
        if (version <= brought[i][0])
            return brought[i][1];
    return 13000;
}

bool ptx_fits(const struct ptx_text *text, int capability, int driver,
              enum engine_precision precision)
{
    bool takes = text->alone ? capability == text->capability : capability >= text->capability;
    return takes && driver >= driver_for(text->version) && precision == text->precision;
}

static bool text_fits_gpu(const struct modules *m, const struct ptx_text *text,
                          enum engine_precision precision)
{
    return ptx_fits(text, capability(m), m->about->driver, precision);
}

bool modules_have(const struct modules *m, enum engine_precision precision)
{
    for (int i = 0; i < ptx_text_count; i++)
        if (text_fits_gpu(m, &ptx_texts[i], precision))
            return true;
    return false;
}

// ---- the kernels of a text ----

static const char entry[] = "\n.visible .entry ";

int modules_index(const struct ptx_text *text, struct ptx_kernels *out, struct err *err)
{
    for (const char *at = strstr(text->text, entry); at;) {
        const char *next = strstr(at + 1, entry), *name = at + sizeof entry - 1;
        int rc = array_grow(&out->items, out->count, &out->cap, sizeof *out->items, err);
        if (rc != 0) {
            out->count = 0;
            return rc;
        }
        out->items[out->count++] = (struct ptx_kernel){.name = name,
                                                       .name_bytes = strcspn(name, "("),
                                                       .at = at,
                                                       .end = next ? next : text->end};
        at = next;
    }
    return 0;
}

int modules_cut(const struct ptx_text *text, const struct ptx_kernels *all,
                const struct ptx_kernel *kernel, struct buf *out, struct err *err)
{
    buf_add(out, text->text, (size_t)(all->items[0].at - text->text));
    buf_add(out, kernel->at, (size_t)(kernel->end - kernel->at));
    return buf_check(out, err);
}

static struct ptx_kernel *find_kernel(const struct ptx_kernels *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        struct ptx_kernel *k = &all->items[i];
        if (strlen(name) == k->name_bytes && memcmp(k->name, name, k->name_bytes) == 0)
            return k;
    }
    return NULL;
}

// ---- compiled by libcuda ----

static int compile_kernel(struct modules *m, const struct ptx_text *text,
                          const struct ptx_kernels *all, struct ptx_kernel *kernel,
                          const char *name, struct err *err)
{
    struct buf cut = {0};
    char log[2048] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log}, *module = NULL;
    int rc = modules_cut(text, all, kernel, &cut, err);
    int code = rc == 0 ? m->api->cuModuleLoadDataEx(&module, cut.data, 2, options, values) : 0;
    buf_release(&cut);
    if (code == CUDA_UNSUPPORTED_PTX)
        return cuda_too_old(m->about, " and does not take fare's kernels", err);
    if (code != 0) {
        rc = cuda_check(m->api, code, "cuModuleLoadDataEx", err);
        err_hint(err, "its compiler reports: %s", log);
    }
    if (rc != 0)
        return rc;
    code = m->api->cuModuleGetFunction(&kernel->function, module, name);
    return cuda_check(m->api, code, "cuModuleGetFunction", err);
}

// ---- machine code ----

// ERR_MISSING: there is no folder of it.
static int pack_folder(struct buf *out, struct err *err)
{
    const char *named = getenv("FARE_KERNELS");
    if (named && strcmp(named, "off") == 0)
        return ERR_MISSING;
    if (named && *named) {
        buf_adds(out, named);
    } else {
        TRY(fs_program_dir(out, err));
        buf_adds(out, "/kernels");
    }
    TRY(buf_check(out, err));
    return access(out->data, R_OK) == 0 ? 0 : ERR_MISSING;
}

// Code for a capability also runs on later ones of the same generation; the latest is the best.
static int find_pack(const struct modules *m, const struct ptx_text *text, struct buf *path,
                     struct err *err)
{
    char hash[SHA256_HEX_BYTES];
    TRY(pack_folder(path, err));
    sha256_hex_of(text->text, (size_t)(text->end - text->text), hash);
    size_t folder = path->len;
    for (int arch = m->real; arch >= m->real / 10 * 10; arch--) {
        path->len = folder;
        buf_printf(path, "/%s-%.16s.sm_%d%s.cubin", text->name, hash, arch, text->alone ? "a" : "");
        TRY(buf_check(path, err));
        if (fs_is_file(path->data))
            return 0;
    }
    return ERR_MISSING;
}

// Leaves the module null if there is no machine code that libcuda takes. Fails only for lack of
// memory.
static int load_pack(const struct modules *m, const struct ptx_text *text, void **module,
                     struct err *err)
{
    struct buf path = {0}, code = {0};
    struct err why = {0};
    int rc = find_pack(m, text, &path, &why);
    if (rc == 0)
        rc = fs_read(path.data, CODE_MAX, &code, &why);
    if (rc == 0 && m->api->cuModuleLoadDataEx(module, code.data, 0, NULL, NULL) != 0)
        *module = NULL;
    buf_release(&path);
    buf_release(&code);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// ---- both ----

static int load_kernel(struct modules *m, const struct ptx_text *text, struct loaded *loaded,
                       struct ptx_kernel *kernel, const char *name, struct err *err)
{
    if (!loaded->tried)
        TRY(load_pack(m, text, &loaded->packed, err));
    loaded->tried = true;
    if (loaded->packed &&
        m->api->cuModuleGetFunction(&kernel->function, loaded->packed, name) == 0) {
        m->from_pack++;
        return 0;
    }
    kernel->function = NULL;
    return compile_kernel(m, text, &loaded->kernels, kernel, name, err);
}

int modules_find(struct modules *m, enum engine_precision precision, const char *name,
                 void **function, struct err *err)
{
    for (int i = 0; i < ptx_text_count; i++) {
        const struct ptx_text *text = &ptx_texts[i];
        struct loaded *loaded = &m->texts[i];
        if (!text_fits_gpu(m, text, precision))
            continue;
        if (loaded->kernels.count == 0)
            TRY(modules_index(text, &loaded->kernels, err));
        struct ptx_kernel *kernel = find_kernel(&loaded->kernels, name);
        if (!kernel)
            continue;
        if (!kernel->function)
            TRY(load_kernel(m, text, loaded, kernel, name, err));
        *function = kernel->function;
        return 0;
    }
    return err_set(err, ERR_FAIL, "fare has no such kernel for %s, compute capability %d.%d",
                   m->about->name, m->about->major, m->about->minor);
}
