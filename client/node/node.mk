# The client library for Node.js: nothing to build, but the conformance driver has to be found among the others.
NODE_CONFORMANCE := $(BUILD)/conformance/node
ifneq ($(shell command -v node 2>/dev/null),)
CONFORMANCE_DRIVERS += $(NODE_CONFORMANCE)
objects: $(NODE_CONFORMANCE)
endif

$(NODE_CONFORMANCE): client/node/node.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec node %s/client/node/test/driver.js\n' '$(CURDIR)' >$@
	@chmod 755 $@

conformance: $(filter $(NODE_CONFORMANCE),$(CONFORMANCE_DRIVERS))

CHECKS  += client/node/check.sh

# The tests that take too long for make check.
check-node: all ## the client library for Node.js: 10,000 cycles, and all examples
	@$(TEST_ENV) STUB_CYCLES=10000 client/node/check.sh

.PHONY: check-node
