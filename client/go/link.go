package redlockd

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A link is one connection that was greeted. The client's mutex guards all but conn, and in belongs to who reads.
type link struct {
	client    *Client
	conn      net.Conn
	in        []byte        // what has come
	done      int           // so much of it is done with
	reading   bool          // somebody reads: the link's goroutine, or a caller
	led       int           // so many times a caller did
	leader    *call         // its caller reads
	watched   bool          // the link's goroutine is to hear when the caller has read
	takesOver bool          // the link's goroutine has the caller end its reading
	turn      chan struct{} // there is something to read for the link's goroutine
	woken     int           // so many callers who wait have had their answers by what was read last
	prompt    int           // so many answers to calls, one after the other, came within a look
	unheard   int           // so many callers wrote since a line came
	local     bool          // a Unix socket
	out       []byte        // to be written
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
	half      int64            // ms: since when a line is being read that has not come as a whole; 0: none is
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
	lk.conn.SetDeadline(time.Now()) // nobody is to go on reading or writing
	delete(c.links, lk)
	if why.also == nil && c.binds(lk) {
		// Only we have given it up. Its end would give back locks that are about to be resumed.
		c.parked = append(c.parked, lk.conn)
	} else {
		hangUp(lk.conn)
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
	for _, k := range c.calls() {
		if k.verb == "UNLOCK" {
			return
		}
	}
	c.closeParked()
}

func (c *Client) closeParked() {
	for _, conn := range c.parked {
		hangUp(conn)
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

// Who asks, and finds nobody reading and nothing else asked, reads the answer itself: that is one goroutine fewer to wake.
// The link's goroutine reads at all other times: for several callers; where answers take long, so that looking costs more
// than waking; and for none, since redlockd tells of losses and renewals at any time. The client's mutex is held in the
// functions of this section, but not while something is read.

// read is the link's goroutine.
func (lk *link) read() {
	lk.client.mu.Lock()
	defer lk.client.mu.Unlock()
	for !lk.ended {
		lk.reading = true
		lk.receive()
		lk.reading = false
		if lk.woken > 0 && lk.prompt >= promptMany && len(lk.calls) == 0 {
			lk.standBy()
		}
	}
}

// standBy leaves the reading to callers, until none has read for a look or two, or several ask. It stands in for a caller
// who cannot look after the end of its context while it reads.
func (lk *link) standBy() {
	c := lk.client
	for seen := lk.led - 1; !lk.ended; {
		same := lk.led == seen
		seen = lk.led
		if !lk.reading && (same || c.closed || len(lk.calls) > 0) {
			break
		}
		wait, ended := lookMS*time.Millisecond, (<-chan struct{})(nil)
		lk.watched = same
		if same {
			wait, ended = lk.leader.mayLead(), lk.leader.ended
		}
		c.mu.Unlock()
		timer := time.NewTimer(wait)
		over := same
		select {
		case <-lk.turn:
			over = false
		case <-ended:
		case <-timer.C:
		}
		timer.Stop()
		c.mu.Lock()
		if over && lk.reading && lk.led == seen && !lk.ended {
			lk.takesOver = true
			lk.conn.SetReadDeadline(time.Now())
			c.mu.Unlock()
			<-lk.turn
			c.mu.Lock()
		}
	}
	lk.watched, lk.prompt = false, 0
	if lk.takesOver && !lk.ended {
		lk.takesOver = false
		lk.conn.SetReadDeadline(time.Time{})
	}
}

// asksOnly reports whether the call is all that redlockd was asked for and has not answered.
func (lk *link) asksOnly(k *call) bool {
	return len(lk.calls) == 1 && lk.calls[k.serial] == k
}

// lead has the caller of k read until it has its answer, unless somebody else reads.
func (lk *link) lead(k *call) {
	if lk.reading || lk.takesOver {
		return
	}
	lk.reading, lk.leader = true, k
	lk.led++
	for !k.over && lk.calls[k.serial] == k && !lk.ended && !lk.takesOver {
		lk.receive()
	}
	lk.reading, lk.leader = false, nil
	if lk.watched || lk.client.closed || len(lk.calls) > 0 {
		select {
		case lk.turn <- struct{}{}:
		default:
		}
	}
}

// mayLead returns for how long: it is not seen while its caller reads that the time is over.
func (k *call) mayLead() time.Duration {
	left := k.late - nowMS()
	if left > leadMS {
		left = leadMS
	}
	return time.Duration(left) * time.Millisecond
}

// receive waits for something to read, and does what the lines say that have come.
func (lk *link) receive() {
	c := lk.client
	c.mu.Unlock()
	failed := lk.fill()
	c.mu.Lock()
	lk.woken = 0
	for now := nowMS(); !lk.ended; {
		a, whole, err := lk.line()
		if err != nil {
			c.linkBreak(lk, err)
			return
		}
		if !whole {
			break
		}
		lk.heard, lk.pinged, lk.half, lk.unheard = now, 0, 0, 0
		if a.code != "" {
			c.heard(lk, &a, now)
		}
	}
	if failed != nil && !errors.Is(failed, os.ErrDeadlineExceeded) {
		c.linkBreak(lk, failed)
	}
	if lk.half == 0 && len(lk.in) > lk.done {
		lk.half = nowMS()
		c.kick()
	}
	// What several callers ask now goes out together. A single one writes by itself.
	if (lk.woken > 1 || lk.woken > 0 && len(lk.calls) > 0) && !lk.writing {
		lk.writeSoon()
	}
}

// fill reads what has come, or waits for it.
func (lk *link) fill() *Error {
	lk.in, lk.done = lk.in[:copy(lk.in, lk.in[lk.done:])], 0
	n, err := lk.conn.Read(lk.in[len(lk.in):cap(lk.in)])
	lk.in = lk.in[:len(lk.in)+n]
	if err != nil {
		return &Error{Err: ErrUnreachable, Text: "the connection ended: " + err.Error(), also: err}
	}
	return nil
}

// line takes the next line of what was read, if it is whole. An empty line has no code.
func (lk *link) line() (a answer, whole bool, err *Error) {
	rest := lk.in[lk.done:]
	n := bytes.IndexByte(rest, '\n')
	if n >= serverLineBytes || n < 0 && len(rest) >= serverLineBytes {
		return a, false, &Error{Err: ErrProtocol, Text: "a line is longer than 2,048 bytes"}
	}
	if n < 0 {
		return a, false, nil
	}
	lk.done += n + 1
	text := strings.TrimSuffix(string(rest[:n]), "\r")
	if text == "" {
		return a, true, nil
	}
	if a, whole = parseAnswer(text); !whole {
		err = &Error{Err: ErrProtocol, Text: "it said " + text}
	}
	return a, whole, err
}

// hangUp closes a connection, with the client's mutex held. TLS says goodbye first, which may wait for redlockd to read.
func hangUp(conn net.Conn) {
	if _, waits := conn.(*tls.Conn); waits {
		go conn.Close()
	} else {
		conn.Close()
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
// it writes, which blocks where redlockd does not read. So a caller writes only while it is heard of.
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
	k.long, k.sent = k.waitsOn(lk, now), now
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
	if half := lk.half; half > 0 {
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
