# make check lets some calls of the daemon fail; make fail lets each of them fail, also under the sanitizers.
FAIL     := $(BUILD)/tests/fail/test_fail
FAIL_LIB := $(BUILD)/tests/fail/failing.so

CHECKS  += $(FAIL)
objects: $(FAIL) $(FAIL_LIB)

$(FAIL): $(FAIL).o $(patsubst %,$(BUILD)/tests/unit/%.o,server suite) $(BUILD)/tests/unit/main.a $(FAIL_LIB)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) -lcheck -lsubunit -lm -lrt -lpthread

# Built without sanitizers, because it is loaded before them.
$(FAIL_LIB): tests/fail/failing.c tests/fail/failing.h tests/fail/fail.mk
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(WERROR),-Werror) -O1 -g -fPIC -shared -o $@ $< -ldl

fail: ## each call that may fail does, in turn: the daemon must go on or say why not
	@$(MAKE) --no-print-directory all $(FAIL)
	FAIL_ALL=1 REDLOCKD=$(abspath $(BUILD))/redlockd $(FAIL)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan ASAN=1 all $(BUILD)/asan/tests/fail/test_fail
	FAIL_ALL=1 REDLOCKD=$(abspath $(BUILD))/asan/redlockd $(BUILD)/asan/tests/fail/test_fail

-include $(FAIL).d
.PHONY: fail
