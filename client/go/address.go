package redlockd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	defaultSocket = "/run/redlockd/redlockd.sock"
	defaultPort   = "7335"
	defaultTLS    = "7336"
	howToStart    = "; is redlockd running? (systemctl start redlockd, or, to try it, redlockd --dev)"
)

// Config says how a Client connects. The zero value is what most programs need: each field that is empty takes its
// default.
type Config struct {
	// Address is "unix:/path", "/path", "host:port", "host", "[::1]:port" or "tls://host:port". Default:
	// $REDLOCK_ADDRESS, else the socket /run/redlockd/redlockd.sock, and if nobody listens there (and there is no
	// secret) 127.0.0.1:7335.
	Address string
	// Client is a word that SHOW CLIENTS and SHOW LOCKS tell.
	Client string
	// Timeout is how long a request may go unanswered, besides its wait. Default: 10 s.
	Timeout time.Duration
	// User and Secret authenticate each connection. Default: $REDLOCK_USER and the line in $REDLOCK_SECRET_FILE. A
	// secret is sent to a Unix socket, through TLS, or to a loopback address that was given; for another address
	// Open fails with ErrUsage.
	User, Secret string
	// TLS is for tls:// addresses. Default: the system's authorities, or those of the file $REDLOCK_CA, and the
	// certificate of $REDLOCK_CERT and $REDLOCK_KEY if they are set. The server's name and certificate are checked,
	// unless a TLS that is given here says otherwise.
	TLS *tls.Config
	// Log and Metrics hear what happens to the connection and to locks. Default: nobody does.
	Log     Logger
	Metrics Metrics
}

// A target is one place to connect to.
type target struct {
	network, address, host string // network: "unix" or "tcp"
	tls                    bool
}

func parseAddress(text string) (target, error) {
	if path := strings.TrimPrefix(text, "unix:"); strings.HasPrefix(path, "/") {
		return target{network: "unix", address: path}, nil
	}
	t := target{network: "tcp"}
	rest, port := text, defaultPort
	if strings.HasPrefix(text, "tls://") {
		t.tls, rest, port = true, text[len("tls://"):], defaultTLS
	}
	if strings.Contains(rest, "/") || strings.HasPrefix(rest, "unix:") {
		return t, notAddress(text)
	}
	t.host = rest
	bare := strings.Count(rest, ":") > 1 && !strings.HasPrefix(rest, "[") // IPv6: its end might be a port
	if host, p, err := net.SplitHostPort(rest); err == nil && !bare {
		t.host, port = host, p
	}
	t.host = strings.TrimSuffix(strings.TrimPrefix(t.host, "["), "]")
	if t.host == "" || port == "" || strings.ContainsAny(t.host, "[] ") {
		return t, notAddress(text)
	}
	t.address = net.JoinHostPort(t.host, port)
	return t, nil
}

func notAddress(text string) error {
	return fmt.Errorf("%q is no address: unix:/path, host:port or tls://host:port", text)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func orEnv(value, key string) string {
	if value == "" {
		return os.Getenv(key)
	}
	return value
}

// resolve fills in User and Secret from the environment, and returns where to connect to.
func (c *Config) resolve() ([]target, error) {
	c.User = orEnv(c.User, "REDLOCK_USER")
	if path := os.Getenv("REDLOCK_SECRET_FILE"); c.Secret == "" && path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c.Secret = strings.TrimRight(string(text), "\r\n")
	}
	if (c.User == "") != (c.Secret == "") {
		return nil, errors.New("a user needs a secret, and a secret a user (REDLOCK_USER, REDLOCK_SECRET_FILE)")
	}
	if c.User != "" && (!isWord(c.User, wordBytes) || !isSecret(c.Secret)) {
		return nil, errors.New("a user or secret has bytes that no line may have")
	}
	given := orEnv(c.Address, "REDLOCK_ADDRESS")
	if given == "" {
		targets := []target{{network: "unix", address: defaultSocket}}
		if c.Secret == "" { // any local user may bind the port and collect secrets
			targets = append(targets, target{network: "tcp", address: "127.0.0.1:" + defaultPort})
		}
		return targets, nil
	}
	t, err := parseAddress(given)
	if err != nil {
		return nil, err
	}
	if c.Secret != "" && t.network == "tcp" && !t.tls && !isLoopback(t.host) {
		return nil, errors.New("a secret goes to another host by TLS only: tls://" + t.host)
	}
	if t.tls && c.TLS == nil {
		if c.TLS, err = tlsFromEnv(); err != nil {
			return nil, err
		}
	}
	return []target{t}, nil
}

func isSecret(text string) bool {
	return len(text) <= 512 && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func tlsFromEnv() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path := os.Getenv("REDLOCK_CA"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New(path + ": there is no certificate in it (REDLOCK_CA)")
		}
	}
	if path := os.Getenv("REDLOCK_CERT"); path != "" {
		cert, err := tls.LoadX509KeyPair(path, os.Getenv("REDLOCK_KEY"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// open connects to the first target where somebody listens.
func (c *Config) open(ctx context.Context, targets []target) (net.Conn, error) {
	var last error
	for _, t := range targets {
		conn, err := c.openOne(ctx, t)
		if err == nil {
			return conn, nil
		}
		last = err
		if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	text := last.Error()
	if errors.Is(last, syscall.ENOENT) || errors.Is(last, syscall.ECONNREFUSED) {
		text += howToStart
	}
	return nil, &Error{Err: ErrUnreachable, Text: text, also: last}
}

func (c *Config) openOne(ctx context.Context, t target) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, t.network, t.address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok && c.Secret != "" && !t.tls && !tcp.IP.IsLoopback() {
		conn.Close() // "localhost" may lead anywhere
		return nil, errors.New(t.address + " is no loopback address, and a secret is not sent there")
	}
	if !t.tls {
		return conn, nil
	}
	config := c.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = t.host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}
