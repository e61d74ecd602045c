package redlockd

import (
	"context"
	"errors"
	"time"
)

// dial makes a connection and greets: AUTH, if there is a secret, and HELLO.
func (c *Client) dial() {
	ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
	defer cancel()
	lk, hello, err := c.connect(ctx)
	received := nowMS()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialing = false
	defer c.kick()
	if err == nil && c.closed {
		hangUp(lk.conn)
	} else if err == nil {
		c.linkUp(lk, hello, received)
	} else {
		c.dialFailed(err)
	}
}

func (c *Client) connect(ctx context.Context) (*link, *answer, error) {
	conn, err := c.config.open(ctx, c.targets)
	if err != nil {
		return nil, nil, err
	}
	lk := &link{client: c, conn: conn, in: make([]byte, 0, inBytes), turn: make(chan struct{}, 1), calls: map[uint64]*call{},
		bye: make(chan struct{}), greetings: 1}
	lk.local = conn.RemoteAddr().Network() == "unix"
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	hello, err := lk.greet()
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	conn.SetDeadline(time.Time{})
	return lk, hello, nil
}

func (lk *link) greet() (*answer, error) {
	config := &lk.client.config
	if config.Secret != "" {
		a, err := lk.exchange("#u AUTH " + config.User + " " + config.Secret + "\n")
		if err != nil {
			return nil, err
		}
		if a.code != "+OK" {
			return nil, &Error{Err: ErrProtocol, Text: "AUTH was answered " + a.text}
		}
	}
	lk.helloSent = nowMS()
	lk.helloLast = lk.helloSent
	a, err := lk.exchange(lk.hello())
	if err == nil && a.code != "+HELLO" {
		err = &Error{Err: ErrProtocol, Text: "HELLO was answered " + a.text}
	}
	var refused *Error
	if errors.As(err, &refused) && refused.Err == ErrUnsupported {
		refused.Err = ErrProtocol // this redlockd speaks another version of the protocol
	}
	return a, err
}

func (lk *link) hello() string {
	if name := lk.client.config.Client; name != "" {
		return "#h HELLO 1 client=" + name + " events=renewed\n"
	}
	return "#h HELLO 1 events=renewed\n"
}

// exchange sends a line and reads its answer, for the greeting: later read and writeAll do that.
func (lk *link) exchange(line string) (*answer, error) {
	if _, err := lk.conn.Write([]byte(line)); err != nil {
		return nil, &Error{Err: ErrUnreachable, Text: err.Error(), also: err}
	}
	for {
		a, whole, err := lk.line()
		if !whole && err == nil {
			err = lk.fill()
		}
		switch {
		case err != nil:
			return nil, err
		case a.code == "" || a.code == "!CLOCK": // the answer to HELLO has behind=
		case a.code == "!DRAIN":
			lk.draining = true
		case a.code[0] == '-':
			err := refusal("", &a)
			if err.Err == ErrLimit {
				err.Err = ErrUnreachable // there are too many clients, and redlockd closes the connection
			}
			return nil, err
		case a.tag == line[1:2]:
			return &a, nil
		}
	}
}

// The client's mutex is held in the functions below.

func (c *Client) linkUp(lk *link, hello *answer, received int64) {
	if c.link != nil { // the old link drains; if the new link drains too, the next is not tried at once
		c.before = c.link.sample
		c.failures++
		c.retryAt = received + c.backoff(received)
	}
	behind, sent := hello.behind, lk.helloSent
	if behind < 0 {
		behind = 0
	}
	// The behind= of another daemon says nothing about the deadlines that the daemon before has told, and is already
	// taken off everything that the other daemon tells.
	grown := int64(-1)
	if c.daemon != nil {
		grown = behind - c.daemon.behind
	}
	if grown < 0 || !c.before.goesOn(sent, hello.now, received, grown) {
		c.daemon, c.before = &daemon{behind: behind}, sample{}
	}
	lk.daemon = c.daemon
	lk.since, lk.heard = received, received
	lk.reading = true // by its goroutine, which begins below
	c.link, c.everUp = lk, true
	c.links[lk] = struct{}{}
	c.greeted(lk, hello, received)
	go lk.read()
	c.happened("connected", "address", lk.conn.RemoteAddr().String())
	c.flush(received)
}

func (c *Client) dialFailed(err error) {
	if !errors.As(err, &c.why) {
		c.why = &Error{Err: ErrUnreachable, Text: err.Error(), also: err}
	}
	hopeless := c.why.Err == ErrAuth || c.why.Err == ErrDenied || c.why.Err == ErrUnsupported || c.why.Err == ErrBadArg
	if !c.everUp || hopeless {
		c.failQueue(c.why) // nobody was ever there, or redlockd refuses us: waiting would only hide that
	}
	c.failures++
	c.retryAt = nowMS() + c.backoff(nowMS())
	if !c.everUp {
		c.retryAt = 0 // no request waits, and the next is to try at once
	}
}
