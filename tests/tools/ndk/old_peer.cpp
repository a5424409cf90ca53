// SPDX-License-Identifier: Apache-2.0
/*
 * old-peer serve NAME     a service of IOld, by what the compiler of Android 10 wrote
 * old-peer call NAME      calls one, and says "all came back", or the line of what did not
 */
#include <aidl/old/BnOld.h>
#include <android/binder_manager.h>
#include <android/binder_process.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <future>

using namespace aidl::old;
using ndk::ScopedAStatus;
using ndk::ScopedFileDescriptor;
using ndk::SpAIBinder;
using Texts = std::optional<std::vector<std::optional<std::string>>>;
using Numbers = std::vector<int32_t>;

struct Old : BnOld {
	std::promise<int32_t> added;

#define ECHO(name, type)                                                                           \
	ScopedAStatus name(const type &v, type *out) override                                      \
	{                                                                                          \
		*out = v;                                                                          \
		return ScopedAStatus::ok();                                                        \
	}
	ECHO(maybe, std::optional<std::string>)
	ECHO(texts, Texts)
	ECHO(binder, SpAIBinder)
	ECHO(record, Record)

	ScopedAStatus add(int32_t a, int32_t b, int32_t *out) override
	{
		*out = a + b;
		if (a == 0)
			added.set_value(b);
		return ScopedAStatus::ok();
	}
	ScopedAStatus ints(const Numbers &v, Numbers *more, Numbers *out) override
	{
		*out = v;
		more->push_back(4);
		return ScopedAStatus::ok();
	}
	ScopedAStatus file(const ScopedFileDescriptor &file, ScopedFileDescriptor *out) override
	{
		*out = file.dup();
		return ScopedAStatus::ok();
	}
	ScopedAStatus call(const std::shared_ptr<IOld> &other, int32_t a, int32_t b,
			   int32_t *out) override
	{
		return other->add(a, b, out);
	}
	ScopedAStatus later(const std::shared_ptr<IOld> &other) override
	{
		int32_t sum;
		return other->add(0, 7, &sum);
	}
};

static int failures;

#define IS(expression)                                                                             \
	do {                                                                                       \
		if (!(expression)) {                                                               \
			failures++;                                                                \
			printf("line %d: %s\n", __LINE__, #expression);                            \
		}                                                                                  \
	} while (0)

static void call(IOld &old)
{
	auto own = ndk::SharedRefBase::make<Old>();
	int32_t sum, version;
	std::optional<std::string> text("");
	Numbers more{3}, same;
	Texts texts({std::nullopt, "two"}), back;
	ScopedFileDescriptor file;
	SpAIBinder binder;
	Record given, got;

	IS(old.getInterfaceVersion(&version).isOk() && version == 2);
	IS(old.add(-1, 43, &sum).isOk() && sum == 42);
	IS(old.maybe(std::nullopt, &text).isOk() && !text);
	IS(old.maybe("\xe2\x82\xac", &text).isOk() && text == "\xe2\x82\xac");
	IS(old.ints({1, 2}, &more, &same).isOk() && same == Numbers({1, 2}) && more.size() == 2);
	IS(old.texts(texts, &back).isOk() && back == texts);
	IS(old.texts(std::nullopt, &back).isOk() && !back);
	IS(old.file(ScopedFileDescriptor(dup(0)), &file).isOk() && file.get() > 0);
	IS(old.binder(own->asBinder(), &binder).isOk() && binder == own->asBinder());
	IS(old.binder(nullptr, &binder).getStatus() == STATUS_UNEXPECTED_NULL);
	given.values = {0.5, -1e300};
	given.texts = {"", "x"};
	given.unit = u'\xffff';
	given.large = int64_t(1) << 40;
	given.binder = old.asBinder();
	given.flag = true;
	given.small = -128;
	IS(old.record(given, &got).isOk() && got.values == given.values &&
	   got.texts == given.texts && got.unit == given.unit && got.large == given.large &&
	   got.binder == given.binder && got.flag && got.small == -128 && got.number == 5 &&
	   got.text == "text");
	IS(old.call(own, 20, 22, &sum).isOk() && sum == 42);
	IS(old.later(own).isOk() && own->added.get_future().get() == 7);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	ABinderProcess_startThreadPool();
	if (!strcmp(argv[1], "serve")) {
		auto old = ndk::SharedRefBase::make<Old>();

		IS(AServiceManager_addService(old->asBinder().get(), argv[2]) == EX_NONE);
		printf("serving %s\n", argv[2]);
		fflush(stdout);
		ABinderProcess_joinThreadPool();
		return 1;
	}
	auto old = IOld::fromBinder(SpAIBinder(AServiceManager_waitForService(argv[2])));

	IS(old);
	call(*old);
	if (!failures)
		printf("all came back\n");
	return failures != 0;
}
