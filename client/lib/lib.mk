# libredlock, static and shared. Both export only redlock_*: the shared library by its version script, and the static
# library because it is a single object in which all other names were made local.
LIB_ABI  := 0
LIB_SRC  := $(filter-out client/lib/tls$(if $(filter no,$(TLS)),,_none).c,$(sort $(wildcard client/lib/*.c))) proto/line_piece.c
CLIENT_OBJ  := $(LIB_SRC:%.c=$(BUILD)/pic/%.o)
LIB_A    := $(BUILD)/libredlock.a
LIB_SO   := $(BUILD)/libredlock.so
LIB_MAP  := client/lib/libredlock.map
LIBDIR   ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
OBJCOPY  ?= objcopy

all: $(LIB_A) $(LIB_SO)

$(BUILD)/pic/%.o: %.c Makefile client/lib/lib.mk | $(BUILD)/found
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(LIB_A): $(CLIENT_OBJ)
	@rm -f $@
	$(call quiet,LINK,$@)$(CC) $(filter-out --coverage,$(CFLAGS)) -r -nostdlib -o $(BUILD)/pic/libredlock.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/pic/libredlock.o
	$(call quiet,AR,$@)$(AR) rcs $@ $(BUILD)/pic/libredlock.o

$(LIB_SO): $(CLIENT_OBJ) $(LIB_MAP)
	$(call quiet,LINK,$@)$(CC) $(filter-out -pie,$(ALL_LDFLAGS)) -shared -Wl,-soname,libredlock.so.$(LIB_ABI) -Wl,--version-script=$(LIB_MAP) -o $@ $(CLIENT_OBJ) $(TLS_LIBS)
	$(Q)ln -sf libredlock.so $@.$(LIB_ABI)

# For tests of the library's parts.
$(BUILD)/pic/libclient.a: $(CLIENT_OBJ)
	@rm -f $@
	$(call quiet,AR,$@)$(AR) rcs $@ $^

install-library: $(LIB_A) $(LIB_SO)
	install -D -m 644 client/redlock.h $(DESTDIR)$(INCLUDEDIR)/redlock.h
	install -D -m 644 $(LIB_A) $(DESTDIR)$(LIBDIR)/libredlock.a
	install -D -m 755 $(LIB_SO) $(DESTDIR)$(LIBDIR)/libredlock.so.$(VERSION)
	ln -sf libredlock.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libredlock.so.$(LIB_ABI)
	ln -sf libredlock.so.$(LIB_ABI) $(DESTDIR)$(LIBDIR)/libredlock.so
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|; s|@PRIVATE@|$(TLS_LIBS)|' \
	    client/libredlock.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/libredlock.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/libredlock.pc
	$(call install_page,client/libredlock.3,3)

uninstall-library:
	rm -f $(DESTDIR)$(INCLUDEDIR)/redlock.h $(DESTDIR)$(LIBDIR)/libredlock.a $(DESTDIR)$(LIBDIR)/libredlock.so \
	    $(DESTDIR)$(LIBDIR)/libredlock.so.$(LIB_ABI) $(DESTDIR)$(LIBDIR)/libredlock.so.$(VERSION) \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/libredlock.pc $(DESTDIR)$(MANDIR)/man3/libredlock.3

install: install-library
uninstall: uninstall-library

-include $(CLIENT_OBJ:.o=.d)
.PHONY: install-library uninstall-library

CHECKS += ./tests/install.sh
