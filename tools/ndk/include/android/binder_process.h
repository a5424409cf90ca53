/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of this process that serve its objects. The driver is opened at the first use of any
 * function that needs it: /dev/binderfs/binder, or else /dev/binder.
 */
#ifndef ANDROID_BINDER_PROCESS_H
#define ANDROID_BINDER_PROCESS_H

#include <android/binder_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread, to which the driver asks for more. A second call does nothing. */
void ABinderProcess_startThreadPool(void);
/* How many the driver may ask for: 15, unless said. False: the pool has started. */
bool ABinderProcess_setThreadPoolMaxThreadCount(uint32_t numThreads);
bool ABinderProcess_isThreadPoolStarted(void);
/* The calling thread serves too, until the driver is gone. */
void ABinderProcess_joinThreadPool(void);

/* Both are refused (STATUS_INVALID_OPERATION): a thread that polls serves no objects here. */
binder_status_t ABinderProcess_setupPolling(int *fd);
binder_status_t ABinderProcess_handlePolledCommands(void);

#ifdef __cplusplus
}
#endif

#endif
