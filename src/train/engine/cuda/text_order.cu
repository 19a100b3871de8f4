// SPDX-License-Identifier: Apache-2.0
// text_order: which positions have the same token, for the sums of an embedding's gradients.
#include "text.cuh"

// Groups positions by token, those of a token in order. A block has every BLOCKS-th token, a slot
// for each, 255 at most. It looks through all positions twice, and makes a list of those with its
// tokens: first it counts, then each position gets its place. For some thousand positions
// embed_order is faster, whose work grows with their square.
struct order_memory {
    enum { PIECE = 1024, ROOM = 2 * PIECE, NO_SLOT = 255 };
    __attribute__((aligned(16))) u8 slots[ROOM + 4];
    int positions[ROOM];
    int count[256], first[256], next[256]; // of a slot: how many, their places
    // Aligned, since a wider load that began in the array before would race with its writers.
    __attribute__((aligned(16))) int sums[8];
};

// Appends a piece's positions to the list, in their order, four consecutive ones per thread. Gives
// the list's new length, and adds up how many belong to blocks before this one.
DEVICE int order_append(const cuda_embed &g, order_memory *m, int from, int length, int *before)
{
    int lane = THREAD & 31, warp = THREAD >> 5, slots[4], own = 0, earlier = 0, total;
    UNROLL
    for (int k = 0; k < 4; k++) {
        int i = from + (int)THREAD * 4 + k, token = i < g.positions ? g.tokens[i] : -1;
        int owner = token < 0 ? (int)BLOCKS : token % (int)BLOCKS;
        slots[k] = owner == (int)BLOCK ? token / (int)BLOCKS : -1;
        own += slots[k] >= 0;
        *before += owner < (int)BLOCK;
    }
    total = own;
    UNROLL
    for (int k = 1; k < 32; k <<= 1) { // total: of 2 k lanes; earlier: of those of them before
        int other = shuffle_xor(total, k);
        earlier += lane & k ? other : 0;
        total += other;
    }
    if (lane == 0)
        m->sums[warp] = total;
    SYNC();
    int at = length + earlier;
    for (int i = 0; i < 8; i++) {
        at += i < warp ? m->sums[i] : 0;
        length += m->sums[i];
    }
    UNROLL
    for (int k = 0; k < 4; k++)
        if (slots[k] >= 0) {
            m->slots[at] = (u8)slots[k];
            m->positions[at++] = from + (int)THREAD * 4 + k;
        }
    SYNC();
    return length;
}

// How many of the list's entries i - THREAD to i - THREAD + 255 have the slot of entry i, and how
// many of these are before it.
DEVICE int order_same(const order_memory *m, int length, int i, int *earlier)
{
    int first = i - (int)THREAD, end = min_of(256, length - first), same = 0;
    u32 slot = (u32)m->slots[min_of(i, length - 1)] * 0x01010101u;
    *earlier = 0;
#pragma unroll 4
    for (int k = 0; k < end; k += 4) {
        u32 differ = *(const u32 *)(m->slots + first + k) ^ slot;
        // The highest bit of each byte that is 0.
        u32 zero = ~(((differ & 0x7f7f7f7fu) + 0x7f7f7f7fu) | differ | 0x7f7f7f7fu);
        int ahead = (int)THREAD - k; // entries of these four that are before it
        u32 those = ahead >= 4 ? zero : ahead <= 0 ? 0 : zero & ((1u << 8 * ahead) - 1);
        same += __builtin_popcount(zero);
        *earlier += __builtin_popcount(those);
    }
    return same;
}

// Empties the list: counts, or (place) gives places.
DEVICE void order_take(const cuda_embed &g, order_memory *m, int length, bool place)
{
    if (THREAD < 4)
        m->slots[length + THREAD] = order_memory::NO_SLOT;
    SYNC();
    for (int i = THREAD; i - (int)THREAD < length; i += 256) {
        int earlier, same = order_same(m, length, i, &earlier), slot = m->slots[min_of(i, length)];
        if (i < length && place) {
            int to = m->next[slot] + earlier, position = m->positions[i];
            g.order[to] = position;
            g.first[position] = m->first[slot];
            g.count[position] = to == m->first[slot] ? m->count[slot] : 0;
        }
        SYNC();
        if (i < length && earlier == 0)
            (place ? m->next : m->count)[slot] += same;
        SYNC();
    }
}

// The first place of each slot: after those of other blocks, and of slots before.
DEVICE void order_places(order_memory *m, int before)
{
    int own = m->count[THREAD], sum = own;
    for (int k = 16; k > 0; k >>= 1)
        before += shuffle_xor(before, k);
    if ((THREAD & 31) == 0)
        m->sums[THREAD >> 5] = before;
    for (int k = 1; k < 256; k <<= 1) { // the sum up to each thread, in steps that double
        m->next[THREAD] = sum;
        SYNC();
        sum += (int)THREAD >= k ? m->next[THREAD - k] : 0;
        SYNC();
    }
    for (int i = 0; i < 8; i++)
        sum += m->sums[i];
    m->first[THREAD] = m->next[THREAD] = sum - own;
    SYNC();
}

KERNEL(256, 1) token_order(const cuda_embed g)
{
    SHARED order_memory memory;
    order_memory *m = &memory;
    int before = 0, piece = order_memory::PIECE;
    m->count[THREAD] = 0;
    for (int pass = 0; pass < 2; pass++) {
        int length = 0;
        for (int from = 0; from < g.positions; from += piece) {
            int others = 0;
            length = order_append(g, m, from, length, &others);
            before += others;
            if (length > 0 && (length > piece || from + piece >= g.positions)) {
                order_take(g, m, length, pass == 1);
                length = 0;
            }
        }
        if (pass == 0)
            order_places(m, before);
    }
}
