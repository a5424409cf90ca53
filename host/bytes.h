/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host_memcpy() and its relatives, for a host that has the functions of C; its host_impl.h
 * includes this after the header that declares them.
 */
#ifndef BINDER_HOST_BYTES_H
#define BINDER_HOST_BYTES_H

static inline void host_memcpy(void *dst, const void *src, size_t size)
{
	memcpy(dst, src, size);
}

static inline void host_memset(void *dst, int c, size_t size)
{
	memset(dst, c, size);
}

static inline int host_memcmp(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size);
}

static inline size_t host_strlen(const char *s)
{
	return strlen(s);
}

#endif
