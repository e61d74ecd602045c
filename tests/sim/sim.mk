# The simulator: included by the Makefile. The coordinator is compiled a second time here,
# with the planted bugs in it; the shipped one has none.
SIM       := $(BUILD)/tests/sim/sim
SIM_TEST  := $(BUILD)/tests/sim/test_sim
SIM_MODEL := $(BUILD)/tests/sim/test_model $(BUILD)/tests/sim/test_model_refuses
SIM_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/sim/test_%.c tests/sim/main.c tests/sim/model.c,$(wildcard tests/sim/*.c))) \
             $(CORE_SRC:%.c=$(BUILD)/mutants/%.o)
SIM_TIME  ?= 60
CHECKS    += $(SIM_TEST) $(SIM_MODEL)

objects: $(SIM) $(SIM_TEST) $(SIM_MODEL)

$(CORE_SRC:%.c=$(BUILD)/mutants/%.o): ALL_CFLAGS += -DMUTANTS

# planted.c replaces these functions: where they are defined, they are called function_rule.
planted = $(foreach function,$(1),-D$(function)=$(function)_rule)
$(BUILD)/mutants/daemon/coordinator/ask/acquire.o: ALL_CFLAGS += $(call planted,acquire_begin acquire_look acquire_timer)
$(BUILD)/mutants/daemon/coordinator/ask/resume.o: ALL_CFLAGS += $(call planted,resume_look)
$(BUILD)/mutants/daemon/coordinator/round/fence.o: ALL_CFLAGS += $(call planted,fence_ask fence_begin fence_decide fence_look)

$(BUILD)/mutants/%.o: %.c Makefile tests/sim/sim.mk
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(SIM): $(BUILD)/tests/sim/main.o $(SIM_OBJ)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^

$(SIM_TEST): $(SIM_TEST).o $(SIM_OBJ) $(BUILD)/tests/unit/suite.o
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread

$(SIM_MODEL): $(BUILD)/%: $(BUILD)/%.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/sim/store*.c)) $(addprefix $(BUILD)/,tests/sim/model.o daemon/coordinator/base/quorum.o daemon/coordinator/base/token.o tests/sim/rand.o tests/unit/server.o tests/unit/suite.o \
              $(patsubst %.c,%.o,$(wildcard proto/*.c)) proto/lua.o)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread -lhiredis $(CRYPTO)

-include $(SIM_OBJ:.o=.d) $(BUILD)/tests/sim/main.d $(BUILD)/tests/sim/model.d $(SIM_TEST).d $(SIM_MODEL:=.d)

.PHONY: sim mutants
sim: $(SIM) ## simulate faults for SIM_TIME=60 seconds [SEED=n], from a seed of its own
	$(SIM) --seed $(or $(SEED),$$(date +%s)) --time $(SIM_TIME) --jobs 2

mutants: $(SIM) ## show that the simulator finds every planted bug
	$(SIM) --mutants --jobs 2
