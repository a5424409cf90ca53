// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded: each thread's first wait for events ends at once, and whoever starts a thread
 * gives it time. So events come before the threads that are started later exist.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#define AHEAD_US 50000

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	static __thread int has_waited;
	int (*wait)(int, struct epoll_event *, int, int) = dlsym(RTLD_NEXT, "epoll_wait");

	return has_waited++ ? wait(fd, events, most, timeout_ms) : 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *arg)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		dlsym(RTLD_NEXT, "pthread_create");
	int error = create(thread, attributes, run, arg);

	usleep(AHEAD_US);
	return error;
}
