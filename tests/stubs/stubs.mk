# How fast each client library is, beside libredlock.
STUBS_BENCH_OBJ := $(BUILD)/tests/stubs/bench.o

$(STUBS_BENCH_OBJ): ALL_CFLAGS += -Iclient

$(BUILD)/tests/stubs/bench: $(STUBS_BENCH_OBJ) $(BUILD)/libredlock.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^

-include $(STUBS_BENCH_OBJ:.o=.d)

bench-stubs: all $(BUILD)/tests/stubs/bench ## throughput of each client library whose language is installed, beside libredlock's
	@$(TEST_ENV) tests/stubs/bench.sh $(BUILD)/tests/stubs/bench

.PHONY: bench-stubs
