# The simulator: included by the Makefile. sim has the daemon's own objects of the coordinator. sim_planted has the
# planted bugs: planted.patch is laid over a copy of the coordinator, which is compiled a second time.
SIM         := $(BUILD)/tests/sim/sim
SIM_PLANTED := $(BUILD)/tests/sim/sim_planted
SIM_TEST    := $(BUILD)/tests/sim/sim_test
SIM_OBJ     := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/sim/test_%.c $(addprefix tests/sim/,main.c model.c planted.c unplanted.c),$(wildcard tests/sim/*.c)))
PLANTED     := $(BUILD)/planted
PLANTED_SRC := $(patsubst %,$(PLANTED)/%,$(wildcard daemon/coordinator/*.[ch] daemon/coordinator/*/*.[ch]))
PLANTED_OBJ := $(CORE_SRC:%.c=$(PLANTED)/%.o) $(BUILD)/tests/sim/planted.o
SIM_TIME  ?= 60
# Its tests, and those of the simulated masters, which a real server judges.
SIM_TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/sim/test_*.c) tests/sim/model.c tests/unit/server.c tests/unit/suite.c tests/unit/main.c)
CHECKS    += $(addprefix $(SIM_TEST):,$(call tests_in,sim/test_*))

objects: $(SIM) $(SIM_PLANTED) $(SIM_TEST)

# Laid anew also when a file came or went. A file that is the same as before keeps its time, so make looks at it again.
$(PLANTED)/laid: tests/sim/planted.sh tests/sim/planted.patch $(PLANTED_SRC:$(PLANTED)/%=%) daemon/coordinator $(wildcard daemon/coordinator/*/)
	@mkdir -p $(@D)
	$(call quiet,PATCH,tests/sim/planted.patch)tests/sim/planted.sh lay $(@D)
	@touch $@
$(PLANTED_SRC): $(PLANTED)/laid ; @:

# planted.c replaces these functions: where they are defined, they are called function_rule.
replaced = $(foreach function,$(1),-D$(function)=$(function)_rule)
$(PLANTED)/daemon/coordinator/ask/acquire.o: ALL_CFLAGS += $(call replaced,acquire_begin acquire_look acquire_timer)
$(PLANTED)/daemon/coordinator/ask/resume.o: ALL_CFLAGS += $(call replaced,resume_look)
$(PLANTED)/daemon/coordinator/round/fence.o: ALL_CFLAGS += $(call replaced,fence_ask fence_begin fence_decide fence_look)

# The coordinator's headers come from the copy, all others from the tree.
$(PLANTED)/%.o: $(PLANTED)/%.c Makefile tests/sim/sim.mk | $(BUILD)/found
	$(call quiet,CC,$<)$(CC) -I$(PLANTED) -include tests/sim/mutant.h $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(SIM): $(BUILD)/tests/sim/main.o $(BUILD)/tests/sim/unplanted.o $(SIM_OBJ) $(CORE_OBJ)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^

$(SIM_PLANTED): $(BUILD)/tests/sim/main.o $(SIM_OBJ) $(PLANTED_OBJ)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^

$(SIM_TEST): $(SIM_TEST_OBJ) $(SIM_OBJ) $(PLANTED_OBJ) $(patsubst %.c,$(BUILD)/%.o,$(wildcard proto/*.c)) $(BUILD)/proto/lua.o
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS) -lhiredis $(CRYPTO)

-include $(SIM_OBJ:.o=.d) $(PLANTED_OBJ:.o=.d) $(SIM_TEST_OBJ:.o=.d) $(patsubst %,$(BUILD)/tests/sim/%.d,main unplanted)

.PHONY: sim mutants planted planted-patch soak
sim: $(SIM) ## simulate faults for SIM_TIME=60 seconds [SEED=n], from a seed of its own
	$(SIM) --seed $(or $(SEED),$$(date +%s)) --time $(SIM_TIME) --jobs 2

soak: ## simulate HOURS=n more hours of this version, a simulator for speed, resumable [SEED=n CLASS=name]
	@tests/sim/soak.sh $(BUILD)/soak $(or $(HOURS),100) '$(SEED)' $(CLASS)

mutants: $(SIM_PLANTED) ## show that the simulator finds every planted bug
	$(SIM_PLANTED) --mutants --jobs 2

planted: ## open the coordinator with its planted bugs, to edit them
	@tests/sim/planted.sh edit $(BUILD)/planted.edit

planted-patch: ## write tests/sim/planted.patch anew, from what `make planted` opened
	@tests/sim/planted.sh save $(BUILD)/planted.edit
