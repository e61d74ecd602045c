package redlockd

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// A call is one request, until its answer.
type call struct {
	verb, name string
	lock       *Lock           // nil: an UNLOCK of a lock that nobody wants
	token      string          // the token that it goes out with
	ttl        int64           // ms, of EXTEND
	keep       int64           // ms, of UNLOCK; 0: the name is free then
	keepless   bool            // it was to be kept, but this redlockd cannot do that
	data       string          // of DATA
	watch      *watch          // of WATCH
	rows       []Row           // of WHO and SHOW
	waitUntil  int64           // ms; 0: LOCK does not wait
	own        bool            // RESUME, DOWNGRADE, WATCH: asked by the client itself, since a connection drains or is gone
	first      bool            // DOWNGRADE: the program had no reason before to count as a reader
	serial     uint64          // its tag
	sent       int64           // ms
	long       bool            // redlockd may let it wait
	notOn      *link           // the draining link that has refused it
	unsure     bool            // UNLOCK: a connection ended before the answer
	abandoned  bool            // nobody waits for its answer any more
	giveUp     int64           // ms: when it is dropped from the queue if nobody waits
	late       int64           // ms: when its caller gives it up
	over       bool            // it has its outcome
	err        error           // which is this
	done       chan struct{}   // is closed then; nil: its caller does not wait for that
	ended      <-chan struct{} // its caller's context has ended
}

func newCall(verb string, l *Lock, name string) *call {
	return &call{verb: verb, lock: l, name: name}
}

func (k *call) finish(err error) {
	if k.over {
		return
	}
	k.over, k.err = true, err
	if k.done != nil {
		close(k.done)
	}
}

// proves reports whether ErrNotHeld means that the lock was lost.
func (k *call) proves() bool { return k.verb == "EXTEND" || k.verb == "CHECK" || k.verb == "DATA" }

func (k *call) waits(now int64) bool { return k.verb == "LOCK" && k.waitUntil > now }

// waitsOn reports whether that redlockd may let the request wait.
func (k *call) waitsOn(lk *link, now int64) bool {
	return k.waits(now) || lk.repeats && (k.own || k.verb == "DOWNGRADE")
}

// line writes the request with what is left of its times. A redlockd that repeats RESUME and downgrades by itself is told
// for how long.
func (k *call) line(b []byte, now int64, repeats bool) []byte {
	b = append(strconv.AppendUint(append(b, '#'), k.serial, 10), ' ')
	verb := k.verb
	if verb == "DOWNGRADE" {
		verb = "LOCK"
	}
	b = append(append(append(b, verb...), ' '), k.name...)
	if k.token != "" && k.verb != "DATA" {
		b = append(append(b, " token="...), k.token...)
	}
	switch k.verb {
	case "LOCK":
		o := &k.lock.options
		b = appendNumber(b, " ttl=", o.ttl)
		b = appendNumber(b, " wait=", k.waitUntil-now) // which is below 0 without it
		b = appendNumber(b, " max=", o.max)
		if o.lease {
			b = append(b, " hold=lease"...)
		}
		b = appendText(b, " note=", o.note)
		b = appendText(b, " mode=", o.mode)
		b = appendNumber(b, " slots=", o.slots)
		b = appendText(b, " data=", o.data)
	case "RESUME":
		ttl, max := k.resumeTimes(now)
		b = appendNumber(b, " ttl=", ttl)
		if repeats && k.own {
			b = appendNumber(b, " wait=", k.lock.deadline.Load()-now)
		}
		b = appendText(appendNumber(b, " max=", max), " note=", k.lock.options.note)
	case "DOWNGRADE":
		b = append(b, " mode=shared"...)
		if repeats {
			b = appendNumber(b, " wait=", milliseconds(k.lock.client.config.Timeout/2))
		}
	case "EXTEND":
		b = appendNumber(b, " ttl=", k.ttl)
	case "UNLOCK":
		b = appendNumber(b, " keep=", k.keep)
	case "DATA":
		b = appendText(b, " data=", k.data)
	}
	return append(b, '\n')
}

// resumeTimes asks for what is left of max=, and for no TTL that is longer than that.
func (k *call) resumeTimes(now int64) (ttl, max int64) {
	l := k.lock
	ttl, max = l.options.ttl, l.options.max
	if !k.own || l.maxUntil == 0 {
		return ttl, max
	}
	if max = l.maxUntil - now; max < 1 {
		max = 1
	}
	if ttl == 0 {
		ttl = l.span
	}
	if ttl > max {
		ttl = max
	}
	return ttl, max
}

// ask tells Metrics of the call, too.
func (c *Client) ask(ctx context.Context, k *call, limit, grace time.Duration) error {
	if c.config.Metrics == nil {
		return c.outcome(ctx, k, limit, grace)
	}
	start := time.Now()
	err := c.outcome(ctx, k, limit, grace)
	c.config.Metrics.Request(k.verb, time.Since(start), err)
	return err
}

// outcome sends the call, or has it wait for a connection, and waits for its answer: for limit, but no longer than until
// the context has ended and grace is over. It is called with the client's mutex locked, and unlocks it.
func (c *Client) outcome(ctx context.Context, k *call, limit, grace time.Duration) error {
	if c.closed {
		c.mu.Unlock()
		return &Error{Err: ErrClosed, Name: k.name}
	}
	now := nowMS()
	k.giveUp = now + milliseconds(limit)
	k.late, k.ended = k.giveUp, ctx.Done()
	c.enqueue(k)
	c.sendQueued(now)
	if lk := c.link; lk != nil && lk.asksOnly(k) && !lk.writing && lk.unheard < unheardMany {
		lk.unheard++
		lk.writeAll() // no lines come together
		lk.lead(k)
	} else if lk != nil {
		lk.wakeWriter()
	}
	if k.over {
		c.mu.Unlock()
		return k.err
	}
	k.done = make(chan struct{})
	if k.late < c.wakeAt {
		c.kick()
	}
	c.mu.Unlock()
	select {
	case <-k.done:
		return k.err
	case <-k.ended:
	}
	c.mu.Lock()
	if grace == 0 {
		c.abandon(k, contextError(ctx, k.name))
	} else if late := nowMS() + milliseconds(grace); late < k.late {
		k.late = late
		c.kick()
	}
	c.mu.Unlock()
	<-k.done
	return k.err
}

// giveUpLate ends the calls whose callers have waited for as long as they want.
func (c *Client) giveUpLate(now int64, soon func(int64)) {
	for _, k := range c.calls() {
		if k.done == nil || k.over {
			continue
		} else if k.late <= now {
			c.abandon(k, nil)
		} else {
			soon(k.late)
		}
	}
}

// calls returns all calls, queued and sent.
func (c *Client) calls() []*call {
	all := append([]*call{}, c.queue...)
	for lk := range c.links {
		for _, k := range lk.calls {
			all = append(all, k)
		}
	}
	return all
}

// abandon ends a call that was not answered in time, with an error that says why. A LOCK that waits is cancelled, and
// a lock that is granted all the same is given back when the answer comes.
func (c *Client) abandon(k *call, why error) {
	if k.over { // the answer was faster
		return
	}
	if why == nil || c.link == nil && c.why != nil && errors.Is(why, context.DeadlineExceeded) {
		why = c.whyNoAnswer(k.name, why)
	}
	k.finish(why)
	k.abandoned = true
	if k.verb == "UNLOCK" {
		return // the UNLOCK goes on until giveUp, since nobody wants the lock
	}
	for i, queued := range c.queue {
		if queued == k {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			if k.first && k.token == "" { // it was never sent
				k.lock.reader = false
			}
			return
		}
	}
	k.first = false // a DOWNGRADE stays under way, since its answer has a new token
	for lk := range c.links {
		if lk.calls[k.serial] != k {
			continue
		}
		switch k.verb {
		case "LOCK":
			lk.cancel(k)
		case "RESUME", "DOWNGRADE":
		default:
			lk.forget(k)
		}
	}
}

func (c *Client) whyNoAnswer(name string, also error) error {
	if c.link == nil && c.why != nil {
		return &Error{Err: c.why.Err, Name: name, Text: c.why.Text, also: also}
	}
	return &Error{Err: ErrNoAnswer, Name: name, also: also}
}
