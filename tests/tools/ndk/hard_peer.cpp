// SPDX-License-Identifier: Apache-2.0
/*
 * hard-peer serve NAME     a service of all of `hard`, by what Debian's compiler wrote
 * hard-peer call NAME      calls one, whoever serves it, and says "all came back", or what did not;
 *                          "the extension too" where there is one
 *
 * Both in one program, so that what the compiler wrote is compiled once.
 */
#include <aidl/hard/BnCallback.h>
#include <aidl/hard/BnHard.h>
#include <aidl/hard/BnStable.h>
#include <aidl/hard/Colour.h>
#include <android/binder_manager.h>
#include <android/binder_process.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace aidl::hard;
using ndk::ScopedAStatus;
using ndk::ScopedFileDescriptor;
using ndk::SharedRefBase;
using ndk::SpAIBinder;

/* Values that can only be moved or shared are copied by their own means. */
template <typename T> static T copied(const T &value)
{
	return value;
}
static ScopedFileDescriptor copied(const ScopedFileDescriptor &file)
{
	return file.dup();
}
static std::vector<ScopedFileDescriptor> copied(const std::vector<ScopedFileDescriptor> &files)
{
	std::vector<ScopedFileDescriptor> copies;
	for (const auto &file : files)
		copies.push_back(file.dup());
	return copies;
}
static Everything copied(const Everything &from)
{
	Everything to;
	std::tie(to.b, to.y, to.c, to.i, to.l, to.f, to.d, to.s, to.ns, to.colour, to.colours, to.ints,
		 to.nints, to.strings, to.list, to.fixed, to.names, to.bytes, to.booleans, to.binder,
		 to.callback, to.deep, to.maybe, to.deeps, to.choice) =
		std::tie(from.b, from.y, from.c, from.i, from.l, from.f, from.d, from.s, from.ns,
			 from.colour, from.colours, from.ints, from.nints, from.strings, from.list,
			 from.fixed, from.names, from.bytes, from.booleans, from.binder,
			 from.callback, from.deep, from.maybe, from.deeps, from.choice);
	to.holder = from.holder;
	to.file = from.file.dup();
	if (from.next)
		to.next = std::make_unique<Everything>(copied(*from.next));
	return to;
}
static std::optional<Everything> copied(const std::optional<Everything> &from)
{
	if (!from)
		return std::nullopt;
	return copied(*from);
}
using Everythings = std::optional<std::vector<std::optional<Everything>>>;
static Everythings copied(const Everythings &from)
{
	if (!from)
		return std::nullopt;
	Everythings to(std::in_place);
	for (const auto &element : *from)
		to->push_back(copied(element));
	return to;
}

class Nested : public IHard::BnNested {
	ScopedAStatus other(Kind kind, Kind *out) override
	{
		*out = kind == Kind::A ? Kind::B : Kind::A;
		return ScopedAStatus::ok();
	}
};

#define ECHO(Name, Type)                                                                           \
	ScopedAStatus echo##Name(const Type &v, Type *out) override                                \
	{                                                                                          \
		*out = copied(v);                                                                  \
		return ScopedAStatus::ok();                                                        \
	}
#define ECHO_PLAIN(Name, Type)                                                                     \
	ScopedAStatus echo##Name(Type v, Type *out) override                                       \
	{                                                                                          \
		*out = v;                                                                          \
		return ScopedAStatus::ok();                                                        \
	}

class Hard : public BnHard {
	using PairOfBoth = Pair<int32_t, std::string>;
	using Fixed = std::array<std::array<int32_t, 3>, 2>;

	ECHO_PLAIN(Boolean, bool)
	ECHO_PLAIN(Byte, int8_t)
	ECHO_PLAIN(Char, char16_t)
	ECHO_PLAIN(Int, int32_t)
	ECHO_PLAIN(Long, int64_t)
	ECHO_PLAIN(Float, float)
	ECHO_PLAIN(Double, double)
	ECHO_PLAIN(Colour, Colour)
	ECHO(String, std::string)
	ECHO(NullableString, std::optional<std::string>)
	ECHO(Utf8, std::string)
	ECHO(Colours, std::vector<Colour>)
	ECHO(Bytes, std::vector<uint8_t>)
	ECHO(Chars, std::vector<char16_t>)
	ECHO(Booleans, std::vector<bool>)
	ECHO(Longs, std::vector<int64_t>)
	ECHO(Floats, std::vector<float>)
	ECHO(Doubles, std::vector<double>)
	ECHO(Strings, std::vector<std::string>)
	ECHO(NullableInts, std::optional<std::vector<int32_t>>)
	ECHO(NullableStrings, std::optional<std::vector<std::optional<std::string>>>)
	ECHO(List, std::vector<std::string>)
	ECHO(Everythings, Everythings)
	ECHO(NullableEverything, std::optional<Everything>)
	ECHO(Choice, Choice)
	ECHO(Choices, std::vector<Choice>)
	ECHO(Fixed, Fixed)
	ECHO(File, ScopedFileDescriptor)
	ECHO(NullableFile, ScopedFileDescriptor)
	ECHO(Files, std::vector<ScopedFileDescriptor>)
	ECHO(Binder, SpAIBinder)
	ECHO(NullableBinder, SpAIBinder)
	ECHO(Binders, std::vector<SpAIBinder>)
	ECHO(Callback, std::shared_ptr<ICallback>)
	ECHO(Callbacks, std::vector<std::shared_ptr<ICallback>>)
	ECHO(Pair, PairOfBoth)
	ECHO(Inner, Inner)

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

static int serve(const char *name)
{
	ABinderProcess_setThreadPoolMaxThreadCount(2);
	auto hard = SharedRefBase::make<Hard>();
	auto stable = SharedRefBase::make<Stable>();
	SpAIBinder binder = hard->asBinder();
	AIBinder_setExtension(binder.get(), stable->asBinder().get());
	binder_exception_t refused = AServiceManager_addService(binder.get(), name);
	if (refused != EX_NONE) {
		fprintf(stderr, "%s: exception %d\n", name, refused);
		return 1;
	}
	ABinderProcess_startThreadPool();
	printf("serving %s\n", name);
	fflush(stdout);
	ABinderProcess_joinThreadPool();
	return 0;
}

static bool failed;

static void check(bool is_right, const char *what, const ScopedAStatus &status)
{
	if (is_right && status.isOk())
		return;
	failed = true;
	printf("%s: %s, the value was %s\n", what, status.getDescription().c_str(),
	       is_right ? "right" : "wrong");
}

static void check(bool is_right, const char *what)
{
	check(is_right, what, ScopedAStatus::ok());
}

class Callback : public BnCallback {
public:
	std::mutex mutex;
	std::condition_variable changed;
	int32_t sum = 0;

	ScopedAStatus called(int32_t number) override
	{
		if (number < 0)
			return ScopedAStatus::fromServiceSpecificErrorWithMessage(number, "refused");
		std::lock_guard<std::mutex> guard(mutex);
		sum += number;
		changed.notify_all();
		return ScopedAStatus::ok();
	}
	ScopedAStatus notified(int32_t number) override { return called(number); }
};

/* One call of a method that echoes. */
#define CHECK_ECHO(Name, ...)                                                                      \
	do {                                                                                       \
		const auto given = __VA_ARGS__;                                                    \
		std::remove_const_t<decltype(given)> got{};                                        \
		auto status = hard->echo##Name(given, &got);                                       \
		check(status.isOk() && got == given, "echo" #Name, status);                        \
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
	auto status = hard->echoInts({1, 2}, &twice, &more, &out);
	check(twice == std::vector{1, 2, 1, 2} && more == std::vector{3, 4} &&
		      out == std::vector{1, 2}, "echoInts", status);
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
	ScopedFileDescriptor file = some_file(), got;
	auto status = hard->echoFile(file, &got);
	check(is_same_file(file, got), "echoFile", status);
	status = hard->echoFile(ScopedFileDescriptor(), &got);
	check(status.getStatus() == STATUS_UNEXPECTED_NULL, "echoFile of none");
	got = file.dup();
	status = hard->echoNullableFile(ScopedFileDescriptor(), &got);
	check(got.get() == -1, "echoNullableFile", status);
	std::vector<ScopedFileDescriptor> files, back;
	files.push_back(file.dup());
	files.push_back(file.dup());
	status = hard->echoFiles(files, &back);
	check(back.size() == 2 && is_same_file(back[1], file), "echoFiles", status);

	auto callback = SharedRefBase::make<Callback>();
	CHECK_ECHO(Binder, callback->asBinder());
	CHECK_ECHO(Binder, hard->asBinder());
	CHECK_ECHO(NullableBinder, SpAIBinder());
	CHECK_ECHO(Binders, std::vector<SpAIBinder>{hard->asBinder(), callback->asBinder()});
	CHECK_ECHO(Callback, std::shared_ptr<ICallback>(callback));
	CHECK_ECHO(Callbacks, std::vector<std::shared_ptr<ICallback>>{callback, callback});
	check(hard->call(callback, 1).isOk() && callback->sum == 1, "call");
	status = hard->call(callback, -5);
	check(status.getServiceSpecificError() == -5 && !strcmp(status.getMessage(), "refused"),
	      "an exception of a callback");
	std::shared_ptr<ICallback> none;
	check(hard->echoCallback(none, &none).getStatus() == STATUS_UNEXPECTED_NULL,
	      "an interface that is null");
	check(hard->later(callback, 2).isOk(), "later");
	std::unique_lock<std::mutex> guard(callback->mutex);
	check(callback->changed.wait_for(guard, std::chrono::minutes(1),
					 [&] { return callback->sum == 3; }), "the notice");
	guard.unlock();

	std::shared_ptr<IHard::INested> nested;
	IHard::INested::Kind kind{};
	status = hard->nested(&nested);
	check(status.isOk() && nested->other(IHard::INested::Kind::A, &kind).isOk() &&
		      kind == IHard::INested::Kind::B, "nested", status);
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
	auto status = hard->echoEverything(all, &copy, &both, &out);
	std::optional<Everything::Deep> held;
	out.holder.getParcelable(&held);
	check(held && held->name == "held", "what the holder held", status);
	check(both.i == all.i + 1, "echoEverything, both", status);
	check(is_same(all, out) && is_same(all, copy) && is_same_file(out.file, all.file),
	      "echoEverything", status);
	check(Everything().next == nullptr && out.next && out.next->s == "next", "next", status);

	std::optional<Everything> none, some(copied(all));
	status = hard->echoNullableEverything(std::nullopt, &some);
	check(!some, "echoNullableEverything of null", status);
	Everythings list(std::in_place), back;
	list->emplace_back();
	list->emplace_back(copied(all));
	status = hard->echoEverythings(list, &back);
	check(back && back->size() == 2 && !(*back)[0] && is_same(*(*back)[1], all),
	      "echoEverythings", status);
}

static void call_failures(const std::shared_ptr<IHard> &hard)
{
	for (binder_exception_t exception = EX_PARCELABLE; exception <= EX_SECURITY; exception++) {
		auto status = hard->fail(exception, 17, "said");
		bool is_specific = exception == EX_SERVICE_SPECIFIC;
		check(status.getExceptionCode() == exception &&
			      status.getServiceSpecificError() == (is_specific ? 17 : 0) &&
			      !strcmp(status.getMessage(), "said") &&
			      status.getStatus() == STATUS_OK, "fail");
	}
	check(hard->fail(EX_NONE, 0, "").isOk(), "fail without");
	SpAIBinder out;
	auto status = hard->echoBinder(SpAIBinder(), &out);
	check(status.getExceptionCode() == EX_TRANSACTION_FAILED &&
		      status.getStatus() == STATUS_UNEXPECTED_NULL, "a binder that is null");
	std::string back;
	status = hard->echoString(std::string(4 << 20, 'x'), &back);
	check(status.getStatus() == STATUS_FAILED_TRANSACTION, "a call that is too large");
	status = hard->echoString("\xff", &back);
	check(status.getStatus() == STATUS_BAD_VALUE, "a string that is not UTF-8");
}

static void call_extension(const std::shared_ptr<IHard> &hard)
{
	SpAIBinder extension;
	binder_status_t status = AIBinder_getExtension(hard->asBinder().get(), extension.getR());
	check(status == STATUS_OK, "AIBinder_getExtension");
	if (!extension.get())
		return;
	printf("the extension too: ");
	auto stable = IStable::fromBinder(extension);
	int32_t twice = 0, version = 0;
	std::string hash;
	check(stable && stable->twice(21, &twice).isOk() && twice == 42, "twice");
	check(stable && stable->getInterfaceVersion(&version).isOk() && version == 3, "version");
	check(stable && stable->getInterfaceHash(&hash).isOk() && hash == "abcdef", "hash");
}

static int call(const char *name)
{
	ABinderProcess_startThreadPool();
	SpAIBinder binder(AServiceManager_waitForService(name));
	auto hard = IHard::fromBinder(binder);
	if (!hard) {
		printf("%s: no IHard\n", name);
		return 1;
	}
	check(!ICallback::fromBinder(binder), "an object of another class");
	call_values(hard);
	call_objects(hard);
	call_everything(hard);
	call_failures(hard);
	call_extension(hard);
	for (Colour colour : ndk::enum_range<Colour>())
		check(!toString(colour).empty(), "enum_range");
	if (!failed)
		printf("all came back\n");
	return failed;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "call"))
		return call(argv[2]);
	fprintf(stderr, "usage: hard-peer {serve|call} NAME\n");
	return 2;
}
