# SPDX-License-Identifier: GPL-2.0
# make vm-fetch: downloads and builds what vm/run needs, once, in build/vm.

VM_KERNELS ?= 6.1 6.12 6.12-rt newest

ARM64_CC := aarch64-linux-gnu-gcc

.PHONY: vm-fetch
## vm-fetch: the kernels, the reference driver and the init of vm/run, once
vm-fetch: build/vm/init
	vm/fetch --headers $(VM_KERNELS)
	vm/ref.sh 6.12
	vm/ref.sh newest

build/vm/init: vm/init.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -Wall -Wextra -Werror -O2 -static -o $@ $<

build/vm/init-arm64: vm/init.c
	@mkdir -p $(@D)
	$(call need,$(ARM64_CC))$(ARM64_CC) -std=c11 -Wall -Wextra -Werror -O2 -static -o $@ $<
