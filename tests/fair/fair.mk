# make fair [T=10] [DAEMONS=3] [WAITERS=8] [HOLD=0] [LOAD=0]: how a contended lock is shared among daemons.
FAIR := $(BUILD)/tests/fair/fair

objects: $(FAIR)

$(FAIR): $(FAIR).o $(HARNESS)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(LIBS)

fair: all $(FAIR) ## three daemons with eight waiters each on one name: T=10 DAEMONS=3 WAITERS=8 HOLD=ms LOAD=other locks a second
	@FAIR_S=$(T) FAIR_DAEMONS=$(DAEMONS) FAIR_WAITERS=$(WAITERS) FAIR_HOLD_MS=$(HOLD) FAIR_LOAD=$(LOAD) \
	    REDLOCKD=$(abspath $(BUILD))/redlockd $(FAIR)

-include $(FAIR).d
.PHONY: fair
