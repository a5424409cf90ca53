// SPDX-License-Identifier: GPL-2.0
/* A port that the kernel serves: the device files of a driver, or of the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binder_port.h"

static int kernel_open(struct port *port, const char *device, int flags)
{
	port->fd = open(device, flags);
	return port->fd < 0 ? -errno : 0;
}

static long kernel_map(struct port *port, size_t bytes, int prot, int flags, long offset)
{
	void *at = mmap(NULL, bytes, prot, flags, port->fd, offset);

	return at == MAP_FAILED ? -errno : (long)at;
}

static int kernel_ioctl(struct port *port, unsigned long cmd, unsigned long arg)
{
	return ioctl(port->fd, cmd, arg) < 0 ? -errno : 0;
}

static int kernel_close(struct port *port)
{
	int err = port->map && munmap(port->map, port->map_bytes) ? -errno : 0;

	return close(port->fd) ? -errno : err;
}

const struct port_system port_kernel = {
	.open = kernel_open,
	.map = kernel_map,
	.ioctl = kernel_ioctl,
	.close = kernel_close,
};

int port_open(struct port *port, const char *device, struct port_options options)
{
	size_t bytes = options.map_bytes ? options.map_bytes : PORT_MAP_BYTES;
	long at;
	int err;

	*port = (struct port){
		.system = options.system ? options.system : &port_kernel,
		.fd = -1,
	};
	err = port->system->open(port, device,
				 O_RDWR | O_CLOEXEC | (options.nonblocking ? O_NONBLOCK : 0));
	if (err || options.no_map)
		return err;
	at = port->system->map(port, bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, 0);
	if (at < 0 && at > -4096) {
		port_close(port);
		return (int)at;
	}
	port->map = (uint8_t *)at;
	port->map_bytes = bytes;
	return 0;
}

int port_close(struct port *port)
{
	int err = port->system->close(port);

	port->map = NULL;
	port->fd = -1;
	return err;
}
