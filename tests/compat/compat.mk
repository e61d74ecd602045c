# make compat ROOT=DIR: this tree, built and tested inside another Debian's, once for each kind of server in it.
compat: ## ROOT=DIR: build and test inside that Debian tree, with Redis and with Valkey, as root
	@tests/compat/compat.sh "$(ROOT)"

.PHONY: compat
