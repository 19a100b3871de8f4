// SPDX-License-Identifier: Apache-2.0
#include "price/layers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "price/prices.h"

static int compare(const struct image *a, const struct image_offer *x, const struct image *b,
                   const struct image_offer *y)
{
    const uint32_t left[] = {x->provider, x->name, x->region, x->zone};
    const uint32_t right[] = {y->provider, y->name, y->region, y->zone};
    for (int i = 0; i < 4; i++) {
        int order = strcmp(image_word(a, left[i]), image_word(b, right[i]));
        if (order != 0)
            return order;
    }
    return (int)x->kind - (int)y->kind;
}

// The offer's position in the imported layer, or where to insert it.
static size_t place_of(const struct image *in, const struct image *image,
                       const struct image_offer *offer, bool *there)
{
    size_t low = 0, high = in->offer_count;
    *there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(in, &in->offers[middle], image, offer);
        if (order == 0) {
            *there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int layers_match(struct book *book, struct err *err)
{
    const struct image *shipped = &book->layers[LAYER_SHIPPED], *own = &book->layers[LAYER_OWN];
    const struct image *imported = &book->layers[LAYER_IMPORTED];
    size_t most = shipped->offer_count + own->offer_count;
    book->extras = calloc(most + 1, sizeof *book->extras);
    if (!book->extras)
        return err_memory(err);
    for (size_t i = 0, k = 0; i < shipped->offer_count || k < own->offer_count;) {
        const struct image_offer *a = i < shipped->offer_count ? &shipped->offers[i] : NULL;
        const struct image_offer *b = k < own->offer_count ? &own->offers[k] : NULL;
        int order = !a ? 1 : !b ? -1 : compare(shipped, a, own, b);
        struct extra *extra = &book->extras[book->extra_count++];
        if (order <= 0) {
            extra->stack.in[LAYER_SHIPPED] = a;
            i++;
        }
        if (order >= 0) {
            extra->stack.in[LAYER_OWN] = b;
            k++;
        }
        extra->at = order <= 0 ? place_of(imported, shipped, a, &extra->shared)
                               : place_of(imported, own, b, &extra->shared);
        if (extra->shared)
            extra->stack.in[LAYER_IMPORTED] = &imported->offers[extra->at];
    }
    return 0;
}

void layers_fill(const struct image *image, const struct image_offer *offer,
                 const struct image_price *price, struct offer *out)
{
    *out = (struct offer){
        .provider = image_word(image, offer->provider),
        .name = image_word(image, offer->name),
        .region = image_word(image, offer->region),
        .zone = image_word(image, offer->zone),
        .gpu = image_word(image, offer->gpu),
        .cpu = image_word(image, offer->cpu),
        .currency = image_word(image, price->currency),
        .source = image_word(image, price->source),
        .kind = (enum offer_kind)offer->kind,
        .bare_metal = offer->bare_metal != 0,
        .rate = price->rate,
        .per_s = price->per_s,
        .gpus_milli = offer->gpus_milli,
        .gpu_memory_mib = offer->gpu_memory_mib,
        .vcpus_milli = offer->vcpus_milli,
        .memory_mib = offer->memory_mib,
        .since = price->since,
        .day = price->seen,
        .valid_to = price->valid_to,
        .basis = (enum offer_basis)price->basis,
        .lacks = price->lacks,
    };
}

// Fills in values that the chosen layer does not give.
static void complete(const struct image *image, const struct image_offer *offer, struct offer *out)
{
    if (out->vcpus_milli == 0)
        out->vcpus_milli = offer->vcpus_milli;
    if (out->memory_mib == 0)
        out->memory_mib = offer->memory_mib;
    if (out->gpus_milli == 0 && out->vcpus_milli == offer->vcpus_milli) {
        out->gpus_milli = offer->gpus_milli;
        out->gpu = image_word(image, offer->gpu);
    }
    if (out->gpu_memory_mib == 0)
        out->gpu_memory_mib = offer->gpu_memory_mib;
    if (*out->cpu == '\0')
        out->cpu = image_word(image, offer->cpu);
}

bool layers_offer(const struct book *book, const struct stack *stack, int day, struct offer *out)
{
    int chosen = -1, latest = -1;
    const struct image_price *price = NULL;
    for (int i = 0; i < LAYERS; i++) {
        const struct image_offer *o = stack->in[i];
        const struct image_price *p =
            o ? prices_on(book->layers[i].prices + o->first_price, o->price_count, day) : NULL;
        if (!p)
            continue;
        int seen = day != 0 && p->seen > day ? day : p->seen;
        if (i == LAYER_OWN || seen >= latest) {
            chosen = i;
            latest = seen;
            price = p;
        }
    }
    if (chosen < 0)
        return false;
    layers_fill(&book->layers[chosen], stack->in[chosen], price, out);
    for (int i = 0; i < LAYERS; i++)
        if (i != chosen && stack->in[i])
            complete(&book->layers[i], stack->in[i], out);
    return true;
}
