# How fast each client library is, beside libredlock. A language has a script client/LANGUAGE/bench, or builds a
# program, and its own .mk adds that: STUBS_BENCHES += build/bench/LANGUAGE.
STUBS_BENCH_OBJ := $(BUILD)/tests/stubs/bench.o

$(STUBS_BENCH_OBJ): ALL_CFLAGS += -Iclient

$(BUILD)/tests/stubs/bench: $(STUBS_BENCH_OBJ) $(BUILD)/libredlock.a
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TLS_LIBS)

-include $(STUBS_BENCH_OBJ:.o=.d)

CHECKS += tests/stubs/auth.sh tests/stubs/table.sh

stubs: ## write anew what the client libraries have from proto/stubs.def: errors, options, limits
	@python3 proto/stubs.py

check-stubs: all objects ## what takes too long for make check: 10,000 cycles, and all examples, in each language that is installed
	@$(MAKE) --no-print-directory $(PARALLEL) check-python check-node check-go check-java

check-loss: all $(CONFORMANCE_DRIVERS) ## daemons, masters and holders killed, stopped and cut off: every client library at once, beside a rival
	@$(TEST_ENV) tests/stubs/loss $(CONFORMANCE_DRIVERS)

bench-stubs: all $(BUILD)/tests/stubs/bench $(STUBS_BENCHES) ## throughput of each client library whose language is installed, beside libredlock's
	@$(TEST_ENV) tests/stubs/bench.sh $(BUILD)/tests/stubs/bench $(STUBS_BENCHES)

.PHONY: stubs check-stubs check-loss bench-stubs
