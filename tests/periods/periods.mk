# make periods [T=60] [PERIOD=6]: jobs that run once a period on one of ten hosts; T=600 is a thousand periods.
PERIODS := $(BUILD)/tests/periods/periods

objects: $(PERIODS)

$(PERIODS): $(PERIODS).o $(HARNESS)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(LIBS)

periods: all $(PERIODS) ## ten jobs once a period on one of ten hosts, while masters are restarted: T=60 PERIOD=6, in seconds
	@PERIODS_S=$(T) PERIOD_S=$(PERIOD) REDLOCKD=$(abspath $(BUILD))/redlockd REDLOCK=$(abspath $(BUILD))/redlock $(PERIODS)

-include $(PERIODS).d
.PHONY: periods
