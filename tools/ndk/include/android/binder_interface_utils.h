/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces as classes of C++: what the compiler writes for an interface derives from these. A
 * service is an object that shared pointers count; its binder holds one, and the service only a
 * weak reference to its binder.
 */
#ifndef ANDROID_BINDER_INTERFACE_UTILS_H
#define ANDROID_BINDER_INTERFACE_UTILS_H

#include <android/binder_auto_utils.h>
#include <android/binder_ibinder.h>

#include <cassert>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#ifdef BINDER_STABILITY_SUPPORT
#include <android/binder_stability.h>
#endif

namespace ndk {

/** An object that shared pointers count from its first ref() on. */
class SharedRefBase {
public:
	SharedRefBase() = default;
	SharedRefBase(const SharedRefBase &) = delete;
	SharedRefBase &operator=(const SharedRefBase &) = delete;
	virtual ~SharedRefBase() = default;

	std::shared_ptr<SharedRefBase> ref()
	{
		std::shared_ptr<SharedRefBase> first;
		std::call_once(once_, [&] {
			first.reset(this);
			self_ = first;
		});
		return first ? first : self_.lock();
	}

	template <typename Child> std::shared_ptr<Child> ref()
	{
		return std::static_pointer_cast<Child>(ref());
	}

	/** The way to make one. */
	template <typename T, typename... Args> static std::shared_ptr<T> make(Args &&...args)
	{
		return (new T(std::forward<Args>(args)...))->template ref<T>();
	}

private:
	std::once_flag once_;
	std::weak_ptr<SharedRefBase> self_;
};

class ICInterface : public SharedRefBase {
public:
	/** The service behind a binder of this process; none: it is a proxy. */
	static std::shared_ptr<ICInterface> asInterface(AIBinder *binder)
	{
		auto held = static_cast<Holder *>(AIBinder_getUserData(binder));
		return held ? held->interface : nullptr;
	}

	/** A reference to the binder; a service makes one when there is none. */
	virtual SpAIBinder asBinder() = 0;
	virtual bool isRemote() = 0;
	/** Writes to the file what there is to say; the default says nothing. */
	virtual binder_status_t dump(int /*fd*/, const char ** /*args*/, uint32_t /*numArgs*/)
	{
		return STATUS_OK;
	}
	virtual binder_status_t handleShellCommand(int /*in*/, int /*out*/, int /*err*/,
						   const char ** /*argv*/, uint32_t /*argc*/)
	{
		return STATUS_UNKNOWN_TRANSACTION;
	}

	static AIBinder_Class *defineClass(const char *descriptor,
					   AIBinder_Class_onTransact onTransact)
	{
		AIBinder_Class *clazz = AIBinder_Class_define(descriptor, Holder::create,
							      Holder::destroy, onTransact);
		if (clazz)
			AIBinder_Class_setOnDump(clazz, Holder::dump);
		return clazz;
	}

	static AIBinder_Class *defineClass(const char *descriptor,
					   AIBinder_Class_onTransact onTransact,
					   const char **functionNames, size_t functionCount)
	{
		AIBinder_Class *clazz = defineClass(descriptor, onTransact);
		AIBinder_Class_setTransactionCodeToFunctionNameMap(clazz, functionNames,
								   functionCount);
		return clazz;
	}

private:
	/** The user data of a binder. */
	struct Holder {
		std::shared_ptr<ICInterface> interface;

		static void *create(void *interface)
		{
			auto made = static_cast<ICInterface *>(interface);
			return new Holder{made->ref<ICInterface>()};
		}
		static void destroy(void *data) { delete static_cast<Holder *>(data); }
		static binder_status_t dump(AIBinder *binder, int fd, const char **args,
					    uint32_t numArgs)
		{
			return asInterface(binder)->dump(fd, args, numArgs);
		}
	};
};

/** The base of a service. */
template <typename INTERFACE> class BnCInterface : public INTERFACE {
public:
	SpAIBinder asBinder() override
	{
		std::lock_guard<std::mutex> guard(mutex_);
		SpAIBinder binder = weak_.promote();
		if (!binder.get()) {
			binder = createBinder();
			weak_.set(AIBinder_Weak_new(binder.get()));
		}
		return binder;
	}
	bool isRemote() override { return false; }

protected:
	virtual SpAIBinder createBinder() = 0;

private:
	std::mutex mutex_;
	ScopedAIBinder_Weak weak_;
};

/** The base of a proxy. */
template <typename INTERFACE> class BpCInterface : public INTERFACE {
public:
	explicit BpCInterface(SpAIBinder binder) : binder_(std::move(binder)) {}

	SpAIBinder asBinder() override { return binder_; }
	const SpAIBinder &asBinderReference() { return binder_; }
	bool isRemote() override { return AIBinder_isRemote(binder_.get()); }
	binder_status_t dump(int fd, const char **args, uint32_t numArgs) override
	{
		return AIBinder_dump(binder_.get(), fd, args, numArgs);
	}

private:
	SpAIBinder binder_;
};

} // namespace ndk

#endif
