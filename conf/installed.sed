# Links between the pages, as `make install` lays them: flat in share/doc/redlockd. A link to what is in the sources
# alone becomes its text. For sed -E.
s#\]\((\.\./)?proto/protocol\.txt#](protocol.txt#g
s#\]\((\.\./)?client/examples#](examples#g
s#\]\((\.\./)?conf/OPERATING\.md#](OPERATING.md#g
s#\]\(conf/(page\.png|alerts\.yml|grafana\.json)#](\1#g
s#\]\((\.\./)?client/README\.md#](CLIENTS.md#g
s#\]\((\.\./)?client/(GUARDING|MOVING)\.md#](\2.md#g
s#\]\((\.\./)?daemon/CHANGES\.md#](CHANGES.md#g
s#\]\(\.\./README\.md#](README.md#g
s#\[([^]]*)\]\(((\.\./)?(tests|daemon|systemd|\.github|(client/)?(python|node|go|java|conformance))/|redlockd\.yaml|kubernetes\.yaml|redlock\.h)[^)]*\)#\1#g
