// SPDX-License-Identifier: Apache-2.0
// The layers of a transformer; net.h has their definitions.
#include "train/engine/ref_ops.h"

#include <math.h>
#include <string.h>

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
struct ref_head {
    int64_t time, size, row, units;
    double scale;
};

static struct ref_head head_of(const struct ref_attention *a)
{
    int64_t size = a->units / a->heads;
    return (struct ref_head){a->time, size, 3 * a->units, a->units, 1 / sqrt((double)size)};
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void head_forward(const struct ref_head *h, const double *x, double *odds, double *y)
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

static void head_back(const struct ref_head *h, const double *x, const double *odds,
                      const double *dy, double *scratch, double *dx)
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
    struct ref_head head = head_of(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t h = 0; h < a->heads; h++)
            head_forward(&head, x + i * a->time * head.row + h * head.size,
                         a->odds + (i * a->heads + h) * a->time * a->time,
                         y + i * a->time * a->units + h * head.size);
}

void ref_attention_back(const struct ref_attention *a, int64_t n, const double *x, const double *dy,
                        double *dx)
{
    struct ref_head head = head_of(a);
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

// ---- LSTM ----
//
// One direction of an LSTM, forward and back through time. For a step with input x, and h and c of
// the step before (zero at first), with * by element:
//   i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b); c' = f*c + i*g; h' = o*tanh(c')
// Hard gates have clip(0.2 z + 0.5, 0, 1) instead of the sigmoid.

static double gate_sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double gate_value(const struct ref_lstm *lstm, double z)
{
    if (!lstm->hard_gates)
        return gate_sigmoid(z);
    double y = 0.2 * z + 0.5;
    return y < 0 ? 0 : y > 1 ? 1 : y; // NaN stays NaN
}

// The slope of a gate whose value is y.
static double gate_slope(const struct ref_lstm *lstm, double y)
{
    if (!lstm->hard_gates)
        return y * (1 - y);
    return y > 0 && y < 1 ? 0.2 : 0;
}

// The position of step s = 0, 1, ... in the sequence.
static int64_t place_of_step(const struct ref_lstm *lstm, int64_t step)
{
    return lstm->reverse ? lstm->time - 1 - step : step;
}

// A sample's numbers at a step; `cell` and `state` of the step before are null at the first step.
struct moment {
    const double *x;
    double *gates, *cell, *state;
    const double *cell_before, *state_before;
};

static struct moment moment_at(const struct ref_lstm *lstm, const double *x, int64_t sample,
                               int64_t step)
{
    int64_t now = sample * lstm->time + place_of_step(lstm, step);
    struct moment m = {.x = x + now * lstm->in,
                       .gates = lstm->gates + now * 4 * lstm->units,
                       .cell = lstm->cell + now * lstm->units,
                       .state = lstm->state + now * lstm->units};
    if (step > 0) {
        int64_t before = sample * lstm->time + place_of_step(lstm, step - 1);
        m.cell_before = lstm->cell + before * lstm->units;
        m.state_before = lstm->state + before * lstm->units;
    }
    return m;
}

static void step_forward(const struct ref_lstm *lstm, const struct moment *m)
{
    int64_t units = lstm->units, in = lstm->in;
    for (int64_t r = 0; r < 4 * units; r++) {
        double sum = (double)lstm->bias[r];
        for (int64_t k = 0; k < in; k++)
            sum += (double)lstm->w_in[r * in + k] * m->x[k];
        for (int64_t k = 0; m->state_before && k < units; k++)
            sum += (double)lstm->w_state[r * units + k] * m->state_before[k];
        m->gates[r] = r / units == 2 ? tanh(sum) : gate_value(lstm, sum);
    }
    const double *i = m->gates, *f = i + units, *g = f + units, *o = g + units;
    for (int64_t k = 0; k < units; k++) {
        m->cell[k] = (m->cell_before ? f[k] * m->cell_before[k] : 0) + i[k] * g[k];
        m->state[k] = o[k] * tanh(m->cell[k]);
    }
}

void ref_lstm(const struct ref_lstm *lstm, int64_t n, const double *x, double *y)
{
    for (int64_t sample = 0; sample < n; sample++) {
        for (int64_t step = 0; step < lstm->time; step++) {
            struct moment m = moment_at(lstm, x, sample, step);
            step_forward(lstm, &m);
        }
        struct moment last = moment_at(lstm, x, sample, lstm->time - 1);
        memcpy(y + sample * lstm->row, last.state, (size_t)lstm->units * sizeof *y);
    }
}

// Through the functions of one step: from the gradients of state and cell to those of the sums
// before the gates (dz) and of the cell before (left in dcell).
static void gates_back(const struct ref_lstm *lstm, const struct moment *m, const double *dstate,
                       double *dcell, double *dz)
{
    int64_t units = lstm->units;
    const double *i = m->gates, *f = i + units, *g = f + units, *o = g + units;
    for (int64_t k = 0; k < units; k++) {
        double squashed = tanh(m->cell[k]);
        double before = m->cell_before ? m->cell_before[k] : 0;
        double dc = dcell[k] + dstate[k] * o[k] * (1 - squashed * squashed);
        dz[k] = dc * g[k] * gate_slope(lstm, i[k]);
        dz[units + k] = dc * before * gate_slope(lstm, f[k]);
        dz[2 * units + k] = dc * i[k] * (1 - g[k] * g[k]);
        dz[3 * units + k] = dstate[k] * squashed * gate_slope(lstm, o[k]);
        dcell[k] = dc * f[k];
    }
}

// Through the products of one step; dstate becomes the gradient of the state before.
static void products_back(const struct ref_lstm *lstm, const struct moment *m, const double *dz,
                          double *dstate, double *dx, double *dw_in, double *dw_state,
                          double *dbias)
{
    int64_t units = lstm->units, in = lstm->in;
    memset(dstate, 0, (size_t)units * sizeof *dstate);
    for (int64_t r = 0; r < 4 * units; r++) {
        dbias[r] += dz[r];
        for (int64_t k = 0; k < in; k++)
            dw_in[r * in + k] += dz[r] * m->x[k];
        for (int64_t k = 0; dx && k < in; k++)
            dx[k] += dz[r] * (double)lstm->w_in[r * in + k];
        for (int64_t k = 0; m->state_before && k < units; k++) {
            dw_state[r * units + k] += dz[r] * m->state_before[k];
            dstate[k] += dz[r] * (double)lstm->w_state[r * units + k];
        }
    }
}

void ref_lstm_back(const struct ref_lstm *lstm, int64_t n, const double *x, const double *dy,
                   double *dx, double *dw_in, double *dw_state, double *dbias)
{
    int64_t units = lstm->units;
    double *dstate = lstm->scratch, *dcell = dstate + units, *dz = dcell + units;
    for (int64_t sample = 0; sample < n; sample++) {
        memcpy(dstate, dy + sample * lstm->row, (size_t)units * sizeof *dstate);
        memset(dcell, 0, (size_t)units * sizeof *dcell);
        for (int64_t step = lstm->time - 1; step >= 0; step--) {
            struct moment m = moment_at(lstm, x, sample, step);
            int64_t now = sample * lstm->time + place_of_step(lstm, step);
            gates_back(lstm, &m, dstate, dcell, dz);
            products_back(lstm, &m, dz, dstate, dx ? dx + now * lstm->in : NULL, dw_in, dw_state,
                          dbias);
        }
    }
}
