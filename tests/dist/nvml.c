// SPDX-License-Identifier: Apache-2.0
// A GPU driver's library that needs something newer than the bundle carries: -DNEEDS=SYMBOL names
// a function that only the host's library has in that version. One GPU, called by -DNAME=TEXT. With
// -DDEVICE it opens /dev/nvidia0 as a driver's does.
#include <stddef.h>

#define TEXT(x)  #x
#define QUOTE(x) TEXT(x)

#ifdef NEEDS
extern void needed(void) __asm__(QUOTE(NEEDS));
void (*volatile keep)(void) = needed;
#endif
#ifdef BESIDE // a second library, in the same folder
extern int beside(void);
#else
static int beside(void)
{
    return 0;
}
#endif

int nvmlInit_v2(void)
{
#ifdef DEVICE
    long answer = 2; // open(..., O_RDWR)
    __asm__ volatile("syscall"
                     : "+a"(answer)
                     : "D"("/dev/nvidia0"), "S"(2)
                     : "rcx", "r11", "memory");
    if (answer < 0)
        return 4; // NVML_ERROR_NO_PERMISSION
#endif
    return beside();
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(size_t)(index + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    static const char text[] = QUOTE(NAME);
    (void)device;
    for (unsigned i = 0; i < sizeof text && i < size; i++)
        name[i] = text[i];
    return 0;
}
