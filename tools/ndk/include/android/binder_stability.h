/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object promises to whom: to what is built with it (system, the default; vendor), or for
 * good (VINTF). Set before the object is passed on, as in binder_ibinder_platform.h.
 */
#ifndef ANDROID_BINDER_STABILITY_H
#define ANDROID_BINDER_STABILITY_H

#include <android/binder_ibinder.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	FLAG_PRIVATE_LOCAL = 0,
	FLAG_PRIVATE_VENDOR = 0x10000000,
};

void AIBinder_markSystemStability(AIBinder *binder);
void AIBinder_markVendorStability(AIBinder *binder);
void AIBinder_markVintfStability(AIBinder *binder);
void AIBinder_forceDowngradeToSystemStability(AIBinder *binder);
void AIBinder_forceDowngradeToVendorStability(AIBinder *binder);

static inline void AIBinder_markCompilationUnitStability(AIBinder *binder)
{
	AIBinder_markSystemStability(binder);
}

static inline void AIBinder_forceDowngradeToLocalStability(AIBinder *binder)
{
	AIBinder_forceDowngradeToSystemStability(binder);
}

#ifdef __cplusplus
}
#endif

#endif
