/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calling thread's memory. What the protocol copies is mostly some dozen bytes, for which the
 * preparations of copy_from_user() cost more than the copy: so that is made here, word by word.
 * @size of 0 is nothing. -EFAULT: not all of it could be copied.
 */
#ifndef HOST_LINUX_CALLER_H
#define HOST_LINUX_CALLER_H

#include <linux/errno.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/* Up to here words are faster. */
#define CALLER_WORDS_MAX (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ? 160 : 0)

/* Moves @size bytes by @move(type, index), four words a turn. */
#define CALLER_MOVE(size, move) do { \
	for (; size >= 4 * sizeof(u64); size -= 4 * sizeof(u64)) { \
		move(u64, 0); \
		move(u64, 1); \
		move(u64, 2); \
		move(u64, 3); \
		to += 4 * sizeof(u64); \
		from += 4 * sizeof(u64); \
	} \
	if (size & 2 * sizeof(u64)) { \
		move(u64, 0); \
		move(u64, 1); \
		to += 2 * sizeof(u64); \
		from += 2 * sizeof(u64); \
	} \
	if (size & sizeof(u64)) { \
		move(u64, 0); \
		to += sizeof(u64); \
		from += sizeof(u64); \
	} \
	if (size & sizeof(u32)) { \
		move(u32, 0); \
		to += sizeof(u32); \
		from += sizeof(u32); \
	} \
	for (size &= sizeof(u32) - 1; size; size--) { \
		move(u8, 0); \
		to++; \
		from++; \
	} \
} while (0)

#define CALLER_GET(type, i) \
	unsafe_get_user(((type *)to)[i], (const type __user *)from + (i), fault)
#define CALLER_PUT(type, i) \
	unsafe_put_user(((const type *)from)[i], (type __user *)to + (i), fault)

static __always_inline int caller_read_words(void *dst, const void __user *src, size_t size)
{
	u8 *to = dst;
	const u8 __user *from = src;

	if (!user_read_access_begin(from, size))
		return -EFAULT;
	CALLER_MOVE(size, CALLER_GET);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static __always_inline int caller_write_words(void __user *dst, const void *src, size_t size)
{
	u8 __user *to = dst;
	const u8 *from = src;

	if (!user_write_access_begin(to, size))
		return -EFAULT;
	CALLER_MOVE(size, CALLER_PUT);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

static __always_inline int caller_read(void *dst, const void __user *src, size_t size)
{
	if (size <= CALLER_WORDS_MAX)
		return caller_read_words(dst, src, size);
	return copy_from_user(dst, src, size) ? -EFAULT : 0;
}

static __always_inline int caller_write(void __user *dst, const void *src, size_t size)
{
	if (size <= CALLER_WORDS_MAX)
		return caller_write_words(dst, src, size);
	return copy_to_user(dst, src, size) ? -EFAULT : 0;
}

#endif
