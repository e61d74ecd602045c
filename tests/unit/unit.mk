# Code that several unit tests share: each program is linked with the files that its tests include.
UNIT_HELP := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c)))
unit       = $(filter $(1:%=$(BUILD)/tests/unit/%),$(UNIT))
unit_help  = $(1:%=$(BUILD)/tests/unit/%.o)

$(call unit,test_client%): $(call unit_help,client_world)
$(call unit,test_conf%): $(call unit_help,conf_said)
$(call unit,test_conn%): $(call unit_help,conn_world)
$(call unit,test_conn_limits test_loop_send): $(call unit_help,mallocs)
$(call unit,test_coordinator%): $(call unit_help,trace_text trace_steps trace_events)
$(call unit,test_node%): $(call unit_help,node_world)
$(call unit,test_node% test_loop_send test_resp_server): $(call unit_help,server)
$(call unit,test_resp% test_acl): $(call unit_help,resp)

-include $(UNIT_HELP:.o=.d)
