# make compat ROOT=DIR: this tree, built and tested inside another Debian's, once for each kind of server in it.
compat: ## ROOT=DIR: build and test inside that Debian tree, with Redis, Valkey and both (and MORE='DIR ...'), as root
	@tests/compat/compat.sh "$(ROOT)" $(MORE)

compat-before: $(BUILD)/redlockd $(INTEG) ## REF=COMMIT: that commit's daemon beside this one, on the same masters
	@tests/compat/before.sh $(INTEG) $(BUILD)/redlockd "$(REF)"

.PHONY: compat compat-before
