// SPDX-License-Identifier: Apache-2.0
// The layers of a transformer; net.h has their definitions.
#include <math.h>

#include "engine/ref_ops.h"

// ---- positions ----

void ref_position(int64_t rows, int64_t time, int64_t units, const double *x, const float *w,
                  double *y)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++)
            y[r * units + u] = x[r * units + u] + (double)w[r % time * units + u];
}

void ref_position_back(int64_t rows, int64_t time, int64_t units, const double *dy, double *dx,
                       double *dw)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++) {
            dw[r % time * units + u] += dy[r * units + u];
            if (dx)
                dx[r * units + u] += dy[r * units + u];
        }
}

// ---- layer norm ----

// Mean and 1 / sqrt(variance + epsilon) of one row.
static void moments(const double *x, int64_t units, float epsilon, double *mean, double *inverse)
{
    double sum = 0, squares = 0;
    for (int64_t u = 0; u < units; u++)
        sum += x[u];
    *mean = sum / (double)units;
    for (int64_t u = 0; u < units; u++)
        squares += (x[u] - *mean) * (x[u] - *mean);
    *inverse = 1 / sqrt(squares / (double)units + (double)epsilon);
}

void ref_layer_norm(int64_t rows, int64_t units, float epsilon, const double *x, const float *w,
                    const float *b, double *y)
{
    for (int64_t r = 0; r < rows; r++, x += units, y += units) {
        double mean, inverse;
        moments(x, units, epsilon, &mean, &inverse);
        for (int64_t u = 0; u < units; u++)
            y[u] = (x[u] - mean) * inverse * (double)w[u] + (double)b[u];
    }
}

void ref_layer_norm_back(int64_t rows, int64_t units, float epsilon, const double *x,
                         const float *w, const double *dy, double *dx, double *dw, double *db)
{
    for (int64_t r = 0; r < rows; r++, x += units, dy += units) {
        double mean, inverse, sum = 0, along = 0; // of dy × w, and of that times the normed x
        moments(x, units, epsilon, &mean, &inverse);
        for (int64_t u = 0; u < units; u++) {
            double normed = (x[u] - mean) * inverse;
            dw[u] += dy[u] * normed;
            db[u] += dy[u];
            sum += dy[u] * (double)w[u];
            along += dy[u] * (double)w[u] * normed;
        }
        for (int64_t u = 0; dx && u < units; u++) {
            double normed = (x[u] - mean) * inverse;
            dx[r * units + u] +=
                inverse * (dy[u] * (double)w[u] - (sum + normed * along) / (double)units);
        }
    }
}

// ---- products ----

void ref_linear(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                const float *b, double *y)
{
    for (int64_t r = 0; r < rows; r++, x += in, y += units) {
        for (int64_t u = 0; u < units; u++)
            y[u] = (double)b[u];
        for (int64_t k = 0; k < in; k++)
            for (int64_t u = 0; u < units; u++)
                y[u] += x[k] * (double)w[k * units + u];
    }
}

void ref_linear_back(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                     const double *dy, double *dx, double *dw, double *db)
{
    for (int64_t r = 0; r < rows; r++, x += in, dy += units) {
        for (int64_t u = 0; u < units; u++)
            db[u] += dy[u];
        for (int64_t k = 0; k < in; k++) {
            double sum = 0;
            for (int64_t u = 0; u < units; u++) {
                dw[k * units + u] += x[k] * dy[u];
                sum += dy[u] * (double)w[k * units + u];
            }
            if (dx)
                dx[r * in + k] += sum;
        }
    }
}

void ref_tied_head(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                   double *y)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++) {
            double sum = 0;
            for (int64_t k = 0; k < in; k++)
                sum += x[r * in + k] * (double)w[u * in + k];
            y[r * units + u] = sum;
        }
}

void ref_tied_head_back(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                        const double *dy, double *dx, double *dw)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++) {
            double d = dy[r * units + u];
            for (int64_t k = 0; k < in; k++) {
                dw[u * in + k] += d * x[r * in + k];
                if (dx)
                    dx[r * in + k] += d * (double)w[u * in + k];
            }
        }
}

// ---- attention ----

// One head of one sample: rows of q, k and v are `row` numbers apart in x, those of y `units`.
struct head {
    int64_t time, size, row, units;
    double scale;
};

static struct head head_of(const struct ref_attention *a)
{
    int64_t size = a->units / a->heads;
    return (struct head){a->time, size, 3 * a->units, a->units, 1 / sqrt((double)size)};
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void head_forward(const struct head *h, const double *x, double *odds, double *y)
{
    const double *k = x + h->units, *v = x + 2 * h->units;
    for (int64_t t = 0; t < h->time; t++, odds += h->time, y += h->units) {
        double top = -HUGE_VAL, sum = 0;
        for (int64_t s = 0; s <= t; s++) {
            odds[s] = h->scale * dot(x + t * h->row, k + s * h->row, h->size);
            top = odds[s] > top ? odds[s] : top;
        }
        for (int64_t s = 0; s <= t; s++)
            sum += odds[s] = exp(odds[s] - top);
        for (int64_t i = 0; i < h->size; i++)
            y[i] = 0;
        for (int64_t s = 0; s < h->time; s++) {
            odds[s] = s <= t ? odds[s] / sum : 0;
            for (int64_t i = 0; i < h->size && s <= t; i++)
                y[i] += odds[s] * v[s * h->row + i];
        }
    }
}

static void head_back(const struct head *h, const double *x, const double *odds, const double *dy,
                      double *scratch, double *dx)
{
    const double *k = x + h->units, *v = x + 2 * h->units;
    double *dk = dx + h->units, *dv = dx + 2 * h->units;
    for (int64_t t = 0; t < h->time; t++, odds += h->time, dy += h->units) {
        double along = 0; // how far the odds' gradient changes all of them alike
        for (int64_t s = 0; s <= t; s++) {
            scratch[s] = dot(dy, v + s * h->row, h->size);
            along += scratch[s] * odds[s];
        }
        for (int64_t s = 0; s <= t; s++) {
            double d = odds[s] * (scratch[s] - along) * h->scale;
            for (int64_t i = 0; i < h->size; i++) {
                dx[t * h->row + i] += d * k[s * h->row + i];
                dk[s * h->row + i] += d * x[t * h->row + i];
                dv[s * h->row + i] += odds[s] * dy[i];
            }
        }
    }
}

void ref_attention(const struct ref_attention *a, int64_t n, const double *x, double *y)
{
    struct head head = head_of(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t h = 0; h < a->heads; h++)
            head_forward(&head, x + i * a->time * head.row + h * head.size,
                         a->odds + (i * a->heads + h) * a->time * a->time,
                         y + i * a->time * a->units + h * head.size);
}

void ref_attention_back(const struct ref_attention *a, int64_t n, const double *x, const double *dy,
                        double *dx)
{
    struct head head = head_of(a);
    for (int64_t i = 0; dx && i < n; i++)
        for (int64_t h = 0; h < a->heads; h++) {
            int64_t at = i * a->time * head.row + h * head.size;
            head_back(&head, x + at, a->odds + (i * a->heads + h) * a->time * a->time,
                      dy + i * a->time * a->units + h * head.size, a->scratch, dx + at);
        }
}

// ---- one by one ----

#define GELU_CUBE 0.044715

static double gelu_inner(double x)
{
    return sqrt(2 / M_PI) * (x + GELU_CUBE * x * x * x);
}

void ref_gelu(int64_t count, const double *x, double *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = 0.5 * x[i] * (1 + tanh(gelu_inner(x[i])));
}

void ref_gelu_back(int64_t count, const double *x, const double *dy, double *dx)
{
    for (int64_t i = 0; dx && i < count; i++) {
        double t = tanh(gelu_inner(x[i]));
        double slope = sqrt(2 / M_PI) * (1 + 3 * GELU_CUBE * x[i] * x[i]);
        dx[i] += dy[i] * (0.5 * (1 + t) + 0.5 * x[i] * (1 - t * t) * slope);
    }
}

void ref_add(int64_t count, const double *x, double *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += x[i];
}
