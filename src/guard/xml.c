// SPDX-License-Identifier: Apache-2.0
#include "guard/xml.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define DEPTH_MAX  12
#define NAME_BYTES 64

struct walk {
    const char *at, *end;
    char names[DEPTH_MAX][NAME_BYTES];
    bool leaf[DEPTH_MAX]; // no element was in it so far
    int depth;
    struct buf value;
    xml_element *element;
    void *context;
    struct err *err;
};

static int bad(struct walk *w, const char *why)
{
    return err_set(w->err, ERR_FORMAT, "not the XML of S3: %s", why);
}

// Up to and past `stop`; false: it does not come.
static bool skip_past(struct walk *w, const char *stop)
{
    const char *found = memmem(w->at, (size_t)(w->end - w->at), stop, strlen(stop));
    if (found)
        w->at = found + strlen(stop);
    return found != NULL;
}

static int add_entity(struct walk *w)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t left = (size_t)(w->end - w->at);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        size_t len = strlen(named[i].name);
        if (left >= len && memcmp(w->at, named[i].name, len) == 0) {
            buf_addc(&w->value, named[i].c);
            w->at += len;
            return 0;
        }
    }
    const char *p = w->at + 1, *stop = memchr(w->at, ';', left < 12 ? left : 12);
    if (!stop || *p++ != '#')
        return bad(w, "an entity that is not known");
    int base = p < stop && *p == 'x' ? 16 : 10;
    p += base == 16;
    uint32_t c = 0;
    for (; p < stop && isxdigit((unsigned char)*p) && c <= 0x10ffff; p++)
        c = c * (uint32_t)base + (uint32_t)(isdigit((unsigned char)*p)
                                                ? *p - '0'
                                                : tolower((unsigned char)*p) - 'a' + 10);
    if (p != stop || c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return bad(w, "an entity that is no character");
    char bytes[UTF8_MAX];
    buf_add(&w->value, bytes, utf8_put(c, bytes));
    w->at = stop + 1;
    return 0;
}

static int close_element(struct walk *w)
{
    const char *stop = memchr(w->at, '>', (size_t)(w->end - w->at));
    if (!stop || w->depth == 0)
        return bad(w, "an end without a beginning");
    const char *name = w->names[w->depth - 1];
    size_t len = strlen(name);
    if ((size_t)(stop - w->at) < len || memcmp(w->at, name, len) != 0)
        return bad(w, "an end of something else");
    w->at = stop + 1;
    w->depth--;
    const char *parent = w->depth ? w->names[w->depth - 1] : "";
    TRY(buf_check(&w->value, w->err));
    int rc =
        w->element(w->context, parent, name, w->leaf[w->depth] ? buf_str(&w->value) : NULL, w->err);
    buf_reset(&w->value);
    return rc;
}

static int open_element(struct walk *w)
{
    const char *stop = memchr(w->at, '>', (size_t)(w->end - w->at)), *p = w->at;
    if (!stop)
        return bad(w, "it is cut");
    while (p < stop && !isspace((unsigned char)*p) && *p != '/')
        p++;
    size_t len = (size_t)(p - w->at);
    if (len == 0 || len >= NAME_BYTES || memchr(w->at, '\0', len))
        return bad(w, "an element without a fit name");
    if (w->depth == DEPTH_MAX)
        return bad(w, "nested too deep");
    if (w->depth > 0)
        w->leaf[w->depth - 1] = false;
    memcpy(w->names[w->depth], w->at, len);
    w->names[w->depth][len] = '\0';
    w->leaf[w->depth++] = true;
    buf_reset(&w->value);
    bool empty = stop[-1] == '/' && stop > w->at;
    w->at = stop + 1;
    if (!empty)
        return 0;
    w->depth--;
    return w->element(w->context, w->depth ? w->names[w->depth - 1] : "", w->names[w->depth], "",
                      w->err);
}

static int tag(struct walk *w)
{
    w->at++;
    if (w->at < w->end && *w->at == '?')
        return skip_past(w, "?>") ? 0 : bad(w, "it is cut");
    if (w->end - w->at >= 3 && memcmp(w->at, "!--", 3) == 0)
        return skip_past(w, "-->") ? 0 : bad(w, "it is cut");
    if (w->at < w->end && *w->at == '!')
        return bad(w, "a declaration");
    if (w->at < w->end && *w->at == '/') {
        w->at++;
        return close_element(w);
    }
    return open_element(w);
}

int xml_walk(const char *text, size_t len, xml_element *element, void *context, struct err *err)
{
    struct walk w = {
        .at = text, .end = text + len, .element = element, .context = context, .err = err};
    int rc = 0;
    bool any = false;
    while (rc == 0 && w.at < w.end) {
        if (*w.at == '<') {
            rc = tag(&w);
            any |= w.depth > 0;
        } else if (*w.at == '&') {
            rc = add_entity(&w);
        } else if (*w.at == '\0') {
            rc = bad(&w, "a zero byte");
        } else {
            buf_addc(&w.value, *w.at++);
        }
    }
    if (rc == 0 && (w.depth > 0 || !any))
        rc = bad(&w, any ? "it is cut" : "no element");
    if (rc == 0)
        rc = buf_check(&w.value, err);
    buf_release(&w.value);
    return rc;
}

struct find {
    const char *name;
    char *out;
    size_t size;
};

static int found(void *context, const char *parent, const char *name, const char *value,
                 struct err *err)
{
    struct find *f = context;
    (void)parent, (void)err;
    if (!value || strcmp(name, f->name) != 0)
        return 0;
    snprintf(f->out, f->size, "%s", value);
    return 1;
}

bool xml_find(const char *text, size_t len, const char *name, char *out, size_t size)
{
    struct find f = {name, out, size};
    struct err err = {0};
    out[0] = '\0';
    return xml_walk(text, len, found, &f, &err) == 1;
}
