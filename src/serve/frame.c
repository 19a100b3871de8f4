// SPDX-License-Identifier: Apache-2.0
// Parts shared by all pages: header with navigation, form fields, addresses.
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/units.h"
#include "view/html.h"
#include "render/markup.h"
#include "serve/request.h"

const char *request_value(const struct request *request, const char *key)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].key, key) == 0 && *request->query[i].value)
            return request->query[i].value;
    return NULL;
}

static int read_flag(const char *name, const char *text, bool *flag, struct err *err)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return err_set(err, ERR_USAGE, "'%s' must be 'yes' or 'no'", name);
    *flag = strcmp(text, "yes") == 0;
    return 0;
}

int request_read(const struct request *request, const struct opt *rows, void *values,
                 struct err *err)
{
    for (const struct opt *row = rows; row->name; row++) {
        char name[64];
        snprintf(name, sizeof name, "%s", row->name);
        for (char *dash; (dash = strchr(name, '-'));)
            *dash = '_';
        const char *text = request_value(request, name);
        if (text && row->kind == OPT_FLAG)
            TRY(read_flag(name, text, (bool *)((char *)values + row->at), err));
        else if (text)
            TRY(opt_set(row, name, text, values, err));
    }
    return 0;
}

void frame_begin(struct buf *out, const struct request *request, const char *title)
{
    frame_begin_live(out, request, title, 0);
}

void frame_begin_live(struct buf *out, const struct request *request, const char *title,
                      int refresh_s)
{
    static const struct {
        const char *path, *name;
    } pages[] = {{"/", "fare"},
                 {"/runs", "Runs"},
                 {"/prices", "Prices"},
                 {"/quote", "Quote"},
                 {"/spend", "Spending"}};
    html_begin(out, title, refresh_s);
    buf_adds(out, "<header>\n<nav class=\"top\" aria-label=\"Pages\"><ul>\n");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        bool here = request->route && strcmp(request->route, pages[i].path) == 0;
        buf_printf(out, "<li><a href=\"%s\"%s>%s</a></li>\n", pages[i].path,
                   here ? " aria-current=\"page\"" : "", pages[i].name);
    }
    buf_adds(out, "</ul></nav>\n");
    html_heading(out, 1, title);
    buf_adds(out, "</header>\n<main>\n");
}

void frame_end(struct buf *out)
{
    buf_adds(out, "</main>\n");
    html_end(out);
}

void frame_pair(struct buf *out, const char *before, const struct parameter *parameter)
{
    buf_adds(out, before);
    markup_address(out, parameter->key);
    buf_addc(out, '=');
    markup_address(out, parameter->value);
}

void frame_count(struct buf *out, int64_t count)
{
    buf_adds(out, units_grouped(short_text("%lld", (long long)count).s).s);
}

void frame_json_link(struct buf *out, const struct request *request, const char *path)
{
    buf_printf(out, "<p class=\"mute\"><a href=\"%s.json", path);
    for (size_t i = 0; i < request->query_count; i++)
        frame_pair(out, i ? "&amp;" : "?", &request->query[i]);
    buf_adds(out, "\">This page as JSON</a></p>\n");
}

void frame_field(struct buf *out, const struct request *request, const char *name,
                 const char *label, const char *example)
{
    buf_printf(out, "<label>%s<input name=\"%s\" placeholder=\"%s\" value=\"", label, name,
               example);
    markup_text(out, request_value(request, name));
    buf_adds(out, "\"></label>\n");
}

void frame_choose(struct buf *out, const struct request *request, const char *name,
                  const char *label, const struct frame_choice *choices, size_t count)
{
    const char *chosen = request_value(request, name);
    buf_printf(out, "<label>%s<select name=\"%s\">\n", label, name);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "<option value=\"%s\"%s>%s</option>\n", choices[i].value,
                   strcmp(chosen ? chosen : "", choices[i].value) == 0 ? " selected" : "",
                   choices[i].words);
    buf_adds(out, "</select></label>\n");
}
