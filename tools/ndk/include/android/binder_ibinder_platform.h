/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Android keeps for the platform of objects. All but the first is set for an object of this
 * process before it is passed on; later, and for a proxy, it changes nothing, and a line on the
 * standard error says so. No function here sleeps.
 */
#ifndef ANDROID_BINDER_IBINDER_PLATFORM_H
#define ANDROID_BINDER_IBINDER_PLATFORM_H

#include <android/binder_ibinder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The security context of the caller, until the thread asks again; null: it was not asked for. */
const char *AIBinder_getCallingSid(void);
void AIBinder_setRequestingSid(AIBinder *binder, bool requestingSid);
/* Calls of real-time threads are served with their priority. */
void AIBinder_setInheritRt(AIBinder *binder, bool inheritRt);
/* Calls are served with this policy (SCHED_*) and priority at least. */
void AIBinder_setMinSchedulerPolicy(AIBinder *binder, int policy, int priority);

/* Kept for what links with it: a shell command is answered STATUS_INVALID_OPERATION. */
typedef binder_status_t (*AIBinder_handleShellCommand)(AIBinder *binder, int in, int out, int err,
						       const char **argv, uint32_t argc);
void AIBinder_Class_setHandleShellCommand(AIBinder_Class *clazz,
					  AIBinder_handleShellCommand handleShellCommand);

#ifdef __cplusplus
}
#endif

#endif
