# Tests in tests/integ preload this into servers and daemons, to give them clocks of their own. Built without sanitizers,
# because the servers have none.
SKEW_LIB := $(BUILD)/tests/skew/skew.so

objects: $(SKEW_LIB)

$(SKEW_LIB): tests/skew/skew.c tests/skew/skew.h tests/skew/skew.mk
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(WERROR),-Werror) -O1 -g -fPIC -shared -o $@ $<
