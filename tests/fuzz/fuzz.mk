# make fuzz T=60: each fuzzer runs for T seconds, two at a time; inputs that crash a fuzzer are kept in build/fuzz/.
# make check replays the seeds and the inputs that were found before, without libFuzzer.
FUZZ        := line conn resp conf coordinator client http wire
FUZZ_CC     ?= clang
FUZZ_FLAGS  := -fsanitize=address,undefined -fno-sanitize-recover=all
# Dictionaries find more than tracing each comparison, which halves the speed.
FUZZ_CFLAGS := -std=c11 -D_GNU_SOURCE -DREDLOCKD_VERSION='"$(VERSION)"' -DFUZZING -I. $(WARNINGS) -O2 -g \
               -fno-omit-frame-pointer -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp $(FUZZ_FLAGS)
FUZZ_DIR    := $(BUILD)/fuzz
FUZZ_OBJ    := $(patsubst $(BUILD)/%,$(FUZZ_DIR)/obj/%,$(LIB_OBJ)) \
               $(patsubst %.c,$(FUZZ_DIR)/obj/%.o,$(filter client/%,$(LIB_SRC)))
# Files that harnesses share: all but the harnesses themselves and the replay's main(), and the model of a master.
FUZZ_STORE  := $(wildcard tests/sim/store*.c)
FUZZ_HELP   := $(filter-out tests/fuzz/fuzz_% tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c)) $(FUZZ_STORE)
FUZZ_PROGS  := $(FUZZ:%=$(FUZZ_DIR)/fuzz_%)
REPLAY      := $(BUILD)/tests/fuzz/replay
REPLAY_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/fuzz/*.c)) $(FUZZ_STORE))

CHECKS  += $(REPLAY)
objects: $(REPLAY)

$(REPLAY): $(REPLAY_OBJ) $(BUILD)/pic/libclient.a $(BUILD)/libdaemon.a
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(FUZZ_DIR)/obj/%.o: %.c Makefile tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_DIR)/obj/proto/lua.o: $(BUILD)/proto/lua.c Makefile tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_PROGS): $(FUZZ_DIR)/fuzz_%: $(FUZZ_DIR)/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJ) $(FUZZ_HELP:%.c=$(FUZZ_DIR)/obj/%.o)
	$(call quiet,LINK,$@)$(FUZZ_CC) -fsanitize=fuzzer $(FUZZ_FLAGS) -o $@ $^ $(LIBS)

fuzz: $(FUZZ_PROGS) $(REPLAY) ## T=60 [SEED=n]: hostile bytes against every parser and the coordinator, T seconds each
	@SEED=$(or $(SEED),0) tests/fuzz/run.sh $(FUZZ_DIR) $(or $(T),60) $(FUZZ)

-include $(REPLAY_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(FUZZ_HELP:%.c=$(FUZZ_DIR)/obj/%.d) $(FUZZ_PROGS:$(FUZZ_DIR)/%=$(FUZZ_DIR)/obj/tests/fuzz/%.d)
.PHONY: fuzz
