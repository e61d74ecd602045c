# make compat ROOT=DIR: this tree, built and tested inside another Debian's, once for each kind of server in it.
compat: ## ROOT=DIR: build and test inside that Debian tree, with Redis and with Valkey, as root
	@tests/compat/compat.sh "$(ROOT)"

COMPAT_BEFORE := $(BUILD)/tests/compat/test_before

$(COMPAT_BEFORE): $(COMPAT_BEFORE).o $(HARNESS) $(BUILD)/tests/integ/main.a
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcheck -lsubunit -lm -lrt -lpthread $(LIBS)

-include $(COMPAT_BEFORE).d

compat-before: $(BUILD)/redlockd $(COMPAT_BEFORE) ## REF=COMMIT: that commit's daemon beside this one, on the same masters
	@tests/compat/before.sh $(COMPAT_BEFORE) $(BUILD)/redlockd "$(REF)"

objects: $(COMPAT_BEFORE)

.PHONY: compat compat-before
