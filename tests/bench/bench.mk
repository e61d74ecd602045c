# make bench: the daemon beside the ceiling, a relay and an echo, with masters of its own.
# Each measurement prints a line of key=value, then come tables; read on in tests/bench/bench.h. On a busy machine only
# ratios within one run mean anything; the instructions per cycle of a lock (make instr) repeat on a busy machine too.
BENCH       := $(BUILD)/tests/bench/bench
BENCH_COUNT := $(BUILD)/tests/bench/counting.so
BENCH_ALONE := tests/bench/counting.c $(wildcard tests/bench/instr*.c)
BENCH_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(BENCH_ALONE),$(sort $(wildcard tests/bench/*.c))))
BENCH_ARGS   = --daemon $(BUILD)/redlockd --counting $(abspath $(BENCH_COUNT)) $(if $(ONLY),--only $(ONLY)) \
               $(if $(WORKERS),--workers $(WORKERS)) $(if $(RUN),--run $(RUN)) $(if $(BEFORE),--before $(BEFORE))
BENCH_NPM   := redlock@4.2.0 ioredis@5 @redis-kit/lock@0.1.0-3 redis@5

$(BENCH): $(BENCH_OBJ) $(BUILD)/libdaemon.a
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm

# Built without sanitizers, because it is loaded before their malloc.
$(BENCH_COUNT): tests/bench/counting.c tests/bench/counting.h tests/bench/bench.mk
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) -O2 -g -fPIC -shared -o $@ $< -ldl

-include $(BENCH_OBJ:.o=.d)

bench: all $(BENCH) $(BENCH_COUNT) ## throughput, latency, CPU and memory beside others, ten minutes: ONLY=part,part; or BEFORE=path/redlockd alone
	@$(BENCH) $(BENCH_ARGS)

bench-quick: all $(BENCH) $(BENCH_COUNT) ## the same in a minute, with smaller numbers
	@$(BENCH) --quick $(BENCH_ARGS)

bench-peers: all $(BENCH) $(BENCH_COUNT) ## the same, beside packaged libraries where npm can install them
	@mkdir -p $(BUILD)/peers
	@if npm install --silent --no-audit --no-fund --prefix $(BUILD)/peers $(BENCH_NPM) >$(BUILD)/peers/log 2>&1; then \
	    $(BENCH) $(BENCH_ARGS) --peers $(abspath $(BUILD))/peers $(if $(QUICK),--quick); \
	else \
	    echo 'skipped=peers why="npm cannot install them, see $(BUILD)/peers/log"'; \
	    $(BENCH) $(BENCH_ARGS) $(if $(QUICK),--quick); \
	fi

# Not a part of make check, since it needs npm and a network.
check-peers: all ## npm's redlock beside our holders on the same names, T=20 seconds: no two hold a name together
	@mkdir -p $(BUILD)/peers
	@npm install --silent --no-audit --no-fund --prefix $(BUILD)/peers redlock@4.2.0 ioredis@5
	@tests/bench/exclude.sh $(BUILD)/redlockd $(abspath $(BUILD))/peers/node_modules $(or $(T),20)

bench-tls: all ## what TLS costs: a cycle's CPU, an idle client's memory, renewals beside 1,000 handshakes
	@python3 tests/bench/tls.py $(BUILD)/redlockd

bench-http: all ## what a scrape costs with 100,000 locks, and what slow and large HTTP requests cost the locks, two minutes
	@python3 tests/bench/http.py $(BUILD)/redlockd

bench-fleet: ## what 300, 2,000 and 8,000 idle daemons cost a master, three minutes: DAEMONS='2000 8000'
	@python3 tests/bench/fleet.py $(DAEMONS)

bench-set: all ## what a cycle costs a daemon and a master, by few and by many daemons, and what idle ones cost, two minutes: SECONDS=10
	@python3 tests/bench/set.py $(BUILD)/redlockd

bench-watch: all ## when 1,000 watchers at ten daemons know the next leader, and what watching costs a master, five minutes: PART='change killed held'
	@python3 tests/bench/watch.py $(BUILD)/redlockd $(PART)

.PHONY: bench bench-fleet bench-http bench-quick bench-peers bench-set bench-tls bench-watch check-peers

INSTR     := $(BUILD)/tests/bench/instr
INSTR_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/bench/instr*.c)))

# instr_clock.o comes before the library's clock.o, so that the linker takes it instead.
$(INSTR): $(INSTR_OBJ) $(BUILD)/libdaemon.a
	$(call quiet,LINK,$@)$(CC) $(LTO_LDFLAGS) -o $@ $^ $(LIBS)

-include $(INSTR_OBJ:.o=.d)

instr: $(INSTR) ## instructions a cycle by callgrind, into tests/bench/instr.txt: a figure that repeats
	@tests/bench/instr.sh $(INSTR) $(BUILD)/instr >$(BUILD)/instr.txt
	@cp $(BUILD)/instr.txt tests/bench/instr.txt
	@cat tests/bench/instr.txt

# `make objects` builds these too, so that they do not rot; it does not link INSTR, since its link-time optimisation takes
# long.
objects: $(BENCH) $(INSTR_OBJ)

.PHONY: instr
