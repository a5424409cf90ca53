/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager, which knows services by their names. All functions call it, and sleep until
 * it has answered. Where an object is returned, it is a reference for the caller, or null.
 */
#ifndef ANDROID_BINDER_MANAGER_H
#define ANDROID_BINDER_MANAGER_H

#include <android/binder_ibinder.h>

#ifdef __cplusplus
extern "C" {
#endif

enum AServiceManager_AddServiceFlag {
	ADD_SERVICE_ALLOW_ISOLATED = 1 << 0,
	/* In which parts of a dump of all services this one takes part; the default is the last. */
	ADD_SERVICE_DUMP_FLAG_PRIORITY_CRITICAL = 1 << 1,
	ADD_SERVICE_DUMP_FLAG_PRIORITY_HIGH = 1 << 2,
	ADD_SERVICE_DUMP_FLAG_PRIORITY_NORMAL = 1 << 3,
	ADD_SERVICE_DUMP_FLAG_PRIORITY_DEFAULT = 1 << 4,
};

/*
 * Gives the object a name; a second process may take it over. EX_ILLEGAL_ARGUMENT: an argument is
 * null, or the name is none; EX_SECURITY: the manager does not let this process;
 * EX_TRANSACTION_FAILED: there is no manager.
 */
binder_exception_t AServiceManager_addService(AIBinder *binder, const char *instance);
binder_exception_t AServiceManager_addServiceWithFlags(AIBinder *binder, const char *instance,
						       enum AServiceManager_AddServiceFlag flags);
/* At once. */
AIBinder *AServiceManager_checkService(const char *instance);
/* Within five seconds. Rather use one of the other two. */
AIBinder *AServiceManager_getService(const char *instance);
/* Whenever there is one; null: there is no manager, or it does not let this process. */
AIBinder *AServiceManager_waitForService(const char *instance);

/* Called on a thread of the pool for each service that takes the name, and for the one there is. */
typedef void (*AServiceManager_onRegister)(const char *instance, AIBinder *registered,
					   void *cookie);
typedef struct AServiceManager_NotificationRegistration AServiceManager_NotificationRegistration;
/* Null: it was refused. End it with AServiceManager_NotificationRegistration_delete(). */
AServiceManager_NotificationRegistration *
AServiceManager_registerForServiceNotifications(const char *instance,
						AServiceManager_onRegister onRegister,
						void *cookie);
void AServiceManager_NotificationRegistration_delete(
	AServiceManager_NotificationRegistration *notification);

/* Whether the manager's manifest names the service. */
bool AServiceManager_isDeclared(const char *instance);
void AServiceManager_forEachDeclaredInstance(const char *interface, void *context,
					     void (*callback)(const char *instance, void *context));
bool AServiceManager_isUpdatableViaApex(const char *instance);
void AServiceManager_getUpdatableApexName(const char *instance, void *context,
					  void (*callback)(const char *apexName, void *context));
/* Null: there are none but on Android. */
void *AServiceManager_openDeclaredPassthroughHal(const char *interface, const char *instance,
						 int flag);

/* Like AServiceManager_addService(); the process ends when nobody uses its lazy services. */
binder_status_t AServiceManager_registerLazyService(AIBinder *binder, const char *instance);
void AServiceManager_forceLazyServicesPersist(bool persist);
/* Instead of ending, call this with whether there are clients; true: the caller sees to it. */
void AServiceManager_setActiveServicesCallback(bool (*callback)(bool hasClients, void *context),
					       void *context);
/* Only in that callback: take all lazy services back, and give them again. */
bool AServiceManager_tryUnregister(void);
void AServiceManager_reRegister(void);

#ifdef __cplusplus
}
#endif

#endif
