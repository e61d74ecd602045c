# Preloaded by tests/integ into servers whose clock has to jump. Without sanitizers: the servers have none.
SKEW_LIB := $(BUILD)/tests/skew/skew.so

objects: $(SKEW_LIB)

$(SKEW_LIB): tests/skew/skew.c tests/skew/skew.mk
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(WERROR),-Werror) -O1 -g -fPIC -shared -o $@ $<
