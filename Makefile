# Amble: `make` lists what there is.
# Everything is built without C; only the race detector needs a C compiler.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO      ?= go
LDFLAGS := -s -w -X main.version=$(VERSION)
BUILD   := $(GO) build -trimpath -ldflags '$(LDFLAGS)'
HAVE_CC := $(shell command -v "$$($(GO) env CC)" 2>/dev/null)
RELEASE := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

export CGO_ENABLED = 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## bin/amble for this machine
	@mkdir -p bin
	$(BUILD) -o bin/ ./cmd/amble

.PHONY: demo
demo: build ## crawl a small web on this machine and judge the crawl (about a minute)
	bin/amble demo

.PHONY: vet
vet: ## gofmt and go vet
	@bad="$$(gofmt -l cmd configs fetcher frontier ratectl scheduler storage)"; \
	if [ -n "$$bad" ]; then echo "not gofmt-clean:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...

.PHONY: test
test: vet ## vet and all tests; with the race detector where a C compiler is
ifeq ($(HAVE_CC),)
	@echo "no C compiler: the tests run without the race detector"
	$(GO) test -timeout 8m ./...
else
	CGO_ENABLED=1 $(GO) test -race -timeout 8m ./...
endif

.PHONY: conformance
conformance: build ## crawl real documentation beside wget2, check the archive with other tools (Debian, installs packages)
	bash .ci/conformance.sh

.PHONY: bench
bench: ## what a page costs, beside a bare net/http loop and other crawlers that are installed
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	AMBLE_BENCH=1 $(GO) test -count=1 -timeout 10m -v -run '^TestCostBenchmark$$' ./cmd/amble
	AMBLE_BENCH=1 $(GO) test -count=1 -timeout 10m -v -run '^TestFrontierBenchmark$$' ./frontier

.PHONY: study
study: ## the long tests: thirty kills at random moments, every fuzz target for a while
	AMBLE_KILLS=30 $(GO) test -count=1 -timeout 60m ./cmd/amble
	bash .ci/fuzz.sh

.PHONY: release
release: ## static binaries for all systems into dist/
	@mkdir -p dist
	@for target in $(RELEASE); do \
		os="$${target%/*}"; arch="$${target#*/}"; ext=""; \
		if [ "$$os" = windows ]; then ext=.exe; fi; \
		out="dist/amble-$(VERSION)-$$os-$$arch$$ext"; \
		echo "$$out"; \
		GOOS="$$os" GOARCH="$$arch" $(BUILD) -o "$$out" ./cmd/amble || exit 1; \
	done
	@cd dist && sha256sum amble-$(VERSION)-* > SHA256SUMS

.PHONY: clean
clean: ## remove what make built
	rm -rf bin dist
