# Code that some integration tests share, beside the harness that all of them have.
INTEG_HELP := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(INTEG_SRC),$(wildcard tests/integ/*.c)))
integ       = $(filter $(1:%=$(BUILD)/tests/integ/test_%),$(INTEG))

$(call integ,clock clock_reconnect): $(BUILD)/tests/integ/stalled.o
$(call integ,library library_downgrade library_hostile library_loop library_many library_names library_readers library_restart library_slots): $(BUILD)/tests/integ/library.o
$(call integ,library_names library_readers library_slots): $(BUILD)/tests/integ/modes.o
$(call integ,library_downgrade library_loop library_many library_restart): $(BUILD)/tests/integ/library_daemon.o
$(call integ,daemons http http_tls http_users refusals tls_clients tls_masters tls_reload): $(BUILD)/tests/integ/http.o
$(call integ,protocol redlock_guard redlock_script): $(BUILD)/proto/shown.o
$(call integ,service): $(BUILD)/tests/integ/manager.o
$(call integ,restarts roles two_daemons): $(BUILD)/tests/integ/guarded.o
$(call integ,http_tls tls_masters tls_clients tls_reload library_tls): $(BUILD)/tests/integ/certs.o
$(call integ,http_tls tls_clients tls_reload): $(BUILD)/tests/integ/secure.o
$(call integ,http_tls users): $(BUILD)/tests/integ/network.o
$(call integ,users users_names): $(BUILD)/tests/integ/users.o

-include $(filter-out $(HARNESS:.o=.d),$(INTEG_HELP:.o=.d))
