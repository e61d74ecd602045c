# The client library for Node.js: nothing to build, but the conformance driver has to be found among the others.
NODE_CONFORMANCE := $(BUILD)/conformance/node
# The examples that do the same as those in C, under the same tests.
NODE_JOBS := $(addprefix $(BUILD)/node/examples/,stock consumer nightly.sh)
ifneq ($(shell command -v node 2>/dev/null),)
CONFORMANCE_DRIVERS += $(NODE_CONFORMANCE)
objects: $(NODE_CONFORMANCE) $(NODE_JOBS)
endif

$(NODE_CONFORMANCE): client/node/node.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec node %s/client/node/test/driver.js\n' '$(CURDIR)' >$@
	@chmod 755 $@

$(NODE_JOBS): client/node/node.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec node %s "$$@"\n' '$(CURDIR)/client/node/examples/$(basename $(@F)).mjs' >$@
	@chmod 755 $@

conformance: $(filter $(NODE_CONFORMANCE),$(CONFORMANCE_DRIVERS))

CHECKS  += client/node/check.sh client/node/jobs.sh

# The tests that take too long for make check.
check-node: all objects ## the client library for Node.js: 10,000 cycles, all examples, and the types with npm's TypeScript 5 and 7
	@$(TEST_ENV) STUB_CYCLES=10000 client/node/check.sh
	@$(TEST_ENV) client/node/jobs.sh stock consumer nightly
	@client/node/types.sh

.PHONY: check-node
