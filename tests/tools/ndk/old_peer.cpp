// SPDX-License-Identifier: Apache-2.0
/* A service of IOld, by what the compiler of Android 10 wrote, and its client. */
#include "peer.h"

#include <aidl/old/BnOld.h>

using namespace aidl::old;
using Texts = std::optional<std::vector<std::optional<std::string>>>;
using Numbers = std::vector<int32_t>;

struct Old : BnOld {
	std::promise<int32_t> added;

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

static SpAIBinder service()
{
	return SharedRefBase::make<Old>()->asBinder();
}

static void call(const SpAIBinder &object)
{
	auto old = IOld::fromBinder(object);
	auto own = SharedRefBase::make<Old>();
	int32_t sum, version;
	std::optional<std::string> text("");
	Numbers more{3}, same;
	Texts texts({std::nullopt, "two"}), back;
	ScopedFileDescriptor file;
	SpAIBinder binder;
	Record given, got;

	IS(old);
	IS(is_ok(old->getInterfaceVersion(&version)) && version == 2);
	IS(is_ok(old->add(-1, 43, &sum)) && sum == 42);
	IS(is_ok(old->maybe(std::nullopt, &text)) && !text);
	IS(is_ok(old->maybe("\xe2\x82\xac", &text)) && text == "\xe2\x82\xac");
	IS(is_ok(old->ints({1, 2}, &more, &same)) && same == Numbers({1, 2}) && more.size() == 2);
	IS(is_ok(old->texts(texts, &back)) && back == texts);
	IS(is_ok(old->texts(std::nullopt, &back)) && !back);
	IS(is_ok(old->file(ScopedFileDescriptor(dup(0)), &file)) && file.get() > 0);
	IS(is_ok(old->binder(own->asBinder(), &binder)) && binder == own->asBinder());
	IS(old->binder(nullptr, &binder).getStatus() == STATUS_UNEXPECTED_NULL);
	given.values = {0.5, -1e300};
	given.texts = {"", "x"};
	given.unit = u'\xffff';
	given.large = int64_t(1) << 40;
	given.binder = old->asBinder();
	given.flag = true;
	given.small = -128;
	IS(is_ok(old->record(given, &got)) && got.values == given.values &&
	   got.texts == given.texts && got.unit == given.unit && got.large == given.large &&
	   got.binder == given.binder && got.flag && got.small == -128 && got.number == 5 &&
	   got.text == "text");
	IS(is_ok(old->call(own, 20, 22, &sum)) && sum == 42);
	IS(is_ok(old->later(own)) && own->added.get_future().get() == 7);
}
