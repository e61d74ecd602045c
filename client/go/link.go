package redlockd

import (
	"bufio"
	"net"
	"runtime"
	"sort"
	"strconv"
	"sync/atomic"
	"time"
)

// A link is one connection that was greeted. The client's mutex guards all but conn and in.
type link struct {
	client    *Client
	conn      net.Conn
	in        *bufio.Reader
	local     bool   // a Unix socket
	out       []byte // to be written
	spare     []byte
	writing   bool          // a goroutine writes, and what is added to out too
	bye       chan struct{} // closed at its end, or at +BYE
	byeSaid   bool
	ended     bool
	draining  bool
	calls     map[uint64]*call // calls that are sent, by their tag
	short     int              // how many of them are answered at once
	long      int              // and how many may wait
	crowded   bool             // locks wait to be resumed until some are answered
	repeats   bool             // redlockd repeats RESUME and downgrades for as long as wait=
	keeps     bool             // redlockd keeps names
	greetings int              // how many HELLOs on a new connection are to tell its clock; 0: that is told
	refuted   bool             // one of them has shown that a clock stood still
	half      atomic.Int64     // ms: since when a line is being read that has not come as a whole; 0: none is
	daemon    *daemon
	sample    sample
	helloSent int64 // ms; 0: none is under way
	helloLast int64
	helloSoon bool
	since     int64
	heard     int64
	pinged    int64 // ms; 0: no PING is under way
}

// ---- its end ----

// linkDown is linkBreak for callers without the client's mutex.
func (c *Client) linkDown(lk *link, why *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linkBreak(lk, why)
}

func (c *Client) linkBreak(lk *link, why *Error) {
	if lk.ended {
		return
	}
	lk.ended = true
	lk.sayBye()
	lk.conn.SetWriteDeadline(time.Now())
	delete(c.links, lk)
	if why.also == nil && c.binds(lk) {
		// Only we have given it up. Its end would give back locks that are about to be resumed.
		c.parked = append(c.parked, lk.conn)
	} else {
		lk.conn.Close()
	}
	now := nowMS()
	if !c.closed {
		c.happened("disconnected", "why", why.Error())
	}
	if c.link == lk {
		c.link, c.why, c.before = nil, why, lk.sample
		c.failures++
		if now-lk.since >= stable {
			c.failures = 1
		}
		c.retryAt = now + c.backoff(now)
	}
	c.requeue(lk)
	for _, l := range c.byToken {
		if l.link == lk {
			c.detach(l)
		}
	}
	for _, w := range c.watches {
		if w.link == lk {
			w.link = nil
		}
	}
	c.flush(now)
	c.kick()
}

// unpark closes connections that were given up, once no lock waits to be resumed or given back.
func (c *Client) unpark() {
	if len(c.parked) == 0 || c.binds(nil) {
		return
	}
	calls := append([]*call{}, c.queue...)
	for lk := range c.links {
		for _, k := range lk.calls {
			calls = append(calls, k)
		}
	}
	for _, k := range calls {
		if k.verb == "UNLOCK" {
			return
		}
	}
	c.closeParked()
}

func (c *Client) closeParked() {
	for _, conn := range c.parked {
		conn.Close()
	}
	c.parked = nil
}

// requeue puts the calls that were not answered in front of the queue, in the order in which they were asked.
func (c *Client) requeue(lk *link) {
	var again []*call
	for _, k := range lk.calls {
		switch {
		case k.own && k.verb == "RESUME":
			k.lock.resuming = false
		case k.own && k.watch != nil:
			k.watch.asked = false
		case k.own: // its lock is resumed, and the answer to that says whether it is to be asked again
		case k.abandoned && k.verb != "UNLOCK": // nobody waits for it
		default:
			k.rows, k.unsure = nil, k.verb == "UNLOCK"
			again = append(again, k)
		}
	}
	sort.Slice(again, func(i, j int) bool { return again[i].serial < again[j].serial })
	lk.calls, lk.short, lk.long = nil, 0, 0
	c.queue = append(again, c.queue...)
}

// ---- reading ----

func (lk *link) read() {
	c := lk.client
	for {
		a, err := lk.readLine()
		c.mu.Lock()
		answers := 0
		for now := nowMS(); err == nil && !lk.ended; answers++ {
			lk.heard, lk.pinged = now, 0
			if a != nil {
				c.heard(lk, a, now)
			}
			if !lk.hasLine() {
				break
			}
			a, err = lk.readLine()
		}
		if err != nil || lk.ended {
			why, _ := err.(*Error)
			c.linkBreak(lk, why)
			c.mu.Unlock()
			return
		}
		if answers > 0 && !lk.writing { // several callers go on, and what they ask now goes out together
			lk.writeSoon()
		}
		c.mu.Unlock()
	}
}

func (lk *link) sayBye() {
	if !lk.byeSaid {
		lk.byeSaid = true
		close(lk.bye)
	}
}

// ---- writing ----

// wakeWriter has a goroutine write what is to be written, unless one does already.
func (lk *link) wakeWriter() {
	if lk.writing || len(lk.out) == 0 {
		return
	}
	lk.writing = true
	go func() {
		lk.client.mu.Lock()
		lk.writeSoon()
		lk.client.mu.Unlock()
	}()
}

// writeSoon lets other goroutines that can run add their lines first.
func (lk *link) writeSoon() {
	lk.writing = true
	lk.client.mu.Unlock()
	runtime.Gosched()
	lk.client.mu.Lock()
	lk.writeAll()
}

// writeAll writes the lines that have come together, until there are no more. The client's mutex is held, but not while
// it writes. That does not block for long, since all requests that may be under way fit into the socket's buffer.
func (lk *link) writeAll() {
	for lk.writing = true; len(lk.out) > 0 && !lk.ended; {
		out := lk.out
		lk.out = lk.spare[:0] // two buffers, one of which is being written
		lk.client.mu.Unlock()
		_, err := lk.conn.Write(out)
		lk.client.mu.Lock()
		lk.spare = out
		if err != nil {
			lk.client.linkBreak(lk, &Error{Err: ErrUnreachable, Text: err.Error(), also: err})
		}
	}
	lk.writing = false
}

func (lk *link) write(line string) {
	lk.out = append(lk.out, line...)
	lk.wakeWriter()
}

func (lk *link) send(k *call, now int64) {
	if k.lock != nil && !(k.verb == "RESUME" && !k.own) {
		k.token = k.lock.token
	}
	if k.keep > 0 && !lk.keeps {
		k.keep, k.keepless = 0, true
	}
	if !lk.sample.same && now-lk.helloLast > helloStale {
		lk.sendHello(now) // no lock was held for a while, and the deadline of the next needs a fresh sample
	}
	k.long = k.waitsOn(lk, now)
	*lk.count(k.long)++
	lk.calls[k.serial] = k
	lk.out = k.line(lk.out, now, lk.repeats)
}

func (lk *link) count(long bool) *int {
	if long {
		return &lk.long
	}
	return &lk.short
}

func (lk *link) isFull(k *call, now int64) bool {
	if k.waitsOn(lk, now) {
		return lk.long >= waits
	}
	return lk.short >= window
}

func (lk *link) cancel(k *call) {
	tag := strconv.FormatUint(k.serial, 10)
	lk.write("#c" + tag + " CANCEL " + tag + "\n")
}

func (lk *link) sendHello(now int64) {
	if lk.helloSent != 0 {
		return
	}
	lk.helloSent, lk.helloLast, lk.helloSoon = now, now, false
	lk.write(lk.hello())
}

func (lk *link) forget(k *call) {
	delete(lk.calls, k.serial)
	*lk.count(k.long)--
}

// ---- time ----

func (lk *link) tick(now int64, soon func(int64)) {
	c := lk.client
	if len(lk.calls) > 0 || c.binds(lk) || len(c.watches) > 0 {
		lk.tickPing(now, soon)
	}
	if lk.sample.same || lk.helloSent != 0 || len(c.locks) == 0 {
		return
	}
	due := lk.helloLast + helloHeld
	if lk.helloSoon {
		due = lk.helloLast + helloSoon
	}
	if now >= due {
		lk.sendHello(now)
	} else {
		soon(due)
	}
}

func (lk *link) tickPing(now int64, soon func(int64)) {
	patience := int64(patienceMost)
	for _, l := range lk.client.byToken {
		if l.span/3 < patience {
			patience = l.span / 3
		}
	}
	if patience < patienceLeast {
		patience = patienceLeast
	}
	if half := lk.half.Load(); half > 0 {
		stall := patience
		if stall > stallMost {
			stall = stallMost
		}
		if now-half >= stall {
			go lk.client.linkDown(lk, &Error{Err: ErrUnreachable, Text: "redlockd fell silent within an answer"})
			return
		}
		soon(half + stall)
	}
	switch {
	case lk.pinged == 0 && now-lk.heard < patience:
		soon(lk.heard + patience)
	case lk.pinged == 0:
		lk.pinged = now
		lk.write("#p PING\n")
		soon(now + patience)
	case now-lk.pinged < patience:
		soon(lk.pinged + patience)
	default:
		go lk.client.linkDown(lk, &Error{Err: ErrUnreachable, Text: "redlockd is silent: it does not answer PING"})
	}
}
