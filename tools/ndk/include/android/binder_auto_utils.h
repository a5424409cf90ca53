/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of what the C API hands out: each frees it when it goes. A binder's may be copied, the
 * others are moved.
 */
#ifndef ANDROID_BINDER_AUTO_UTILS_H
#define ANDROID_BINDER_AUTO_UTILS_H

#include <android/binder_ibinder.h>
#include <android/binder_parcel.h>
#include <android/binder_status.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace ndk {

/** A reference to a binder, or none. */
class SpAIBinder {
public:
	SpAIBinder() = default;
	/** Takes over the caller's reference. */
	explicit SpAIBinder(AIBinder *binder) : binder_(binder) {}
	// NOLINTNEXTLINE(google-explicit-constructor)
	SpAIBinder(std::nullptr_t) {}
	SpAIBinder(const SpAIBinder &other) : binder_(other.binder_)
	{
		if (binder_)
			AIBinder_incStrong(binder_);
	}
	SpAIBinder(SpAIBinder &&other) noexcept : binder_(std::exchange(other.binder_, nullptr)) {}
	~SpAIBinder() { set(nullptr); }

	SpAIBinder &operator=(SpAIBinder other) noexcept
	{
		std::swap(binder_, other.binder_);
		return *this;
	}

	/** Takes over the caller's reference, and gives its own back. */
	void set(AIBinder *binder)
	{
		AIBinder *before = std::exchange(binder_, binder);
		if (before)
			AIBinder_decStrong(before);
	}
	AIBinder *get() const { return binder_; }
	/** Where a function of the C API stores a reference; one that is there is forgotten. */
	AIBinder **getR() { return &binder_; }

	bool operator==(const SpAIBinder &other) const { return binder_ == other.binder_; }
	bool operator!=(const SpAIBinder &other) const { return !(*this == other); }
	bool operator<(const SpAIBinder &other) const
	{
		return AIBinder_lt(binder_, other.binder_);
	}
	bool operator>(const SpAIBinder &other) const { return other < *this; }
	bool operator<=(const SpAIBinder &other) const { return !(other < *this); }
	bool operator>=(const SpAIBinder &other) const { return !(*this < other); }

private:
	AIBinder *binder_ = nullptr;
};

namespace impl {

/** Owns a `T`, which `Destroy` frees; `DEFAULT` is none. */
template <typename T, auto Destroy, T DEFAULT> class ScopedAResource {
public:
	/** Takes it over. */
	explicit ScopedAResource(T value = DEFAULT) : value_(value) {}
	ScopedAResource(ScopedAResource &&other) noexcept : value_(other.release()) {}
	ScopedAResource(const ScopedAResource &) = delete;
	ScopedAResource &operator=(const ScopedAResource &) = delete;
	ScopedAResource &operator=(ScopedAResource &&other) noexcept
	{
		set(other.release());
		return *this;
	}
	~ScopedAResource() { set(DEFAULT); }

	void set(T value)
	{
		T before = std::exchange(value_, value);
		if (before != DEFAULT && before != value)
			Destroy(before);
	}
	T get() const { return value_; }
	/** Where a function of the C API takes one, or stores it over one that is there. */
	T *getR() { return &value_; }
	/** The caller owns it from now on. */
	[[nodiscard]] T release() { return std::exchange(value_, DEFAULT); }

	bool operator==(const ScopedAResource &other) const { return value_ == other.value_; }
	bool operator!=(const ScopedAResource &other) const { return value_ != other.value_; }
	bool operator<(const ScopedAResource &other) const { return value_ < other.value_; }
	bool operator>(const ScopedAResource &other) const { return other < *this; }
	bool operator<=(const ScopedAResource &other) const { return !(other < *this); }
	bool operator>=(const ScopedAResource &other) const { return !(*this < other); }

private:
	T value_;
};

} // namespace impl

class ScopedAParcel : public impl::ScopedAResource<AParcel *, AParcel_delete, nullptr> {
public:
	using ScopedAResource::ScopedAResource;

	bool operator!() const { return get() == nullptr; }
	static ScopedAParcel create() { return ScopedAParcel(AParcel_create()); }
};

/** None is success. */
class ScopedAStatus : public impl::ScopedAResource<AStatus *, AStatus_delete, nullptr> {
public:
	using ScopedAResource::ScopedAResource;

	bool isOk() const { return AStatus_isOk(get()); }
	binder_exception_t getExceptionCode() const { return AStatus_getExceptionCode(get()); }
	int32_t getServiceSpecificError() const { return AStatus_getServiceSpecificError(get()); }
	binder_status_t getStatus() const { return AStatus_getStatus(get()); }
	const char *getMessage() const { return AStatus_getMessage(get()); }
	std::string getDescription() const
	{
		const char *text = AStatus_getDescription(get());
		std::string description = text;
		AStatus_deleteDescription(text);
		return description;
	}

	static ScopedAStatus ok() { return ScopedAStatus(AStatus_newOk()); }
	static ScopedAStatus fromStatus(binder_status_t status)
	{
		return ScopedAStatus(AStatus_fromStatus(status));
	}
	static ScopedAStatus fromExceptionCode(binder_exception_t exception)
	{
		return ScopedAStatus(AStatus_fromExceptionCode(exception));
	}
	static ScopedAStatus fromExceptionCodeWithMessage(binder_exception_t exception,
							  const char *message)
	{
		return ScopedAStatus(AStatus_fromExceptionCodeWithMessage(exception, message));
	}
	static ScopedAStatus fromServiceSpecificError(int32_t error)
	{
		return ScopedAStatus(AStatus_fromServiceSpecificError(error));
	}
	static ScopedAStatus fromServiceSpecificErrorWithMessage(int32_t error, const char *message)
	{
		return ScopedAStatus(AStatus_fromServiceSpecificErrorWithMessage(error, message));
	}
};

class ScopedAIBinder_DeathRecipient
	: public impl::ScopedAResource<AIBinder_DeathRecipient *, AIBinder_DeathRecipient_delete,
				       nullptr> {
public:
	using ScopedAResource::ScopedAResource;
};

class ScopedAIBinder_Weak
	: public impl::ScopedAResource<AIBinder_Weak *, AIBinder_Weak_delete, nullptr> {
public:
	using ScopedAResource::ScopedAResource;

	SpAIBinder promote() const { return SpAIBinder(AIBinder_Weak_promote(get())); }
};

namespace internal {

inline void close_fd(int fd)
{
	close(fd);
}

} // namespace internal

class ScopedFileDescriptor : public impl::ScopedAResource<int, internal::close_fd, -1> {
public:
	using ScopedAResource::ScopedAResource;

	/** Another number of the same open file; none, with errno: it failed. */
	ScopedFileDescriptor dup() const
	{
		return ScopedFileDescriptor(fcntl(get(), F_DUPFD_CLOEXEC, 0));
	}
};

} // namespace ndk

#endif
