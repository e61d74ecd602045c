# make check lets some calls of the daemon fail; make fail lets each of them fail, also under the sanitizers.
FAIL_LIB := $(BUILD)/tests/fail/failing.so

CHECKS  += $(UNIT):test_fail
objects: $(FAIL_LIB)

# Built without sanitizers, because it is loaded before them.
$(FAIL_LIB): tests/fail/failing.c tests/fail/failing.h tests/fail/fail.mk
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(WERROR),-Werror) -O1 -g -fPIC -shared -o $@ $< -ldl

fail: ## each call that may fail does, in turn: the daemon must go on or say why not
	@$(MAKE) --no-print-directory all $(UNIT) $(FAIL_LIB)
	FAIL_ALL=1 REDLOCKD=$(abspath $(BUILD))/redlockd $(UNIT) test_fail
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan ASAN=1 all $(BUILD)/asan/tests/unit/unit $(BUILD)/asan/tests/fail/failing.so
	FAIL_ALL=1 REDLOCKD=$(abspath $(BUILD))/asan/redlockd $(BUILD)/asan/tests/unit/unit test_fail

.PHONY: fail
