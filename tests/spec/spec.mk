# make spec: a model of the protocol, for SPIN, which looks at all that can happen in it.
spec: ## SPIN exhausts small worlds of a model of the protocol, and finds the mistakes that are planted in it
	@tests/spec/spec.sh $(BUILD)/tests/spec

.PHONY: spec
