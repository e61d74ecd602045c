# One program holds the integration tests, those of the examples, and that of make compat-before. It knows of the
# library what a program knows.
INTEG_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/integ/*.c tests/examples/*.c) tests/compat/test_before.c)
INTEG_TESTS := $(addprefix $(INTEG):,$(call tests_in,integ/test_*))

CHECKS      += $(addprefix $(INTEG):,$(call tests_in,examples/test_*))

$(INTEG): $(INTEG_OBJ) $(BUILD)/tests/unit/suite.o $(BUILD)/proto/shown.o $(LIB_A)

-include $(INTEG_OBJ:.o=.d)
