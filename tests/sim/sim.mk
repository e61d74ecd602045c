# The simulator: included by the Makefile. The coordinator is compiled a second time here,
# with the planted bugs in it; the shipped one has none.
SIM_SRC := $(filter-out tests/sim/test_%.c,$(sort $(wildcard tests/sim/*.c)))
SIM_CORE ?= $(CORE_SRC:%.c=$(BUILD)/mutants/%.o)
SIM_OBJ := $(SIM_SRC:%.c=$(BUILD)/%.o) $(filter $(BUILD)/mutants/%,$(SIM_CORE))
SIM     := $(BUILD)/tests/sim/sim
SIM_MODEL := $(BUILD)/tests/sim/test_model
SIM_PLANS := $(sort $(wildcard tests/sim/regressions/*.plan))
SIM_TIME  ?= 60

$(SIM_OBJ): ALL_CFLAGS += -DMUTANTS

$(BUILD)/mutants/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(SIM): $(SIM_OBJ) $(SIM_CORE)
	$(CC) $(ALL_LDFLAGS) -o $@ $^

$(SIM_MODEL): $(addprefix $(BUILD)/,tests/sim/test_model.o tests/sim/store.o tests/sim/rand.o $(patsubst %.c,%.o,$(wildcard proto/*.c)))
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread -lhiredis

-include $(SIM_OBJ:.o=.d) $(SIM_MODEL).d

# What `make check` runs of it.
.PHONY: sim mutants check-sim
check-sim: $(SIM) $(SIM_MODEL)
	$(SIM_MODEL)
	$(if $(SIM_PLANS),$(SIM) $(SIM_PLANS))
	$(SIM) --time 5 --jobs 2

sim: $(SIM) ## simulate faults for SIM_TIME seconds (60)
	$(SIM) --seed $$(date +%s) --time $(SIM_TIME) --jobs 2

mutants: $(SIM) ## show that the simulator finds every planted bug
	$(SIM) --mutants --jobs 2
