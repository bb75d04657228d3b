# Carrel. `make run` starts it and `make test` tests it; `make help` lists the rest.

GOFUMPT_VERSION  := v0.12.0
GOLANGCI_VERSION := v2.12.2
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s
ARGS     ?=
# A folder of collections to measure search with; none is part of the project.
DATA     ?=
# What to test, and further flags: make test PKG=./internal/store TESTFLAGS='-run Thread -count=1'
PKG       ?= ./...
TESTFLAGS ?=

# Tools are built from source into .cache/bin, under names with their versions, and stay out of go.mod.
TOOLS    := $(CURDIR)/.cache/bin
GOFUMPT  := $(TOOLS)/gofumpt-$(GOFUMPT_VERSION)
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# The linter remembers paths with its findings, so each checkout keeps its own.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

# The race detector needs a C compiler; everything else needs only Go.
RACE := $(shell command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 && echo -race)

# On CI nothing that could have been installed may be skipped.
ifdef CI
export CARREL_TEST_REQUIRE_POSTGRES ?= 1
endif

.DEFAULT_GOAL := help
.PHONY: help run build web web-check web-lint web-fmt web-test screenshots scrolling lighthouse test chaos check fmt fmt-check vet lint gen verify bench eval fuzz hostile mutants setup clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Start Carrel with the demo library in data/demo (more flags: ARGS='--addr 127.0.0.1:9000')
	@mkdir -p data/demo
	bin/carrel serve --demo --data data/demo $(ARGS)

build: ## Build bin/carrel; needs nothing but Go
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-X carrel/internal/app.version=$(VERSION)' -o bin/carrel ./cmd/carrel

web: ## Build the web app into web/dist, which is committed (needs node 22)
	cd web && npm install --no-save --no-audit --no-fund --loglevel=error && npm run check && npm run build

web-check: ## Fail if web/dist is not what its sources make
	@scripts/web-check

web-lint: ## Check the format of the web sources and run eslint
	@scripts/web-lint

web-fmt: ## Format the web sources with prettier
	cd web && npm run --silent format

web-test: setup ## Test the web app with a real browser and nothing beside it
	go test -count=1 -timeout 15m -run '^TestWebApp$$' ./e2e

screenshots: ## Take the pictures of docs/screenshots with a real browser
	CARREL_WEB_SCREENSHOTS=1 go test -count=1 -run TestScreenshots ./e2e

scrolling: ## Scroll a thread of 500 messages and print the longest tasks
	CARREL_WEB_SCROLLING=1 go test -count=1 -v -run TestScrolling ./e2e

lighthouse: setup ## Let Lighthouse judge the sign-in and chat pages and print what it says (run it in a quiet moment)
	CARREL_WEB_LIGHTHOUSE=1 go test -count=1 -v -timeout 20m -run TestLighthouse ./e2e

test: setup ## Run all tests, installing what they need first
	@$(MAKE) --no-print-directory go-test

.PHONY: go-test
go-test: # after setup, which may have brought the compiler
	@go build -buildvcs=false -o $(TOOLS)/gotest ./internal/testkit/gotest
	@$(TOOLS)/gotest $(RACE) -timeout 20m $(TESTFLAGS) $(PKG)

chaos: setup ## Kill, pause and restart servers under load for minutes (CHAOS_SEED, CHAOS_ROUNDS; TESTFLAGS='-run Paused')
	CHAOS=long go test -count=1 -v -timeout 60m $(TESTFLAGS) ./e2e/chaos

check: fmt-check vet lint verify test ## All that CI checks

fmt: $(GOFUMPT) ## Format the Go code
	$(GOFUMPT) -l -w .

fmt-check: $(GOFUMPT) ## Fail if Go code is not formatted
	@out=$$($(GOFUMPT) -l .) && [ -z "$$out" ] || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }

vet: ## Run go vet
	go vet ./...

lint: $(GOLANGCI) web-lint ## Run the Go linters of .golangci.yml, and prettier and eslint on the web sources
	$(GOLANGCI) run ./...

gen: ## Generate code from the contract
	go generate ./...

verify: ## Fail if generated files, go.mod or go.sum are not up to date
	@scripts/verify

bench: build ## Run the benchmarks: ours, then Carrel beside its peers (more flags: ARGS='-rounds 1'; DATA=folder for search, too)
	go test -run '^$$' -bench . -benchmem ./...
	cd bench && go run . $(ARGS)
	@if [ -n '$(DATA)' ]; then cd bench && go run . search -data '$(abspath $(DATA))'; \
	else echo 'search was not compared: name a folder of collections with DATA=folder (see bench/README.md)'; fi

eval: ## Judge search and answers by the collections in DATA (more flags: ARGS='-peers -per-query')
	@CGO_ENABLED=0 go build -C bench/search -trimpath -buildvcs=false -o $(TOOLS)/bench-search .
	@$(TOOLS)/bench-search eval -data '$(DATA)' $(ARGS)
	@echo 'One question of 10,000 passages:' && go test -run '^$$' -bench Question -benchtime 200x ./internal/research/quote/xquad | grep ns/op

fuzz: ## Run every fuzz target for FUZZTIME (20s) each
	@FUZZTIME=$(FUZZTIME) scripts/fuzz

hostile: setup ## Upload every hostile file to a real server and print the CPU and memory that each takes
	CARREL_TEST_HOSTILE_FULL=1 go test -count=1 -v -timeout 30m -run '^TestHostileFilesAreRefused' ./internal/format
	CARREL_HOSTILE=1 go test -count=1 -v -timeout 30m -run 'Hostile' ./e2e

mutants: ## Plant faults in the authorization server, one at a time, and see the tests notice (some: ARGS='mutants/pkce-*.patch')
	@scripts/mutants $(ARGS)

setup: ## Install what the tests need: PostgreSQL, Chromium, a C compiler, npm packages
	@scripts/setup

clean: ## Remove what was built; data stays
	rm -rf bin .cache

$(GOFUMPT):
	@echo 'building gofumpt $(GOFUMPT_VERSION)'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
	@mv $(TOOLS)/gofumpt $@

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION): about three minutes on two cores, once'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@
