# The jobs that people do with locks, one program each, in build/examples/; `make check` runs them
# (tests/examples).
EXAMPLES    := $(addprefix $(BUILD)/examples/,stock order consumer cache writer)
NIGHTLY     := $(BUILD)/examples/nightly.sh
EXAMPLE_OBJ := $(EXAMPLES:$(BUILD)/examples/%=$(BUILD)/client/examples/%.o)

$(EXAMPLE_OBJ): ALL_CFLAGS += -Iclient

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/client/examples/%.o $(BUILD)/libredlock.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -Wl,--as-needed -o $@ $^ -lhiredis

$(NIGHTLY): client/examples/nightly.sh $(BUILD)/redlock
	install -D -m 755 $< $@

-include $(EXAMPLE_OBJ:.o=.d)

examples: $(EXAMPLES) $(NIGHTLY) ## small programs for the jobs that people do with locks
objects: examples

.PHONY: examples
