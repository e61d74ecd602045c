# make cov: what the tests reach of the coordinator and of proto/, by gcc's gcov. Assertions are left out
# (-DNDEBUG), since a branch that must never be taken cannot be covered.
COV      := build/cov
COV_MAKE := $(MAKE) --no-print-directory BUILD=$(COV) CFLAGS="-O0 -g --coverage -DNDEBUG -Wno-unused -Wno-unused-parameter" \
            LDFLAGS=--coverage
# The tests that run the code in their own process; tests with a real daemon are left out.
COV_UNIT  = $(filter $(UNIT):test_line% $(UNIT):test_resp% $(UNIT):test_quorum $(UNIT):test_tables $(TRACES):%,$(UNIT_TESTS))

cov: deps ## coverage of daemon/coordinator/ and proto/ by unit tests, traces, fuzz seeds and simulation
	@$(COV_MAKE) $(PARALLEL) objects $(SIM:$(BUILD)/%=$(COV)/%)
	@tests/cov/cov.sh $(COV) $(COV_UNIT:$(BUILD)/%=$(COV)/%) $(REPLAY:$(BUILD)/%=$(COV)/%)

.PHONY: cov
