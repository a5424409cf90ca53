/* SPDX-License-Identifier: Apache-2.0 */
/* A parcelable of any type, which its holder does not know: an extension of another. */
#ifndef ANDROID_BINDER_PARCELABLE_UTILS_H
#define ANDROID_BINDER_PARCELABLE_UTILS_H

#include <android/binder_auto_utils.h>
#include <android/binder_parcel_utils.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

namespace ndk {

enum parcelable_stability_t : int32_t {
	STABILITY_LOCAL = 0,
	STABILITY_VINTF = 1,
};

/**
 * Holds a parcelable, or the bytes of one that was read and that nobody has asked for. Copies share
 * what they hold. One that holds binders or files cannot be read: STATUS_INVALID_OPERATION.
 */
class AParcelableHolder {
public:
	AParcelableHolder() = delete;
	explicit AParcelableHolder(parcelable_stability_t stability) : stability_(stability) {}
	AParcelableHolder(const AParcelableHolder &other)
	    : stability_(other.stability_), content_(other.content())
	{
	}
	AParcelableHolder &operator=(const AParcelableHolder &other)
	{
		auto content = other.content();
		std::lock_guard<std::mutex> guard(mutex_);
		content_ = std::move(content);
		return *this;
	}

	/** STATUS_BAD_VALUE: it promises less than the holder does. */
	template <typename T> binder_status_t setParcelable(std::shared_ptr<T> value)
	{
		if (value && stability_ > T::_aidl_stability)
			return STATUS_BAD_VALUE;
		auto content = value ? std::make_shared<Content>() : nullptr;
		if (content) {
			content->name = T::descriptor;
			content->value = value;
			content->write = [value](AParcel *parcel) {
				return value->writeToParcel(parcel);
			};
		}
		std::lock_guard<std::mutex> guard(mutex_);
		content_ = std::move(content);
		return STATUS_OK;
	}
	template <typename T> binder_status_t setParcelable(const T &value)
	{
		return setParcelable(std::make_shared<T>(value));
	}
	template <typename T> binder_status_t setParcelable(std::unique_ptr<T> value)
	{
		return setParcelable(std::shared_ptr<T>(std::move(value)));
	}

	/** None: the holder is empty, or has another type (STATUS_BAD_VALUE once it was read). */
	template <typename T> binder_status_t getParcelable(std::shared_ptr<T> *out) const
	{
		out->reset();
		std::lock_guard<std::mutex> guard(mutex_);
		if (!content_)
			return STATUS_OK;
		if (content_->name != T::descriptor)
			return content_->value ? STATUS_BAD_VALUE : STATUS_OK;
		if (!content_->value) {
			auto value = std::make_shared<T>();
			AParcel *bytes = content_->bytes.get();
			AParcel_setDataPosition(bytes, content_->start);
			binder_status_t status = value->readFromParcel(bytes);
			if (status != STATUS_OK)
				return status;
			content_->value = value;
		}
		*out = std::static_pointer_cast<T>(content_->value);
		return STATUS_OK;
	}
	template <typename T> binder_status_t getParcelable(std::optional<T> *out) const
	{
		std::shared_ptr<T> shared;
		binder_status_t status = getParcelable(&shared);
		out->reset();
		if (shared)
			out->emplace(*shared);
		return status;
	}

	void reset()
	{
		std::lock_guard<std::mutex> guard(mutex_);
		content_.reset();
	}
	parcelable_stability_t getStability() const { return stability_; }

	binder_status_t writeToParcel(AParcel *parcel) const
	{
		auto held = content();
		binder_status_t status = AParcel_writeInt32(parcel, stability_);
		int32_t at = AParcel_getDataPosition(parcel);
		if (status == STATUS_OK)
			status = AParcel_writeInt32(parcel, 0);
		if (status != STATUS_OK || !held)
			return status;
		if (held->write) {
			status = AParcel_writeString(parcel, held->name);
			if (status == STATUS_OK)
				status = held->write(parcel);
		} else {
			status = AParcel_appendFrom(held->bytes.get(), parcel, 0,
						    AParcel_getDataSize(held->bytes.get()));
		}
		int32_t end = AParcel_getDataPosition(parcel);
		if (status != STATUS_OK)
			return status;
		AParcel_setDataPosition(parcel, at);
		status = AParcel_writeInt32(parcel, end - at - 4);
		AParcel_setDataPosition(parcel, end);
		return status;
	}

	binder_status_t readFromParcel(const AParcel *parcel)
	{
		int32_t stability = 0, size = 0;
		binder_status_t status = AParcel_readInt32(parcel, &stability);
		if (status == STATUS_OK && stability != stability_)
			return STATUS_BAD_VALUE;
		reset();
		if (status == STATUS_OK)
			status = AParcel_readInt32(parcel, &size);
		if (status != STATUS_OK || size == 0)
			return status;
		int32_t start = AParcel_getDataPosition(parcel);
		if (size < 0 || size > AParcel_getDataSize(parcel) - start)
			return STATUS_BAD_VALUE;
		auto content = std::make_shared<Content>();
		content->bytes = ScopedAParcel::create();
		AParcel *bytes = content->bytes.get();
		status = ::AParcel_appendFrom(parcel, bytes, start, size);
		AParcel_setDataPosition(bytes, 0);
		if (status == STATUS_OK)
			status = AParcel_readString(bytes, &content->name);
		if (status != STATUS_OK)
			return status;
		content->start = AParcel_getDataPosition(bytes);
		AParcel_setDataPosition(parcel, start + size);
		std::lock_guard<std::mutex> guard(mutex_);
		content_ = std::move(content);
		return STATUS_OK;
	}

	/* By what they share: types that are not known cannot be compared. */
	bool operator==(const AParcelableHolder &other) const { return order() == other.order(); }
	bool operator!=(const AParcelableHolder &other) const { return order() != other.order(); }
	bool operator<(const AParcelableHolder &other) const { return order() < other.order(); }
	bool operator>(const AParcelableHolder &other) const { return order() > other.order(); }
	bool operator<=(const AParcelableHolder &other) const { return order() <= other.order(); }
	bool operator>=(const AParcelableHolder &other) const { return order() >= other.order(); }
	std::string toString() const
	{
		auto held = content();
		return "AParcelableHolder:" + (held ? held->name : std::string("null"));
	}

private:
	struct Content {
		std::string name;
		/** What was set, or read and asked for. */
		std::shared_ptr<void> value;
		/** Of what was set. */
		std::function<binder_status_t(AParcel *)> write;
		/** Of what was read: the name, and from `start` on the parcelable. */
		ScopedAParcel bytes;
		int32_t start = 0;
	};

	std::shared_ptr<Content> content() const
	{
		std::lock_guard<std::mutex> guard(mutex_);
		return content_;
	}
	std::tuple<parcelable_stability_t, const Content *> order() const
	{
		return {stability_, content().get()};
	}

	const parcelable_stability_t stability_;
	mutable std::mutex mutex_;
	std::shared_ptr<Content> content_;
};

} // namespace ndk

#endif
