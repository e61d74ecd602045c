# The two examples of event loops, as a program outside the tree has them: redlock.h from the installed
# headers, the library by -lredlock.
LOOPS := $(BUILD)/client/examples/loop_poll $(BUILD)/client/examples/loop_libevent

objects examples: $(LOOPS)

# By its name: lib.mk, which calls it LIB_A, is read after this file.
$(LOOPS): $(BUILD)/%: %.c $(BUILD)/libredlock.a client/redlock.h client/examples/loops.mk
	@mkdir -p $(@D)
	$(CC) -Iclient $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_A) $(if $(findstring libevent,$@),-levent)
