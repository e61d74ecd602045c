# make chaos T=60 [SEED=n] [KEEP=folder] [ONLY=fault,fault] [CHANGE=change|direct]: real processes under faults.
# This needs the second build of the coordinator, with the planted bugs in it, from tests/sim/sim.mk.
CHAOS_MUTANT_OBJ := $(BUILD)/tests/chaos/redlockd_mutant.o
CHAOS_OBJ := $(filter-out $(CHAOS_MUTANT_OBJ),$(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/chaos/*.c))))
CHAOS     := $(BUILD)/tests/chaos/chaos
CHAOS_MUTANT := $(BUILD)/tests/chaos/redlockd-mutant
# The planted bugs that show within a few seconds of real time; the simulator finds the others.
CHAOS_MUTANTS := quorum_minus_one delete_at_deadline no_restart_guard:majority-kill,daemon-stop
CHAOS_ARGS = --seconds $(or $(T),60) $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep $(KEEP)) \
             $(if $(ONLY),--only $(ONLY)) $(if $(CHANGE),--$(CHANGE))

$(CHAOS): $(CHAOS_OBJ)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lhiredis

$(CHAOS_MUTANT): $(CHAOS_MUTANT_OBJ) $(BUILD)/tests/sim/planted.o $(filter-out $(CORE_OBJ),$(OBJ)) $(CORE_SRC:%.c=$(BUILD)/planted/%.o)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

-include $(CHAOS_OBJ:.o=.d) $(CHAOS_MUTANT_OBJ:.o=.d)

chaos: all $(CHAOS) ## real masters, daemons and clients under faults: T=60 SEED=n KEEP=folder
	@$(CHAOS) --daemon $(BUILD)/redlockd $(CHAOS_ARGS)

# A run with a planted bug must end with violations in its verdict; a run that does not even start does not count.
chaos-mutants: $(CHAOS) $(CHAOS_MUTANT) ## show that chaos finds planted bugs
	@for mutant in $(CHAOS_MUTANTS); do \
	    only=$${mutant#*:}; test "$$only" != "$$mutant" || only=; \
	    printf '%-20s ' $${mutant%%:*}; \
	    REDLOCKD_MUTANT=$${mutant%%:*} $(CHAOS) --daemon $(CHAOS_MUTANT) --seconds $(or $(T),25) \
	        --seed $(or $(SEED),2) $${only:+--only $$only} 2>&1 | grep -m 1 VIOLATION || { echo NOT FOUND; exit 1; }; \
	done

.PHONY: chaos chaos-mutants
