package redlockd

import (
	"math/rand"
	"time"
)

// Requests that wait, and time. The client's mutex is held in all functions here but run.

func (c *Client) kick() {
	select {
	case c.kicked <- struct{}{}:
	default:
	}
}

func (c *Client) submit(k *call) {
	c.enqueue(k)
	c.flush(nowMS())
}

func (c *Client) enqueue(k *call) {
	c.serial++
	k.serial = c.serial
	c.queue = append(c.queue, k)
	if !c.running {
		c.running = true
		go c.run()
	}
	if c.link == nil {
		c.kick()
	}
}

// give releases a lock that nobody wants.
func (c *Client) give(name, token string) {
	if c.closed {
		return // QUIT gives back session locks
	}
	k := newCall("UNLOCK", nil, name)
	k.token, k.abandoned, k.giveUp = token, true, nowMS()+milliseconds(c.config.Timeout)
	c.submit(k)
}

// flush sends the calls of the queue that may be sent.
func (c *Client) flush(now int64) {
	c.sendQueued(now)
	if c.link != nil {
		c.link.wakeWriter()
	}
}

func (c *Client) sendQueued(now int64) {
	lk := c.link
	if lk == nil || len(c.queue) == 0 {
		return
	}
	kept := c.queue[:0]
	for _, k := range c.queue {
		if k.needless() {
			continue
		} else if c.mustWait(k, lk, now) {
			kept = append(kept, k)
		} else {
			lk.send(k, now)
		}
	}
	for i := len(kept); i < len(c.queue); i++ {
		c.queue[i] = nil
	}
	c.queue = kept
}

func (c *Client) mustWait(k *call, lk *link, now int64) bool {
	if k.notOn == lk || lk.isFull(k, now) {
		return true
	}
	l := k.lock
	if l == nil || k.verb == "LOCK" || k.verb == "RESUME" {
		return false
	}
	if k.verb == "DATA" && l.link != lk || k.verb == "DOWNGRADE" && (l.link != lk || c.isDowngrading(l)) {
		return true // the lock is resumed there first; the answer of another call may be enough for this one
	}
	// While no RESUME is under way, UNLOCK goes out by the lock's token; EXTEND and CHECK wait for the new token.
	return l.resuming || l.isSession() && l.link == nil && k.verb != "UNLOCK"
}

func (c *Client) failQueue(err *Error) {
	for _, k := range c.queue {
		k.finish(&Error{Err: err.Err, Name: k.name, Text: err.Text, also: err.also})
	}
	c.queue = nil
}

// ---- time; run is the client's own goroutine ----

func (c *Client) run() {
	for {
		c.mu.Lock()
		now := nowMS()
		next := c.tick(now)
		c.wakeAt = next
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return
		}
		timer := time.NewTimer(time.Duration(next-now) * time.Millisecond)
		select {
		case <-c.kicked:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tick does what is due, and returns when to look again.
func (c *Client) tick(now int64) int64 {
	next := now + 60000
	if len(c.locks) > 0 {
		next = now + lookAgain
	}
	soon := func(at int64) {
		if at < next {
			next = at
		}
	}
	for l := range c.locks {
		c.tickLock(l, now, soon)
	}
	for _, w := range c.watches {
		c.tickWatch(w, now, soon)
	}
	c.giveUpLate(now, soon)
	c.dropOld(now, soon)
	if c.unpark(); len(c.parked) > 0 {
		soon(now + lookAgain)
	}
	for lk := range c.links {
		lk.tick(now, soon)
	}
	if c.needsLink() && !c.dialing {
		if now >= c.retryAt {
			c.dialing = true
			go c.dial()
		} else {
			soon(c.retryAt)
		}
	}
	if next < now {
		next = now
	}
	return next
}

// dropOld drops queued requests that nobody waits for and whose time is over, and ends old connections with nothing left.
func (c *Client) dropOld(now int64, soon func(int64)) {
	kept := c.queue[:0]
	for _, k := range c.queue {
		if !k.abandoned || k.giveUp > now {
			kept = append(kept, k)
		}
	}
	c.queue = kept
	for lk := range c.links {
		if lk != c.link && len(lk.calls) == 0 && !c.binds(lk) {
			go c.linkDown(lk, &Error{Err: ErrDraining})
		}
	}
}

// binds reports whether session locks belong to this connection, or, if it is nil, wait to be resumed.
func (c *Client) binds(lk *link) bool {
	for _, l := range c.byToken {
		if l.link == lk {
			return true
		}
	}
	return false
}

func (c *Client) needsLink() bool {
	if c.closed {
		return false
	}
	if c.link == nil {
		return len(c.queue) > 0 || len(c.watches) > 0 || c.binds(nil)
	}
	return c.link.draining && (len(c.queue) > 0 || len(c.watches) > 0 || c.binds(nil) || c.binds(c.link))
}

// backoff is a random time between half of a bound and the bound, which doubles each time. While locks wait to be
// resumed, the bound is at most a quarter of the shortest time that such a lock has left, but never below backoffFirst.
func (c *Client) backoff(now int64) int64 {
	most := int64(backoffMost)
	if shift := c.failures; shift > 0 && shift < 7 && backoffFirst<<(shift-1) < most {
		most = backoffFirst << (shift - 1)
	}
	for _, l := range c.byToken {
		if quarter := (l.deadline.Load() - now) / 4; l.link == nil && quarter < most {
			most = quarter
		}
	}
	if most < backoffFirst {
		most = backoffFirst
	}
	return most/2 + rand.Int63n(most/2+1)
}
