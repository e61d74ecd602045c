# The source archive, Debian packages, the container image, and what tries them.
DEB_DIR := $(BUILD)/deb/redlockd-$(VERSION)
# The makes below are not part of this one.
ALONE   := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

dist: ## the sources of the last commit, as build/dist/redlockd-VERSION.tar.xz: the same bytes each time
	@systemd/archive.sh $(BUILD)/dist redlockd-$(VERSION) committed
	@sha256sum $(BUILD)/dist/redlockd-$(VERSION).tar.xz

deb-source:
	@systemd/archive.sh $(BUILD)/deb redlockd-$(VERSION)
	mv $(DEB_DIR).tar.xz $(BUILD)/deb/redlockd_$(VERSION).orig.tar.xz
	cp -r systemd/debian $(DEB_DIR)/debian

deb-tools:
	@command -v xz >/dev/null && command -v dpkg-buildpackage >/dev/null || { \
	    echo "make deb needs what builds Debian packages; as root: apt-get update && apt-get build-dep ./systemd" >&2; exit 1; }

deb: deb-tools deb-source ## Debian packages, in build/deb, with all tests: DEB_BUILD_OPTIONS=nocheck leaves them out
	cd $(DEB_DIR) && $(ALONE) dpkg-buildpackage -us -uc
	@command -v lintian >/dev/null || echo "left out: lintian, which is not installed"
	@! command -v lintian >/dev/null || ! lintian -i $(BUILD)/deb/*.changes 2>&1 | \
	    grep '^[EW]:' | grep -v ' initial-upload-closes-no-bugs' # no bug of Debian's asks for these packages

deb-check: deb-source ## ROOT=DIR [BARE=DIR]: the same in that Debian tree; install and try them there, or in BARE, as root
	systemd/deb-check.sh $(BUILD)/deb "$(ROOT)" "$(BARE)"

image: all ## a container image of this build, for docker load or podman load
	@systemd/image.sh $(BUILD) $(VERSION)

image-check: all ## make it twice, which has to be the same bytes; run it by runc, crun and in a chroot, whichever work; as root
	@systemd/image-check.sh $(BUILD) $(VERSION)

release-check: ## archive and packages, made by the archive alone in another folder, are the same bytes as here
	@systemd/release-check.sh $(BUILD) $(VERSION)

.PHONY: dist image image-check release-check deb deb-check deb-source deb-tools
