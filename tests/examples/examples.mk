# Each job of client/examples/ with real masters, a real daemon and a fault in the middle.
JOBS_SRC := $(sort $(wildcard tests/examples/test_*.c))
JOBS     := $(JOBS_SRC:%.c=$(BUILD)/%)
JOBS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(JOBS_SRC),$(wildcard tests/examples/*.c)))

CHECKS  += $(JOBS)
objects: $(JOBS)

$(JOBS): $(BUILD)/%: $(BUILD)/%.o $(JOBS_OBJ) $(HARNESS) $(BUILD)/tests/integ/main.a $(BUILD)/proto/shown.o
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread $(LIBS)

-include $(JOBS:=.d) $(JOBS_OBJ:.o=.d)
