# Debian packages, and what tries them.
DEB_DIR := $(BUILD)/deb/redlockd-$(VERSION)
# All files but what was built; an unpacked archive has no list of them.
SOURCES := if git ls-files --error-unmatch Makefile >/dev/null 2>&1; then git ls-files -z; \
           else find . -path ./build -prune -o -path ./.git -prune -o ! -type d -print0; fi
# The makes below are not part of this one.
ALONE   := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

deb-source:
	rm -rf $(BUILD)/deb
	mkdir -p $(DEB_DIR)
	$(SOURCES) | xargs -0 cp --no-dereference --parents -t $(DEB_DIR)
	tar -C $(BUILD)/deb -cJf $(BUILD)/deb/redlockd_$(VERSION).orig.tar.xz redlockd-$(VERSION)
	cp -r systemd/debian $(DEB_DIR)/debian

deb: deb-source ## Debian packages, in build/deb; what building and testing them needs is in systemd/debian/control
	cd $(DEB_DIR) && $(ALONE) dpkg-buildpackage -us -uc
	@command -v lintian >/dev/null || echo "left out: lintian, which is not installed"
	@! command -v lintian >/dev/null || ! lintian -i $(BUILD)/deb/*.changes 2>&1 | \
	    grep '^[EW]:' | grep -v ' initial-upload-closes-no-bugs' # no bug of Debian's asks for these packages

deb-check: deb-source ## ROOT=DIR [BARE=DIR]: the same in that Debian tree; install and try them there, or in BARE, as root
	systemd/deb-check.sh $(BUILD)/deb "$(ROOT)" "$(BARE)"

image: all ## a container image of this build, for docker load or podman load; needs buildah, and root
	systemd/image.sh $(BUILD) $(VERSION)

.PHONY: image deb deb-check deb-source
