# The cases that every client library must pass, run with each library that can be built here. A library's own .mk
# adds its driver: CONFORMANCE_DRIVERS += build/conformance/LANGUAGE, a program that is the driver or starts it.
CONFORMANCE_DRIVERS += $(BUILD)/conformance/c
CONFORMANCE_OBJ := $(BUILD)/client/conformance/driver.o

$(CONFORMANCE_OBJ): ALL_CFLAGS += -Iclient

$(BUILD)/conformance/c: $(CONFORMANCE_OBJ) $(BUILD)/libredlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TLS_LIBS)

objects: $(BUILD)/conformance/c
CHECKS += client/conformance/check.sh

conformance: all $(BUILD)/conformance/c ## every client library against the conformance cases
	@$(TEST_ENV) client/conformance/check.sh

-include $(CONFORMANCE_OBJ:.o=.d)
.PHONY: conformance
