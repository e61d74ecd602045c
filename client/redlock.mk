# The command.
CMD_SRC := $(sort $(wildcard client/redlock_*.c))
CMD_OBJ := $(CMD_SRC:%.c=$(BUILD)/%.o)
CMD     := $(BUILD)/redlock
BIN     := $(DESTDIR)$(PREFIX)/bin

all: $(CMD)

$(CMD): $(CMD_OBJ) $(BUILD)/proto/line_piece.o $(BUILD)/proto/secret.o $(LIB_A)
	$(call quiet,LINK,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TLS_LIBS)

objects: $(CMD_OBJ)

install-command: $(CMD)
	install -D -m 755 $(CMD) $(BIN)/redlock
	$(call install_page,client/redlock.1,1)
	install -D -m 644 client/redlock.bash $(DESTDIR)$(COMPDIR)/redlock
	install -D -m 644 client/redlock.zsh $(DESTDIR)$(ZSHDIR)/_redlock
	install -D -m 644 client/redlock.fish $(DESTDIR)$(FISHDIR)/redlock.fish

uninstall-command:
	rm -f $(BIN)/redlock $(DESTDIR)$(MANDIR)/man1/redlock.1 $(DESTDIR)$(COMPDIR)/redlock \
	    $(DESTDIR)$(ZSHDIR)/_redlock $(DESTDIR)$(FISHDIR)/redlock.fish

install: install-command
uninstall: uninstall-command

-include $(CMD_OBJ:.o=.d)
.PHONY: install-command uninstall-command
