# Makes redlockd@.service and redlockd@.socket of the units without @: one redlockd for each set of masters. For sed -E.
s#/redlockd\.(yaml|sock)#/%i.\1#g
s#/etc/redlockd/redis\.secret#/etc/redlockd/%i.secret#
s#/run/credentials/redlockd\.service#/run/credentials/redlockd@%i.service#
s#^Description=.*#& (%i)#
# A port of TCP can be but one instance's: `systemctl edit redlockd@NAME.socket`.
/^ListenStream=127/d
/^#.*127\.0\.0\.1/d
