# The client library for Go, where Go is installed. It needs no network, and its cache lies in build/.
GO ?= go
GO_HERE := $(shell command -v $(GO) 2>/dev/null)
GO_SRC  := $(shell find client/go -name '*.go' -o -name go.mod)
GO_ENV  := GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=$(abspath $(BUILD))/go/cache
CHECKS  += client/go/check.sh

ifneq ($(GO_HERE),)
CONFORMANCE_DRIVERS += $(BUILD)/conformance/go
objects: $(BUILD)/conformance/go $(BUILD)/go/tests

$(BUILD)/conformance/go: $(GO_SRC)
	@mkdir -p $(@D)
	cd client/go && $(GO_ENV) $(GO) build -o $(abspath $@) ./conformance

# Test programs, so that what is checked was built before.
$(BUILD)/go/tests: $(GO_SRC)
	@mkdir -p $(@D)
	cd client/go && $(GO_ENV) $(GO) vet ./... && $(GO_ENV) $(GO) test -c -o $(abspath $@) .
endif
