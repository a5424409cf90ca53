/* SPDX-License-Identifier: Apache-2.0 */
/* What Android keeps for the platform of parcels. No function here sleeps. */
#ifndef ANDROID_BINDER_PARCEL_PLATFORM_H
#define ANDROID_BINDER_PARCEL_PLATFORM_H

#include <android/binder_parcel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a file can be written to the parcel. */
bool AParcel_getAllowFds(const AParcel *parcel);
/* Nothing: call with FLAG_CLEAR_BUF where the driver is to clear its buffers. */
void AParcel_markSensitive(const AParcel *parcel);

#ifdef __cplusplus
}
#endif

#endif
