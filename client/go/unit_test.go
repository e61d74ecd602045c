package redlockd

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const aToken = "0123456789abcdef0123456789abcdef01234567"

func TestParseAnswer(t *testing.T) {
	a, ok := parseAnswer("#12 +LOCKED job token=" + aToken + " fence=17 valid=9890 until=86409890 new=word : and=text until=1")
	if !ok || a.tag != "12" || a.code != "+LOCKED" || a.name != "job" || a.token != aToken || a.fence != 17 || a.until != 86409890 {
		t.Errorf("%+v %v", a, ok)
	}
	if !strings.HasPrefix(a.text, "+LOCKED job") || a.retry != -1 {
		t.Errorf("%+v", a)
	}
	for _, line := range []string{
		"", "+", "HTTP/1.1 400 Bad Request", "+LOCKED job fence=17 until=5", "+LOCKED job token=" + aToken + " until=5",
		"+LOCKED token=" + aToken + " fence=1 until=5", "+LOCKED job token=12 fence=1 until=5", "+SOMETHING",
		"+HELD job until=5 until=6", "+HELD job until=-5", "+HELD job until=99999999999999999999", "+HELLO proto=2 now=1",
		"# +OK", "+HELD j\x7fb until=5", "+LOCKED job token=" + aToken + " fence=0 until=5",
	} {
		if a, ok := parseAnswer(line); ok {
			t.Errorf("%q was read as %+v", line, a)
		}
	}
	for _, line := range []string{"-NEW job", "!NEW job token=x", "+PONG", "-AUTH : text"} {
		if _, ok := parseAnswer(line); !ok {
			t.Errorf("%q was not read", line)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add("#1 +LOCKED job token=" + aToken + " fence=17 until=5 : text")
	f.Fuzz(func(t *testing.T, line string) {
		if a, ok := parseAnswer(line); ok && a.code == "+LOCKED" && (a.fence <= 0 || a.until < 0 || !isToken(a.token)) {
			t.Errorf("%q: %+v", line, a)
		}
	})
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]target{
		"unix:/a/b": {network: "unix", address: "/a/b"}, "/a": {network: "unix", address: "/a"},
		"host:1": {network: "tcp", address: "host:1", host: "host"}, "host": {network: "tcp", address: "host:7335", host: "host"},
		"[::1]:9": {network: "tcp", address: "[::1]:9", host: "::1"}, "[::1]": {network: "tcp", address: "[::1]:7335", host: "::1"},
		"fe80::1": {network: "tcp", address: "[fe80::1]:7335", host: "fe80::1"},
		"tls://h": {network: "tcp", address: "h:7336", host: "h", tls: true}, "tls://h:5": {network: "tcp", address: "h:5", host: "h", tls: true},
	} {
		if got, err := parseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "unix:a", ":5", "a/b", "tls://", "http://h", "h:"} {
		if got, err := parseAddress(text); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func TestSecretGoesNowhereUnsafe(t *testing.T) {
	for address, fine := range map[string]bool{
		"192.0.2.1:7335": false, "example.org": false, "127.0.0.1": true, "[::1]:7335": true, "localhost": true, "tls://192.0.2.1": true, "/a": true,
	} {
		_, err := Open(Config{Address: address, User: "u", Secret: "s"})
		if (err == nil) != fine || err != nil && !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", address, err)
		}
	}
	c, err := Open(Config{User: "u", Secret: "s"})
	if err != nil || len(c.targets) != 1 || c.targets[0].network != "unix" {
		t.Errorf("without an address there is no fallback to a port: %v %+v", err, c)
	}
	if c, err := Open(Config{}); err != nil || len(c.targets) != 2 {
		t.Errorf("%v %+v", err, c)
	}
	for _, config := range []Config{{User: "u"}, {Secret: "s"}, {User: "u", Secret: "a b"}, {User: "u", Secret: "a\nQUIT"}} {
		if _, err := Open(config); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}

func TestSampleNeverErrsLate(t *testing.T) {
	s := sample{}
	if s.take(1000, 500000, 1400, false); s.same || s.sent != 1000 {
		t.Fatalf("%+v", s)
	}
	if at := s.deadline(510000); at != 1000+10000-10-1 {
		t.Errorf("the deadline counts from sent, less 0.1 %% and 1 ms: %d", at)
	}
	if s.take(2000, 501050, 2100, false); s.sent != 1000 {
		t.Error("the older sample agrees, and its deadlines are the later ones")
	}
	if s.take(3000, 506000, 3001, false); s.sent != 3000 {
		t.Error("our clock stood still for 4 s: only the newer sample counts")
	}
	local := sample{}
	if local.take(1000, 1001, 1002, true); !local.same || local.deadline(5000) != 5000 {
		t.Errorf("one clock: until= is compared directly: %+v", local)
	}
	if local.take(2000, 2300, 2600, true); !local.same || local.sent != 1000 {
		t.Error("a slow answer is no proof that the clock is another")
	}
	far := sample{}
	if far.take(1000, 1001, 1100, true); far.same {
		t.Error("a slow answer is no proof that the clock is the same either")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	c, err := Open(Config{Address: "/nowhere/at/all"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	for _, opt := range []LockOption{TTL(0), TTL(-time.Second), TTL(721 * time.Hour), Max(-1), Wait(-1), Note("two words"), Note(""), Slots(0)} {
		if _, err := c.Lock(ctx, "job", opt); !errors.Is(err, ErrBadArg) {
			t.Error(err)
		}
	}
	if _, err := c.Attach("job", "abc"); !errors.Is(err, ErrBadArg) {
		t.Error(err)
	}
	for _, names := range [][]string{nil, {""}, {"a", "b,c"}, {"a", "b\n"}, {strings.Repeat("x", 200), strings.Repeat("y", 200),
		strings.Repeat("z", 200), strings.Repeat("u", 200)}} {
		if _, err := c.LockAll(ctx, names); !errors.Is(err, ErrBadArg) {
			t.Error(names, err)
		}
	}
	for _, name := range []string{"", "a b", "a,", "a\nQUIT"} {
		if _, err := c.Attach(name, aToken); !errors.Is(err, ErrBadArg) {
			t.Error(name, err)
		}
	}
	if l, err := c.Attach("a,b", aToken); err != nil || l.Name() != "a,b" {
		t.Error(err)
	}
	for _, config := range []Config{{Client: "a b"}, {Client: "a\nQUIT"}, {Timeout: -1}} {
		if _, err := Open(config); !errors.Is(err, ErrBadArg) {
			t.Errorf("%+v: %v", config, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Lock(ended, "job"); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	_, err = c.Lock(ctx, "job")
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "redlockd --dev") {
		t.Error(err)
	}
	c.Close()
	if _, err = c.Lock(ctx, "job"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// serve answers the lines of one connection at a time.
func serve(t *testing.T, listener net.Listener, answer func(line string) string) {
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				tag, line, _ := strings.Cut(lines.Text(), " ")
				fmt.Fprintf(conn, "%s %s\n", tag, answer(line))
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close() })
}

func granting(line string) string {
	switch word := strings.Fields(line); word[0] {
	case "AUTH":
		if line == "AUTH worker open-sesame" {
			return "+OK"
		}
		return "-AUTH : no such user, or another secret"
	case "HELLO":
		return fmt.Sprintf("+HELLO proto=1 server=fake now=%d behind=0", nowMS())
	case "LOCK":
		return fmt.Sprintf("+LOCKED %s token=%s fence=17 valid=9000 until=%d", word[1], aToken, nowMS()+9000)
	case "UNLOCK":
		return "+UNLOCKED " + word[1] + " confirmed=2/3"
	case "QUIT":
		return "+BYE"
	default:
		return "-BADVERB"
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil) // only for its certificate
	server.StartTLS()
	config := server.TLS.Clone()
	cert := server.Certificate()
	server.Close()
	config.NextProtos = nil
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, tls.NewListener(listener, config), granting)
	address := "tls://" + listener.Addr().String()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
	ctx := context.Background()

	c, err := Open(Config{Address: address, User: "worker", Secret: "open-sesame"})
	if err != nil {
		t.Fatal(err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := c.Lock(ctx, "job"); !errors.Is(err, ErrUnreachable) || !errors.As(err, &unknown) {
		t.Errorf("an unknown authority: %v", err)
	}
	c.Close()

	t.Setenv("REDLOCK_CA", ca)
	t.Setenv("REDLOCK_USER", "worker")
	t.Setenv("REDLOCK_SECRET_FILE", write(t, filepath.Join(t.TempDir(), "secret"), "open-sesame\n"))
	t.Setenv("REDLOCK_ADDRESS", address)
	c, err = Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Lock(ctx, "job")
	if err != nil || l.Valid() < 7*time.Second || l.Unlock(ctx) != nil {
		t.Error(err)
	}
	c.Close()

	wrong := c.config.TLS.Clone()
	wrong.ServerName = "another.invalid"
	c, _ = Open(Config{TLS: wrong})
	if _, err := c.Lock(ctx, "job"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("another name: %v", err)
	}
	c.Close()
	t.Setenv("REDLOCK_SECRET_FILE", write(t, filepath.Join(t.TempDir(), "secret"), "wrong"))
	c, _ = Open(Config{})
	if _, err := c.Lock(ctx, "job"); !errors.Is(err, ErrAuth) {
		t.Error(err)
	}
	c.Close()
}

func TestErrorsAreNotHidden(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener, func(line string) string {
		if strings.HasPrefix(line, "UNLOCK") {
			return "-NOTHELD job : it was lost before this release"
		}
		return granting(line)
	})
	c, _ := Open(Config{Address: listener.Addr().String()})
	defer c.Close()
	own := errors.New("own")
	for _, want := range []error{own, ErrLost} {
		want := want
		err := c.Do(context.Background(), "job", func(context.Context, *Lock) error {
			if want == own {
				return own
			}
			return nil
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, not %v", err, want)
		}
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNamesMayBeBuiltFromAnything(t *testing.T) {
	for name, parts := range map[string][]string{
		"order:17": {"order", "17"}, "file:a%20b%3Ac": {"file", "a b:c"}, "%231:%3D%22%2C%25": {"#1", "=\",%"},
		"%C3%A9%0A": {"\u00e9\n"}, "order:": {"order", ""},
	} {
		if made, err := NameOf(parts...); made != name || err != nil {
			t.Errorf("%q: %q %v", parts, made, err)
		}
		if back := PartsOf(name); strings.Join(back, "|") != strings.Join(parts, "|") {
			t.Errorf("%q: %q", name, back)
		}
	}
	for _, parts := range [][]string{{}, {""}, {"", "x"}, {strings.Repeat("x", 201)}} {
		if name, err := NameOf(parts...); !errors.Is(err, ErrBadArg) {
			t.Errorf("%q: %q %v", parts, name, err)
		}
	}
}

// A caller who reads its answer itself is told all the same when its context ends, or its time is over.
func TestCallerWhoReadsIsToldOfItsEnd(t *testing.T) {
	for _, want := range []error{ErrCancelled, ErrNoAnswer} {
		listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		serve(t, listener, func(line string) string {
			if strings.HasPrefix(line, "LOCK taken") {
				<-over
			}
			return granting(line)
		})
		timeout := 10 * time.Second
		if want == ErrNoAnswer {
			timeout = 500 * time.Millisecond
		}
		c, _ := Open(Config{Address: listener.Addr().String(), Timeout: timeout})
		led := func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.link != nil && c.link.led > 0
		}
		ctx, cancel := context.WithCancel(context.Background())
		for end := time.Now().Add(20 * time.Second); !led() && time.Now().Before(end); {
			if l, err := c.Lock(ctx, "job"); err == nil {
				l.Unlock(ctx)
			}
		}
		if !led() {
			t.Error("no caller reads for itself")
		}
		if want == ErrCancelled {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		start := time.Now()
		if _, err = c.Lock(ctx, "taken", Wait(0)); !errors.Is(err, want) || time.Since(start) > 5*time.Second {
			t.Error(want, err, time.Since(start))
		}
		close(over)
		cancel()
		c.Close()
	}
}
