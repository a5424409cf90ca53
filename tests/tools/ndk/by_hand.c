// SPDX-License-Identifier: Apache-2.0
/*
 * An interface whose parcels are written by hand.
 *
 * ndk-by-hand plain        what needs no other process: each wrong use has the status of the NDK
 * ndk-by-hand alone NAME   serves NAME by one thread, without a pool
 * ndk-by-hand call NAME    waits for NAME, is told of it, calls it, is called back, has it die, and
 *                          is told that
 *
 * Says "as it should be", or what is not.
 */
#include <android/binder_ibinder.h>
#include <android/binder_ibinder_platform.h>
#include <android/binder_manager.h>
#include <android/binder_parcel_platform.h>
#include <android/binder_process.h>
#include <android/binder_stability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

#define IS(expression, wanted)                                                                     \
	do {                                                                                       \
		long long got = (long long)(expression);                                           \
		if (got != (long long)(wanted)) {                                                  \
			failures++;                                                                \
			printf("line %d: %s is %lld, not %s\n", __LINE__, #expression, got,        \
			       #wanted);                                                           \
		}                                                                                  \
	} while (0)

static int created, destroyed;

static void *on_create(void *args)
{
	created++;
	return args;
}

static void on_destroy(void *data)
{
	destroyed++;
	(void)data;
}

enum { MOST = 4 };

/* What is passed as arrays: a whole one into memory that the reader has, texts one by one. */
struct arrays {
	int64_t numbers[MOST];
	char *texts[MOST];
	int32_t numbers_length, texts_length; /* -1: null */
};

static bool take_numbers(void *data, int32_t length, int64_t **buffer)
{
	struct arrays *arrays = data;

	arrays->numbers_length = length;
	*buffer = arrays->numbers;
	return length <= MOST;
}

static bool take_texts(void *data, int32_t length)
{
	((struct arrays *)data)->texts_length = length;
	return length <= MOST;
}

/* A text that is null comes with the length -1, and no place for a buffer. */
static bool take_text(void *data, size_t index, int32_t length, char **buffer)
{
	if (length >= 0)
		*buffer = ((struct arrays *)data)->texts[index] = malloc(length);
	return true;
}

static const char *text_of(const void *data, size_t index, int32_t *length)
{
	const char *text = ((const struct arrays *)data)->texts[index];

	*length = text ? (int32_t)strlen(text) : -1;
	return text;
}

static binder_status_t read_arrays(const AParcel *in, struct arrays *to)
{
	binder_status_t status = AParcel_readInt64Array(in, to, take_numbers);

	return status != STATUS_OK ? status :
				     AParcel_readStringArray(in, to, take_texts, take_text);
}

static binder_status_t write_arrays(AParcel *out, const struct arrays *from)
{
	const int32_t length = from->texts_length;
	binder_status_t status = AParcel_writeInt64Array(out, from->numbers, from->numbers_length);

	return status != STATUS_OK ? status :
				     AParcel_writeStringArray(out, length < 0 ? NULL : from, length,
							      text_of);
}

static void free_texts(struct arrays *arrays)
{
	for (int i = 0; i < arrays->texts_length; i++)
		free(arrays->texts[i]);
}

static binder_status_t serve_arrays(const AParcel *in, AParcel *out)
{
	struct arrays arrays = {};
	binder_status_t status = read_arrays(in, &arrays);

	if (status == STATUS_OK)
		status = write_arrays(out, &arrays);
	free_texts(&arrays);
	return status;
}

static binder_status_t call_back(const AParcel *in, AParcel *out);

/* The sum of two numbers; whatever status it is given; and see above. */
enum { SUM = FIRST_CALL_TRANSACTION, FAIL, ARRAYS, CALL_BACK, DIE };

static binder_status_t on_transact(AIBinder *binder, transaction_code_t code, const AParcel *in,
				   AParcel *out)
{
	int32_t a = 0, b = 0;
	binder_status_t status;

	(void)binder;
	if (code == ARRAYS)
		return serve_arrays(in, out);
	if (code == CALL_BACK)
		return call_back(in, out);
	if (code == DIE)
		_exit(0);
	status = AParcel_readInt32(in, &a);
	if (status != STATUS_OK)
		return status;
	if (code == FAIL)
		return a;
	if (code != SUM)
		return STATUS_UNKNOWN_TRANSACTION;
	status = AParcel_readInt32(in, &b);
	return status == STATUS_OK ? AParcel_writeInt32(out, a + b) : status;
}

static AIBinder_Class *define(const char *descriptor)
{
	return AIBinder_Class_define(descriptor, on_create, on_destroy, on_transact);
}

static bool refuse_int32(void *data, int32_t length, int32_t **buffer)
{
	(void)data, (void)length, (void)buffer;
	return false;
}

static bool take_int32(void *data, int32_t length, int32_t **buffer)
{
	*(int32_t *)data = length;
	*buffer = NULL;
	return true;
}

static bool take_string(void *data, int32_t length, char **buffer)
{
	if (length < 0 || length > 16)
		return false;
	*buffer = data;
	return true;
}

static void use_parcels(void)
{
	AParcel *parcel = AParcel_create();
	int32_t number = 0, numbers[2] = {1, 2};
	int64_t wide;
	char text[16];

	IS(AParcel_readInt32(parcel, &number), STATUS_NOT_ENOUGH_DATA);
	IS(AParcel_readInt32(NULL, &number), STATUS_UNEXPECTED_NULL);
	IS(AParcel_writeInt32(NULL, 1), STATUS_UNEXPECTED_NULL);
	IS(AParcel_writeInt32(parcel, 7), STATUS_OK);
	IS(AParcel_setDataPosition(parcel, -1), STATUS_BAD_VALUE);
	IS(AParcel_setDataPosition(parcel, 0), STATUS_OK);
	IS(AParcel_readInt64(parcel, &wide), STATUS_NOT_ENOUGH_DATA);
	IS(AParcel_readInt32(parcel, NULL), STATUS_UNEXPECTED_NULL);

	IS(AParcel_reset(parcel), STATUS_OK);
	IS(AParcel_getDataSize(parcel), 0);
	IS(AParcel_writeInt32Array(parcel, NULL, 1), STATUS_BAD_VALUE);
	IS(AParcel_writeInt32Array(parcel, numbers, -1), STATUS_BAD_VALUE);
	IS(AParcel_writeInt32Array(parcel, NULL, -1), STATUS_OK);
	IS(AParcel_writeInt32Array(parcel, numbers, 2), STATUS_OK);
	AParcel_setDataPosition(parcel, 0);
	IS(AParcel_readInt32Array(parcel, &number, refuse_int32), STATUS_UNEXPECTED_NULL);
	IS(AParcel_readInt32Array(parcel, &number, refuse_int32), STATUS_NO_MEMORY);
	AParcel_setDataPosition(parcel, 0);
	IS(AParcel_readInt32Array(parcel, &number, take_int32), STATUS_OK);
	IS(number, -1);
	IS(AParcel_readInt32Array(parcel, &number, take_int32), STATUS_NO_MEMORY);
	IS(AParcel_readInt32Array(parcel, &number, NULL), STATUS_UNEXPECTED_NULL);

	AParcel_reset(parcel);
	IS(AParcel_writeString(parcel, NULL, 2), STATUS_BAD_VALUE);
	IS(AParcel_writeString(parcel, "x", -1), STATUS_BAD_VALUE);
	IS(AParcel_writeString(parcel, "\xff", 1), STATUS_BAD_VALUE);
	IS(AParcel_writeString(parcel, NULL, -1), STATUS_OK);
	IS(AParcel_writeString(parcel, "four", 4), STATUS_OK);
	AParcel_setDataPosition(parcel, 0);
	IS(AParcel_readString(parcel, text, take_string), STATUS_UNEXPECTED_NULL);
	IS(AParcel_readString(parcel, text, take_string), STATUS_OK);
	IS(strcmp(text, "four"), 0);

	AParcel_delete(parcel);
}

static void copy_parcels(void)
{
	AParcel *parcel = AParcel_create(), *other = AParcel_create();
	uint8_t bytes[8];
	int64_t wide;
	AIBinder *binder;
	int file;

	AParcel_writeInt64(parcel, 5);
	IS(AParcel_marshal(parcel, bytes, 0, 8), STATUS_OK);
	IS(AParcel_marshal(parcel, bytes, 4, 8), STATUS_BAD_VALUE);
	IS(AParcel_unmarshal(other, bytes, 8), STATUS_OK);
	IS(AParcel_readInt64(other, &wide), STATUS_OK);
	IS(wide, 5);
	IS(AParcel_appendFrom(parcel, other, 0, 12), STATUS_BAD_VALUE);
	IS(AParcel_appendFrom(parcel, other, 0, 8), STATUS_OK);
	IS(AParcel_getDataSize(other), 16);

	AParcel_reset(parcel);
	IS(AParcel_writeParcelFileDescriptor(parcel, 12345), STATUS_UNKNOWN_ERROR);
	IS(AParcel_writeParcelFileDescriptor(parcel, 0), STATUS_OK);
	IS(AParcel_appendFrom(parcel, other, 0, AParcel_getDataSize(parcel)),
	   STATUS_INVALID_OPERATION);
	AParcel_setDataPosition(parcel, 0);
	IS(AParcel_readParcelFileDescriptor(parcel, &file), STATUS_OK);
	close(file);
	/* Bytes that look like a binder are none. */
	AParcel_reset(parcel);
	for (int i = 0; i < 7; i++)
		AParcel_writeInt32(parcel, 0x73622a85);
	AParcel_setDataPosition(parcel, 0);
	IS(AParcel_readStrongBinder(parcel, &binder), STATUS_BAD_TYPE);
	IS((intptr_t)binder, 0);
	IS(AParcel_getAllowFds(parcel), true);
	AParcel_delete(parcel);
	AParcel_delete(other);
	AParcel_delete(NULL);
}

static binder_status_t call(AIBinder *binder, transaction_code_t code, int32_t a, int32_t b,
			    binder_flags_t flags, int32_t *sum)
{
	AParcel *in, *out = NULL;
	binder_status_t status = AIBinder_prepareTransaction(binder, &in);

	if (status != STATUS_OK)
		return status;
	AParcel_writeInt32(in, a);
	AParcel_writeInt32(in, b);
	status = AIBinder_transact(binder, code, &in, &out, flags);
	IS((intptr_t)in, 0);
	if (status == STATUS_OK && code == SUM)
		status = AParcel_readInt32(out, sum);
	AParcel_delete(out);
	return status;
}

/* Calls the object that it is given. */
static binder_status_t call_back(const AParcel *in, AParcel *out)
{
	int32_t sum;
	AIBinder *other;
	binder_status_t status = AParcel_readStrongBinder(in, &other);

	if (status != STATUS_OK)
		return status;
	status = AIBinder_associateClass(other, define("by.hand.IPlayer")) ?
			 call(other, SUM, 20, 22, 0, &sum) :
			 STATUS_BAD_TYPE;
	AIBinder_decStrong(other);
	return status != STATUS_OK ? status : AParcel_writeInt32(out, sum);
}

static void use_objects(void)
{
	static const char *names[] = {"add", "fail"};
	AIBinder_Class *class = define("by.hand.IAdder"), *twin = define("by.hand.IAdder");
	AIBinder *binder = AIBinder_new(class, &created), *other = AIBinder_new(class, NULL), *same;
	AIBinder_DeathRecipient *recipient = AIBinder_DeathRecipient_new(on_destroy);
	AIBinder_Weak *weak = AIBinder_Weak_new(binder), *clone = AIBinder_Weak_clone(weak);
	AParcel *in = NULL, *out;
	int32_t sum = 0;

	IS((intptr_t)AIBinder_Class_define(NULL, on_create, on_destroy, on_transact), 0);
	IS((intptr_t)AIBinder_Class_define("x", on_create, on_destroy, NULL), 0);
	IS((intptr_t)AIBinder_new(NULL, NULL), 0);
	IS(strcmp(AIBinder_Class_getDescriptor(class), "by.hand.IAdder"), 0);
	AIBinder_Class_setTransactionCodeToFunctionNameMap(class, names, 2);
	IS(strcmp(AIBinder_Class_getFunctionName(class, 2), "fail"), 0);
	IS((intptr_t)AIBinder_Class_getFunctionName(class, 3), 0);
	IS(AIBinder_getUserData(binder) == &created, true);
	IS(AIBinder_isRemote(binder), false);
	IS(AIBinder_isAlive(binder), true);
	IS(AIBinder_isAlive(NULL), false);
	IS(AIBinder_ping(NULL), STATUS_UNEXPECTED_NULL);
	IS(AIBinder_associateClass(binder, class), true);
	IS(AIBinder_associateClass(binder, twin), false);
	IS(AIBinder_associateClass(NULL, class), false);

	IS(call(binder, 1, 20, 22, 0, &sum), STATUS_OK);
	IS(sum, 42);
	IS(call(binder, 2, STATUS_BAD_INDEX, 0, 0, &sum), STATUS_BAD_INDEX);
	IS(call(binder, 2, -12345, 0, 0, &sum), STATUS_UNKNOWN_ERROR);
	IS(call(binder, 9, 0, 0, 0, &sum), STATUS_UNKNOWN_TRANSACTION);
	IS(call(binder, 0, 0, 0, 0, &sum), STATUS_UNKNOWN_TRANSACTION);
	IS(call(binder, 0x01000000, 0, 0, 0, &sum), STATUS_UNKNOWN_TRANSACTION);
	IS(call(binder, 1, 0, 0, 0x40000000, &sum), STATUS_BAD_VALUE);
	IS(call(NULL, 1, 0, 0, 0, &sum), STATUS_UNEXPECTED_NULL);
	IS(AIBinder_transact(binder, 1, &in, &out, 0), STATUS_UNEXPECTED_NULL);
	IS(AIBinder_transact(binder, 1, NULL, &out, 0), STATUS_UNEXPECTED_NULL);
	AIBinder_prepareTransaction(other, &in);
	IS(AIBinder_transact(binder, 1, &in, &out, 0), STATUS_BAD_VALUE);
	in = AParcel_create();
	IS(AIBinder_transact(binder, 1, &in, &out, 0), STATUS_BAD_VALUE);

	IS(AIBinder_linkToDeath(binder, recipient, NULL), STATUS_INVALID_OPERATION);
	IS(AIBinder_linkToDeath(NULL, recipient, NULL), STATUS_UNEXPECTED_NULL);
	IS(AIBinder_unlinkToDeath(binder, NULL, NULL), STATUS_UNEXPECTED_NULL);
	AIBinder_DeathRecipient_delete(recipient);
	IS(AIBinder_setExtension(binder, NULL), STATUS_UNEXPECTED_NULL);
	IS(AIBinder_setExtension(other, binder), STATUS_OK);
	IS(AIBinder_getExtension(other, &same), STATUS_OK);
	IS(same == binder, true);
	IS(AIBinder_debugGetRefCount(binder), 3);
	AIBinder_decStrong(same);
	AIBinder_decStrong(other);
	IS(destroyed, 1);

	same = AIBinder_Weak_promote(weak);
	IS(same == binder, true);
	AIBinder_decStrong(same);
	IS(AIBinder_Weak_lt(weak, clone) || AIBinder_Weak_lt(clone, weak), false);
	AIBinder_decStrong(binder);
	IS(destroyed, 2);
	IS((intptr_t)AIBinder_Weak_promote(weak), 0);
	AIBinder_Weak_delete(weak);
	AIBinder_Weak_delete(clone);
	AIBinder_decStrong(NULL);
	IS(created, 2);
}

static void use_statuses(void)
{
	AStatus *status = AStatus_fromExceptionCode(-77);

	IS(AStatus_getExceptionCode(status), EX_TRANSACTION_FAILED);
	AStatus_delete(status);
	status = AStatus_fromStatus(-12345);
	IS(AStatus_getStatus(status), STATUS_UNKNOWN_ERROR);
	AStatus_delete(status);
	status = AStatus_fromServiceSpecificErrorWithMessage(-3, "why");
	IS(AStatus_getServiceSpecificError(status), -3);
	IS(AStatus_isOk(status), false);
	const char *words = AStatus_getDescription(status);
	IS(!!strstr(words, "why"), true);
	AStatus_deleteDescription(words);
	AStatus_delete(status);
	IS(AStatus_isOk(AStatus_fromStatus(STATUS_OK)), true);
	AStatus_delete(AStatus_newOk());
	AStatus_delete(NULL);
}

/* Where there is a driver and a manager. */
static void use_manager(void)
{
	AIBinder_Class *class = define("by.hand.INamed");
	AIBinder *binder = AIBinder_new(class, NULL), *found, *other;
	int32_t sum;
	int file;

	IS(AServiceManager_addService(NULL, "by.hand"), EX_ILLEGAL_ARGUMENT);
	IS(AServiceManager_addService(binder, NULL), EX_ILLEGAL_ARGUMENT);
	IS(AServiceManager_addService(binder, ""), EX_ILLEGAL_ARGUMENT);
	IS(AServiceManager_addService(binder, "by.hand.a"), EX_NONE);
	/* Its stability is known to others by now, and stays. */
	AIBinder_markVintfStability(binder);
	IS((intptr_t)AServiceManager_checkService("by.hand.none"), 0);
	IS((intptr_t)AServiceManager_checkService(NULL), 0);
	IS(AServiceManager_isDeclared("by.hand.a"), false);
	IS((intptr_t)AServiceManager_openDeclaredPassthroughHal("a", "b", 0), 0);
	found = AServiceManager_waitForService("by.hand.a");
	IS(found == binder, true);
	AIBinder_decStrong(found);
	/* A manager's object has no class here. */
	found = AServiceManager_checkService("manager");
	IS(AIBinder_isRemote(found), true);
	IS(call(found, 1, 0, 0, 0, &sum), STATUS_INVALID_OPERATION);
	IS(AIBinder_associateClass(found, class), false);
	IS((intptr_t)AIBinder_getUserData(found), 0);
	IS(AIBinder_setExtension(found, binder), STATUS_INVALID_OPERATION);
	IS(AIBinder_ping(found), STATUS_OK);
	other = AServiceManager_checkService("manager");
	IS(found == other, true);
	AIBinder_decStrong(found);
	AIBinder_decStrong(other);
	IS(ABinderProcess_setupPolling(&file), STATUS_INVALID_OPERATION);
	IS(ABinderProcess_handlePolledCommands(), STATUS_INVALID_OPERATION);
	IS(ABinderProcess_setThreadPoolMaxThreadCount(3), true);
	ABinderProcess_startThreadPool();
	IS(ABinderProcess_isThreadPoolStarted(), true);
	IS(ABinderProcess_setThreadPoolMaxThreadCount(4), false);
	AIBinder_decStrong(binder);
}

static int serve_alone(const char *name)
{
	AIBinder *binder = AIBinder_new(define("by.hand.IAlone"), NULL);

	IS(ABinderProcess_setThreadPoolMaxThreadCount(0), true);
	IS(AServiceManager_addService(binder, name), EX_NONE);
	printf("serving %s\n", name);
	fflush(stdout);
	ABinderProcess_joinThreadPool();
	AIBinder_decStrong(binder);
	return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int died, unlinked;

static void count(void *cookie)
{
	pthread_mutex_lock(&mutex);
	++*(int *)cookie;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void on_died(void *cookie)
{
	(void)cookie;
	count(&died);
}

static void on_unlinked(void *cookie)
{
	(void)cookie;
	count(&unlinked);
}

static int registered;

static void on_registered(const char *name, AIBinder *binder, void *cookie)
{
	IS(strcmp(name, cookie), 0);
	IS(AIBinder_isRemote(binder), true);
	count(&registered);
}

static void wait_until(const int *what, int least)
{
	pthread_mutex_lock(&mutex);
	while (*what < least)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void pass_arrays(AIBinder *binder)
{
	char one[] = "one";
	struct arrays given = {{-1, 1LL << 40}, {one, NULL}, 2, 2}, back = {},
		      none = {.texts_length = -1};
	AParcel *in, *out = NULL;

	IS(AIBinder_prepareTransaction(binder, &in), STATUS_OK);
	IS(write_arrays(in, &given), STATUS_OK);
	IS(write_arrays(in, &none), STATUS_OK);
	IS(AIBinder_transact(binder, ARRAYS, &in, &out, 0), STATUS_OK);
	IS(read_arrays(out, &back), STATUS_OK);
	IS(back.numbers_length, 2);
	IS(memcmp(back.numbers, given.numbers, sizeof(back.numbers)), 0);
	IS(back.texts_length, 2);
	IS(strcmp(back.texts[0], "one"), 0);
	IS((intptr_t)back.texts[1], 0);
	IS(read_arrays(out, &none), STATUS_NOT_ENOUGH_DATA);
	free_texts(&back);
	AParcel_delete(out);
}

static void be_called_back(AIBinder *binder)
{
	AIBinder *own = AIBinder_new(define("by.hand.IPlayer"), NULL);
	AParcel *in, *out = NULL;
	int32_t sum = 0;

	IS(AIBinder_prepareTransaction(binder, &in), STATUS_OK);
	IS(AParcel_writeStrongBinder(in, own), STATUS_OK);
	IS(AIBinder_transact(binder, CALL_BACK, &in, &out, 0), STATUS_OK);
	IS(AParcel_readInt32(out, &sum), STATUS_OK);
	IS(sum, 42);
	AParcel_delete(out);
	IS(AIBinder_prepareTransaction(binder, &in), STATUS_OK);
	IS(AParcel_writeStrongBinder(in, binder), STATUS_OK);
	IS(AIBinder_transact(binder, CALL_BACK, &in, &out, 0), STATUS_BAD_TYPE);
	AIBinder_decStrong(own);
}

static int call_service(char *name)
{
	AServiceManager_NotificationRegistration *registration =
		AServiceManager_registerForServiceNotifications(name, on_registered, name);
	AIBinder_Class *class = define("by.hand.IAlone");
	AIBinder_DeathRecipient *recipient = AIBinder_DeathRecipient_new(on_died);
	AIBinder *binder;
	int32_t sum;

	ABinderProcess_startThreadPool();
	printf("serving nothing, waiting\n");
	fflush(stdout);
	binder = AServiceManager_waitForService(name);
	wait_until(&registered, 1);
	AServiceManager_NotificationRegistration_delete(registration);
	AIBinder_DeathRecipient_setOnUnlinked(recipient, on_unlinked);
	IS(AIBinder_associateClass(binder, class), true);
	IS(call(binder, 1, 1, 2, 0, &sum), STATUS_OK);
	pass_arrays(binder);
	be_called_back(binder);
	IS(call(binder, 1, 1, 2, FLAG_ONEWAY, &sum), STATUS_NOT_ENOUGH_DATA);
	IS(call(binder, 2, STATUS_DEAD_OBJECT, 0, 0, &sum), STATUS_FAILED_TRANSACTION);
	IS(AIBinder_isAlive(binder), true);
	IS(AIBinder_linkToDeath(binder, recipient, &sum), STATUS_OK);
	IS(AIBinder_unlinkToDeath(binder, recipient, &died), STATUS_NAME_NOT_FOUND);
	IS(AIBinder_unlinkToDeath(binder, recipient, &sum), STATUS_OK);
	IS(unlinked, 1);
	IS(AIBinder_linkToDeath(binder, recipient, &sum), STATUS_OK);
	IS(AIBinder_linkToDeath(binder, recipient, &died), STATUS_OK);
	IS(call(binder, DIE, 0, 0, 0, &sum), STATUS_DEAD_OBJECT);
	wait_until(&died, 2);
	wait_until(&unlinked, 3);
	IS(died, 2);
	IS(unlinked, 3);
	IS(AIBinder_isAlive(binder), false);
	IS(call(binder, 1, 1, 2, 0, &sum), STATUS_DEAD_OBJECT);
	IS(AIBinder_ping(binder), STATUS_DEAD_OBJECT);
	IS(AIBinder_linkToDeath(binder, recipient, &sum), STATUS_DEAD_OBJECT);
	IS(unlinked, 4);
	AIBinder_DeathRecipient_delete(recipient);
	AIBinder_decStrong(binder);
	return failures;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "alone"))
		return serve_alone(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "call")) {
		call_service(argv[2]);
	} else {
		use_parcels();
		copy_parcels();
		use_objects();
		use_statuses();
		use_manager();
	}
	if (!failures)
		printf("as it should be\n");
	return failures != 0;
}
