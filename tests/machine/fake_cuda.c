// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1 whose devices are ordinary memory: copies really copy. What it does
// is said by the variable FARE_FAKE_CUDA, words separated by spaces:
//
//   devices=N      how many there are (1)
//   free=BYTES     free memory of each device, and what one allocation may hold (8 MiB)
//   pinned=BYTES   most that cuMemHostAlloc gives (no limit)
//   FUNCTION=CODE  the function returns this code; FUNCTION@N=CODE from its Nth call on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 32
static struct {
    const char *name;
    long calls;
} counts[FUNCTIONS];

static int live_device, live_pinned, live_contexts;
static void *current;

// For tests: everything that was taken and not given back.
int fake_cuda_live(void)
{
    return live_device + live_pinned + live_contexts + (current ? 1 : 0);
}

static const char *word(const char *key)
{
    const char *text = getenv("FARE_FAKE_CUDA");
    size_t len = strlen(key);
    while (text && *text) {
        if (strncmp(text, key, len) == 0 && text[len] == '=')
            return text + len + 1;
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return NULL;
}

static long long setting(const char *key, long long otherwise)
{
    const char *value = word(key);
    return value ? strtoll(value, NULL, 0) : otherwise;
}

static int failure(const char *function)
{
    int i = 0;
    while (i < FUNCTIONS - 1 && counts[i].name && strcmp(counts[i].name, function) != 0)
        i++;
    counts[i].name = function;
    counts[i].calls++;
    char key[80];
    for (long n = 1; n <= counts[i].calls && n < 100; n++) {
        snprintf(key, sizeof key, "%s@%ld", function, n);
        if (word(key))
            return (int)setting(key, 0);
    }
    return (int)setting(function, 0);
}
#define MAY_FAIL()                                                                                 \
    do {                                                                                           \
        int code = failure(__func__);                                                              \
        if (code != 0)                                                                             \
            return code;                                                                           \
    } while (0)

int cuInit(unsigned int flags)
{
    memset(counts, 0, sizeof counts);
    MAY_FAIL();
    return flags == 0 ? 0 : 1;
}

int cuGetErrorName(int code, const char **out)
{
    switch (code) { // as cuda.h spells them
    case 2:
        *out = "CUDA_ERROR_OUT_OF_MEMORY";
        return 0;
    case 719:
        *out = "CUDA_ERROR_LAUNCH_FAILED";
        return 0;
    case 802:
        *out = "CUDA_ERROR_SYSTEM_NOT_READY";
        return 0;
    default:
        *out = NULL;
        return 1;
    }
}

int cuDeviceGetCount(int *out)
{
    MAY_FAIL();
    *out = (int)setting("devices", 1);
    return 0;
}

int cuDeviceGet(int *out, int index)
{
    MAY_FAIL();
    *out = index;
    return 0;
}

int cuDeviceGetName(char *out, int size, int device)
{
    MAY_FAIL();
    snprintf(out, (size_t)size, "Memory Pretending %d", device);
    return 0;
}

int cuDeviceGetPCIBusId(char *out, int size, int device)
{
    MAY_FAIL();
    snprintf(out, (size_t)size, "0000:%02X:00.0", 0x1b + device);
    return 0;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
    static char contexts[64];
    MAY_FAIL();
    *out = &contexts[device];
    live_contexts++;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    live_contexts--;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    MAY_FAIL();
    current = context;
    return 0;
}

int cuCtxSynchronize(void)
{
    MAY_FAIL();
    return current ? 0 : 201; // CUDA_ERROR_INVALID_CONTEXT
}

int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    MAY_FAIL();
    *left = (size_t)setting("free", 8 << 20);
    *total = *left * 2;
    return 0;
}

int cuMemAlloc_v2(unsigned long long *out, size_t size)
{
    MAY_FAIL();
    if (size > (size_t)setting("free", 8 << 20))
        return 2;
    void *memory = malloc(size);
    *out = (unsigned long long)(size_t)memory;
    live_device += memory != NULL;
    return memory ? 0 : 2;
}

int cuMemFree_v2(unsigned long long at)
{
    free((void *)(size_t)at);
    live_device--;
    return 0;
}

int cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
    MAY_FAIL();
    if (flags != 0 || (long long)size > setting("pinned", 1LL << 40))
        return 2;
    *out = malloc(size);
    live_pinned += *out != NULL;
    return *out ? 0 : 2;
}

int cuMemFreeHost(void *at)
{
    free(at);
    live_pinned--;
    return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size)
{
    MAY_FAIL();
    memcpy((void *)(size_t)to, from, size);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size)
{
    MAY_FAIL();
    memcpy(to, (const void *)(size_t)from, size);
    return 0;
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, void *stream)
{
    MAY_FAIL();
    memcpy((void *)(size_t)to, (const void *)(size_t)from, size);
    return stream ? 1 : 0;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *stream)
{
    MAY_FAIL();
    memcpy((void *)(size_t)to, from, size);
    return stream ? 1 : 0;
}
