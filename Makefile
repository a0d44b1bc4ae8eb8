# Everything goes through the go command; there is nothing to install but Go, make and, for `make race`, a C compiler.

.SHELLFLAGS := -eu -c

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
T       ?= 20s
N       ?= 10

WASIP1   := CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm
EXAMPLES := $(patsubst plugins/examples/%/main.go,%,$(wildcard plugins/examples/*/main.go))

.DEFAULT_GOAL := build
.PHONY: help build plugins quickjs run test check fmt vet lint floors race wasm cross tidy tidy-check fuzz bench golden cover cases mutants crash clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/jobhost
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/jobhost ./cmd/jobhost

plugins: $(EXAMPLES:%=plugins/%.wasm) ## plugins/*.wasm out of the examples; those not in Go if their compiler is there
	@$(MAKE) --no-print-directory -C plugins/examples

quickjs: ## bin/quickjs, the engine of jobs in JavaScript: fetched by npm, compiled by clang, once
	@$(MAKE) --no-print-directory -C plugins/examples quickjs

run: build plugins ## the host, with the example plugins and jobhost.yaml
	@mkdir -p out/reports
	./bin/jobhost serve -c jobhost.yaml

test: ## all tests
	$(GO) test ./...
	cd tools && $(GO) test ./cases ./mutants

check: fmt vet lint floors cases race wasm cross tidy-check ## everything CI runs

fmt: ## format the code
	$(TOOL) golangci-lint fmt

vet: ## go vet, also of the example plugins
	$(GO) vet ./...
	$(if $(EXAMPLES),$(WASIP1) $(GO) vet ./plugins/examples/...)
	cd tools && $(GO) vet ./cases ./mutants

lint: ## golangci-lint; the first time it is built, which takes minutes
	$(TOOL) golangci-lint run
	cd tools && $(GO) tool golangci-lint run ./cases ./mutants

floors: ## which package may import which
	$(GO) test -count=1 -run '^Test(Floors|Dependencies|ArchitectureDiagram)$$' .

race: bin/cases ## `make cases` with the race detector; needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout=20m -json ./... | bin/cases tools/cases/required.txt

wasm: ## what guests are made of, for WebAssembly
	$(WASIP1) $(GO) build ./abi $(if $(EXAMPLES),./plugins/examples/...)

cross: ## build and vet for macOS and Windows
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...

tidy: ## go.mod and go.sum
	$(GO) mod tidy
	cd tools && $(GO) mod tidy

tidy-check: ## whether `make tidy` would change something
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff

fuzz: ## each fuzz target for T=20s
	@grep -rE --include='*_test.go' '^func Fuzz' . | sed -E 's|/[^/]+:func (Fuzz[A-Za-z0-9_]*).*| \1|' | sort | \
	while read -r dir target; do \
	  echo "$$dir $$target"; \
	  $(GO) test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(T) "$$dir"; \
	done

bench: ## all benchmarks N=10 times, into bench.new, compared with bench.old if there is one
	$(GO) test -run='^$$' -bench=. -count=$(N) ./... | tee bench.new
	$(TOOL) benchstat $(wildcard bench.old) bench.new

golden: ## write golden files anew
	$(GO) test $$(grep -rlE --include='*_test.go' '\("update",' . | xargs -n1 dirname | sort -u) -update

cover: ## cover.out and a line for each package
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -n 1

cases: bin/cases ## all tests, and which numbered cases of tools/cases/required.txt have no passing one
	$(GO) test -json ./... | bin/cases tools/cases/required.txt

bin/cases: $(wildcard tools/cases/*.go)
	cd tools && $(GO) build -o ../bin/cases ./cases

mutants: ## break one rule at a time; each must turn a numbered case red; about 5 minutes
	cd tools && $(GO) run ./mutants -dir ..

crash: ## kill a process with runs in progress a hundred times, and check what it leaves behind
	JOBHOST_KILLS=100 $(GO) test -count=1 -timeout=10m -run='^TestKilledAtRandom$$' -v ./engine

clean: ## remove what the other targets made
	rm -rf bin out cover.out bench.new plugins/*.wasm

# A plugin is a command, or a reactor when it exports functions. It is moved into place whole, since a running host
# loads what it finds.
.SECONDEXPANSION:
plugins/%.wasm: $$(shell find plugins/examples/$$* -type f) $(wildcard abi/*.go sdk/go/*.go sdk/go/*/*.go sdk/go/*/*/*.go) go.mod
	@mkdir -p bin/plugins plugins
	$(WASIP1) $(GO) build -trimpath -buildvcs=false -ldflags '-s -w'$(if $(shell grep -l '^//go:wasmexport' plugins/examples/$*/*.go), -buildmode=c-shared) -o bin/plugins/$*.wasm ./plugins/examples/$*
	@chmod 0644 bin/plugins/$*.wasm
	@mv bin/plugins/$*.wasm $@
