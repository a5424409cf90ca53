/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_port: an open device and its mapping, and what serves it. Nothing here depends on the ABI,
 * so that a driver with an ABI header of its own can serve ports. Conventions as in binder.h.
 */
#ifndef TESTS_BINDER_PORT_H
#define TESTS_BINDER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size that libbinder maps: a megabyte less two guard pages. */
#define PORT_MAP_BYTES (1024 * 1024 - 2 * 4096)

struct port;

/*
 * What serves a port: the kernel (binder_port.c), or something that answers in its place. Each
 * function may sleep; they return a negative errno when they fail.
 */
struct port_system {
	/* Opens @device with @flags of open(2) and sets port->fd. */
	int (*open)(struct port *port, const char *device, int flags);
	/* mmap(2): returns the address. The caller sets port->map and port->map_bytes. */
	long (*map)(struct port *port, size_t bytes, int prot, int flags, long offset);
	/* ioctl(2), with the bare argument. */
	int (*ioctl)(struct port *port, unsigned long cmd, unsigned long arg);
	/* Unmaps port->map, if it is not NULL, and closes the device. */
	int (*close)(struct port *port);
};

extern const struct port_system port_kernel;

struct port {
	const struct port_system *system;
	int fd;
	uint8_t *map; /* where received buffers are; NULL: not mapped */
	size_t map_bytes;
};

/* How to open a port; zero means the default. */
struct port_options {
	const struct port_system *system; /* port_kernel */
	bool nonblocking;		  /* O_NONBLOCK: reads do not wait */
	bool no_map;			  /* do not map */
	size_t map_bytes;		  /* PORT_MAP_BYTES */
};

/*
 * Opens the device file @device, and maps it for received buffers. What open(2) or mmap(2) failed
 * with; then the port is closed.
 */
int port_open(struct port *port, const char *device, struct port_options options);
/* Unmaps and closes; threads that wait in it return. What munmap(2) or close(2) failed with. */
int port_close(struct port *port);

#endif
