/* SPDX-License-Identifier: Apache-2.0 */
/* The enumerators of an enumeration, to go over: `for (Colour c : ndk::enum_range<Colour>())`. */
#ifndef ANDROID_BINDER_ENUMS_H
#define ANDROID_BINDER_ENUMS_H

#include <array>
#include <cstddef>
#include <type_traits>

namespace ndk {
namespace internal {

/** The compiler writes one of these for each enumeration. */
template <typename Enum> constexpr inline std::array<Enum, 0> enum_values{};

} // namespace internal

template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>> struct enum_range {
	constexpr auto begin() const { return internal::enum_values<Enum>.begin(); }
	constexpr auto end() const { return internal::enum_values<Enum>.end(); }
};

} // namespace ndk

#endif
