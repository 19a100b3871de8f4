// SPDX-License-Identifier: Apache-2.0
// A program that trains on a GPU that is not there: `traced SCENARIO [N]`. It loads the library of
// CUDA_INJECTION64_PATH as the driver does, and tells the stand-in for CUPTI (fake_cupti.c, found
// as libcupti.so.13) which kernels ended. A step of 10 ms is 4 ms without anything, a copy of 1 ms,
// then 40 kernels of 0.1 ms with gaps of 0.02 ms up to an optimizer of 0.2 ms. TRACED_NCCL_US: a
// collective of so many microseconds at the beginning of each step.
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "follow/trace/fake_cupti.h"
#include "follow/trace/inject/cupti.h"

static void (*ended)(const struct fake_record *);
static void (*flush)(void);
static uint32_t (*enabled)(void);
static int (*finalized)(void);
static int (*register_callbacks)(cupti_requested *, cupti_completed *);

static void find(void *library, const char *name, void *to)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "traced: no %s\n", name);
        exit(3);
    }
    memcpy(to, &symbol, sizeof symbol);
}

static void cu_init(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(void);
    if (!library)
        return;
    find(library, "InitializeInjection", &initialize);
    if (initialize() != 1)
        exit(4);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    while (now() < ns)
        usleep(200);
}

static void kernel(const char *name, uint64_t start, uint64_t us)
{
    ended(&(struct fake_record){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                .name = name,
                                .start = start,
                                .end = start + us * 1000,
                                .stream = 7,
                                .blocks = 64,
                                .graph = getenv("TRACED_GRAPHS") != NULL});
}

static void step(uint64_t at, int names)
{
    static char forward[40][64];
    const char *nccl_us = getenv("TRACED_NCCL_US");
    if (nccl_us)
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at,
               (uint64_t)atoi(nccl_us));
    ended(&(struct fake_record){.kind = CUPTI_KIND_MEMCPY,
                                .copy = CUPTI_COPY_HTOD,
                                .start = at + 4000000,
                                .end = at + 5000000,
                                .bytes = 1 << 20});
    at += 5020000;
    for (int i = 0; i < 40; i++, at += 120000) {
        if (!forward[i][0] && i % 2)
            snprintf(forward[i], sizeof forward[i], "vectorized_elementwise_kernel_%d", i % names);
        else if (!forward[i][0])
            snprintf(forward[i], sizeof forward[i], "nvjet_sm90_tst_%dx64", 64 * (i % names));
        kernel(forward[i], at, 100);
    }
    kernel("_ZN2at6native25multi_tensor_apply_kernelINS", at, 180);
}

// Steps of 300 ms, which it prints: 240 layers of the same five kernels, then an optimizer. The GPU
// works for 240 * 5 * 0.18 + 2 ms of each. A part of a step looks like many short ones, and a burst
// has fewer than eight.
static void train_layers(int steps)
{
    static const char *const names[] = {"nvjet_sm90_tst_64x64", "vectorized_elementwise_kernel_1",
                                        "nvjet_sm90_tst_128x64", "vectorized_elementwise_kernel_2",
                                        "reduce_kernel"};
    uint64_t at = now();
    for (int i = 0; i < steps; i++, at += 300000000) {
        for (uint64_t k = 0; k < 1200; k++) {
            if (k % 40 == 0)
                sleep_until(at + k * 200000);
            kernel(names[k % 5], at + k * 200000, 180);
        }
        kernel("_ZN2at6native25multi_tensor_apply_kernelINS", at + 240000000, 2000);
        sleep_until(at + 300000000);
        printf("step %d/%d loss 1.5\n", i + 1, steps);
        fflush(stdout);
    }
    flush();
}

static void train(int steps, int step_ms)
{
    uint64_t at = now();
    for (int i = 0; i < steps; i++, at += (uint64_t)step_ms * 1000000) {
        step(at, 20);
        sleep_until(at + (uint64_t)step_ms * 1000000);
    }
    flush();
}

static int taken;
static uint8_t other_buffer[1 << 20];
static void other_requested(uint8_t **buffer, size_t *size, size_t *max)
{
    *buffer = other_buffer;
    *size = sizeof other_buffer;
    *max = 0;
}
static void other_completed(void *c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
    (void)c, (void)s, (void)size, (void)valid;
    taken += buffer == other_buffer;
}

// Until fare wants records of all three kinds, or of none any more; not for ever: TRACED_WAIT_S,
// else 2 s. What ends while it still turns them on may be left out, so there is a pause.
static void wait_for(bool on)
{
    const char *seconds = getenv("TRACED_WAIT_S");
    int most = (seconds ? atoi(seconds) : 2) * 200, kinds = on ? 3 : 0;
    for (int i = 0; i < most && __builtin_popcount(enabled()) != kinds; i++)
        usleep(5000);
    usleep(100000);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 100;
    cu_init();
    void *cupti = dlopen("libcupti.so.13", RTLD_LAZY);
    find(cupti, "fake_ended", &ended);
    find(cupti, "fake_flush", &flush);
    find(cupti, "fake_enabled", &enabled);
    find(cupti, "fake_finalized", &finalized);
    find(cupti, "cuptiActivityRegisterCallbacks", &register_callbacks);
    if (!getenv("TRACED_AT_ONCE"))
        wait_for(true);
    if (strcmp(what, "steps") == 0) {
        train(count, 10);
    } else if (strcmp(what, "fast") == 0) {
        train(count, 1);
    } else if (strcmp(what, "queues") == 0) { // of 100 batches, and a second until the next
        for (int i = 0; i < count; i++) {
            train(100, 10);
            usleep(1000000);
        }
    } else if (strcmp(what, "layers") == 0) {
        train_layers(count);
    } else if (strcmp(what, "flood") == 0) {
        for (int i = 0; i < count; i++)
            kernel(i % 3 ? "gemm" : "elementwise", now(), 1);
        flush();
    } else if (strcmp(what, "names") == 0) {
        static char long_name[100000], many[6000][16];
        memset(long_name, 'x', sizeof long_name - 1);
        kernel(NULL, now(), 1);
        kernel("", now(), 1);
        kernel("\x1b[31m\xff\xfe\n", now(), 1);
        kernel(long_name, now(), 1);
        for (int i = 0; i < 6000; i++) {
            snprintf(many[i], sizeof many[i], "kernel_%d", i);
            kernel(many[i], now(), 1);
        }
        // The same address with another name, as after a module is unloaded.
        snprintf(many[0], sizeof many[0], "other");
        kernel(many[0], now(), 1);
        flush();
    } else if (strcmp(what, "fork") == 0) {
        train(count, 1);
        pid_t child = fork();
        if (child == 0) {
            train(count, 1);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        train(count, 1);
    } else if (strcmp(what, "killed") == 0) {
        train(count, 10);
        raise(SIGKILL);
    } else if (strcmp(what, "profiled") == 0) {
        // As torch.profiler does: its own callbacks, in the middle.
        train(count, 10);
        register_callbacks(other_requested, other_completed);
        train(count, 10);
        printf("%d %s\n", taken > 0, enabled() == 0 ? "off" : "on");
    } else if (strcmp(what, "bad") == 0) {
        kernel("backwards", now(), (uint64_t)-5); // ends before it starts
        kernel("unknown", 0, 5);
        kernel("long", now(), 10000000);
        flush();
    } else {
        return 2;
    }
    if (argc > 3) { // "steps 150 off": until it is off, and a little longer
        wait_for(false);
        train(50, 10);
        printf("detached %d\n", finalized());
    }
    printf("enabled %d\n", enabled() != 0);
    return 0;
}
