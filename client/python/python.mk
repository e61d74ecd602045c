# The client library for Python: nothing is compiled. `make check` runs its conformance drivers and its tests, where
# there is a Python that it can run in.
PYTHON ?= python3
PYTHON_FITS := $(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 10) and "yes" or "")' 2>/dev/null)
PYTHON_DRIVERS := $(if $(PYTHON_FITS),$(BUILD)/conformance/python $(BUILD)/conformance/python-threads)

$(BUILD)/conformance/python: PYTHON_DRIVER := driver.py
$(BUILD)/conformance/python-threads: PYTHON_DRIVER := driver_threads.py
$(PYTHON_DRIVERS): client/python/python.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec $(PYTHON) -B %s\n' $(CURDIR)/client/python/conformance/$(PYTHON_DRIVER) >$@
	@chmod +x $@

CONFORMANCE_DRIVERS += $(PYTHON_DRIVERS)
objects: $(PYTHON_DRIVERS)
conformance: $(PYTHON_DRIVERS)
CHECKS += client/python/tests/check.sh client/python/jobs.sh

# The examples that do the same as those in C, under the same tests.
PYTHON_JOBS := $(if $(PYTHON_FITS),$(addprefix $(BUILD)/python/examples/,stock order consumer))
$(PYTHON_JOBS): client/python/python.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nPYTHONPATH=%s exec $(PYTHON) -B %s "$$@"\n' $(CURDIR)/client/python \
	    $(CURDIR)/client/python/examples/$(@F).py >$@
	@chmod +x $@
objects: $(PYTHON_JOBS)

# The tests that take too long for make check.
check-python: all objects ## the client library for Python: 10,000 cycles, and all examples
	@$(TEST_ENV) client/python/tests/check.sh long
	@$(TEST_ENV) client/python/jobs.sh stock order consumer

.PHONY: check-python
