# The jobs that people do with locks, one program or script each, in build/examples/; `make check` runs them
# (tests/examples).
EXAMPLES    := $(addprefix $(BUILD)/examples/,stock order consumer cache writer report transfer)
NIGHTLY     := $(addprefix $(BUILD)/examples/,nightly.sh licence.sh leader.sh)
EXAMPLE_OBJ := $(EXAMPLES:$(BUILD)/examples/%=$(BUILD)/client/examples/%.o)

$(EXAMPLE_OBJ): ALL_CFLAGS += -Iclient

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/client/examples/%.o $(BUILD)/libredlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -Wl,--as-needed -o $@ $^ $(TLS_LIBS) -lhiredis

$(NIGHTLY): $(BUILD)/examples/%: client/examples/% $(BUILD)/redlock
	install -D -m 755 $< $@

-include $(EXAMPLE_OBJ:.o=.d)

examples: $(EXAMPLES) $(NIGHTLY) ## small programs for the jobs that people do with locks
objects: examples

EXAMPLE_FILES := $(wildcard client/examples/*.[ch] client/examples/*.sh)

install-examples:
	install -d $(DOC)/examples
	install -m 644 $(filter-out %.sh,$(EXAMPLE_FILES)) $(DOC)/examples
	install -m 755 $(filter %.sh,$(EXAMPLE_FILES)) $(DOC)/examples

uninstall-examples:
	rm -f $(EXAMPLE_FILES:client/examples/%=$(DOC)/examples/%)
	@rmdir $(DOC)/examples 2>/dev/null || true

install: install-examples
uninstall: uninstall-examples

.PHONY: examples install-examples uninstall-examples
