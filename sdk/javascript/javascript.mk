# How a job in JavaScript becomes a WebAssembly module. Include it and write
#
#   job.wasm: main.js $(JAVASCRIPT)
#   	$(call javascript,main.js,job.wasm)
#
# A manifest.json beside the script becomes the plugin's manifest.
#
# QuickJS, the engine, comes from npm as C source and is compiled once, into the folder QUICKJS.

JAVASCRIPT_SDK := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
QUICKJS        ?= build/quickjs
WASI_CC        ?= clang
NPM            ?= npm

# The source is a part of the package qjsc, of which nothing else is used.
QJSC        := qjsc-0.3.0
QJSC_SHA512 := 6bbf9c53afc855c65b21e8df7ddb7fc1954c5fa2cbd8c0cbdc743d65be469b6dc6f43bc1312ff3f461c5c73dfd6c0be9d8fbcc38cfb2a52380ca892dd83759db
SHA512      := $(or $(shell command -v sha512sum),shasum -a 512)

# JavaScript may use three quarters of the stack, see jobhost.c, and the engine itself the rest. That is 1,300 calls of functions in
# each other. With more, the host's own limit would come first, which a script cannot catch; for source of deep brackets it does.
JAVASCRIPT_STACK := 524288

# The engine is compiled anew when how it is made has changed.
QUICKJS_OBJECT := $(QUICKJS)/quickjs-$(firstword $(shell cat $(JAVASCRIPT_SDK)/javascript.mk $(JAVASCRIPT_SDK)/quickjs-wasi.h | cksum)).o

# What a module depends on beside its script.
JAVASCRIPT := $(QUICKJS_OBJECT) $(wildcard $(JAVASCRIPT_SDK)/jobhost.* $(JAVASCRIPT_SDK)/../c/jobhost.h)

# $(call javascript,script,module)
javascript = $(WASI_CC) --target=wasm32-wasi -Os -Wall -Wextra -Wno-unused-parameter -DSCRIPT='"$(notdir $(1))"' -DSTACK=$(JAVASCRIPT_STACK) \
	$(if $(wildcard $(dir $(1))manifest.json),-DMANIFEST) \
	-Wa,-I$(dir $(1)) -Wa,-I$(JAVASCRIPT_SDK) -I$(JAVASCRIPT_SDK) -I$(JAVASCRIPT_SDK)/../c -isystem $(QUICKJS) \
	-Wl,--stack-first -Wl,-z,stack-size=$(JAVASCRIPT_STACK) -Wl,--strip-debug \
	-o $(2) $(JAVASCRIPT_SDK)/jobhost.c $(QUICKJS_OBJECT)

# There are no threads, so Atomics are left out. A function on one line has no table of lines: it is in the line where it begins.
$(QUICKJS_OBJECT):
	@mkdir -p $(QUICKJS)
	cd $(QUICKJS) && $(NPM) pack --silent --fetch-retries=1 --fetch-timeout=60000 $(subst -,@,$(QJSC)) && echo '$(QJSC_SHA512)  $(QJSC).tgz' | $(SHA512) -c - && \
	  tar -xzf $(QJSC).tgz --strip-components=3 package/deps/quickjs_2021_03_27 && \
	  sed -i.bak -e '/^#define CONFIG_ATOMICS/d' -e '/function was stripped/,/return -1/s/return -1/return b->has_debug ? b->debug.line_num : -1/' \
	    quickjs.c && rm $(QJSC).tgz quickjs.c.bak
	set -e; for file in quickjs libregexp libunicode libbf cutils; do \
	  $(WASI_CC) --target=wasm32-wasi -Os -w -D_GNU_SOURCE -DCONFIG_BIGNUM -DCONFIG_VERSION='"2021-03-27"' \
	    -include $(JAVASCRIPT_SDK)/quickjs-wasi.h -c -o $(QUICKJS)/$$file.part $(QUICKJS)/$$file.c; \
	done
	$(WASI_CC) --target=wasm32-wasi -r -nostdlib -o $(QUICKJS)/quickjs.tmp $(QUICKJS)/*.part
	@rm $(QUICKJS)/*.part && mv $(QUICKJS)/quickjs.tmp $@
