# Two programs: traces holds the coordinator's traces, unit all other unit tests, and that of tests/fail.
TRACES_SRC := $(wildcard tests/unit/test_coordinator_*.c tests/unit/trace_*.c)
# Without OpenSSL there is nothing to test in these two.
UNIT_NOT   := $(TRACES_SRC) tests/unit/suite.c tests/unit/main.c $(if $(filter no,$(TLS)),tests/unit/test_wire.c tests/unit/test_handshakes.c)
UNIT_SRC   := $(filter-out $(UNIT_NOT),$(wildcard tests/unit/*.c)) tests/fail/test_fail.c
UNIT_OBJ   := $(UNIT_SRC:%.c=$(BUILD)/%.o)
TRACES_OBJ := $(TRACES_SRC:%.c=$(BUILD)/%.o)
SUITE      := $(BUILD)/tests/unit/suite.o $(BUILD)/tests/unit/main.o
UNIT_TESTS := $(addprefix $(TRACES):,$(filter test_coordinator_%,$(call tests_in,unit/test_*))) \
              $(addprefix $(UNIT):,$(filter $(notdir $(UNIT_SRC:.c=)),$(call tests_in,unit/test_*)))

# These include a file of the daemon, with fakes below it: to the other tests their functions are unknown.
FAKED      := $(patsubst %,$(BUILD)/tests/unit/%.o,test_loop_clock test_loop_daemons)

$(FAKED:.o=.local.o): %.local.o: %.o
	$(Q)$(OBJCOPY) --wildcard --localize-symbol='*' $< $@

$(UNIT): $(filter-out $(FAKED),$(UNIT_OBJ)) $(SUITE) $(FAKED:.o=.local.o) $(filter-out %/redlock_main.o,$(CMD_OBJ)) \
    $(BUILD)/libdaemon.a $(BUILD)/pic/libclient.a
$(TRACES): $(TRACES_OBJ) $(SUITE) $(BUILD)/libdaemon.a

-include $(UNIT_OBJ:.o=.d) $(TRACES_OBJ:.o=.d) $(SUITE:.o=.d)
