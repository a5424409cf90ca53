// SPDX-License-Identifier: Apache-2.0
/*
 * A service of all of `hard`, by what Debian's compiler wrote, and its client, which says "the
 * extension too" where there is one. Both in one program, so that what the compiler wrote is
 * compiled once.
 */
#include "peer.h"

#include <aidl/hard/BnCallback.h>
#include <aidl/hard/BnHard.h>
#include <aidl/hard/BnStable.h>
#include <aidl/hard/Colour.h>
#include <sys/stat.h>

#include <limits>

using namespace aidl::hard;

using Everythings = std::optional<std::vector<std::optional<Everything>>>;

class Nested : public IHard::BnNested {
	ScopedAStatus other(Kind kind, Kind *out) override
	{
		*out = kind == Kind::A ? Kind::B : Kind::A;
		return ScopedAStatus::ok();
	}
};

class Hard : public BnHard {
	using PairOfBoth = Pair<int32_t, std::string>;
	using Fixed = std::array<std::array<int32_t, 3>, 2>;

	ECHO(echoBoolean, bool)
	ECHO(echoByte, int8_t)
	ECHO(echoChar, char16_t)
	ECHO(echoInt, int32_t)
	ECHO(echoLong, int64_t)
	ECHO(echoFloat, float)
	ECHO(echoDouble, double)
	ECHO(echoColour, Colour)
	ECHO(echoString, std::string)
	ECHO(echoNullableString, std::optional<std::string>)
	ECHO(echoUtf8, std::string)
	ECHO(echoColours, std::vector<Colour>)
	ECHO(echoBytes, std::vector<uint8_t>)
	ECHO(echoChars, std::vector<char16_t>)
	ECHO(echoBooleans, std::vector<bool>)
	ECHO(echoLongs, std::vector<int64_t>)
	ECHO(echoFloats, std::vector<float>)
	ECHO(echoDoubles, std::vector<double>)
	ECHO(echoStrings, std::vector<std::string>)
	ECHO(echoNullableInts, std::optional<std::vector<int32_t>>)
	ECHO(echoNullableStrings, std::optional<std::vector<std::optional<std::string>>>)
	ECHO(echoList, std::vector<std::string>)
	ECHO(echoEverythings, Everythings)
	ECHO(echoNullableEverything, std::optional<Everything>)
	ECHO(echoChoice, Choice)
	ECHO(echoChoices, std::vector<Choice>)
	ECHO(echoFixed, Fixed)
	ECHO(echoFile, ScopedFileDescriptor)
	ECHO(echoNullableFile, ScopedFileDescriptor)
	ECHO(echoFiles, std::vector<ScopedFileDescriptor>)
	ECHO(echoBinder, SpAIBinder)
	ECHO(echoNullableBinder, SpAIBinder)
	ECHO(echoBinders, std::vector<SpAIBinder>)
	ECHO(echoCallback, std::shared_ptr<ICallback>)
	ECHO(echoCallbacks, std::vector<std::shared_ptr<ICallback>>)
	ECHO(echoPair, PairOfBoth)
	ECHO(echoInner, Inner)

	ScopedAStatus echoInts(const std::vector<int32_t> &v, std::vector<int32_t> *twice,
			       std::vector<int32_t> *more, std::vector<int32_t> *out) override
	{
		*out = *twice = v;
		twice->insert(twice->end(), v.begin(), v.end());
		more->push_back(4);
		return ScopedAStatus::ok();
	}
	ScopedAStatus echoEverything(const Everything &v, Everything *copy, Everything *both,
				     Everything *out) override
	{
		*copy = copied(v);
		both->i++;
		*out = copied(v);
		return ScopedAStatus::ok();
	}
	ScopedAStatus call(const std::shared_ptr<ICallback> &callback, int32_t number) override
	{
		return callback->called(number);
	}
	ScopedAStatus later(const std::shared_ptr<ICallback> &callback, int32_t number) override
	{
		return callback->notified(number);
	}
	ScopedAStatus fail(int32_t exception, int32_t specific, const std::string &message) override
	{
		if (exception == EX_NONE)
			return ScopedAStatus::ok();
		if (exception == EX_SERVICE_SPECIFIC)
			return ScopedAStatus::fromServiceSpecificErrorWithMessage(specific,
										  message.c_str());
		return ScopedAStatus::fromExceptionCodeWithMessage(exception, message.c_str());
	}
	ScopedAStatus nested(std::shared_ptr<INested> *out) override
	{
		*out = SharedRefBase::make<Nested>();
		return ScopedAStatus::ok();
	}
	binder_status_t dump(int fd, const char **args, uint32_t count) override
	{
		dprintf(fd, "hard, %u arguments", count);
		for (uint32_t i = 0; i < count; i++)
			dprintf(fd, " %s", args[i]);
		dprintf(fd, "\n");
		return STATUS_OK;
	}
};

class Stable : public BnStable {
	ScopedAStatus twice(int32_t number, int32_t *out) override
	{
		*out = 2 * number;
		return ScopedAStatus::ok();
	}
};

static SpAIBinder service()
{
	ABinderProcess_setThreadPoolMaxThreadCount(2);
	SpAIBinder binder = SharedRefBase::make<Hard>()->asBinder();
	SpAIBinder stable = SharedRefBase::make<Stable>()->asBinder();
	IS(AIBinder_setExtension(binder.get(), stable.get()) == STATUS_OK);
	return binder;
}

class Callback : public BnCallback {
public:
	int32_t sum = 0;
	std::promise<int32_t> notice;

	ScopedAStatus called(int32_t number) override
	{
		if (number < 0)
			return ScopedAStatus::fromServiceSpecificErrorWithMessage(number, "refused");
		sum += number;
		return ScopedAStatus::ok();
	}
	ScopedAStatus notified(int32_t number) override
	{
		notice.set_value(number);
		return ScopedAStatus::ok();
	}
};

/* One call of a method that echoes. */
#define CHECK_ECHO(Name, ...)                                                                      \
	do {                                                                                       \
		const auto given = __VA_ARGS__;                                                    \
		std::remove_const_t<decltype(given)> got{};                                        \
		IS(is_ok(hard->echo##Name(given, &got)) && got == given);                          \
	} while (0)

static void call_values(const std::shared_ptr<IHard> &hard)
{
	using std::numeric_limits;

	CHECK_ECHO(Boolean, true);
	CHECK_ECHO(Byte, int8_t(-128));
	CHECK_ECHO(Char, u'\xfffe');
	CHECK_ECHO(Int, numeric_limits<int32_t>::min());
	CHECK_ECHO(Long, numeric_limits<int64_t>::min());
	CHECK_ECHO(Float, 1.25e-38f);
	CHECK_ECHO(Double, -1.25e300);
	CHECK_ECHO(String, std::string("b\xc3\xa4r \xf0\x9f\x90\xbb with a \0 in it", 22));
	CHECK_ECHO(String, std::string());
	CHECK_ECHO(String, std::string(100000, 'x'));
	CHECK_ECHO(NullableString, std::optional<std::string>());
	CHECK_ECHO(NullableString, std::optional<std::string>(""));
	CHECK_ECHO(Utf8, std::string("utf8"));
	CHECK_ECHO(Colour, Colour::BLUE);
	CHECK_ECHO(Colours, std::vector<Colour>{Colour::RED, Colour::BLUE});
	CHECK_ECHO(Bytes, std::vector<uint8_t>{0, 1, 255});
	CHECK_ECHO(Bytes, std::vector<uint8_t>{});
	CHECK_ECHO(Chars, std::vector<char16_t>{u'a', u'\xffff'});
	CHECK_ECHO(Booleans, std::vector<bool>{true, false, true});
	CHECK_ECHO(Longs, std::vector<int64_t>{-1, int64_t(1) << 62});
	CHECK_ECHO(Floats, std::vector<float>{0.5f, -0.0f});
	CHECK_ECHO(Doubles, std::vector<double>{0.1, 1e308});
	CHECK_ECHO(Strings, std::vector<std::string>{"", "one", "\xe2\x82\xac"});
	CHECK_ECHO(NullableInts, std::optional<std::vector<int32_t>>());
	CHECK_ECHO(NullableInts, std::optional<std::vector<int32_t>>({1, -1}));
	CHECK_ECHO(NullableStrings, std::optional<std::vector<std::optional<std::string>>>());
	CHECK_ECHO(NullableStrings, std::optional<std::vector<std::optional<std::string>>>(
					    {std::nullopt, "", "two"}));
	CHECK_ECHO(List, std::vector<std::string>{"x", "y"});
	CHECK_ECHO(Fixed, std::array<std::array<int32_t, 3>, 2>{{{1, 2, 3}, {4, 5, 6}}});
	CHECK_ECHO(Pair, Pair<int32_t, std::string>{7, "seven"});
	CHECK_ECHO(Inner, IHard::Inner{9});
	CHECK_ECHO(Choice, Choice());
	CHECK_ECHO(Choice, Choice::make<Choice::text>("chosen"));
	CHECK_ECHO(Choices, std::vector<Choice>{Choice::make<Choice::colour>(Colour::GREEN),
						Choice::make<Choice::list>(std::vector<int>{1}),
						Choice::make<Choice::more>()});

	std::vector<int32_t> twice, more{3}, out;
	IS(is_ok(hard->echoInts({1, 2}, &twice, &more, &out)));
	IS((twice == std::vector{1, 2, 1, 2} && more == std::vector{3, 4}));
	IS((out == std::vector{1, 2}));
}

static ScopedFileDescriptor some_file()
{
	FILE *file = tmpfile();
	fputs("contents", file);
	fflush(file);
	ScopedFileDescriptor copy(dup(fileno(file)));
	fclose(file);
	return copy;
}

static bool is_same_file(const ScopedFileDescriptor &a, const ScopedFileDescriptor &b)
{
	struct stat one, two;
	return !fstat(a.get(), &one) && !fstat(b.get(), &two) && one.st_ino == two.st_ino;
}

static void call_objects(const std::shared_ptr<IHard> &hard)
{
	ScopedFileDescriptor file = some_file(), none, got;
	IS(is_ok(hard->echoFile(file, &got)) && is_same_file(file, got));
	IS(hard->echoFile(none, &got).getStatus() == STATUS_UNEXPECTED_NULL);
	got = file.dup();
	IS(is_ok(hard->echoNullableFile(none, &got)) && got.get() == -1);
	std::vector<ScopedFileDescriptor> files, back;
	files.push_back(file.dup());
	files.push_back(file.dup());
	IS(is_ok(hard->echoFiles(files, &back)));
	IS(back.size() == 2 && is_same_file(back[1], file));

	auto callback = SharedRefBase::make<Callback>();
	CHECK_ECHO(Binder, callback->asBinder());
	CHECK_ECHO(Binder, hard->asBinder());
	CHECK_ECHO(NullableBinder, SpAIBinder());
	CHECK_ECHO(Binders, std::vector<SpAIBinder>{hard->asBinder(), callback->asBinder()});
	CHECK_ECHO(Callback, std::shared_ptr<ICallback>(callback));
	CHECK_ECHO(Callbacks, std::vector<std::shared_ptr<ICallback>>{callback, callback});
	IS(is_ok(hard->call(callback, 1)) && callback->sum == 1);
	auto status = hard->call(callback, -5);
	IS(status.getServiceSpecificError() == -5 && !strcmp(status.getMessage(), "refused"));
	std::shared_ptr<ICallback> null;
	IS(hard->echoCallback(null, &null).getStatus() == STATUS_UNEXPECTED_NULL);
	IS(is_ok(hard->later(callback, 2)));
	auto notice = callback->notice.get_future();
	bool is_there = notice.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
	IS(is_there && notice.get() == 2);

	std::shared_ptr<IHard::INested> nested;
	IHard::INested::Kind kind{};
	IS(is_ok(hard->nested(&nested)));
	IS(nested && is_ok(nested->other(IHard::INested::Kind::A, &kind)));
	IS(kind == IHard::INested::Kind::B);
}

static void call_everything(const std::shared_ptr<IHard> &hard)
{
	Everything all;
	all.list = {"l"};
	all.fixed = {{{1, 2, 3}, {4, 5, 6}}};
	all.names = {"n", "m"};
	all.bytes = {1, 2, 3, 4, 5};
	all.booleans = {true, false};
	all.maybe.emplace();
	all.deeps.resize(2);
	all.deeps[1].name = "deeper";
	all.next = std::make_unique<Everything>();
	all.next->nints = {4};
	all.next->s = "next";
	all.choice.set<Choice::text>("chosen");
	all.binder = hard->asBinder();
	/* One that does not know of another in it. */
	all.holder.setParcelable(Everything::Deep{5, "held"});

	/* Files and holders are compared apart. */
	auto is_same = [](const Everything &a, const Everything &b) {
		auto text = [](const Everything &of) {
			Everything plain = copied(of);
			plain.file.set(-1);
			return plain.toString();
		};
		return text(a) == text(b) && a.binder == b.binder;
	};
	Everything copy, both = copied(all), out;
	all.file = some_file();
	IS(is_ok(hard->echoEverything(all, &copy, &both, &out)));
	std::optional<Everything::Deep> held;
	out.holder.getParcelable(&held);
	IS(held && held->name == "held");
	IS(both.i == all.i + 1);
	IS(is_same(all, out) && is_same(all, copy) && is_same_file(out.file, all.file));
	IS(Everything().next == nullptr && out.next && out.next->s == "next");

	std::optional<Everything> some(copied(all));
	IS(is_ok(hard->echoNullableEverything(std::nullopt, &some)) && !some);
	Everythings list(std::in_place), back;
	list->emplace_back();
	list->emplace_back(copied(all));
	IS(is_ok(hard->echoEverythings(list, &back)));
	IS(back && back->size() == 2 && !(*back)[0] && is_same(*(*back)[1], all));
}

static void call_failures(const std::shared_ptr<IHard> &hard)
{
	for (binder_exception_t exception = EX_PARCELABLE; exception <= EX_SECURITY; exception++) {
		auto status = hard->fail(exception, 17, "said");
		bool is_specific = exception == EX_SERVICE_SPECIFIC;
		IS(status.getExceptionCode() == exception);
		IS(status.getServiceSpecificError() == (is_specific ? 17 : 0));
		IS(!strcmp(status.getMessage(), "said") && status.getStatus() == STATUS_OK);
	}
	IS(is_ok(hard->fail(EX_NONE, 0, "")));
	SpAIBinder out;
	auto status = hard->echoBinder(SpAIBinder(), &out);
	IS(status.getExceptionCode() == EX_TRANSACTION_FAILED);
	IS(status.getStatus() == STATUS_UNEXPECTED_NULL);
	std::string back;
	status = hard->echoString(std::string(4 << 20, 'x'), &back);
	IS(status.getStatus() == STATUS_FAILED_TRANSACTION);
	IS(hard->echoString("\xff", &back).getStatus() == STATUS_BAD_VALUE);
}

static void call_extension(const std::shared_ptr<IHard> &hard)
{
	SpAIBinder extension;
	IS(AIBinder_getExtension(hard->asBinder().get(), extension.getR()) == STATUS_OK);
	if (!extension.get())
		return;
	printf("the extension too: ");
	auto stable = IStable::fromBinder(extension);
	int32_t twice = 0, version = 0;
	std::string hash;
	IS(stable && is_ok(stable->twice(21, &twice)) && twice == 42);
	IS(stable && is_ok(stable->getInterfaceVersion(&version)) && version == 3);
	IS(stable && is_ok(stable->getInterfaceHash(&hash)) && hash == "abcdef");
}

static void call(const SpAIBinder &binder)
{
	auto hard = IHard::fromBinder(binder);
	IS(hard);
	if (!hard)
		return;
	IS(!ICallback::fromBinder(binder));
	call_values(hard);
	call_objects(hard);
	call_everything(hard);
	call_failures(hard);
	call_extension(hard);
	for (Colour colour : ndk::enum_range<Colour>())
		IS(!toString(colour).empty());
}
