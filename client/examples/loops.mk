# The two examples of event loops, which include redlock.h as a program outside the tree does.
LOOPS := $(BUILD)/client/examples/loop_poll $(BUILD)/client/examples/loop_libevent

objects examples: $(LOOPS)

# libredlock.a by its path, since lib.mk, which calls it LIB_A, is read after this file.
$(LOOPS): $(BUILD)/%: %.c $(BUILD)/libredlock.a client/redlock.h client/examples/loops.mk
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -Iclient $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_A) $(TLS_LIBS) $(if $(findstring libevent,$@),-levent)
