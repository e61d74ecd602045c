package redlockd

import (
	"net/url"
	"strings"
)

// NameOf makes a name of several parts, whatever is in them: NameOf("order", "17") is "order:17", and NameOf("file",
// "a b:c") is "file:a%20b%3Ac". Different parts have different names, and the other libraries for redlockd encode alike.
// ErrBadArg: the name would be longer than 200 bytes, or its first part is empty.
func NameOf(parts ...string) (string, error) {
	var name strings.Builder
	for i, part := range parts {
		if i > 0 {
			name.WriteByte(':')
		}
		for j := 0; j < len(part); j++ {
			if c := part[j]; c > ' ' && c <= '~' && strings.IndexByte(`%:#,"=`, c) < 0 {
				name.WriteByte(c)
			} else {
				name.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
			}
		}
	}
	if !isWord(name.String(), nameBytes) {
		return "", badName(name.String())
	}
	return name.String(), nil
}

// PartsOf returns the parts of a name by NameOf, for people to read.
func PartsOf(name string) []string {
	parts := strings.Split(name, ":")
	for i, part := range parts {
		if text, err := url.PathUnescape(part); err == nil {
			parts[i] = text
		}
	}
	return parts
}
