/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parcel: the values that a call carries, one after the other. A parcel is used by one thread at
 * a time. Each function returns STATUS_OK, or:
 *
 *   STATUS_UNEXPECTED_NULL  the parcel or the place for the value is null, or the parcel holds null
 *                           and the caller takes none
 *   STATUS_NOT_ENOUGH_DATA  the parcel ends before the value does
 *   STATUS_BAD_VALUE        a length, a position or a text (which is UTF-8) is none
 *   STATUS_BAD_TYPE         something else stands there than a binder or a file
 *   STATUS_NO_MEMORY        an allocator refused
 *
 * No function here sleeps, but that the first binder written or read opens the driver.
 */
#ifndef ANDROID_BINDER_PARCEL_H
#define ANDROID_BINDER_PARCEL_H

#include <android/binder_status.h>
#include <stddef.h>
#ifndef __cplusplus
#include <uchar.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AIBinder AIBinder;
typedef struct AParcel AParcel;

/* An empty parcel, not for a call. Free it with AParcel_delete(). */
AParcel *AParcel_create(void);
void AParcel_delete(AParcel *parcel);
/* Empties the parcel. */
binder_status_t AParcel_reset(AParcel *parcel);
/* In bytes from the parcel's begin. */
binder_status_t AParcel_setDataPosition(const AParcel *parcel, int32_t position);
int32_t AParcel_getDataPosition(const AParcel *parcel);
int32_t AParcel_getDataSize(const AParcel *parcel);
/*
 * Copies `size` bytes from position `start` (of whole words) to the position of `to`.
 * STATUS_INVALID_OPERATION: there are binders or files among them.
 */
binder_status_t AParcel_appendFrom(const AParcel *from, AParcel *to, int32_t start, int32_t size);
/* The same to a buffer of the caller. */
binder_status_t AParcel_marshal(const AParcel *parcel, uint8_t *buffer, size_t start, size_t len);
/* Replaces all that the parcel holds; the position is 0 then. */
binder_status_t AParcel_unmarshal(AParcel *parcel, const uint8_t *buffer, size_t len);

/* A binder of null is written and read as null. What is read holds a reference for the caller. */
binder_status_t AParcel_writeStrongBinder(AParcel *parcel, AIBinder *binder);
binder_status_t AParcel_readStrongBinder(const AParcel *parcel, AIBinder **binder);
/* Writes a duplicate; -1 is null. STATUS_UNKNOWN_ERROR: it is no open file. */
binder_status_t AParcel_writeParcelFileDescriptor(AParcel *parcel, int fd);
/* The file is the caller's to close; -1 is null. */
binder_status_t AParcel_readParcelFileDescriptor(const AParcel *parcel, int *fd);
/*
 * The outcome with which a reply begins. Of an EX_TRANSACTION_FAILED, its status is returned, which
 * onTransact then returns too.
 */
binder_status_t AParcel_writeStatusHeader(AParcel *parcel, const AStatus *status);
binder_status_t AParcel_readStatusHeader(const AParcel *parcel, AStatus **status);

#define ANDROID_BINDER_SCALAR(Name, Type)                                                          \
	binder_status_t AParcel_write##Name(AParcel *parcel, Type value);                          \
	binder_status_t AParcel_read##Name(const AParcel *parcel, Type *value);

/*
 * Arrays are given by their first element and their length; null with -1 is a null array. When one
 * is read, the allocator is told the length (-1: null), says where the elements go, and returns
 * false when it takes no such array.
 */
#define ANDROID_BINDER_ARRAY(Name, Type, Allocator)                                                \
	typedef bool (*Allocator)(void *arrayData, int32_t length, Type **outBuffer);              \
	binder_status_t AParcel_write##Name##Array(AParcel *parcel, const Type *arrayData,         \
						   int32_t length);                                \
	binder_status_t AParcel_read##Name##Array(const AParcel *parcel, void *arrayData,          \
						  Allocator allocator);

ANDROID_BINDER_SCALAR(Int32, int32_t)
ANDROID_BINDER_SCALAR(Uint32, uint32_t)
ANDROID_BINDER_SCALAR(Int64, int64_t)
ANDROID_BINDER_SCALAR(Uint64, uint64_t)
ANDROID_BINDER_SCALAR(Float, float)
ANDROID_BINDER_SCALAR(Double, double)
ANDROID_BINDER_SCALAR(Bool, bool)
ANDROID_BINDER_SCALAR(Char, char16_t)
ANDROID_BINDER_SCALAR(Byte, int8_t)

ANDROID_BINDER_ARRAY(Int32, int32_t, AParcel_int32Allocator)
ANDROID_BINDER_ARRAY(Uint32, uint32_t, AParcel_uint32Allocator)
ANDROID_BINDER_ARRAY(Int64, int64_t, AParcel_int64Allocator)
ANDROID_BINDER_ARRAY(Uint64, uint64_t, AParcel_uint64Allocator)
ANDROID_BINDER_ARRAY(Float, float, AParcel_floatAllocator)
ANDROID_BINDER_ARRAY(Double, double, AParcel_doubleAllocator)
ANDROID_BINDER_ARRAY(Char, char16_t, AParcel_charAllocator)
ANDROID_BINDER_ARRAY(Byte, int8_t, AParcel_byteAllocator)

#undef ANDROID_BINDER_SCALAR
#undef ANDROID_BINDER_ARRAY

/* In bytes, without a NUL; null with -1 is a null text. */
binder_status_t AParcel_writeString(AParcel *parcel, const char *string, int32_t length);
/* Told the length with the NUL that is written too; -1: null, and no buffer is asked for. */
typedef bool (*AParcel_stringAllocator)(void *stringData, int32_t length, char **buffer);
binder_status_t AParcel_readString(const AParcel *parcel, void *stringData,
				   AParcel_stringAllocator allocator);

typedef const char *(*AParcel_stringArrayElementGetter)(const void *arrayData, size_t index,
							int32_t *outLength);
typedef bool (*AParcel_stringArrayAllocator)(void *arrayData, int32_t length);
typedef bool (*AParcel_stringArrayElementAllocator)(void *arrayData, size_t index, int32_t length,
						    char **buffer);
binder_status_t AParcel_writeStringArray(AParcel *parcel, const void *arrayData, int32_t length,
					 AParcel_stringArrayElementGetter getter);
binder_status_t AParcel_readStringArray(const AParcel *parcel, void *arrayData,
					AParcel_stringArrayAllocator allocator,
					AParcel_stringArrayElementAllocator elementAllocator);

typedef bool (*AParcel_boolArrayGetter)(const void *arrayData, size_t index);
typedef bool (*AParcel_boolArrayAllocator)(void *arrayData, int32_t length);
typedef void (*AParcel_boolArraySetter)(void *arrayData, size_t index, bool value);
binder_status_t AParcel_writeBoolArray(AParcel *parcel, const void *arrayData, int32_t length,
				       AParcel_boolArrayGetter getter);
binder_status_t AParcel_readBoolArray(const AParcel *parcel, void *arrayData,
				      AParcel_boolArrayAllocator allocator,
				      AParcel_boolArraySetter setter);

/* Elements are written and read by the caller; the first status but STATUS_OK ends it. */
typedef binder_status_t (*AParcel_writeParcelableElement)(AParcel *parcel, const void *arrayData,
							  size_t index);
typedef bool (*AParcel_parcelableArrayAllocator)(void *arrayData, int32_t length);
typedef binder_status_t (*AParcel_readParcelableElement)(const AParcel *parcel, void *arrayData,
							 size_t index);
binder_status_t AParcel_writeParcelableArray(AParcel *parcel, const void *arrayData, int32_t length,
					     AParcel_writeParcelableElement elementWriter);
binder_status_t AParcel_readParcelableArray(const AParcel *parcel, void *arrayData,
					    AParcel_parcelableArrayAllocator allocator,
					    AParcel_readParcelableElement elementReader);

#ifdef __cplusplus
}
#endif

#endif
