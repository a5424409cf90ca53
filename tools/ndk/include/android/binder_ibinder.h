/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that are called: those of this process, by a class of functions, and proxies of those of
 * others. The same object is the same pointer, as long as a reference to it is held. Any thread may
 * use any object.
 */
#ifndef ANDROID_BINDER_IBINDER_H
#define ANDROID_BINDER_IBINDER_H

#include <android/binder_parcel.h>
#include <android/binder_status.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of a method. */
typedef uint32_t transaction_code_t;

enum {
	FIRST_CALL_TRANSACTION = 0x00000001,
	LAST_CALL_TRANSACTION = 0x00ffffff,
};

typedef uint32_t binder_flags_t;

enum {
	/* The caller goes on at once, and gets no answer. */
	FLAG_ONEWAY = 0x01,
	/* The driver clears its buffers of the call. */
	FLAG_CLEAR_BUF = 0x20,
};

typedef struct AIBinder_Class AIBinder_Class;
typedef struct AIBinder_Weak AIBinder_Weak;
typedef struct AIBinder_DeathRecipient AIBinder_DeathRecipient;

/* Of the argument of AIBinder_new() makes what AIBinder_getUserData() returns. */
typedef void *(*AIBinder_Class_onCreate)(void *args);
/* Frees that, after the last reference in any process is gone. */
typedef void (*AIBinder_Class_onDestroy)(void *userData);
/*
 * Serves a call, on a thread of the pool, or on the caller's when that is in this process. The
 * arguments are read from `in`, the reply is written to `out`. Any status but STATUS_OK is the
 * caller's instead of the reply. An exception of C++ must not leave the function: that ends the
 * process.
 */
typedef binder_status_t (*AIBinder_Class_onTransact)(AIBinder *binder, transaction_code_t code,
						     const AParcel *in, AParcel *out);
/* Writes what there is to say of an object to a file. */
typedef binder_status_t (*AIBinder_onDump)(AIBinder *binder, int fd, const char **args,
					   uint32_t numArgs);

/* A class, for ever. Null: an argument is. */
AIBinder_Class *AIBinder_Class_define(const char *interfaceDescriptor,
				      AIBinder_Class_onCreate onCreate,
				      AIBinder_Class_onDestroy onDestroy,
				      AIBinder_Class_onTransact onTransact);
/* Before the first object of the class. */
void AIBinder_Class_setOnDump(AIBinder_Class *clazz, AIBinder_onDump onDump);
/* Calls do not begin with the name of the interface then; both sides have to agree. */
void AIBinder_Class_disableInterfaceTokenHeader(AIBinder_Class *clazz);
const char *AIBinder_Class_getDescriptor(const AIBinder_Class *clazz);
/* Names of methods, from FIRST_CALL_TRANSACTION on, which live as long as the class. */
void AIBinder_Class_setTransactionCodeToFunctionNameMap(AIBinder_Class *clazz,
							const char **names, size_t length);
/* Null: the method has no name. */
const char *AIBinder_Class_getFunctionName(AIBinder_Class *clazz, transaction_code_t code);

/* An object with one reference. Null: the class is. */
AIBinder *AIBinder_new(const AIBinder_Class *clazz, void *args);
void AIBinder_incStrong(AIBinder *binder);
/* Nothing for null. */
void AIBinder_decStrong(AIBinder *binder);
/* -1: null. For debugging. */
int32_t AIBinder_debugGetRefCount(AIBinder *binder);

bool AIBinder_isRemote(const AIBinder *binder);
/* Whether the object is not known to be dead; false for null. */
bool AIBinder_isAlive(const AIBinder *binder);
/* A call without a method; sleeps until it is answered. */
binder_status_t AIBinder_ping(AIBinder *binder);
/* Has the object write to the file, which stays open; sleeps until it has. */
binder_status_t AIBinder_dump(AIBinder *binder, int fd, const char **args, uint32_t numArgs);

/*
 * Says that the object is of this class, which it has to be before it is called. False: it is of
 * another, or of this name but another definition. Null is of none. May sleep: the object is asked.
 */
bool AIBinder_associateClass(AIBinder *binder, const AIBinder_Class *clazz);
/* Null: none was said. */
const AIBinder_Class *AIBinder_getClass(AIBinder *binder);
/* Null for a proxy. */
void *AIBinder_getUserData(AIBinder *binder);

/*
 * Makes the parcel of a call. STATUS_UNEXPECTED_NULL: an argument is; STATUS_INVALID_OPERATION: the
 * object has no class.
 */
binder_status_t AIBinder_prepareTransaction(AIBinder *binder, AParcel **in);
/*
 * Calls. `*in` is freed in any case, and null then. `*out` is the reply, for the caller to delete,
 * empty for a one-way call, and null when the call failed. Sleeps until the reply comes. Errors:
 *
 *   STATUS_UNEXPECTED_NULL      an argument is null
 *   STATUS_BAD_VALUE            a flag is unknown, or the parcel was prepared for another object
 *   STATUS_UNKNOWN_TRANSACTION  the code is out of range, or the service does not know it
 *   STATUS_DEAD_OBJECT          the service's process is gone
 *   STATUS_FAILED_TRANSACTION   the driver refused: most often, the parcel is too large
 *
 * and whatever the service returned.
 */
binder_status_t AIBinder_transact(AIBinder *binder, transaction_code_t code, AParcel **in,
				  AParcel **out, binder_flags_t flags);

/* Of the caller that is being served, else this process's. */
uid_t AIBinder_getCallingUid(void);
/* 0 where the caller is not told: of one-way calls. */
pid_t AIBinder_getCallingPid(void);
bool AIBinder_isHandlingTransaction(void);

/* Null for null. */
AIBinder_Weak *AIBinder_Weak_new(AIBinder *binder);
void AIBinder_Weak_delete(AIBinder_Weak *weakBinder);
/* A reference for the caller; null: the object is gone, or nothing here holds it any more. */
AIBinder *AIBinder_Weak_promote(AIBinder_Weak *weakBinder);
AIBinder_Weak *AIBinder_Weak_clone(const AIBinder_Weak *weak);
/* An order, for containers, which stays while both are there. */
bool AIBinder_Weak_lt(const AIBinder_Weak *lhs, const AIBinder_Weak *rhs);
bool AIBinder_lt(const AIBinder *lhs, const AIBinder *rhs);

/* An object that extends another: for its service to set, before it is passed on. */
binder_status_t AIBinder_setExtension(AIBinder *binder, AIBinder *ext);
/* Sleeps until the object has answered. `*outExt` is a reference for the caller, or null: none. */
binder_status_t AIBinder_getExtension(AIBinder *binder, AIBinder **outExt);

/*
 * Notices of death. onBinderDied is called on a thread of the pool, so there has to be one.
 * onUnlinked is called once for each link that was asked for: after onBinderDied, after
 * AIBinder_unlinkToDeath(), when nothing holds the proxy any more, when the recipient is deleted,
 * and when linking failed.
 */
typedef void (*AIBinder_DeathRecipient_onBinderDied)(void *cookie);
typedef void (*AIBinder_DeathRecipient_onBinderUnlinked)(void *cookie);
AIBinder_DeathRecipient *
AIBinder_DeathRecipient_new(AIBinder_DeathRecipient_onBinderDied onBinderDied);
/* Before the first link. */
void AIBinder_DeathRecipient_setOnUnlinked(AIBinder_DeathRecipient *recipient,
					   AIBinder_DeathRecipient_onBinderUnlinked onUnlinked);
void AIBinder_DeathRecipient_delete(AIBinder_DeathRecipient *recipient);
/*
 * STATUS_INVALID_OPERATION: the object is of this process; STATUS_DEAD_OBJECT: it is dead already.
 * The link ends when the last reference to the proxy does.
 */
binder_status_t AIBinder_linkToDeath(AIBinder *binder, AIBinder_DeathRecipient *recipient,
				     void *cookie);
/* STATUS_NAME_NOT_FOUND: there is no such link; STATUS_DEAD_OBJECT: the object died before. */
binder_status_t AIBinder_unlinkToDeath(AIBinder *binder, AIBinder_DeathRecipient *recipient,
				       void *cookie);

#ifdef __cplusplus
}
#endif

#endif
