/* SPDX-License-Identifier: GPL-2.0 */
/* va_list: before 5.15 the kernel used the compiler's header. */
#ifndef HOST_LINUX_COMPAT_STDARG_H
#define HOST_LINUX_COMPAT_STDARG_H

#ifdef COMPAT_HAVE_LINUX_STDARG
#include <linux/stdarg.h>
#else
#include <stdarg.h>
#endif

#endif
