/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a call went: a status of the transport (`binder_status_t`), and with it an exception of the
 * service (`AStatus`). No function here sleeps or takes a lock.
 */
#ifndef ANDROID_BINDER_STATUS_H
#define ANDROID_BINDER_STATUS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* The level of which all is declared here; what the compiler writes asks for it. */
#ifndef __ANDROID_API__
#define __ANDROID_API__ 36
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
	STATUS_OK = 0,
	STATUS_UNKNOWN_ERROR = (-2147483647 - 1),
	STATUS_BAD_TYPE = (STATUS_UNKNOWN_ERROR + 1),
	STATUS_FAILED_TRANSACTION = (STATUS_UNKNOWN_ERROR + 2),
	STATUS_FDS_NOT_ALLOWED = (STATUS_UNKNOWN_ERROR + 7),
	STATUS_UNEXPECTED_NULL = (STATUS_UNKNOWN_ERROR + 8),
	STATUS_NO_MEMORY = -ENOMEM,
	STATUS_INVALID_OPERATION = -ENOSYS,
	STATUS_BAD_VALUE = -EINVAL,
	STATUS_NAME_NOT_FOUND = -ENOENT,
	STATUS_PERMISSION_DENIED = -EPERM,
	STATUS_NO_INIT = -ENODEV,
	STATUS_ALREADY_EXISTS = -EEXIST,
	STATUS_DEAD_OBJECT = -EPIPE,
	STATUS_BAD_INDEX = -EOVERFLOW,
	STATUS_NOT_ENOUGH_DATA = -ENODATA,
	STATUS_WOULD_BLOCK = -EWOULDBLOCK,
	STATUS_TIMED_OUT = -ETIMEDOUT,
	STATUS_UNKNOWN_TRANSACTION = -EBADMSG,
};

/* One of STATUS_*; any other status is told as STATUS_UNKNOWN_ERROR. */
typedef int32_t binder_status_t;

enum {
	EX_NONE = 0,
	EX_SECURITY = -1,
	EX_BAD_PARCELABLE = -2,
	EX_ILLEGAL_ARGUMENT = -3,
	EX_NULL_POINTER = -4,
	EX_ILLEGAL_STATE = -5,
	EX_NETWORK_MAIN_THREAD = -6,
	EX_UNSUPPORTED_OPERATION = -7,
	EX_SERVICE_SPECIFIC = -8,
	EX_PARCELABLE = -9,
	/* The call did not reach the service, or its answer not the caller. */
	EX_TRANSACTION_FAILED = -129,
};

/* One of EX_*; any other exception becomes EX_TRANSACTION_FAILED. */
typedef int32_t binder_exception_t;

struct AStatus;
/* The outcome of a call. Free it with AStatus_delete(). Null is taken as success. */
typedef struct AStatus AStatus;

AStatus *AStatus_newOk(void);
AStatus *AStatus_fromExceptionCode(binder_exception_t exception);
/* The message is copied; it is UTF-8 with a NUL at its end. */
AStatus *AStatus_fromExceptionCodeWithMessage(binder_exception_t exception, const char *message);
/* An exception EX_SERVICE_SPECIFIC; what the number means is between service and client. */
AStatus *AStatus_fromServiceSpecificError(int32_t serviceSpecific);
AStatus *AStatus_fromServiceSpecificErrorWithMessage(int32_t serviceSpecific, const char *message);
/* Success for STATUS_OK, else EX_TRANSACTION_FAILED with this status. */
AStatus *AStatus_fromStatus(binder_status_t status);

bool AStatus_isOk(const AStatus *status);
binder_exception_t AStatus_getExceptionCode(const AStatus *status);
/* The number of an EX_SERVICE_SPECIFIC, else 0. */
int32_t AStatus_getServiceSpecificError(const AStatus *status);
/* The status of an EX_TRANSACTION_FAILED, else STATUS_OK. */
binder_status_t AStatus_getStatus(const AStatus *status);
/* Never null; it lives as long as the status. */
const char *AStatus_getMessage(const AStatus *status);
/* All of the status in words, for people. Free it with AStatus_deleteDescription(). */
const char *AStatus_getDescription(const AStatus *status);
void AStatus_deleteDescription(const char *description);
void AStatus_delete(AStatus *status);

#ifdef __cplusplus
}
#endif

#endif
