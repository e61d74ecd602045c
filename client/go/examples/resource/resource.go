// Package resource is a client of the Redis that has the data which a lock guards in the examples. This Redis belongs to
// the application and is none of redlockd's masters. Your own program uses a real driver.
package resource

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

const patience = 10 * time.Second

// A Redis is a connection. Goroutines take turns on it.
type Redis struct {
	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Reader
}

// Open connects to "/path", "host" or "host:port". If that fails, the program ends.
func Open(address string) *Redis {
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	} else if !strings.Contains(address, ":") {
		address += ":6379"
	}
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		log.Fatal(err)
	}
	return &Redis{conn: conn, in: bufio.NewReader(conn)}
}

// Ask returns the reply to a command: int64, string, []any, or nil. Without a reply nobody knows whether the command was
// done, and an error is not handled here: the program ends, and a session lock with it (a lease runs out).
func (r *Redis) Ask(words ...any) any {
	reply, err := r.Try(words...)
	if err != nil {
		log.Fatal("Redis: ", err)
	}
	return reply
}

// Try is like Ask, but returns an error instead of ending the program.
func (r *Redis) Try(words ...any) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn.SetDeadline(time.Now().Add(patience))
	out := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text := fmt.Sprint(word)
		out += fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	if _, err := io.WriteString(r.conn, out); err != nil {
		return nil, err
	}
	return r.reply()
}

func (r *Redis) reply() (any, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, text := line[0], strings.TrimRight(line[1:], "\r\n")
	n, _ := strconv.ParseInt(text, 10, 64)
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, fmt.Errorf("%s", text)
	case ':':
		return n, nil
	}
	if n < 0 {
		return nil, nil
	}
	if kind == '$' {
		value := make([]byte, n+2)
		_, err := io.ReadFull(r.in, value)
		return string(value[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = r.reply(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
