# Code that several unit tests share: each program is linked with the files that its tests include.
UNIT_HELP := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c)))
unit       = $(filter $(1:%=$(BUILD)/tests/unit/%),$(UNIT))
unit_help  = $(1:%=$(BUILD)/tests/unit/%.o)

$(UNIT): $(call unit_help,suite)
$(call unit,test_client%): $(call unit_help,client_world)
$(call unit,test_conf%): $(call unit_help,conf_said)
$(call unit,test_conn%): $(call unit_help,conn_world)
$(call unit,test_conn_limits test_loop_send): $(call unit_help,mallocs)
$(call unit,test_line test_line_format test_line_refused test_line_row): $(call unit_help,line_said)
$(call unit,test_coordinator%): $(call unit_help,trace_text trace_steps trace_events)
$(call unit,test_node%): $(call unit_help,node_world)
$(call unit,test_node% test_loop_send test_resp_cut test_resp_daemons test_resp_queue test_resp_server test_resp_several test_resp_shared test_resp_who): $(call unit_help,server)
$(call unit,test_node_hostile test_node_several): $(call unit_help,fake_master)
$(call unit,test_resp_cut test_resp_daemons test_resp_queue test_resp_server test_resp_several test_resp_shared test_resp_who): $(call unit_help,real_server)
$(call unit,test_resp% test_acl): $(call unit_help,resp)

-include $(UNIT_HELP:.o=.d)
