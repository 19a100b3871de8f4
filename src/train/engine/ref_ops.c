// SPDX-License-Identifier: Apache-2.0
#include "train/engine/ref_ops.h"

#include <math.h>
#include <string.h>

void ref_relu(int64_t count, double *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = y[i] < 0 ? 0 : y[i]; // NaN stays NaN
}

void ref_relu_back(int64_t count, const double *y, double *dy)
{
    for (int64_t i = 0; i < count; i++)
        dy[i] = y[i] <= 0 ? 0 : dy[i];
}

// ---- dense ----

void ref_dense(int64_t n, int64_t in, int64_t units, const double *x, const float *w,
               const float *b, double *y)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t u = 0; u < units; u++) {
            double sum = (double)b[u];
            for (int64_t k = 0; k < in; k++)
                sum += x[i * in + k] * (double)w[u * in + k];
            y[i * units + u] = sum;
        }
}

void ref_dense_back(int64_t n, int64_t in, int64_t units, const double *x, const float *w,
                    const double *dy, double *dx, double *dw, double *db)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t u = 0; u < units; u++) {
            double d = dy[i * units + u];
            db[u] += d;
            for (int64_t k = 0; k < in; k++)
                dw[u * in + k] += d * x[i * in + k];
            for (int64_t k = 0; dx && k < in; k++)
                dx[i * in + k] += d * (double)w[u * in + k];
        }
}

// ---- convolution ----

// The outputs o in [from, to) whose input cell o × stride + shift is inside [0, in).
static void inside(int in, int out, int stride, int shift, int *from, int *to)
{
    *from = 0;
    while (*from < out && *from * stride + shift < 0)
        ++*from;
    *to = *from;
    while (*to < out && *to * stride + shift < in)
        ++*to;
}

// One cell of the kernel: which outputs it serves in a plane, and from which inputs.
struct ref_tap {
    int y_from, y_to, x_from, x_to; // outputs
    int y_shift, x_shift;           // input = output × stride + shift
    int stride;
    int in_width, out_width;
};

static struct ref_tap tap_at(const struct net_layer *layer, const struct net_shape *in, int ky,
                             int kx)
{
    struct ref_tap tap = {.y_shift = ky - layer->pad_top,
                          .x_shift = kx - layer->pad_left,
                          .stride = layer->stride,
                          .in_width = in->dim[2],
                          .out_width = layer->out.dim[2]};
    inside(in->dim[1], layer->out.dim[1], tap.stride, tap.y_shift, &tap.y_from, &tap.y_to);
    inside(in->dim[2], layer->out.dim[2], tap.stride, tap.x_shift, &tap.x_from, &tap.x_to);
    return tap;
}

// A row of outputs, and the start of its inputs, for x = 0.
static int64_t tap_input(const struct ref_tap *tap, int y)
{
    return (int64_t)(y * tap->stride + tap->y_shift) * tap->in_width + tap->x_shift;
}

static int64_t tap_output(const struct ref_tap *tap, int y)
{
    return (int64_t)y * tap->out_width;
}

static void tap_forward(const struct ref_tap *tap, double w, const double *in, double *out)
{
    for (int y = tap->y_from; y < tap->y_to; y++) {
        int64_t from = tap_input(tap, y), to = tap_output(tap, y);
        for (int64_t x = tap->x_from; x < tap->x_to; x++)
            out[to + x] += w * in[from + x * tap->stride];
    }
}

static void tap_to_input(const struct ref_tap *tap, double w, const double *dout, double *din)
{
    for (int y = tap->y_from; y < tap->y_to; y++) {
        int64_t to = tap_input(tap, y), from = tap_output(tap, y);
        for (int64_t x = tap->x_from; x < tap->x_to; x++)
            din[to + x * tap->stride] += w * dout[from + x];
    }
}

static double tap_to_weight(const struct ref_tap *tap, const double *in, const double *dout)
{
    double sum = 0;
    for (int y = tap->y_from; y < tap->y_to; y++) {
        int64_t left = tap_input(tap, y), right = tap_output(tap, y);
        for (int64_t x = tap->x_from; x < tap->x_to; x++)
            sum += in[left + x * tap->stride] * dout[right + x];
    }
    return sum;
}

static int64_t plane(const struct net_shape *shape)
{
    return (int64_t)shape->dim[1] * shape->dim[2];
}

static int64_t weight_at(const struct net_layer *layer, const struct net_shape *in, int o, int c,
                         int ky, int kx)
{
    return (((int64_t)o * in->dim[0] + c) * layer->kernel_h + ky) * layer->kernel_w + kx;
}

void ref_conv(const struct net_layer *layer, const struct net_shape *in, int64_t n, const double *x,
              const float *w, const float *b, double *y)
{
    int64_t in_plane = plane(in), out_plane = plane(&layer->out);
    for (int64_t i = 0; i < n; i++)
        for (int o = 0; o < layer->units; o++) {
            double *to = y + (i * layer->units + o) * out_plane;
            for (int64_t k = 0; k < out_plane; k++)
                to[k] = b ? (double)b[o] : 0;
            for (int c = 0; c < in->dim[0]; c++)
                for (int ky = 0; ky < layer->kernel_h; ky++)
                    for (int kx = 0; kx < layer->kernel_w; kx++) {
                        struct ref_tap tap = tap_at(layer, in, ky, kx);
                        double weight = (double)w[weight_at(layer, in, o, c, ky, kx)];
                        tap_forward(&tap, weight, x + (i * in->dim[0] + c) * in_plane, to);
                    }
        }
}

void ref_conv_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                   const double *x, const float *w, const double *dy, double *dx, double *dw,
                   double *db)
{
    int64_t in_plane = plane(in), out_plane = plane(&layer->out);
    for (int64_t i = 0; i < n; i++)
        for (int o = 0; o < layer->units; o++) {
            const double *from = dy + (i * layer->units + o) * out_plane;
            for (int64_t k = 0; db && k < out_plane; k++)
                db[o] += from[k];
            for (int c = 0; c < in->dim[0]; c++)
                for (int ky = 0; ky < layer->kernel_h; ky++)
                    for (int kx = 0; kx < layer->kernel_w; kx++) {
                        struct ref_tap tap = tap_at(layer, in, ky, kx);
                        int64_t at = weight_at(layer, in, o, c, ky, kx);
                        int64_t image = (i * in->dim[0] + c) * in_plane;
                        dw[at] += tap_to_weight(&tap, x + image, from);
                        if (dx)
                            tap_to_input(&tap, (double)w[at], from, dx + image);
                    }
        }
}

// ---- batch norm ----

static float mixed(float decay, float running, double batch)
{
    return (float)((double)decay * (double)running + (1 - (double)decay) * batch);
}

void ref_norm_train(const struct net_layer *layer, int64_t n, const double *x, float *running_mean,
                    float *running_var, struct ref_norm *norm)
{
    int channels = layer->out.dim[0];
    int64_t size = plane(&layer->out), count = n * size;
    for (int c = 0; c < channels; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < size; k++)
                sum += x[(i * channels + c) * size + k];
        double mean = sum / (double)count;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < size; k++) {
                double away = x[(i * channels + c) * size + k] - mean;
                squares += away * away;
            }
        double unbiased = squares / (double)(count > 1 ? count - 1 : 1);
        norm->mean[c] = mean;
        norm->inverse[c] = 1 / sqrt(squares / (double)count + (double)layer->epsilon);
        running_mean[c] = mixed(layer->decay, running_mean[c], mean);
        running_var[c] = mixed(layer->decay, running_var[c], unbiased);
    }
}

void ref_norm_evaluate(const struct net_layer *layer, const float *running_mean,
                       const float *running_var, struct ref_norm *norm)
{
    for (int c = 0; c < layer->out.dim[0]; c++) {
        norm->mean[c] = (double)running_mean[c];
        norm->inverse[c] = 1 / sqrt((double)running_var[c] + (double)layer->epsilon);
    }
}

void ref_batch_norm(const struct net_layer *layer, int64_t n, const double *x,
                    const struct ref_norm *norm, const float *w, const float *b, double *y)
{
    int channels = layer->out.dim[0];
    int64_t size = plane(&layer->out);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < channels; c++)
            for (int64_t k = 0; k < size; k++) {
                int64_t at = (i * channels + c) * size + k;
                y[at] = (x[at] - norm->mean[c]) * norm->inverse[c] * (double)w[c] + (double)b[c];
            }
}

void ref_batch_norm_back(const struct net_layer *layer, int64_t n, const double *x,
                         const struct ref_norm *norm, const float *w, const double *dy, double *dx,
                         double *dw, double *db)
{
    int channels = layer->out.dim[0];
    int64_t size = plane(&layer->out);
    double count = (double)(n * size);
    for (int c = 0; c < channels; c++) {
        double sum = 0, along = 0; // of dy, and of dy × the normalised x
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < size; k++) {
                int64_t at = (i * channels + c) * size + k;
                sum += dy[at];
                along += dy[at] * (x[at] - norm->mean[c]) * norm->inverse[c];
            }
        dw[c] += along;
        db[c] += sum;
        // Mean and variance depend on x too, which removes those two components of dy.
        for (int64_t i = 0; dx && i < n; i++)
            for (int64_t k = 0; k < size; k++) {
                int64_t at = (i * channels + c) * size + k;
                double unit = (x[at] - norm->mean[c]) * norm->inverse[c];
                dx[at] +=
                    (double)w[c] * norm->inverse[c] * (dy[at] - sum / count - unit * along / count);
            }
    }
}

// ---- pools ----

// The part of an output's window inside the image.
struct window {
    int y_from, y_to, x_from, x_to;
};

static struct window window_at(const struct net_layer *layer, const struct net_shape *in, int y,
                               int x)
{
    int top = y * layer->stride - layer->pad_top, left = x * layer->stride - layer->pad_left;
    int bottom = top + layer->kernel_h, right = left + layer->kernel_w;
    return (struct window){.y_from = top < 0 ? 0 : top,
                           .y_to = bottom > in->dim[1] ? in->dim[1] : bottom,
                           .x_from = left < 0 ? 0 : left,
                           .x_to = right > in->dim[2] ? in->dim[2] : right};
}

void ref_max_pool(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                  const double *x, double *y, int32_t *chosen)
{
    int height = layer->out.dim[1], width = layer->out.dim[2];
    for (int64_t image = 0; image < n * in->dim[0]; image++, x += plane(in))
        for (int oy = 0; oy < height; oy++)
            for (int ox = 0; ox < width; ox++) {
                struct window w = window_at(layer, in, oy, ox);
                int32_t best = w.y_from * in->dim[2] + w.x_from;
                for (int iy = w.y_from; iy < w.y_to; iy++)
                    for (int ix = w.x_from; ix < w.x_to; ix++)
                        if (x[iy * in->dim[2] + ix] > x[best])
                            best = iy * in->dim[2] + ix;
                *y++ = x[best];
                *chosen++ = best;
            }
}

void ref_max_pool_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                       const int32_t *chosen, const double *dy, double *dx)
{
    int64_t size = plane(&layer->out);
    for (int64_t image = 0; image < n * in->dim[0]; image++, dx += plane(in))
        for (int64_t k = 0; k < size; k++)
            dx[*chosen++] += *dy++;
}

static double cells(const struct window *w)
{
    return (double)(w->y_to - w->y_from) * (w->x_to - w->x_from);
}

void ref_average_pool(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                      const double *x, double *y)
{
    int height = layer->out.dim[1], width = layer->out.dim[2];
    for (int64_t image = 0; image < n * in->dim[0]; image++, x += plane(in))
        for (int oy = 0; oy < height; oy++)
            for (int ox = 0; ox < width; ox++) {
                struct window w = window_at(layer, in, oy, ox);
                double sum = 0;
                for (int iy = w.y_from; iy < w.y_to; iy++)
                    for (int ix = w.x_from; ix < w.x_to; ix++)
                        sum += x[iy * in->dim[2] + ix];
                *y++ = sum / cells(&w);
            }
}

void ref_average_pool_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                           const double *dy, double *dx)
{
    int height = layer->out.dim[1], width = layer->out.dim[2];
    for (int64_t image = 0; image < n * in->dim[0]; image++, dx += plane(in))
        for (int oy = 0; oy < height; oy++)
            for (int ox = 0; ox < width; ox++) {
                struct window w = window_at(layer, in, oy, ox);
                double share = *dy++ / cells(&w);
                for (int iy = w.y_from; iy < w.y_to; iy++)
                    for (int ix = w.x_from; ix < w.x_to; ix++)
                        dx[iy * in->dim[2] + ix] += share;
            }
}

void ref_global_average(const struct net_shape *in, int64_t n, const double *x, double *y)
{
    int64_t size = plane(in);
    for (int64_t image = 0; image < n * in->dim[0]; image++) {
        double sum = 0;
        for (int64_t k = 0; k < size; k++)
            sum += x[image * size + k];
        y[image] = sum / (double)size;
    }
}

void ref_global_average_back(const struct net_shape *in, int64_t n, const double *dy, double *dx)
{
    int64_t size = plane(in);
    for (int64_t image = 0; image < n * in->dim[0]; image++)
        for (int64_t k = 0; k < size; k++)
            dx[image * size + k] += dy[image] / (double)size;
}

// ---- copies ----

void ref_dropout(const struct dropout *dropout, int64_t count, const double *x, double *y)
{
    memset(y, 0, (size_t)count * sizeof *y);
    ref_dropout_back(dropout, count, x, y);
}

void ref_dropout_back(const struct dropout *dropout, int64_t count, const double *dy, double *dx)
{
    uint8_t kept[4096];
    for (int64_t at = 0; at < count; at += (int64_t)sizeof kept) {
        int64_t part = count - at < (int64_t)sizeof kept ? count - at : (int64_t)sizeof kept;
        dropout_mask(dropout, (uint64_t)at, part, kept);
        for (int64_t i = 0; i < part; i++)
            if (kept[i])
                dx[at + i] += dy[at + i] * (double)dropout->scale;
    }
}

void ref_concat(int64_t n, int64_t part, int64_t at, int64_t whole, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(y + i * whole + at, x + i * part, (size_t)part * sizeof *y);
}

void ref_concat_back(int64_t n, int64_t part, int64_t at, int64_t whole, const double *dy,
                     double *dx)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < part; k++)
            dx[i * part + k] += dy[i * whole + at + k];
}

void ref_one_hot(int64_t count, int64_t vocabulary, const int32_t *tokens, double *y)
{
    memset(y, 0, (size_t)(count * vocabulary) * sizeof *y);
    for (int64_t i = 0; i < count; i++)
        y[i * vocabulary + tokens[i]] = 1;
}

void ref_embedding(int64_t count, int64_t units, const int32_t *tokens, const float *w, double *y)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < units; k++)
            y[i * units + k] = (double)w[tokens[i] * units + k];
}

void ref_embedding_back(int64_t count, int64_t units, const int32_t *tokens, const double *dy,
                        double *dw)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < units; k++)
            dw[tokens[i] * units + k] += dy[i * units + k];
}
