# Preloaded by tests/integ into servers and daemons with clocks of their own. Without sanitizers: the servers have none.
SKEW_LIB := $(BUILD)/tests/skew/skew.so

objects: $(SKEW_LIB)

$(SKEW_LIB): tests/skew/skew.c tests/skew/skew.h tests/skew/skew.mk
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(WERROR),-Werror) -O1 -g -fPIC -shared -o $@ $<
