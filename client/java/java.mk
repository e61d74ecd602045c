# The client library for Java. It is built where a JDK is installed, with javac and jar alone.
JAVAC      ?= javac
JAVA_JAR   := $(BUILD)/java/redlockd.jar
JAVA_SRC   := $(shell find client/java/src/main -name '*.java')
JAVA_LINT  := -Xlint:all -Werror --release 17
# These options are for programs that live only for a moment.
JAVA_QUICK := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto

CHECKS     += client/java/check.sh client/java/jobs.sh

ifneq ($(shell command -v $(JAVAC) 2>/dev/null),)
CONFORMANCE_DRIVERS += $(BUILD)/conformance/java
objects: $(BUILD)/conformance/java $(BUILD)/java/tests/redlockd/AllTests.class $(BUILD)/java/examples/nightly.sh

$(JAVA_JAR): $(JAVA_SRC)
	@rm -rf $(BUILD)/java/classes && mkdir -p $(BUILD)/java/classes
	@echo $(JAVAC) -d $(BUILD)/java/classes; $(JAVAC) $(JAVA_LINT) -d $(BUILD)/java/classes $(JAVA_SRC)
	@jar --create --file $@ -C $(BUILD)/java/classes .

$(BUILD)/java/driver.jar: client/java/conformance/Driver.java $(JAVA_JAR)
	$(call quiet,JAVAC,$@)$(JAVAC) $(JAVA_LINT) -cp $(JAVA_JAR) -d $(BUILD)/java/conformance $<
	@jar --create --file $@ -C $(BUILD)/java/conformance .

$(BUILD)/java/tests/redlockd/AllTests.class: $(wildcard client/java/tests/redlockd/*.java) $(JAVA_JAR)
	$(call quiet,JAVAC,$@)$(JAVAC) $(JAVA_LINT) -cp $(JAVA_JAR) -d $(BUILD)/java/tests client/java/tests/redlockd/*.java

# A script for each job; the tests call the nightly job nightly.sh, as the shell script is called.
$(BUILD)/java/examples/nightly.sh: $(wildcard client/java/examples/*.java) $(JAVA_JAR) client/java/java.mk
	$(call quiet,JAVAC,$@)$(JAVAC) $(JAVA_LINT) -cp $(JAVA_JAR) -d $(@D) client/java/examples/*.java
	@for job in order:Order stock:Stock cache:Cache consumer:Consumer writer:Writer nightly.sh:Nightly; do \
	    script=$(@D)/$${job%:*}; \
	    printf '#!/bin/sh\nexec java $(JAVA_QUICK) -cp %s %s "$$@"\n' \
	        '$(abspath $(JAVA_JAR)):$(abspath $(@D))' "$${job#*:}" >$$script; \
	    chmod 755 $$script; \
	done

bench-stubs: $(BUILD)/java/tests/redlockd/AllTests.class

java: $(JAVA_JAR) ## the client library for Java: build/java/redlockd.jar

# The tests that take too long for make check.
check-java: all objects ## the client library for Java: 10,000 cycles, and all examples
	@$(TEST_ENV) client/java/check.sh 10000
	@$(TEST_ENV) client/java/jobs.sh order stock cache consumer writer nightly
.PHONY: java check-java

# The archive of loaded classes makes the start of a driver shorter: the conformance cases start one each.
$(BUILD)/conformance/java: $(BUILD)/java/driver.jar client/java/java.mk
	@mkdir -p $(@D)
	@java -XX:ArchiveClassesAtExit=$(BUILD)/java/driver.jsa $(JAVA_QUICK) \
	    -cp $(abspath $(JAVA_JAR)):$(abspath $<) Driver </dev/null >/dev/null 2>&1 || true
	@printf '#!/bin/sh\nexec java -Xlog:disable -XX:SharedArchiveFile=%s $(JAVA_QUICK) -cp %s Driver\n' \
	    '$(abspath $(BUILD))/java/driver.jsa' '$(abspath $(JAVA_JAR)):$(abspath $<)' >$@
	@chmod 755 $@
endif
