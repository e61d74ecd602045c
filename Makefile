# redlockd: `make help` lists the targets. Everything built lies in build/.
VERSION := 0.1.0
CC      ?= cc
PREFIX  ?= /usr/local
SYSCONFDIR ?= /etc
MANDIR  ?= $(PREFIX)/share/man
UNITDIR ?= $(if $(filter /usr,$(PREFIX)),/lib/systemd/system,$(PREFIX)/lib/systemd/system)
DESTDIR ?=
# Another build beside the usual one: make BUILD=build/asan ASAN=1
BUILD   ?= build
# Relative, also where a script names it in full: the lists of what an object depends on have it, and a tree may move.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))

# TLS=no builds without OpenSSL: rediss:// and tls: are then refused by name, and users cannot have secrets.
TLS      ?= yes
CRYPTO   := $(if $(filter no,$(TLS)),,-lcrypto)
TLS_LIBS := $(if $(filter no,$(TLS)),,-lssl -lcrypto)
LIBS     := -levent -lhiredis -lyaml $(TLS_LIBS)
CFLAGS   ?= -O2 -g
# Optimisation of the test programs, which mostly wait: at this level they compile in a third of the time. If this is
# empty, they are compiled like the rest.
TEST_CFLAGS ?= -O0
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
# Hardening, as distributions build their packages: it makes memory errors hard to exploit. CPPFLAGS, CFLAGS and LDFLAGS
# follow these options and so can override them.
compiles = $(shell printf '\043include <features.h>\n' | $(CC) -Werror $(1) -x c -c -o /dev/null - 2>/dev/null && echo '$(1)')
HARDEN := -fPIE -fstack-protector-strong $(call compiles,-fstack-clash-protection) \
          $(or $(call compiles,-fcf-protection),$(call compiles,-mbranch-protection=standard))
HARDEN_LD := -pie -Wl,-z,relro -Wl,-z,now
# _FORTIFY_SOURCE needs optimisation, and is left out with the sanitizers, which check more.
FORTIFIED := $(and $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS)))),$(if $(ASAN),,yes))
ifeq ($(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),)
HARDEN += -U_FORTIFY_SOURCE $(if $(FORTIFIED),-D_FORTIFY_SOURCE=$(if $(call compiles,-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),3,2))
endif
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DREDLOCKD_VERSION='"$(VERSION)"' -I. $(WARNINGS) \
              $(if $(WERROR),-Werror) -fno-omit-frame-pointer $(HARDEN) $(CPPFLAGS) $(CFLAGS)
ALL_CFLAGS += $(if $(CRYPTO),,-DREDLOCKD_NO_TLS)
# The folder in which it is built leaves no trace in what is built. With link-time optimisation gcc 12 does not tell the
# assembler, which clang has built in.
COMMA := ,
NO_TRACE := -fdebug-prefix-map=$(CURDIR)=. $(call compiles,-Wa$(COMMA)--debug-prefix-map$(COMMA)$(CURDIR)=.)
ALL_CFLAGS += $(NO_TRACE)
ALL_LDFLAGS := -fno-lto $(HARDEN_LD) $(LDFLAGS)
ifdef ASAN
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
ALL_CFLAGS += $(SANITIZE)
ALL_LDFLAGS += $(SANITIZE)
endif
# The daemon is built with link-time optimisation, which saves a sixth of the instructions per lock, if the compiler can
# write objects that also link without it: the many test programs do that. LTO= builds the daemon without.
ifeq ($(origin LTO),undefined)
LTO := $(if $(ASAN)$(filter -O0 --coverage,$(CFLAGS)),,$(shell echo 'int main(void) { return 0; }' | \
       $(CC) -Werror -flto=auto -ffat-lto-objects -x c -o /dev/null - 2>/dev/null && echo -flto=auto -ffat-lto-objects))
endif
LTO_LDFLAGS := $(if $(LTO),$(HARDEN)) $(NO_TRACE) $(CFLAGS) $(LTO) $(SANITIZE) $(HARDEN_LD) $(LDFLAGS)

CORE_SRC   := $(sort $(wildcard daemon/coordinator/*.c daemon/coordinator/*/*.c))
NO_SRC     := $(if $(filter no,$(TLS)),$(filter-out %/wire_none.c %/handshakes.c,$(wildcard daemon/wire/*.c)),daemon/wire/wire_none.c)
LUA        := $(wildcard proto/lua/*.lua proto/lua/part/*.lua)
DAEMON_SRC := $(filter-out $(NO_SRC),$(sort $(wildcard proto/*.c daemon/*.c daemon/*/*.c) $(CORE_SRC)))
OBJ        := $(DAEMON_SRC:%.c=$(BUILD)/%.o) $(BUILD)/proto/lua.o
CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/%.o)
LIB_OBJ    := $(filter-out $(BUILD)/daemon/main.o $(BUILD)/daemon/version.o,$(OBJ))
# The programs that hold the tests; tests/*/*.mk say which files each of them is linked from. Where a program is to be
# run for one file's tests only, it is named PROGRAM:FILE.
UNIT       := $(BUILD)/tests/unit/unit
TRACES     := $(BUILD)/tests/unit/traces
INTEG      := $(BUILD)/tests/integ/integ
tests_in    = $(sort $(notdir $(basename $(wildcard $(1:%=tests/%.c)))))
# What other programs need that start masters and daemons as the integration tests do. It has their main().
HARNESS    := $(patsubst %,$(BUILD)/tests/integ/%.o,client command daemon harness only server skewed steady) $(BUILD)/tests/unit/suite.o
TEST_LIBS  := -lcheck -lsubunit -lm -lrt -lpthread
C_FILES    := $(wildcard proto/*.[ch] daemon/*.[ch] daemon/*/*.[ch] daemon/*/*/*.[ch] client/*.[ch] client/*/*.[ch] tests/*/*.[ch])
SCRIPTS    := .ci/deps .ci/run client/redlock.bash client/java/bench systemd/debian/tests/compile systemd/debian/tests/run \
              $(wildcard proto/lua/*.sh tests/*.sh tests/*/*.sh client/*/*.sh client/*/tests/*.sh systemd/*.sh)
SBIN       := $(DESTDIR)$(PREFIX)/sbin
DOC        := $(DESTDIR)$(PREFIX)/share/doc/redlockd
ETC        := $(DESTDIR)$(SYSCONFDIR)/redlockd
UNITS      := $(DESTDIR)$(UNITDIR)
SYSUSERS   := $(DESTDIR)$(PREFIX)/lib/sysusers.d
TMPFILES   := $(DESTDIR)$(PREFIX)/lib/tmpfiles.d

# A line for each file that is compiled; V=1 shows the commands. $(call quiet,WORD,FILE) stands before a command.
Q      := $(if $(filter 1,$(V)),,@)
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
quiet   = $(Q)$(if $(Q),$(if $(SILENT),,printf '  %-5s %s\n' $(1) '$(2)' &&))

all: $(BUILD)/redlockd ## build the daemon, the client library and the command (the default)

$(OBJ): ALL_CFLAGS += $(LTO)

# Changes only when the commit does. Whoever may not ask git (root, in a clone of another user's) keeps what is there.
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@found=$$(systemd/commit.sh); [ "$$found" = "$$(cat $@ 2>/dev/null)" ] || \
	    { [ -e $@ ] && [ "$${found% *}" = unknown ]; } || echo "$$found" >$@

$(BUILD)/daemon/version.o: $(BUILD)/commit
$(BUILD)/daemon/version.o: ALL_CFLAGS += -DREDLOCKD_COMMIT='"$(shell sed 's/ .*//' $(BUILD)/commit)"'

$(BUILD)/redlockd: $(OBJ)
	$(call quiet,LINK,$@)$(CC) $(LTO_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libdaemon.a: $(LIB_OBJ)
	@rm -f $@
	$(call quiet,AR,$@)$(AR) rcs $@ $^

# Missing libraries are looked for once per build, so that the first message is not a compiler's error about a header.
$(BUILD)/found:
	@CC='$(CC)' TLS='$(TLS)' CPPFLAGS='$(CPPFLAGS) $(CFLAGS)' .ci/deps build
	@mkdir -p $(@D)
	@touch $@

$(BUILD)/%.o: %.c Makefile | $(BUILD)/found
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The scripts for the masters, as C; also made again when a file came or went.
$(BUILD)/proto/lua.c: proto/lua/build.sh proto/lua proto/lua/part $(LUA)
	@mkdir -p $(@D)
	$(call quiet,LUA,proto/lua)proto/lua/build.sh $(@D)

$(BUILD)/proto/lua.o: $(BUILD)/proto/lua.c Makefile
	$(call quiet,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT) $(TRACES) $(INTEG):
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBS) $(LIBS)

-include $(OBJ:.o=.d)
include $(sort $(wildcard client/*.mk client/*/*.mk)) systemd/packages.mk
-include $(sort $(wildcard tests/*/*.mk))
CHECKS += ./tests/guarding.sh ./tests/hardened.sh ./tests/lua.sh ./tests/packages.sh ./tests/deps.sh ./tests/documents.sh

$(BUILD)/tests/unit/%.o $(BUILD)/tests/integ/%.o $(BUILD)/tests/examples/%.o $(BUILD)/tests/fail/%.o $(BUILD)/tests/compat/%.o: ALL_CFLAGS += $(TEST_CFLAGS) $(if $(filter -O0,$(TEST_CFLAGS)),-U_FORTIFY_SOURCE)

# Two jobs at a time, unless make was told otherwise.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j2)

objects: $(OBJ) $(UNIT) $(TRACES) $(INTEG)

deps: ## install what building and testing need (Debian, Ubuntu; says what, elsewhere)
	@.ci/deps

run: all ## the daemon with five throw-away masters, for your own nc; ^C ends it
	@$(BUILD)/redlockd --dev

# Whoever tries it first should not wait: the demo's daemon is hardly optimised, and built in a third of the time.
demo: deps ## a short session with nc: lock, refusal, waiting, a stopped master
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=$(BUILD)/demo LTO= CFLAGS=-O1 $(BUILD)/demo/redlockd
	@tests/demo.sh $(BUILD)/demo/redlockd

# The tests that take longest begin first.
LONGEST  := $(patsubst %,$(INTEG):test_%,restarts generation story stuck_daemons redlock_lost masters group clock_reconnect roles library_loop acl)
TESTS     = $(LONGEST) $(filter-out $(LONGEST),$(INTEG_TESTS)) $(CHECKS) $(UNIT_TESTS)
TEST_ENV := REDLOCKD=$(abspath $(BUILD))/redlockd REDLOCK=$(abspath $(BUILD))/redlock

# NODEPS=1 skips the look for missing programs and libraries.
check: $(if $(NODEPS),,deps) ## every test
	@$(MAKE) --no-print-directory $(PARALLEL) all objects
	@$(TEST_ENV) tests/run.sh $(TESTS)

asan: ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@TEST_JOBS=$(or $(TEST_JOBS),4) $(MAKE) --no-print-directory check BUILD=build/asan ASAN=1

stalls: ## every test while everything stands still now and then, for STALL_MS (1000) at most; as root
	@$(MAKE) --no-print-directory $(PARALLEL) all objects
	@$(TEST_ENV) tests/stalls.sh $(TESTS)

lint: ## cppcheck, clang-tidy, clang-format and shellcheck, where they are installed; silent when all is well
	@tests/lint.sh $(VERSION) $(C_FILES) $(SCRIPTS)

format: ## lay out the C files with clang-format 14
	clang-format -i $(C_FILES)

layers: $(OBJ) $(CLIENT_OBJ) ## who may include whom, and which files may call each other in a circle
	@tests/layers.sh
	@tests/circles.sh $(OBJ) $(CLIENT_OBJ)

purity: $(CORE_OBJ) ## the coordinator does no I/O and reads no clock
	@tests/purity.sh $(CORE_OBJ)

# $(call install_page,FILE,SECTION) installs a manual page, in which the default paths are replaced by those of this
# installation.
COMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
PATHS = s|/usr/local/share/bash-completion/completions|$(COMPDIR)|; s|/usr/local/share/zsh/site-functions|$(ZSHDIR)|; s|/usr/local/share/|$(PREFIX)/share/|; s|/etc/redlockd/|$(SYSCONFDIR)/redlockd/|
install_page = install -d $(DESTDIR)$(MANDIR)/man$(2) && sed '$(PATHS)' $(1) >$(DESTDIR)$(MANDIR)/man$(2)/$(notdir $(1)) && \
               chmod 644 $(DESTDIR)$(MANDIR)/man$(2)/$(notdir $(1))

install_document = sed -E -f conf/installed.sed $(1) >$(DOC)/$(2) && chmod 644 $(DOC)/$(2)

# $(call install_unit,UNIT,OPTIONS OF SED,NAME)
install_unit = sed -E $(2) -e 's|/usr/local/sbin/|$(PREFIX)/sbin/|; s|/etc/redlockd/|$(SYSCONFDIR)/redlockd/|' systemd/$(1) \
               >$(UNITS)/$(3) && chmod 644 $(UNITS)/$(3)

install: all ## below PREFIX (/usr/local) and SYSCONFDIR (/etc); DESTDIR is honoured
	install -D -m 755 $(BUILD)/redlockd $(SBIN)/redlockd
	$(call install_page,daemon/redlockd.8,8)
	$(call install_page,conf/redlockd.yaml.5,5)
	install -d $(DOC)
	$(call install_document,README.md,README.md)
	$(call install_document,conf/OPERATING.md,OPERATING.md)
	$(call install_document,client/README.md,CLIENTS.md)
	$(call install_document,client/GUARDING.md,GUARDING.md)
	$(call install_document,client/MOVING.md,MOVING.md)
	$(call install_document,daemon/CHANGES.md,CHANGES.md)
	install -m 644 LICENSE conf/alerts.yml conf/grafana.json conf/page.png $(DOC)
	install -D -m 644 proto/protocol.txt $(DOC)/protocol.txt
	install -d $(ETC) $(UNITS)
	@if [ -e $(ETC)/redlockd.yaml ]; then \
	    echo "$(ETC)/redlockd.yaml is there and was kept; the new one is redlockd.yaml.example beside it"; fi
	install -m 640 conf/redlockd.yaml $(ETC)/redlockd.yaml$$(test ! -e $(ETC)/redlockd.yaml || echo .example)
	$(call install_unit,redlockd.service,,redlockd.service)
	$(call install_unit,redlockd.service,-f systemd/template.sed,redlockd@.service)
	$(call install_unit,redlockd.socket,,redlockd.socket)
	$(call install_unit,redlockd.socket,-f systemd/template.sed,redlockd@.socket)
	install -D -m 644 systemd/sysusers.conf $(SYSUSERS)/redlockd.conf
	install -d $(TMPFILES)
	sed 's|/etc/redlockd/|$(SYSCONFDIR)/redlockd/|' systemd/tmpfiles.conf >$(TMPFILES)/redlockd.conf
	chmod 644 $(TMPFILES)/redlockd.conf

uninstall: ## all of it but SYSCONFDIR/redlockd/redlockd.yaml
	rm -f $(SBIN)/redlockd $(DESTDIR)$(MANDIR)/man8/redlockd.8 $(DESTDIR)$(MANDIR)/man5/redlockd.yaml.5 \
	    $(addprefix $(DOC)/,README.md OPERATING.md CLIENTS.md GUARDING.md MOVING.md CHANGES.md LICENSE alerts.yml grafana.json page.png protocol.txt) \
	    $(ETC)/redlockd.yaml.example $(addprefix $(UNITS)/redlockd,.service .socket @.service @.socket) $(SYSUSERS)/redlockd.conf \
	    $(TMPFILES)/redlockd.conf
	@rmdir $(DOC) $(ETC) 2>/dev/null || true

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile client/*/*.mk systemd/*.mk tests/*/*.mk | expand -t 16

FORCE:
.PHONY: FORCE all objects deps run demo check asan stalls lint format layers purity install uninstall clean help
.SECONDARY:
