// SPDX-License-Identifier: Apache-2.0
// The whole sampler: real processes on this machine, recorded machines, and a driver that hangs.
#include "machine/sample/sampler.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "machine/recorded.h"

#undef assert_absent
#include "sample.h"

static struct sampler *start(const struct sampler_options *options)
{
    struct err err = {0};
    struct sampler *sampler;
    assert_ok(sampler_start(&sampler, options, &err), &err);
    assert_non_null(sampler);
    return sampler;
}

static void finish(struct sampler *sampler, struct run *run)
{
    struct err err = {0};
    memset(run, 0, sizeof *run);
    assert_ok(sampler_finish(sampler, run, &err), &err);
    sampler_free(sampler);
}

static bool tainted(const struct run *run, const char *with)
{
    for (size_t i = 0; i < run->taints.count; i++)
        if (strstr(run->taints.items[i], with))
            return true;
    return false;
}

// A child that waits for a byte, does `work` and ends.
static pid_t child(int go[2], void (*work)(void))
{
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char c;
        close(go[1]);
        if (read(go[0], &c, 1) != 0)
            _exit(1);
        work();
        _exit(0);
    }
    close(go[0]);
    return pid;
}

static void watch(void (*work)(void), struct run *run)
{
    int go[2], status;
    pid_t pid = child(go, work);
    struct sampler *sampler =
        start(&(struct sampler_options){.root = "", .pid = pid, .start_ns = clock_now_ns()});
    close(go[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    finish(sampler, run);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void burn(double seconds)
{
    volatile double x = 1;
    while (cpu_s() < seconds)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001;
}

static void burn_2(void)
{
    burn(2);
}

// The child uses 2 s of CPU time whatever it has to share the machine with: what was used is the
// share times the time, and 100 % where the machine is its own.
TEST(a_busy_child_reads_as_busy)
{
    struct run run;
    watch(burn_2, &run);
    assert_true(run.use.samples.v >= 5);
    assert_true(run.use.cpu_percent.known);
    double wall_s = run.use.interval_s.v * (double)(run.use.samples.v - 1);
    double used_s = run.use.cpu_percent.v / 100 * wall_s;
    assert_true(used_s > 1.85 && used_s < 2.3);
    assert_true(run.use.cpu_percent.v < 115);
    if (wall_s < 2.1)
        assert_true(run.use.cpu_percent.v > 85);
    // Each reading but the first gives one; the last does where it is not too near the one before.
    assert_in_range(run.samples.count, (uint64_t)run.use.samples.v - 2,
                    (uint64_t)run.use.samples.v - 1);
    assert_true(run.samples.items[1].at_s.v > 0.5 && run.samples.items[1].at_s.v < 1.2);
    record_release(run_fields, &run);
}

static void fork_and_exit(void)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn(0.05);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            _exit(1);
    }
}

TEST(short_lived_children_are_counted)
{
    struct run run;
    watch(fork_and_exit, &run);
    double used_s =
        run.use.cpu_percent.v / 100 * run.use.interval_s.v * (double)(run.use.samples.v - 1);
    assert_true(used_s > 0.85 && used_s < 1.4);
    record_release(run_fields, &run);
}

static void allocate(void)
{
    size_t bytes = (size_t)200 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, bytes);
    clock_sleep_ns(1200 * NS_PER_MS);
    if (munmap(memory, bytes) != 0)
        _exit(1);
}

TEST(the_memory_peak_is_found)
{
    struct run run;
    watch(allocate, &run);
    assert_true(run.use.memory_peak_bytes.v >= (int64_t)200 << 20);
    assert_true(run.use.memory_peak_bytes.v < (int64_t)300 << 20);
    int64_t most = 0;
    for (size_t i = 0; i < run.samples.count; i++)
        most =
            run.samples.items[i].memory_bytes.v > most ? run.samples.items[i].memory_bytes.v : most;
    assert_true(most >= (int64_t)200 << 20);
    record_release(run_fields, &run);
}

static void write_file(void)
{
    static char block[1 << 20];
    char path[] = "fare-test-disk-XXXXXX"; // the runner gives a folder of our own
    int fd = mkstemp(path);
    if (fd < 0)
        _exit(1);
    unlink(path);
    for (int i = 0; i < 32; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            _exit(1);
    close(fd);
}

TEST(disk_bytes_are_counted)
{
    struct run run;
    struct statfs fs;
    assert_int_equal(statfs(".", &fs), 0);
    if (access("/proc/self/io", R_OK) != 0 || fs.f_type == 0x01021994) // tmpfs is no disk
        skip();
    watch(write_file, &run);
    assert_true(run.use.disk_write_bytes.known);
    assert_true(run.use.disk_write_bytes.v >= 32 << 20);
    assert_true(run.use.disk_write_bytes.v < 40 << 20);
    record_release(run_fields, &run);
}

// Ourselves, with a thread that burns; and the sampler's end comes at once, not after its interval.
TEST(ourselves)
{
    struct run run;
    int64_t start_ns = clock_now_ns();
    struct sampler *sampler =
        start(&(struct sampler_options){.root = "", .start_ns = start_ns, .interval_s = 30});
    double before_s = cpu_s();
    burn(before_s + 0.5);
    int64_t end_ns = clock_now_ns();
    finish(sampler, &run);
    assert_true(clock_now_ns() - end_ns < 500 * NS_PER_MS);
    assert_int(run.use.samples, 2);
    double wall_s = run.use.interval_s.v;
    assert_true(run.use.cpu_percent.v * wall_s > 40 && run.use.cpu_percent.v * wall_s < 70);
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    // The kernel's other count of the peak goes back to before exec(): it is an upper bound, but
    // for what its CPUs hold back.
    assert_true(run.use.memory_peak_bytes.v > 1 << 20);
    assert_true(run.use.memory_peak_bytes.v < usage.ru_maxrss * 1024LL + (8 << 20));
    record_release(run_fields, &run);
    sampler = start(&(struct sampler_options){.root = ""});
    sampler_free(sampler);
    sampler_free(NULL);
}

TEST(a_process_that_has_ended_already)
{
    int go[2];
    pid_t pid = child(go, fork_and_exit);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(go[1]);
    struct run run;
    struct sampler *sampler = start(&(struct sampler_options){.root = "", .pid = pid});
    clock_sleep_ns(100 * NS_PER_MS); // some ticks of the kernel's
    finish(sampler, &run);
    assert_absent(run.use.cpu_percent);
    assert_absent(run.use.memory_peak_bytes);
    assert_true(run.use.steal_percent.known);
    record_release(run_fields, &run);
}

TEST(nothing_to_read)
{
    struct host s = host_make();
    struct run run;
    unsetenv("FARE_NVML");
    finish(start(&(struct sampler_options){.root = s.root, .pid = 100}), &run);
    assert_int(run.use.samples, 2);
    assert_absent(run.use.cpu_percent);
    assert_absent(run.use.network_in_bytes);
    assert_absent(run.use.cpu_energy_j);
    assert_absent(run.use.throttled_ns);
    assert_absent(run.use.gpus);
    assert_int_equal(run.taints.count, 0);
    record_release(run_fields, &run);
    host_remove(&s);
}

#define TWO_GPUS                                                                                   \
    "init = 0\ncount = 2\nreload = 1\ngpu*.name = NVIDIA H100 80GB HBM3\ngpu*.uuid = GPU-1\n"      \
    "gpu*.use = 80\ngpu*.memory = 85520809984 0 0 1000000\ngpu*.power = 500000\n"                  \
    "gpu*.sm = 1700\ngpu*.temperature = 60\ngpu*.reasons = 0x40\ngpu0.process0 = 100 5\n"          \
    "gpu*.gpm = 1\ngpu*.gpm2 = 70\n"

TEST(gpus_of_a_run)
{
    struct host s = host_make();
    struct run run;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    use_library("FARE_NVML", "../fake_nvml.so");
    answers_are(TWO_GPUS "gpu0.energy = 1000\n");
    struct sampler *sampler =
        start(&(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.05});
    clock_sleep_ns(500 * NS_PER_MS);
    finish(sampler, &run);
    assert_int(run.use.gpus, 1);
    assert_real(run.use.gpu_percent, 80);
    assert_int(run.use.gpu_memory_peak_bytes, 1000000);
    assert_real(run.use.gpu_energy_j, 0); // the counter stood still
    assert_true(tainted(&run, "GPU 0 was throttled by heat in 100 % of the samples"));
    assert_true(run.samples.count >= 2);
    assert_real(run.samples.items[run.samples.count / 2].gpu_percent, 80);
    assert_real(run.samples.items[run.samples.count / 2].power_w, 500);
    record_release(run_fields, &run);
    // Known not to use any: nobody is asked.
    finish(start(&(struct sampler_options){.root = s.root, .pid = 100, .no_gpus = true}), &run);
    assert_absent(run.use.gpus);
    record_release(run_fields, &run);
    // No process is shown, as in a container; the environment says which.
    answers_are("init = 0\ncount = 2\ngpu*.use = 80\ngpu*.power = 500000\n");
    static char visible[] = "CUDA_VISIBLE_DEVICES=1";
    char *const env[] = {visible, NULL};
    sampler = start(
        &(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.05, .env = env});
    clock_sleep_ns(300 * NS_PER_MS);
    finish(sampler, &run);
    assert_int(run.use.gpus, 1);
    assert_int(run.use.gpu_list.items[0].index, 1);
    assert_true(run.use.gpu_energy_j.v > 5 && run.use.gpu_energy_j.v < 1000); // 500 W × 0.3 s
    record_release(run_fields, &run);
    host_remove(&s);
}

// Renamed into place: the other thread must not read half of it.
static void answers_become(const char *text)
{
    char other[64];
    snprintf(other, sizeof other, "%s.new", answers_path);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, answers_path), 0);
}

// Waits for a reading, which a busy machine delays.
static enum sampler_busy busy_soon(struct sampler *sampler, double *share, struct maybe_real *work)
{
    enum sampler_busy busy = SAMPLER_UNKNOWN;
    for (int i = 0; i < 100 && busy == SAMPLER_UNKNOWN; i++) {
        clock_sleep_ns(100 * NS_PER_MS);
        busy = sampler_busy(sampler, share, work);
    }
    return busy;
}

// Without a GPU: 3 s of CPU time on 100 CPUs since the start, by the file; then nothing more.
TEST(busy_cpus)
{
    struct host s = host_make();
    double share = -1;
    struct maybe_real work;
    unsetenv("FARE_NVML");
    put_task(&s, 100, 1, 50, 50, 0, 0, 1);
    int64_t before_ns = clock_now_ns();
    struct sampler *sampler = start(
        &(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.05, .cpus = 100});
    assert_int_equal(sampler_busy(sampler, &share, &work), SAMPLER_UNKNOWN); // one reading
    put_task(&s, 100, 1, 250, 150, 0, 0, 1);
    clock_sleep_ns(200 * NS_PER_MS);
    assert_int_equal(busy_soon(sampler, &share, &work), SAMPLER_CPUS);
    double most_s = (double)(clock_now_ns() - before_ns) * 1e-9;
    assert_true(share >= 3 / most_s / 100 && share <= 3 / 0.1 / 100);
    clock_sleep_ns(200 * NS_PER_MS);
    assert_int_equal(busy_soon(sampler, &share, &work), SAMPLER_CPUS);
    assert_true(share == 0 && !work.known);
    sampler_free(sampler);
    host_remove(&s);
}

// Two GPUs, the run on one of them: its share since the last call, not the other's. TWO_GPUS has
// GPM, which says 70 % of the multiprocessors.
TEST(busy_gpus)
{
    struct host s = host_make();
    double share = -1;
    struct maybe_real work;
    put_task(&s, 100, 1, 50, 50, 0, 0, 1);
    use_library("FARE_NVML", "../fake_nvml.so");
    answers_are(TWO_GPUS);
    struct sampler *sampler = start(
        &(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.05, .cpus = 100});
    clock_sleep_ns(300 * NS_PER_MS);
    assert_int_equal(busy_soon(sampler, &share, &work), SAMPLER_GPUS);
    assert_true(fabs(share - 0.8) < 1e-9);
    assert_true(work.known && fabs(work.v - 0.7) < 1e-9);
    answers_become("gpu0.use = 20\ngpu1.use = 99\ngpu0.gpm2 = 90\n" TWO_GPUS);
    clock_sleep_ns(300 * NS_PER_MS);
    sampler_busy(sampler, &share, &work); // a part of it before the change
    clock_sleep_ns(300 * NS_PER_MS);
    assert_int_equal(sampler_busy(sampler, &share, &work), SAMPLER_GPUS);
    assert_true(fabs(share - 0.2) < 1e-9);
    assert_true(work.known && fabs(work.v - 0.9) < 1e-9);
    sampler_free(sampler);
    host_remove(&s);
}

TEST(a_gpu_lost_in_mid_run)
{
    struct host s = host_make();
    struct run run;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    answers_are(TWO_GPUS);
    struct sampler *sampler =
        start(&(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.05});
    clock_sleep_ns(400 * NS_PER_MS);
    answers_become(TWO_GPUS "gpu0.fail.nvmlDeviceGetUtilizationRates = 15\n");
    clock_sleep_ns(400 * NS_PER_MS);
    finish(sampler, &run);
    assert_int(run.use.gpus, 1);
    assert_real(run.use.gpu_percent, 80);
    assert_true(tainted(&run, "GPU 0 was lost during the run"));
    record_release(run_fields, &run);
    host_remove(&s);
}

// The thread is left behind; it wakes up later and clears up after itself (under the address
// sanitizer a mistake there is found).
TEST(a_driver_that_hangs)
{
    struct host s = host_make();
    struct run run;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    host_put(&s, "/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    static const struct {
        const char *hang;
        bool silent;
    } cases[] = {{"hang.nvmlDeviceGetPowerUsage = 3000\n", true}, // the second reading's
                 {"hang.nvmlGpmMetricsGet = 3000\n", true},
                 {"hang.nvmlDeviceGetName = 3000\n", false}}; // it is slow to start
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char answers[2048];
        answers_are("count = 1\n" TWO_GPUS);
        snprintf(answers, sizeof answers, "count = 1\n" TWO_GPUS "%s", cases[c].hang);
        if (!cases[c].silent)
            answers_are(answers);
        struct sampler *sampler =
            start(&(struct sampler_options){.root = s.root, .pid = 100, .interval_s = 0.2});
        if (cases[c].silent) {
            clock_sleep_ns(400 * NS_PER_MS);
            answers_become(answers);
        }
        clock_sleep_ns(600 * NS_PER_MS);
        int64_t before_ns = clock_now_ns();
        finish(sampler, &run);
        int64_t took_ns = clock_now_ns() - before_ns;
        assert_true(took_ns > 1 * NS_PER_S && took_ns < 2800 * NS_PER_MS);
        assert_absent(run.use.gpus);
        assert_absent(run.use.gpu_energy_j);
        assert_absent(run.use.steal_percent); // no time passes in a made-up file
        assert_true(tainted(&run, "stopped responding") == cases[c].silent);
        assert_true(run.use.samples.v >= 3); // the rest was not held up
        record_release(run_fields, &run);
        clock_sleep_ns(2500 * NS_PER_MS); // the stand-in is not made for two threads
    }
    host_remove(&s);
}

static int forget(void **state)
{
    (void)state;
    forget_answers();
    return 0;
}

int main(void)
{
    return run_all_tests(NULL, forget);
}
