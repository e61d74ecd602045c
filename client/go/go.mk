# The client library for Go, where Go is installed. It needs no network, and its cache lies in build/.
GO ?= go
GO_HERE := $(shell command -v $(GO) 2>/dev/null)
GO_SRC  := $(shell find client/go -name '*.go' -o -name go.mod)
GO_ENV  := GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=$(abspath $(BUILD))/go/cache GOPATH=$(abspath $(BUILD))/go/path
CHECKS  += client/go/check.sh client/go/jobs.sh

# The tests that take too long for make check; the race detector needs a C compiler, which the project needs anyway.
check-go: all objects ## the client library for Go: 10,000 cycles, the race detector, and all examples
	@$(TEST_ENV) client/go/check.sh -cycles 10000
	@if [ -n "$(GO_HERE)" ]; then \
	    (cd client/go && $(GO_ENV) $(GO) test -race -c -o $(abspath $(BUILD))/go/tests-race .) && \
	    $(TEST_ENV) GO_TESTS=tests-race client/go/check.sh; fi
	@$(TEST_ENV) client/go/jobs.sh stock nightly
.PHONY: check-go

ifneq ($(GO_HERE),)
CONFORMANCE_DRIVERS += $(BUILD)/conformance/go
objects: $(BUILD)/conformance/go $(BUILD)/go/tests $(BUILD)/go/examples/nightly.sh

$(BUILD)/conformance/go: $(GO_SRC)
	@mkdir -p $(@D)
	$(call quiet,GO,$@)cd client/go && $(GO_ENV) $(GO) build -o $(abspath $@) ./conformance

# The test program is built here, so that make check only runs it.
$(BUILD)/go/tests: $(GO_SRC)
	@mkdir -p $(@D)
	$(call quiet,GO,$@)cd client/go && $(GO_ENV) $(GO) vet ./... && $(GO_ENV) $(GO) test -c -o $(abspath $@) .

STUBS_BENCHES += $(BUILD)/bench/go

$(BUILD)/bench/go: $(GO_SRC)
	@mkdir -p $(@D)
	$(call quiet,GO,$@)cd client/go && $(GO_ENV) $(GO) build -o $(abspath $@) ./bench

# All examples at once; the tests call the nightly job nightly.sh, as the shell script is called.
$(BUILD)/go/examples/nightly.sh: $(GO_SRC)
	@mkdir -p $(@D)
	$(call quiet,GO,$@)cd client/go && $(GO_ENV) $(GO) build -o $(abspath $(@D))/ ./examples/stock ./examples/order ./examples/consumer \
	    ./examples/cache ./examples/writer ./examples/nightly
	@ln -sf nightly $@
endif
