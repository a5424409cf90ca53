/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hard-peer and old-peer share: main(), the checks of a client, and the methods of a service
 * that give back what they are given.
 *
 * PEER serve NAME     a service of what the peer defines
 * PEER call NAME      calls one, whoever serves it, and says "all came back", or what did not
 */
#include <android/binder_manager.h>
#include <android/binder_parcel_utils.h>
#include <android/binder_process.h>

#include <cstdio>
#include <cstring>
#include <future>
#include <type_traits>

using ndk::ScopedAStatus;
using ndk::ScopedFileDescriptor;
using ndk::SharedRefBase;
using ndk::SpAIBinder;

/* Of each peer: the object that it serves, and the calls that it makes. */
static SpAIBinder service();
static void call(const SpAIBinder &binder);

static int failures;

#define IS(expression)                                                                             \
	do {                                                                                       \
		if (!(expression)) {                                                               \
			failures++;                                                                \
			printf("line %d: %s\n", __LINE__, #expression);                            \
		}                                                                                  \
	} while (0)

/* Whether a call came back; says why it did not. */
static bool is_ok(const ScopedAStatus &status)
{
	if (!status.isOk())
		printf("%s\n", status.getDescription().c_str());
	return status.isOk();
}

/* A copy by way of a parcel: not all values can be copied. */
template <typename T> static T copied(const T &value)
{
	auto parcel = ndk::ScopedAParcel::create();
	T copy{};

	IS(ndk::AParcel_writeNullableData(parcel.get(), value) == STATUS_OK);
	AParcel_setDataPosition(parcel.get(), 0);
	IS(ndk::AParcel_readNullableData(parcel.get(), &copy) == STATUS_OK);
	return copy;
}

/* How a method is given a value. */
template <typename T> using given_t = std::conditional_t<std::is_scalar_v<T>, T, const T &>;

#define ECHO(name, type)                                                                           \
	ScopedAStatus name(given_t<type> v, type *out) override                                    \
	{                                                                                          \
		*out = copied<type>(v);                                                            \
		return ScopedAStatus::ok();                                                        \
	}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		IS(AServiceManager_addService(service().get(), argv[2]) == EX_NONE);
		ABinderProcess_startThreadPool();
		printf("serving %s\n", argv[2]);
		fflush(stdout);
		ABinderProcess_joinThreadPool();
		return 1;
	}
	if (argc == 3 && !strcmp(argv[1], "call")) {
		ABinderProcess_startThreadPool();
		call(SpAIBinder(AServiceManager_waitForService(argv[2])));
		if (!failures)
			printf("all came back\n");
		return failures != 0;
	}
	fprintf(stderr, "usage: %s {serve|call} NAME\n", argv[0]);
	return 2;
}
