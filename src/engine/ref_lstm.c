// SPDX-License-Identifier: Apache-2.0
// One direction of an LSTM, forward and back through time. For a step with input x, and h and c of
// the step before (zero at first), with * by element:
//   i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b); c' = f*c + i*g; h' = o*tanh(c')
// Hard gates have clip(0.2 z + 0.5, 0, 1) instead of the sigmoid.
#include "engine/ref_ops.h"

#include <math.h>
#include <string.h>

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double gate(const struct ref_lstm *lstm, double z)
{
    if (!lstm->hard_gates)
        return sigmoid(z);
    double y = 0.2 * z + 0.5;
    return y < 0 ? 0 : y > 1 ? 1 : y; // NaN stays NaN
}

// The slope of a gate whose value is y.
static double slope(const struct ref_lstm *lstm, double y)
{
    if (!lstm->hard_gates)
        return y * (1 - y);
    return y > 0 && y < 1 ? 0.2 : 0;
}

// The position of step s = 0, 1, ... in the sequence.
static int64_t place(const struct ref_lstm *lstm, int64_t step)
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
    int64_t now = sample * lstm->time + place(lstm, step);
    struct moment m = {.x = x + now * lstm->in,
                       .gates = lstm->gates + now * 4 * lstm->units,
                       .cell = lstm->cell + now * lstm->units,
                       .state = lstm->state + now * lstm->units};
    if (step > 0) {
        int64_t before = sample * lstm->time + place(lstm, step - 1);
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
        m->gates[r] = r / units == 2 ? tanh(sum) : gate(lstm, sum);
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
        dz[k] = dc * g[k] * slope(lstm, i[k]);
        dz[units + k] = dc * before * slope(lstm, f[k]);
        dz[2 * units + k] = dc * i[k] * (1 - g[k] * g[k]);
        dz[3 * units + k] = dstate[k] * squashed * slope(lstm, o[k]);
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
            int64_t now = sample * lstm->time + place(lstm, step);
            gates_back(lstm, &m, dstate, dcell, dz);
            products_back(lstm, &m, dz, dstate, dx ? dx + now * lstm->in : NULL, dw_in, dw_state,
                          dbias);
        }
    }
}
