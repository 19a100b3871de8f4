// SPDX-License-Identifier: Apache-2.0
// Reads a kernel.
#include "reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reader_fail(struct reader *r, const char *format, ...)
{
    va_list args;
    int n =
        snprintf(r->why, r->why_bytes, "line %d of the module, in %s: ", r->line, r->kernel->name);
    va_start(args, format);
    if (n > 0 && (size_t)n < r->why_bytes)
        vsnprintf(r->why + n, r->why_bytes - (size_t)n, format, args);
    va_end(args);
    longjmp(r->failed, 1);
}

void *reader_grown(struct reader *r, void *array, int count, size_t size)
{
    if (count & (count - 1))
        return array;
    void *more = realloc(array, (count ? 2 * (size_t)count : 1) * size);
    if (!more)
        reader_fail(r, "no memory");
    return more;
}
// ---- words ----

void reader_skip(struct reader *r)
{
    for (;; r->p++) {
        if (r->p[0] == '/' && r->p[1] == '/')
            r->p += strcspn(r->p, "\n");
        if (*r->p == '\n')
            r->line++;
        else if (!isspace((unsigned char)*r->p))
            return;
    }
}

bool reader_is_next(struct reader *r, char c)
{
    reader_skip(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

void reader_need(struct reader *r, char c)
{
    if (!reader_is_next(r, c))
        reader_fail(r, "\"%c\" was expected", c);
}

// Up to a blank or one of , ; [ ] { } ( ) + : < >
void reader_word(struct reader *r, char out[NAME])
{
    static const char ends[] = " \t\n,;[]{}()+:<>";
    reader_skip(r);
    size_t n = strcspn(r->p, ends);
    while (n > 0 && r->p[n] == ':' && r->p[n + 1] == ':') // shared::cta
        n += 2 + strcspn(r->p + n + 2, ends);
    if (n == 0 || n >= NAME)
        reader_fail(r, "a name was expected at %.20s", r->p);
    memcpy(out, r->p, n);
    out[n] = 0;
    r->p += n;
}

static bool is_number(const char *text)
{
    return isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]));
}

static uint64_t number(struct reader *r, const char *text)
{
    char *end;
    bool raw = text[0] == '0' && (text[1] == 'f' || text[1] == 'd');
    uint64_t value = raw              ? strtoull(text + 2, &end, 16)
                     : text[0] == '-' ? (uint64_t)strtoll(text, &end, 0)
                                      : strtoull(text, &end, 0);
    if (*end)
        reader_fail(r, "not a number: %s", text);
    return value;
}

uint32_t reader_count(struct reader *r)
{
    char text[NAME];
    reader_word(r, text);
    return (uint32_t)number(r, text);
}

// ---- registers ----

static uint32_t new_rows(struct reader *r, int words, uint32_t count)
{
    uint32_t first = r->kernel->words;
    // Predicates too begin where a row may.
    r->kernel->words +=
        words ? (uint32_t)words * LANES * count : (count + LANES - 1) / LANES * LANES;
    return first;
}

static uint32_t constant(struct reader *r, uint64_t value, int words)
{
    struct ptx_kernel *k = r->kernel;
    if (words < 2)
        value = (uint32_t)value;
    for (int i = 0; i < k->constant_count; i++)
        if (k->constants[i].value == value && k->constants[i].words == words)
            return k->constants[i].row;
    struct constant *c = &ADD(k->constants, k->constant_count);
    *c = (struct constant){new_rows(r, words, 1), words, value};
    return c->row;
}

static const char *const specials[SPECIALS] = {
    [TID_X] = "%tid.x",     [CTAID_X] = "%ctaid.x",      [CTAID_Y] = "%ctaid.y",
    [CTAID_Z] = "%ctaid.z", [NCTAID_X] = "%nctaid.x",    [NCTAID_Y] = "%nctaid.y",
    [NTID_X] = "%ntid.x",   [TIMER] = "%globaltimer_lo", [RANK] = "%cluster_ctarank",
};

static const struct symbol *find(struct reader *r, const char *name, uint32_t *index)
{
    size_t letters = strlen(name);
    while (letters > 0 && isdigit((unsigned char)name[letters - 1]))
        letters--;
    *index = 0;
    for (int i = r->symbol_count - 1; i >= 0; i--) { // the innermost first
        const struct symbol *s = &r->symbols[i];
        if (strcmp(s->name, name) == 0)
            return s;
        if (s->count && strlen(s->name) == letters && strncmp(s->name, name, letters) == 0 &&
            name[letters]) {
            *index = (uint32_t)strtoul(name + letters, NULL, 10);
            if (*index >= s->count)
                reader_fail(r, "no register %s", name);
            return s;
        }
    }
    return NULL;
}

struct operand reader_operand(struct reader *r, const char *text)
{
    uint32_t index;
    char parameter[NAME + 16];
    if (is_number(text))
        return (struct operand){-2, 0, number(r, text)};
    for (int i = 0; i < SPECIALS; i++)
        if (strcmp(text, specials[i]) == 0)
            return (struct operand){1, r->kernel->row[i], 0};
    snprintf(parameter, sizeof parameter, "%s_param_0", r->kernel->name);
    if (strcmp(text, parameter) == 0)
        return (struct operand){-2, 0, 0}; // addresses of parameters begin at 0
    const struct symbol *s = find(r, text, &index);
    if (!s)
        reader_fail(r, "unknown: %s", text);
    if (s->dynamic) // behind what the kernel declared of its own, before its first instruction
        return (struct operand){-2, 0, ptx_launched_at(r->kernel)};
    if (s->memory)
        return (struct operand){-2, 0, s->first};
    return (struct operand){s->words,
                            s->first + index * (s->words ? (uint32_t)s->words * LANES : 1), 0};
}

uint32_t reader_row(struct reader *r, struct operand o, int words)
{
    if (o.words != -2)
        return o.row;
    return constant(r, words ? o.value : o.value ? ALL : 0, words);
}

// ---- declarations ----

static int words_of(struct reader *r, const char *type)
{
    static const struct {
        const char *name;
        int words;
    } types[] = {{".pred", 0}, {".b16", 1}, {".b32", 1}, {".f32", 1}, {".b64", 2}, {".f64", 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].words;
    reader_fail(r, "unknown type %s", type);
}

static void registers(struct reader *r)
{
    char type[NAME], name[NAME];
    reader_word(r, type);
    int words = words_of(r, type);
    do {
        reader_word(r, name);
        uint32_t n = 0;
        if (reader_is_next(r, '<')) {
            n = reader_count(r);
            reader_need(r, '>');
        }
        uint32_t first = new_rows(r, words, n ? n : 1);
        struct symbol *s = &ADD(r->symbols, r->symbol_count);
        *s = (struct symbol){.words = words, .first = first, .count = n};
        memcpy(s->name, name, NAME);
    } while (reader_is_next(r, ','));
    reader_need(r, ';');
}

// .align 16 .b8 name[2048], behind what there is already.
static void memory(struct reader *r, uint32_t *used)
{
    char text[NAME];
    reader_word(r, text);
    uint32_t align = reader_count(r);
    reader_word(r, text); // .b8
    reader_word(r, text);
    struct symbol *s = &ADD(r->symbols, r->symbol_count);
    *s = (struct symbol){.memory = true};
    memcpy(s->name, text, NAME);
    reader_need(r, '[');
    if (reader_is_next(r, ']')) { // of a size that the launch tells
        r->kernel->align = align > r->kernel->align ? align : r->kernel->align;
    } else {
        *used = (*used + align - 1) / align * align;
        s->first = *used;
        *used += reader_count(r);
        reader_need(r, ']');
    }
    reader_need(r, ';');
}

// ---- instructions ----

void reader_memory(struct reader *r, struct inst *in)
{
    char text[NAME];
    reader_need(r, '[');
    reader_word(r, text);
    struct operand o = reader_operand(r, text);
    in->base_words = o.words == 1 ? 1 : 2;
    in->base = reader_row(r, o, 2);
    in->is_fixed = o.words == -2;
    if (reader_is_next(r, '+')) {
        reader_word(r, text);
        in->offset = (int64_t)number(r, text);
    }
    reader_need(r, ']');
}

int reader_registers(struct reader *r, struct operand *out, int most)
{
    char text[NAME];
    int n = 0;
    bool many = reader_is_next(r, '{');
    do {
        if (n == most)
            reader_fail(r, "too many operands");
        reader_word(r, text);
        out[n++] = reader_operand(r, text);
    } while (many && reader_is_next(r, ','));
    if (many)
        reader_need(r, '}');
    return n;
}

static bool begins(const char **text, const char *with)
{
    size_t n = strlen(with);
    if (strncmp(*text, with, n) != 0)
        return false;
    *text += n;
    return true;
}

// ld.global.v4.f32 and the like.
static void load_or_store(struct reader *r, const char *name, struct inst *in)
{
    struct operand values[4];
    const char *rest = name + 2;
    bool loads = name[0] == 'l';
    in->run = loads ? ptx_load : ptx_store;
    in->space = begins(&rest, ".global")   ? GLOBAL
                : begins(&rest, ".shared") ? SHARED
                : begins(&rest, ".local")  ? LOCAL
                : begins(&rest, ".param")  ? PARAM
                                           : GENERIC;
    in->count = begins(&rest, ".v4") ? 4 : begins(&rest, ".v2") ? 2 : 1;
    if (rest[0] != '.' || !strchr("usfb", rest[1]))
        reader_fail(r, "unknown instruction %s", name);
    in->is_signed = rest[1] == 's';
    in->bytes = (uint8_t)(number(r, rest + 2) / 8);
    if (in->bytes == 0 || in->bytes > 8 || (in->bytes & (in->bytes - 1)))
        reader_fail(r, "%s is of another size", name);
    if (in->is_signed && in->bytes < 4)
        reader_fail(r, "unknown instruction %s", name);
    if (!loads) {
        reader_memory(r, in);
        reader_need(r, ',');
    }
    if (reader_registers(r, values, in->count) != in->count)
        reader_fail(r, "another number of registers than %s", name);
    for (int i = 0; i < in->count; i++) {
        in->words[i] = (uint8_t)(values[i].words == -2 ? (in->bytes + 3) / 4 : values[i].words);
        in->o[i] = reader_row(r, values[i], in->words[i]);
    }
    in->operands = in->count;
    in->results = loads ? in->count : 0;
    if (loads) {
        reader_need(r, ',');
        reader_memory(r, in);
    }
}

static void jump(struct reader *r, struct inst *in)
{
    struct label *j = &ADD(r->jumps, r->jump_count);
    reader_word(r, j->name);
    j->at = (uint32_t)r->kernel->code_count - 1;
    in->flow = BRANCH;
}

static void plain(struct reader *r, const char *name, struct inst *in)
{
    struct operand all[OPERANDS];
    int8_t words[OPERANDS];
    int n = 0;
    reader_skip(r);
    bool parts = *r->p == '{' && strcmp(name, "mov.b32") == 0;
    while (*r->p != ';') {
        n += reader_registers(r, all + n, OPERANDS - n);
        (void)reader_is_next(r, ',');
        reader_skip(r);
    }
    for (int i = 0; i < n; i++)
        words[i] = (int8_t)all[i].words;
    const struct op *op = ptx_find_op(parts ? "mov.b32 {}" : name, words, n);
    if (!op)
        reader_fail(r, "unknown instruction %s, or with other operands", name);
    in->run = op->run;
    in->flow = op->flow;
    in->operands = (uint8_t)n;
    in->results = op->flow == BARRIER ? 0 : parts ? 2 : strncmp(name, "mma.", 4) == 0 ? 4 : 1;
    r->kernel->is_hopper |= op->flow == BARRIER && n == 2;
    for (int i = 0; i < n; i++)
        in->o[i] = reader_row(r, all[i], op->words[i]);
}

static void instruction(struct reader *r)
{
    char name[NAME];
    struct inst *in = &ADD(r->kernel->code, r->kernel->code_count);
    in->predicate = -1;
    in->line = r->line;
    if (reader_is_next(r, '@')) {
        in->negated = reader_is_next(r, '!');
        reader_word(r, name);
        in->predicate = (int32_t)reader_operand(r, name).row;
    }
    reader_word(r, name);
    if (strcmp(name, "bra") == 0 || strcmp(name, "bra.uni") == 0) {
        jump(r, in);
    } else if (strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0) {
        load_or_store(r, name, in);
    } else if (strncmp(name, "ldmatrix.sync.aligned.m8n8.x4.", 30) == 0) {
        struct operand out[4];
        in->run = strstr(name, ".trans") ? ptx_load_matrix_turned : ptx_load_matrix;
        in->flow = WHOLE_WARP;
        if (reader_registers(r, out, 4) != 4)
            reader_fail(r, "%s of another number of registers", name);
        for (int i = 0; i < 4; i++)
            in->o[i] = out[i].row;
        in->operands = in->results = 4;
        reader_need(r, ',');
        reader_memory(r, in);
    } else if (strcmp(name, "cp.async.cg.shared.global") == 0) {
        struct inst from = {0};
        struct operand bytes;
        char text[NAME];
        in->run = ptx_copy_async;
        reader_memory(r, in);
        reader_need(r, ',');
        reader_memory(r, &from);
        if (from.offset || from.base_words != 2)
            reader_fail(r, "%s with an offset", name);
        in->o[0] = from.base;
        reader_need(r, ',');
        if (reader_count(r) != 16)
            reader_fail(r, "%s of another size", name);
        reader_need(r, ',');
        reader_word(r, text);
        bytes = reader_operand(r, text);
        in->o[1] = reader_row(r, bytes, 1);
    } else if (strcmp(name, "prefetch.global.L2") == 0) { // of any address: it is a hint
        reader_memory(r, in);
        in->run = ptx_nothing;
    } else if (!reader_hopper(r, name, in)) {
        plain(r, name, in);
    }
    reader_need(r, ';');
}

static void statement(struct reader *r)
{
    char name[NAME];
    const char *begin = r->p;
    if (*r->p == '@') {
        instruction(r);
        return;
    }
    int line = r->line;
    reader_word(r, name);
    if (reader_is_next(r, ':')) {
        struct label *l = &ADD(r->labels, r->label_count);
        memcpy(l->name, name, NAME);
        l->at = (uint32_t)r->kernel->code_count;
    } else if (strcmp(name, ".reg") == 0) {
        registers(r);
    } else if (strcmp(name, ".shared") == 0) {
        memory(r, &r->kernel->shared);
    } else if (strcmp(name, ".local") == 0) {
        memory(r, &r->kernel->local);
    } else if (strcmp(name, ".pragma") == 0) {
        r->p += strcspn(r->p, ";");
        reader_need(r, ';');
    } else {
        r->p = begin;
        r->line = line;
        instruction(r);
    }
}

static void body(struct reader *r)
{
    int inner[8], depth = 0; // registers of an inner part are its own
    for (;;) {
        reader_skip(r);
        if (reader_is_next(r, '{')) {
            if (depth == 8)
                reader_fail(r, "too deep");
            inner[depth++] = r->symbol_count;
        } else if (reader_is_next(r, '}')) {
            if (depth == 0)
                return;
            r->symbol_count = inner[--depth];
        } else {
            statement(r);
        }
    }
}

static void connect(struct reader *r)
{
    for (int i = 0; i < r->jump_count; i++) {
        int k = 0;
        while (k < r->label_count && strcmp(r->labels[k].name, r->jumps[i].name) != 0)
            k++;
        if (k == r->label_count)
            reader_fail(r, "no label %s", r->jumps[i].name);
        r->kernel->code[r->jumps[i].at].target = r->labels[k].at;
    }
}

// What is declared for all kernels: shared memory of a size, and that which the launch asks for.
static void outside_memory(struct reader *r, const char *text, const char *entry)
{
    for (const char *line = text; line < entry; line = strchr(line, '\n') + 1) {
        bool launched = strncmp(line, ".extern .shared ", 16) == 0;
        if (!launched && strncmp(line, ".shared ", 8) != 0)
            continue;
        r->p = line + (launched ? 16 : 8);
        memory(r, &r->kernel->shared);
        r->symbols[r->symbol_count - 1].dynamic = launched;
    }
}

static void read_kernel(struct reader *r, const char *text, const char *entry)
{
    struct ptx_kernel *k = r->kernel;
    char name[NAME];
    for (int i = 0; i < SPECIALS; i++)
        k->row[i] = new_rows(r, 1, 1);
    k->align = 16;
    k->cluster = 1;
    const char *target = strstr(text, "\n.target ");
    if (target && strncmp(target, "\n.target sm_90a", 15) == 0)
        k->shared = 16; // what a launch asks for is aligned to 16 and not to more
    outside_memory(r, text, entry);
    r->p = entry;
    reader_need(r, '(');
    do // .param .align 8 .b8 name[224]
        reader_word(r, name);
    while (!reader_is_next(r, '['));
    k->args = reader_count(r);
    reader_need(r, ']');
    reader_need(r, ')');
    for (reader_skip(r); *r->p == '.'; reader_skip(r)) {
        reader_word(r, name);
        if (strcmp(name, ".maxntid") == 0)
            k->threads = reader_count(r);
        if (strcmp(name, ".reqnctapercluster") == 0) {
            k->cluster = reader_count(r);
            k->is_hopper = true;
            if (k->cluster < 1 || k->cluster > 8)
                reader_fail(r, "a cluster of %u", k->cluster);
        }
        r->p += strcspn(r->p, "\n");
    }
    reader_need(r, '{');
    body(r);
    connect(r);
}

static struct ptx_kernel *kept;

int64_t ptx_kernel_shared(const struct ptx_kernel *kernel)
{
    return kernel->shared;
}

const struct ptx_kernel *ptx_kernel(const char *text, const char *name, char *why, size_t bytes)
{
    char entry[NAME + 32];
    struct reader r = {.line = 1, .why = why, .why_bytes = bytes};
    snprintf(why, bytes, "no kernel %s", name);
    for (struct ptx_kernel *k = kept; k; k = k->next)
        if (k->text == text && strcmp(k->name, name) == 0)
            return k;
    snprintf(entry, sizeof entry, ".visible .entry %s(", name);
    const char *at = strstr(text, entry);
    if (!at)
        return NULL;
    at += strlen(entry) - 1;
    for (const char *p = text; p < at; p++)
        r.line += *p == '\n';
    struct ptx_kernel *volatile made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    struct ptx_kernel *k = made;
    k->text = text;
    snprintf(k->name, sizeof k->name, "%s", name);
    r.kernel = k;
    bool good = setjmp(r.failed) == 0;
    if (good) {
        read_kernel(&r, text, at);
        made->next = kept;
        kept = made;
    } else {
        free(made->code);
        free(made->constants);
        free(made->list);
        free(made);
        made = NULL;
    }
    free(r.symbols);
    free(r.labels);
    free(r.jumps);
    return made;
}
