// SPDX-License-Identifier: Apache-2.0
#include "render/part.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/markup.h"
#include "render/svg.h"

void part_chip(struct buf *out, enum part_tone tone, const char *text)
{
    static const char *const before[] = {[PART_PLAIN] = "<span class=\"chip\">",
                                         [PART_OK] = "<span class=\"chip ok\">",
                                         [PART_NOTE] = "<span class=\"chip note\">",
                                         [PART_WAIT] = "<span class=\"chip wait\">",
                                         [PART_BAD] = "<span class=\"chip bad\">"};
    if (text && *text)
        markup_in(out, before[tone], text, "</span>");
}

void part_state(struct buf *out, const char *ended)
{
    static const struct {
        const char *ended;
        enum part_tone tone;
    } tones[] = {{"finished", PART_OK},
                 {"sampled", PART_NOTE},
                 {"running", PART_WAIT},
                 {"failed", PART_BAD},
                 {"killed", PART_BAD}};
    enum part_tone tone = PART_PLAIN;
    for (size_t i = 0; ended && i < sizeof tones / sizeof *tones; i++)
        if (strcmp(ended, tones[i].ended) == 0)
            tone = tones[i].tone;
    part_chip(out, tone, ended);
}

void part_stats_begin(struct buf *out)
{
    buf_adds(out, "<dl class=\"stats\">\n");
}

void part_stat(struct buf *out, const char *name, const char *value, const char *sub)
{
    bool known = value && *value;
    markup_in(out, "<div><dt>", name, "</dt>");
    buf_adds(out, known ? "<dd class=\"big\">" : "<dd class=\"big mute\">");
    markup_words(out, known ? value : "unknown");
    buf_adds(out, "</dd>");
    if (sub && *sub) {
        buf_adds(out, "<dd class=\"sub\">");
        markup_words(out, sub);
        buf_adds(out, "</dd>");
    }
    buf_adds(out, "</div>\n");
}

void part_stats_end(struct buf *out)
{
    buf_adds(out, "</dl>\n");
}

// The length of the option that starts here: "--deadline"; 0: none.
static size_t option_len(const char *text)
{
    enum { LONGEST = 32 };
    if (strncmp(text, "--", 2) != 0)
        return 0;
    size_t len = 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");
    return len > 2 && len <= LONGEST ? len : 0;
}

// A browser may end a line after a hyphen, and "--" at its end would read as a word of its own.
void part_code(struct buf *out, const char *line)
{
    buf_adds(out, "<code>");
    while (*line) {
        struct buf piece = {0};
        size_t option = option_len(line);
        size_t word = strcspn(line, " "), len = option ? option : word + strspn(line + word, " ");
        buf_add(&piece, line, len);
        markup_in(out, option ? "<span class=\"opt\">" : "", buf_str(&piece),
                  option ? "</span>" : "");
        buf_drop(out, &piece);
        line += len;
    }
    buf_adds(out, "</code>");
}

void part_command(struct buf *out, const char *line)
{
    buf_adds(out, "<pre>");
    part_code(out, line);
    buf_adds(out, "</pre>\n");
}

void part_empty(struct buf *out, const char *says, const char *command)
{
    markup_in(out, "<div class=\"empty\"><p>", says, "</p>\n");
    if (command)
        part_command(out, command);
    buf_adds(out, "</div>\n");
}

// ---- drawings as large as a word

enum { BAR_TOP = 4 };

// There are fifty on a page: the size is in the style sheet.
static void open_svg(struct buf *out, const char *tip)
{
    buf_printf(out, "<svg class=\"plot inline\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">",
               PART_WIDE, PART_HIGH);
    if (tip && *tip)
        markup_in(out, "<title>", tip, "</title>");
}

void part_sparkline(struct buf *out, const double *values, size_t count, const char *tip)
{
    enum { MARGIN = 2 };
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    if (count < 2 || !(high >= low))
        return;
    double range = high - low, high_px = PART_HIGH - 2 * MARGIN, wide_px = PART_WIDE - 2 * MARGIN;
    bool down = false;
    open_svg(out, tip);
    buf_adds(out, "<path class=\"ln s0\" d=\"");
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            down = false;
            continue;
        }
        double share = range > 0 && isfinite(range) ? (values[i] - low) / range : 0.5;
        buf_addc(out, down ? 'L' : 'M');
        markup_number(out, MARGIN + wide_px * (double)i / (double)(count - 1));
        buf_addc(out, ' ');
        markup_number(out, MARGIN + high_px * (1 - share));
        down = true;
    }
    buf_adds(out, "\"/></svg>");
}

// One stroke; an interval that goes on behind the end is drawn without that end.
static void draw_interval(struct buf *out, double low, double high, double end)
{
    bool ends = high <= end;
    if (ends && high - low <= 1)
        return;
    buf_adds(out, "<path class=\"wh\" d=\"M");
    markup_number(out, low);
    buf_printf(out, " %dH", PART_HIGH / 2);
    markup_number(out, ends ? high : end);
    buf_adds(out, "M");
    markup_number(out, low);
    buf_printf(out, " %dv6", PART_HIGH / 2 - 3);
    if (ends) {
        buf_adds(out, "M");
        markup_number(out, high);
        buf_printf(out, " %dv6", PART_HIGH / 2 - 3);
    }
    buf_adds(out, "\"/>");
}

// A part of a bar; a bar that is hollow is hatched there.
static void draw_pale(struct buf *out, double from, double to)
{
    if (to - from >= 1)
        svg_rect(out, from, BAR_TOP, to - from, PART_HIGH - 2.0 * BAR_TOP, "pl", NULL);
}

void part_bar(struct buf *out, const struct part_interval *f, double most, const char *tip)
{
    enum { END = PART_WIDE - 2 };
    double each = most > 0 && isfinite(most) ? END / most : 0;
    double to = fmin(fmax(f->value * each, 1), END);
    open_svg(out, tip);
    if (f->estimated)
        svg_hollow(out, 0, BAR_TOP, to, PART_HIGH - 2.0 * BAR_TOP, NULL);
    else
        svg_rect(out, 0, BAR_TOP, to, PART_HIGH - 2.0 * BAR_TOP, "bar c0", NULL);
    draw_pale(out, 0, fmin(f->startup * each, to));
    draw_pale(out, fmax(to - f->idle * each, 0), to);
    double low = fmin(f->low * each, END), inside = fmin(f->high * each, to);
    if (f->low <= f->high && !f->estimated && inside - low > 1) // so that it can be seen on the bar
        svg_line(out, low, PART_HIGH / 2.0, inside, PART_HIGH / 2.0, "ct");
    if (f->low <= f->high)
        draw_interval(out, low, f->high * each, END + 1);
    buf_adds(out, "</svg>");
}

static double log_at(double value, double least, double most)
{
    enum { MARGIN = 6 };
    double range = log(most / least);
    double share = range > 0 ? log(fmax(value, least) / least) / range : 0.5;
    return MARGIN + (PART_WIDE - 2 * MARGIN) * share;
}

void part_whisker(struct buf *out, const struct part_interval *f, double least, double most,
                  const char *tip)
{
    if (!(f->value > 0) || !(least > 0) || !(most >= least) || !isfinite(most))
        return;
    double middle = PART_HIGH / 2.0;
    open_svg(out, tip);
    buf_printf(out, "<path class=\"gr\" d=\"M0 %dH%d\"/>", PART_HIGH / 2, PART_WIDE);
    if (f->low <= f->high && f->high > 0)
        draw_interval(out, log_at(f->low, least, most), log_at(f->high, least, most), PART_WIDE);
    svg_marker(out, log_at(f->value, least, most), middle, 0, !f->estimated, NULL);
    buf_adds(out, "</svg>");
}

// ---- strips

#define RUG_LEAST 0.03 // USD
#define RUG_MOST  30.0

static size_t rug_at(double value)
{
    double share =
        log(fmin(fmax(value, RUG_LEAST), RUG_MOST) / RUG_LEAST) / log(RUG_MOST / RUG_LEAST);
    return (size_t)lround(share * (PART_RUG_WIDE - 1));
}

void part_rug_add(struct part_rug *rug, bool below, double value)
{
    if (value > 0 && isfinite(value))
        rug->taken[below][rug_at(value)] = 1;
}

static void rug_ticks(struct buf *out, int top, int height)
{
    buf_adds(out, "<path class=\"gr\" d=\"");
    for (double tick = 0.1; tick < RUG_MOST; tick *= 10)
        buf_printf(out, "M%zu %dv%d", rug_at(tick), top, height);
    buf_adds(out, "\"/>");
}

void part_rug(struct buf *out, const struct part_rug *rug)
{
    static const char *const classes[] = {"rg s0", "rg s1"};
    buf_printf(out,
               "<svg class=\"plot rug\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
               "aria-hidden=\"true\">",
               PART_RUG_WIDE, PART_HIGH);
    rug_ticks(out, 0, PART_HIGH);
    for (int below = 0; below < 2; below++) {
        buf_printf(out, "<path class=\"%s\" d=\"", classes[below]);
        for (size_t x = 0; x < PART_RUG_WIDE; x++)
            if (rug->taken[below][x])
                buf_printf(out, "M%zu.5 %dv8", x, below ? 11 : 1);
        buf_adds(out, "\"/>");
    }
    buf_adds(out, "</svg>");
}

void part_rug_axis(struct buf *out)
{
    buf_printf(out, "<svg class=\"plot rug wide\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">",
               PART_RUG_WIDE, PART_HIGH);
    rug_ticks(out, 16, 4);
    for (double tick = 0.1; tick < RUG_MOST; tick *= 10) {
        char text[16];
        snprintf(text, sizeof text, "%g", tick);
        svg_text(out, (double)rug_at(tick), 12, "sm mu mi", text);
    }
    buf_adds(out, "</svg>");
}

// ---- headings, sentences and tables

void html_piece(struct buf *out, struct buf *piece)
{
    buf_add(out, buf_str(piece), piece->len);
    buf_drop(out, piece);
}

void html_heading(struct buf *out, int level, const char *text)
{
    buf_printf(out, "<h%d>", level);
    markup_words(out, text);
    buf_printf(out, "</h%d>\n", level);
}

void html_paragraph(struct buf *out, const char *class, const char *text)
{
    if (!text || !*text)
        return;
    buf_printf(out, *class ? "<p class=\"%s\">" : "<p>", class);
    markup_words(out, text);
    buf_adds(out, "</p>\n");
}

void html_item(struct buf *out, const char *text)
{
    buf_adds(out, "<li>");
    markup_words(out, text);
    buf_adds(out, "</li>\n");
}

void html_begin_table(struct buf *out, const char *label)
{
    markup_in(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", label,
              "\"><table>\n");
}

void html_end_table(struct buf *out)
{
    buf_adds(out, "</tbody></table></div>\n");
}

void html_head_cell(struct buf *out, const char *class, const char *name)
{
    buf_adds(out, "<th scope=\"col\"");
    if (*class)
        buf_printf(out, " class=\"%s\"", class);
    buf_addc(out, '>');
    markup_text(out, name);
    buf_adds(out, "</th>");
}

void html_table_head(struct buf *out, const struct html_column *columns, size_t count)
{
    buf_adds(out, "<thead><tr>");
    for (size_t i = 0; i < count; i++)
        html_head_cell(out, columns[i].class, columns[i].name);
    buf_adds(out, "</tr></thead>\n<tbody>\n");
}

// Where a figure may break: before and within its interval, and between date and time. Null:
// nowhere.
static const char *next_break(const char *text)
{
    for (const char *p = strchr(text, ' '); p && p > text; p = strchr(p + 1, ' '))
        if (p[1] == '(' || strncmp(p, " to ", 4) == 0 ||
            (isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1])))
            return p + 1;
    return NULL;
}

void html_figure(struct buf *out, const char *text)
{
    for (const char *to; (to = next_break(text)); text = to) {
        struct buf piece = {0};
        buf_add(&piece, text, (size_t)(to - text));
        markup_text(out, buf_str(&piece));
        buf_adds(out, "<wbr>");
        buf_drop(out, &piece);
    }
    markup_text(out, text);
}

void html_cell(struct buf *out, const char *class, const char *text)
{
    buf_adds(out, *class ? "<td class=\"" : "<td");
    if (*class)
        buf_printf(out, "%s\"", class);
    buf_addc(out, '>');
    if (text && strncmp(class, "num", 3) == 0)
        html_figure(out, text);
    else
        markup_text(out, text);
    buf_adds(out, "</td>");
}

void html_offer(struct buf *out, const char *name)
{
    while (name && *name) {
        size_t len = 1 + strcspn(name + 1, "/@_");
        struct buf piece = {0};
        while (name[len] == '/' || name[len] == '_')
            len++;
        buf_add(&piece, name, len);
        markup_in(out, "", buf_str(&piece), name[len] ? "<wbr>" : "");
        buf_drop(out, &piece);
        name += len;
    }
}
