/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of C++ in parcels. One pair of templates writes and reads them all, by what they are:
 *
 *   bool, char16_t, numbers, enumerations    as the C API's function of the type
 *   std::string, binders, files, interfaces  the same; null is STATUS_UNEXPECTED_NULL, unless the
 *                                            value may be null
 *   std::vector, std::array                  their length, and the elements; an array that has
 *                                            another length is STATUS_BAD_VALUE
 *   std::optional, std::unique_ptr           the value, or null
 *   parcelables                              1, and what they write; 0: null
 *
 * Below them are the names that what the compiler writes calls.
 */
#ifndef ANDROID_BINDER_PARCEL_UTILS_H
#define ANDROID_BINDER_PARCEL_UTILS_H

#include <android/binder_auto_utils.h>
#include <android/binder_interface_utils.h>
#include <android/binder_parcel.h>

#include <array>
#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace ndk {
namespace internal {

template <template <typename...> class Template, typename T> struct is_of : std::false_type {};
template <template <typename...> class Template, typename... Args>
struct is_of<Template, Template<Args...>> : std::true_type {};
template <template <typename...> class Template, typename T>
inline constexpr bool is_of_v = is_of<Template, T>::value;

template <typename T> struct is_array : std::false_type {};
template <typename T, size_t N> struct is_array<std::array<T, N>> : std::true_type {};
template <typename T>
inline constexpr bool is_container_v = is_of_v<std::vector, T> || is_array<T>::value;
template <typename T>
inline constexpr bool is_box_v = is_of_v<std::optional, T> || is_of_v<std::unique_ptr, T>;

template <typename T, bool = std::is_enum_v<T>> struct wire_type {
	using type = T;
};
template <typename T> struct wire_type<T, true> {
	using type = std::underlying_type_t<T>;
};
template <> struct wire_type<uint8_t, false> {
	using type = int8_t;
};
/** The type that the C API has for a number or an enumeration. */
template <typename T> using wire_t = typename wire_type<T>::type;

#define ANDROID_BINDER_TYPE(Name, Type)                                                            \
	inline binder_status_t write_scalar(AParcel *parcel, Type value)                           \
	{                                                                                          \
		return AParcel_write##Name(parcel, value);                                         \
	}                                                                                          \
	inline binder_status_t read_scalar(const AParcel *parcel, Type *value)                     \
	{                                                                                          \
		return AParcel_read##Name(parcel, value);                                          \
	}
#define ANDROID_BINDER_ARRAY_TYPE(Name, Type)                                                      \
	ANDROID_BINDER_TYPE(Name, Type)                                                            \
	inline binder_status_t write_array(AParcel *parcel, const Type *array, int32_t length)     \
	{                                                                                          \
		return AParcel_write##Name##Array(parcel, array, length);                          \
	}                                                                                          \
	inline binder_status_t read_array(const AParcel *parcel, void *data,                       \
					  bool (*allocator)(void *, int32_t, Type **))             \
	{                                                                                          \
		return AParcel_read##Name##Array(parcel, data, allocator);                         \
	}

ANDROID_BINDER_TYPE(Bool, bool)
ANDROID_BINDER_ARRAY_TYPE(Byte, int8_t)
ANDROID_BINDER_ARRAY_TYPE(Char, char16_t)
ANDROID_BINDER_ARRAY_TYPE(Int32, int32_t)
ANDROID_BINDER_ARRAY_TYPE(Uint32, uint32_t)
ANDROID_BINDER_ARRAY_TYPE(Int64, int64_t)
ANDROID_BINDER_ARRAY_TYPE(Uint64, uint64_t)
ANDROID_BINDER_ARRAY_TYPE(Float, float)
ANDROID_BINDER_ARRAY_TYPE(Double, double)

#undef ANDROID_BINDER_TYPE
#undef ANDROID_BINDER_ARRAY_TYPE

template <typename T>
inline constexpr bool is_scalar_v = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/** Elements that are copied as a whole array. */
template <typename T>
inline constexpr bool is_packed_v = is_scalar_v<T> && !std::is_same_v<T, bool>;

template <bool nullable, typename T> binder_status_t write(AParcel *parcel, const T &value);
template <bool nullable, typename T> binder_status_t read(const AParcel *parcel, T *value);

/** Null, as the type is written. */
template <typename T> binder_status_t write_null(AParcel *parcel)
{
	if constexpr (std::is_same_v<T, std::string>)
		return AParcel_writeString(parcel, nullptr, -1);
	else
		return AParcel_writeInt32(parcel, is_container_v<T> ? -1 : 0);
}

template <bool nullable, typename T>
binder_status_t write_elements(AParcel *parcel, const T &value)
{
	using Element = typename T::value_type;
	if (value.size() > INT32_MAX)
		return STATUS_BAD_VALUE;
	auto length = static_cast<int32_t>(value.size());
	if constexpr (is_packed_v<Element>) {
		auto array = reinterpret_cast<const wire_t<Element> *>(value.data());
		return write_array(parcel, array, length);
	} else {
		binder_status_t status = AParcel_writeInt32(parcel, length);
		for (auto i = value.begin(); status == STATUS_OK && i != value.end(); ++i)
			status = write<nullable, Element>(parcel, *i);
		return status;
	}
}

/** Makes room; false: the container has another length. */
template <typename T> bool has_length(T *value, size_t length)
{
	if constexpr (std::is_same_v<T, std::string>)
		*value = std::string(length, '\0');
	else if constexpr (is_of_v<std::vector, T>)
		value->resize(length);
	return value->size() == length;
}

/** A container that is read, and what else may be told of it than its elements. */
template <typename T> struct Reading {
	T *value;
	bool is_null = false;
	bool has_other_length = false;

	bool begin(int32_t length)
	{
		is_null = length < 0;
		has_other_length = !is_null && !has_length(value, static_cast<size_t>(length));
		return !has_other_length;
	}

	template <typename Wire> static bool allocate(void *data, int32_t length, Wire **buffer)
	{
		auto reading = static_cast<Reading *>(data);
		bool is_taken = reading->begin(length);
		if (is_taken && length > 0)
			*buffer = reinterpret_cast<Wire *>(reading->value->data());
		return is_taken;
	}

	/** The length is that with the NUL, which goes where the string has its own. */
	static bool allocate_text(void *data, int32_t length, char **buffer)
	{
		auto reading = static_cast<Reading *>(data);
		reading->begin(length - 1);
		if (!reading->is_null)
			*buffer = reading->value->data();
		return true;
	}
};

/** `is_null` is where null is told; without it, null is an error. */
template <bool nullable, typename T>
binder_status_t read_elements(const AParcel *parcel, T *value, bool *is_null)
{
	using Element = typename T::value_type;
	Reading<T> reading{value};
	binder_status_t status;
	if constexpr (std::is_same_v<T, std::string>) {
		status = AParcel_readString(parcel, &reading, Reading<T>::allocate_text);
	} else if constexpr (is_packed_v<Element>) {
		auto allocate = Reading<T>::template allocate<wire_t<Element>>;
		status = read_array(parcel, &reading, allocate);
		if (reading.has_other_length)
			return STATUS_BAD_VALUE;
	} else {
		int32_t length = 0;
		status = AParcel_readInt32(parcel, &length);
		if (status != STATUS_OK)
			return status;
		/* Each element takes four bytes at least. */
		int32_t left = AParcel_getDataSize(parcel) - AParcel_getDataPosition(parcel);
		if (length < -1)
			return STATUS_BAD_VALUE;
		if (length > left / 4)
			return STATUS_NOT_ENOUGH_DATA;
		if (!reading.begin(length))
			return STATUS_BAD_VALUE;
		for (int32_t i = 0; status == STATUS_OK && i < length; i++) {
			if constexpr (std::is_same_v<T, std::vector<bool>>) {
				bool element = false;
				status = read<nullable, bool>(parcel, &element);
				(*value)[static_cast<size_t>(i)] = element;
			} else {
				status = read<nullable, Element>(parcel,
								 &(*value)[static_cast<size_t>(i)]);
			}
		}
	}
	if (status != STATUS_OK || !reading.is_null)
		return status;
	if (!is_null)
		return STATUS_UNEXPECTED_NULL;
	*is_null = true;
	return STATUS_OK;
}

/** `is_null` is where null is told; without it, null is an error. */
template <bool nullable, typename T>
binder_status_t read_nullable(const AParcel *parcel, T *value, bool *is_null)
{
	if constexpr (is_container_v<T> || std::is_same_v<T, std::string>) {
		return read_elements<nullable>(parcel, value, is_null);
	} else {
		int32_t marker = 0;
		binder_status_t status = AParcel_readInt32(parcel, &marker);
		if (status != STATUS_OK)
			return status;
		if (marker == 1)
			return value->readFromParcel(parcel);
		if (marker != 0 || !is_null)
			return STATUS_UNEXPECTED_NULL;
		*is_null = true;
		return STATUS_OK;
	}
}

template <bool nullable, typename T> binder_status_t write(AParcel *parcel, const T &value)
{
	if constexpr (is_scalar_v<T>) {
		return write_scalar(parcel, static_cast<wire_t<T>>(value));
	} else if constexpr (std::is_same_v<T, std::string>) {
		if (value.size() > INT32_MAX)
			return STATUS_BAD_VALUE;
		auto length = static_cast<int32_t>(value.size());
		return AParcel_writeString(parcel, value.c_str(), length);
	} else if constexpr (std::is_same_v<T, SpAIBinder>) {
		if (!nullable && !value.get())
			return STATUS_UNEXPECTED_NULL;
		return AParcel_writeStrongBinder(parcel, value.get());
	} else if constexpr (std::is_same_v<T, ScopedFileDescriptor>) {
		if (!nullable && value.get() < 0)
			return STATUS_UNEXPECTED_NULL;
		return AParcel_writeParcelFileDescriptor(parcel, value.get());
	} else if constexpr (is_of_v<std::shared_ptr, T>) {
		if (!nullable && !value)
			return STATUS_UNEXPECTED_NULL;
		return T::element_type::writeToParcel(parcel, value);
	} else if constexpr (is_box_v<T>) {
		using Inner = std::decay_t<decltype(*value)>;
		return value ? write<true>(parcel, *value) : write_null<Inner>(parcel);
	} else if constexpr (is_container_v<T>) {
		return write_elements<nullable>(parcel, value);
	} else {
		binder_status_t status = AParcel_writeInt32(parcel, 1);
		return status == STATUS_OK ? value.writeToParcel(parcel) : status;
	}
}

template <bool nullable, typename T> binder_status_t read(const AParcel *parcel, T *value)
{
	binder_status_t status;
	if constexpr (is_scalar_v<T>) {
		wire_t<T> wire{};
		status = read_scalar(parcel, &wire);
		if (status == STATUS_OK)
			*value = static_cast<T>(wire);
		return status;
	} else if constexpr (std::is_same_v<T, SpAIBinder>) {
		value->set(nullptr);
		status = AParcel_readStrongBinder(parcel, value->getR());
		if (status == STATUS_OK && !nullable && !value->get())
			return STATUS_UNEXPECTED_NULL;
		return status;
	} else if constexpr (std::is_same_v<T, ScopedFileDescriptor>) {
		value->set(-1);
		status = AParcel_readParcelFileDescriptor(parcel, value->getR());
		if (status == STATUS_OK && !nullable && value->get() < 0)
			return STATUS_UNEXPECTED_NULL;
		return status;
	} else if constexpr (is_of_v<std::shared_ptr, T>) {
		status = T::element_type::readFromParcel(parcel, value);
		if (status == STATUS_OK && !nullable && !*value)
			return STATUS_UNEXPECTED_NULL;
		return status;
	} else if constexpr (is_box_v<T>) {
		using Inner = std::decay_t<decltype(**value)>;
		bool is_null = false;
		if constexpr (is_of_v<std::optional, T>)
			value->emplace(Inner());
		else
			*value = std::make_unique<Inner>();
		status = read_nullable<true>(parcel, &**value, &is_null);
		if (is_null || status != STATUS_OK)
			value->reset();
		return status;
	} else {
		return read_nullable<nullable>(parcel, value, nullptr);
	}
}

} // namespace internal

template <typename T> binder_status_t AParcel_writeData(AParcel *parcel, const T &value)
{
	return internal::write<false>(parcel, value);
}
template <typename T> binder_status_t AParcel_readData(const AParcel *parcel, T *value)
{
	return internal::read<false>(parcel, value);
}
template <typename T> binder_status_t AParcel_writeNullableData(AParcel *parcel, const T &value)
{
	return internal::write<true>(parcel, value);
}
template <typename T> binder_status_t AParcel_readNullableData(const AParcel *parcel, T *value)
{
	return internal::read<true>(parcel, value);
}

/** The length of an array that the service fills: null for an optional that is empty. */
template <typename T> binder_status_t AParcel_writeVectorSize(AParcel *parcel, const T &vector)
{
	if constexpr (internal::is_of_v<std::optional, T>)
		return vector ? AParcel_writeVectorSize(parcel, *vector)
			      : AParcel_writeInt32(parcel, -1);
	else if (vector.size() > INT32_MAX)
		return STATUS_BAD_VALUE;
	else
		return AParcel_writeInt32(parcel, static_cast<int32_t>(vector.size()));
}

/** Makes an array of the length that the caller wrote, a million elements at most. */
template <typename T> binder_status_t AParcel_resizeVector(const AParcel *parcel, T *vector)
{
	int32_t length = 0;
	binder_status_t status = AParcel_readInt32(parcel, &length);
	if (status != STATUS_OK)
		return status;
	if (length < -1)
		return STATUS_BAD_VALUE;
	if (length > 1000000)
		return STATUS_NO_MEMORY;
	if constexpr (internal::is_of_v<std::optional, T>) {
		vector->reset();
		if (length >= 0)
			vector->emplace(static_cast<size_t>(length));
		return STATUS_OK;
	} else {
		if (length < 0)
			return STATUS_UNEXPECTED_NULL;
		vector->resize(static_cast<size_t>(length));
		return STATUS_OK;
	}
}

/* The names for each kind, which older compilers write. */
#define ANDROID_BINDER_ALIAS(Name, Data)                                                           \
	template <typename T> binder_status_t AParcel_write##Name(AParcel *parcel, const T &value) \
	{                                                                                          \
		return AParcel_write##Data(parcel, value);                                         \
	}                                                                                          \
	template <typename T> binder_status_t AParcel_read##Name(const AParcel *parcel, T *value)  \
	{                                                                                          \
		return AParcel_read##Data(parcel, value);                                          \
	}

ANDROID_BINDER_ALIAS(String, Data)
ANDROID_BINDER_ALIAS(Vector, Data)
ANDROID_BINDER_ALIAS(Parcelable, Data)
ANDROID_BINDER_ALIAS(NullableParcelable, NullableData)
ANDROID_BINDER_ALIAS(RequiredStrongBinder, Data)
ANDROID_BINDER_ALIAS(NullableStrongBinder, NullableData)
ANDROID_BINDER_ALIAS(RequiredParcelFileDescriptor, Data)
ANDROID_BINDER_ALIAS(NullableParcelFileDescriptor, NullableData)

#undef ANDROID_BINDER_ALIAS

} // namespace ndk

#endif
