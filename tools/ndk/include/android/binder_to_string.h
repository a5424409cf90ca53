/* SPDX-License-Identifier: Apache-2.0 */
/* Values in words, for logs: what the compiler writes for a parcelable's toString() calls this. */
#ifndef ANDROID_BINDER_TO_STRING_H
#define ANDROID_BINDER_TO_STRING_H

#include <android/binder_auto_utils.h>
#include <android/binder_interface_utils.h>
#include <android/binder_parcel_utils.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace android {
namespace internal {

template <typename T, typename = void> struct has_to_string : std::false_type {};
template <typename T>
struct has_to_string<T, std::void_t<decltype(std::declval<const T &>().toString())>>
    : std::true_type {};

/* An enumeration's own function, which the compiler writes beside it; else its number. */
template <typename T> auto enum_name(T value, int) -> decltype(toString(value))
{
	return toString(value);
}
template <typename T> std::string enum_name(T value, long)
{
	return std::to_string(static_cast<long long>(value));
}

template <typename T> std::string ToString(const T &value)
{
	if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::vector<bool>::reference>) {
		return value ? "true" : "false";
	} else if constexpr (std::is_same_v<T, char16_t>) {
		return std::to_string(static_cast<unsigned>(value));
	} else if constexpr (std::is_arithmetic_v<T>) {
		return std::to_string(value);
	} else if constexpr (std::is_enum_v<T>) {
		return enum_name(value, 0);
	} else if constexpr (std::is_same_v<T, std::string>) {
		return value;
	} else if constexpr (std::is_same_v<T, ::ndk::SpAIBinder>) {
		return value.get() ? "(AIBinder)" : "(null)";
	} else if constexpr (std::is_same_v<T, ::ndk::ScopedFileDescriptor>) {
		return "(file " + std::to_string(value.get()) + ")";
	} else if constexpr (::ndk::internal::is_of_v<std::shared_ptr, T>) {
		return value ? "(interface)" : "(null)";
	} else if constexpr (::ndk::internal::is_box_v<T>) {
		return value ? ToString(*value) : "(null)";
	} else if constexpr (::ndk::internal::is_container_v<T>) {
		std::string text = "[";
		for (const auto &element : value) {
			if (text.size() > 1)
				text += ", ";
			text += ToString(static_cast<const typename T::value_type &>(element));
		}
		return text + "]";
	} else if constexpr (has_to_string<T>::value) {
		return value.toString();
	} else {
		return "(no string)";
	}
}

} // namespace internal
} // namespace android

#endif
