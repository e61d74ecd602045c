# redlockd: `make help` lists the targets. Everything built lies in build/.
VERSION := 0.1.0
CC      ?= cc
PREFIX  ?= /usr/local
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
MANDIR  ?= $(PREFIX)/share/man
UNITDIR ?= $(if $(filter /usr,$(PREFIX)),/lib/systemd/system,$(PREFIX)/lib/systemd/system)
DESTDIR ?=
# Another build beside the usual one: make BUILD=build/asan ASAN=1
BUILD   ?= build

PACKAGES := libevent hiredis libyaml
LIBS     := -levent -lhiredis -lyaml
CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DREDLOCKD_VERSION='"$(VERSION)"' -I. $(WARNINGS) \
              $(if $(WERROR),-Werror) -fno-omit-frame-pointer $(CFLAGS)
ALL_LDFLAGS := $(LDFLAGS)
ifdef ASAN
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
ALL_CFLAGS += $(SANITIZE)
ALL_LDFLAGS += $(SANITIZE)
endif

CORE_SRC   := $(sort $(wildcard daemon/coordinator/*.c))
DAEMON_SRC := $(sort $(wildcard proto/*.c daemon/*.c)) $(CORE_SRC)
OBJ        := $(DAEMON_SRC:%.c=$(BUILD)/%.o)
CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/%.o)
LIB_OBJ    := $(filter-out $(BUILD)/daemon/main.o,$(OBJ))
UNIT_SRC   := $(sort $(wildcard tests/unit/test_*.c))
UNIT       := $(UNIT_SRC:%.c=$(BUILD)/%)
INTEG_SRC  := $(sort $(wildcard tests/integ/test_*.c))
INTEG      := $(INTEG_SRC:%.c=$(BUILD)/%)
HARNESS    := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(INTEG_SRC),$(wildcard tests/integ/*.c)))
C_FILES    := $(wildcard proto/*.[ch] daemon/*.[ch] daemon/coordinator/*.[ch] tests/*/*.[ch])

all: $(BUILD)/redlockd ## build the daemon (the default)

$(BUILD)/redlockd: $(OBJ)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libdaemon.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libdaemon.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread $(LIBS)

$(INTEG): $(BUILD)/%: $(BUILD)/%.o $(HARNESS)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lm -lrt -lpthread $(LIBS)

-include $(OBJ:.o=.d) $(UNIT:=.d) $(INTEG:=.d) $(HARNESS:.o=.d)

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

.PHONY: all clean help
.SECONDARY:
