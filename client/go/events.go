package redlockd

import (
	"math/rand"
	"strconv"
)

// Lines of redlockd, and what they and the clock do to locks. The client's mutex is held in all functions here.

func (c *Client) heard(lk *link, a *answer, now int64) {
	switch {
	case a.code[0] == '!':
		c.event(lk, a, now)
	case c.closed:
		if a.code == "+BYE" {
			lk.sayBye()
		}
	case a.tag == "":
		why := &Error{Err: ErrProtocol, Text: "an answer without a tag: " + a.text}
		if a.code == "-LIMIT" {
			why = &Error{Err: ErrUnreachable, Text: a.text} // there are too many clients, and redlockd closes the connection
		}
		c.linkBreak(lk, why)
	case a.tag == "h":
		if a.code != "+HELLO" || lk.helloSent == 0 {
			c.linkBreak(lk, &Error{Err: ErrProtocol, Text: "HELLO was answered " + a.text})
			return
		}
		c.greeted(lk, a, now)
	default:
		serial, err := strconv.ParseUint(a.tag, 10, 64)
		if k := lk.calls[serial]; k != nil && a.code == "*" && grants[k.verb] == "+END" {
			k.rows = append(k.rows, rowOf(a.text))
		} else if k != nil && err == nil { // else the answer to PING, CANCEL, or a call given up
			lk.forget(k)
			c.answered(lk, k, a, now)
			c.flush()
			if lk.crowded {
				lk.crowded = false
				c.kick()
			}
		}
	}
}

func (c *Client) greeted(lk *link, a *answer, now int64) {
	sent := lk.helloSent
	lk.helloSent = 0
	c.isBehind(lk, a.behind)
	lk.repeats, lk.keeps = a.hasFeature("resume-wait"), a.hasFeature("keep")
	slow := lk.greetings > 0 && lk.greetings <= helloRepeats && now-sent > helloSlow
	lk.refuted = lk.refuted || lk.sample.isRefuted(a.now, now) || lk.greetings > 0 && c.before.isRefuted(a.now, now)
	lk.sample.take(sent, a.now, now, lk.local)
	lk.greetings++
	if !slow {
		lk.greetings = 0
	} else {
		lk.sendHello(now)
	}
	if !lk.refuted {
		return // deadlines move only where a clock was shown to have stood still
	}
	told := &lk.sample
	if lk.refuted = slow; slow {
		told = proved(a.now, now) // until the clock is told
	}
	for l := range c.locks {
		if l.toldBy == lk.daemon {
			c.earlier(l, l.deadline.Load()-l.deadlineBy(told, now))
		}
	}
}

// isBehind shifts every deadline that this daemon has told: its clock had stood still, which it only found out later.
func (c *Client) isBehind(lk *link, behind int64) {
	grown := behind - lk.daemon.behind
	if grown <= 0 {
		return
	}
	lk.daemon.behind = behind
	lk.helloSoon = true
	for l := range c.locks {
		if l.toldBy == lk.daemon {
			l.until -= grown
			c.earlier(l, grown)
		}
	}
	c.kick()
}

// ---- answers ----

var grants = map[string]string{
	"LOCK": "+LOCKED", "RESUME": "+LOCKED", "DOWNGRADE": "+LOCKED", "UNLOCK": "+UNLOCKED", "EXTEND": "+EXTENDED",
	"CHECK": "+HELD", "DATA": "+DATA", "WHO": "+END", "SHOW": "+END", "WATCH": "+WATCHING", "UNWATCH": "+OK",
}

// isGrantedBy reports whether this is what redlockd answers if it does what the call asks for.
func (k *call) isGrantedBy(a *answer) bool {
	code := grants[k.verb]
	if k.keep > 0 {
		code = "+KEPT"
	}
	return a.code == code && (a.name == k.name || code == "+END" || code == "+OK")
}

func (c *Client) answered(lk *link, k *call, a *answer, now int64) {
	switch {
	case a.code[0] == '-':
		c.refused(lk, k, a, now)
	case !k.isGrantedBy(a):
		err := &Error{Err: ErrProtocol, Name: k.name, Text: k.verb + " was answered " + a.text}
		if k.own && k.verb == "RESUME" {
			k.lock.resuming = false
		}
		k.finish(nil, err)
		c.linkBreak(lk, err)
	case k.verb == "LOCK" || k.verb == "RESUME":
		c.granted(lk, k, a, now)
	case k.verb == "DOWNGRADE":
		c.downgraded(lk, k, a, now)
	case k.verb == "WATCH":
		c.watching(lk, k, a)
	case k.verb == "EXTEND" || k.verb == "CHECK":
		c.proved(lk, k, a, now)
	case k.keepless:
		k.finish(nil, &Error{Err: ErrUnsupported, Name: k.name, Text: "this redlockd keeps no names: the lock is given back, and the name is free"})
	default:
		k.finish(a, nil)
	}
}

func (c *Client) granted(lk *link, k *call, a *answer, now int64) {
	l := k.lock
	if k.own {
		l.resuming = false
		delete(c.byToken, l.token)
		l.token = a.token // an UNLOCK that waits for the answer goes out by the new token
		if l.state == lockHeld && l.deadline.Load() <= now {
			c.lose(l, "expired") // the answer is late: another may have had the lock in between
		}
	}
	if k.abandoned || l.state == lockOver && !c.unlocks(l) {
		c.give(k.name, a.token) // nobody wants the lock any more
		return
	}
	if l.state == lockOver {
		return
	}
	l.state, l.token, l.fence, l.slot = lockHeld, a.token, a.fence, a.slot
	if !k.own && l.options.max > 0 {
		l.maxUntil = now + l.options.max
	}
	if !k.own && l.options.atLeast > 0 {
		l.keepUntil = now + l.options.atLeast
	}
	l.shared = l.shared || a.mode == "shared"
	l.reader = l.reader || l.shared
	c.locks[l] = struct{}{}
	if l.isSession() {
		l.link = lk
		c.byToken[l.token] = l
	}
	c.setUntil(lk, l, a.until, now)
	lk.helloSoon = true
	k.finish(a, nil)
	if k.own {
		c.happened("resumed", "lock", l.name, "fence", l.fence)
		c.downgradeAgain(l)
	}
}

// unlocks reports whether an UNLOCK of this lock waits in the queue.
func (c *Client) unlocks(l *Lock) bool {
	for _, k := range c.queue {
		if k.lock == l && k.verb == "UNLOCK" {
			return true
		}
	}
	return false
}

func (c *Client) proved(lk *link, k *call, a *answer, now int64) {
	l := k.lock
	if deadline := l.deadline.Load(); l.state == lockHeld && deadline > 0 && deadline <= now {
		c.expire(l) // the answer is late: another may have had the lock in between
	}
	if l.state != lockHeld {
		k.finish(nil, l.err)
		return
	}
	if k.verb == "EXTEND" && k.ttl > 0 {
		l.options.ttl = k.ttl
	}
	c.setUntil(lk, l, a.until, now)
	k.finish(a, nil)
}

func (c *Client) refused(lk *link, k *call, a *answer, now int64) {
	l := k.lock
	err := refusal(k.name, a)
	if err.Err == ErrDraining {
		lk.draining = true
		c.kick()
	}
	switch {
	case k.verb == "DOWNGRADE":
		c.notDowngraded(lk, k, err, now)
	case k.watch != nil:
		c.notWatching(k, err, now)
	case k.own:
		c.notResumed(lk, l, err, now)
	case k.verb == "LOCK" && err.Err == ErrDraining && !k.abandoned && k.waits(now):
		k.notOn = lk // the wait goes on at the next redlockd
		c.queue = append([]*call{k}, c.queue...)
	case k.keep > 0 && err.Err != ErrNotHeld && err.Err != ErrNoQuorum: // nothing was done
		c.give(k.name, k.token)
		k.finish(nil, err)
	case k.proves() && err.Err == ErrNotHeld && l.state == lockHeld && k.token != l.token:
		c.queue = append(c.queue, k) // the lock was resumed meanwhile
	case k.verb == "LOCK" && err.Err == ErrBusy && k.waitUntil > 0:
		err.Err = ErrTimeout // connecting has used up the wait
		fallthrough
	default:
		if k.proves() && err.Err == ErrNotHeld && l.state == lockHeld {
			c.lose(l, "gone")
		}
		k.finish(nil, err)
	}
}

// notResumed asks again while there is time, or gives the lock up.
func (c *Client) notResumed(lk *link, l *Lock, err *Error, now int64) {
	l.resuming = false
	if l.state != lockHeld {
		return // the lock was lost or unlocked meanwhile; a queued UNLOCK goes out now
	}
	switch err.Err {
	case ErrNotHeld:
		if l.notHeldAt == 0 {
			l.notHeldAt = now
		}
		if lk.repeats || now-l.notHeldAt >= notHeldSpan {
			c.lose(l, "gone")
		}
	case ErrDraining:
		l.notOn = lk
	case ErrNoQuorum, ErrLimit:
	default:
		c.lose(l, "refused")
	}
	l.retryAt = now + resumeAgain + rand.Int63n(resumeJitter)
	c.kick()
}

// cancelResume is for a lock that is given back while redlockd repeats its RESUME.
func (c *Client) cancelResume(l *Lock) {
	for lk := range c.links {
		for _, k := range lk.calls {
			if k.lock == l && k.own && k.verb == "RESUME" && lk.repeats {
				lk.cancel(k)
			}
		}
	}
}

// ---- events ----

func (c *Client) event(lk *link, a *answer, now int64) {
	switch a.code {
	case "!DRAIN":
		lk.draining = true
		c.kick()
		return
	case "!CLOCK":
		c.isBehind(lk, a.behind)
		return
	case "!NOW":
		for _, w := range c.watches {
			if w.name == a.name && w.link == lk {
				w.tell(a)
			}
		}
		return
	}
	l := c.byToken[a.token]
	if l == nil || l.name != a.name || l.resuming || l.link != lk {
		return // about another lock, or about a lock that is moving: the answer to RESUME tells
	}
	switch a.code {
	case "!RENEWED":
		c.setUntil(lk, l, a.until, now)
	case "!EXPIRING":
		c.warn(l)
	case "!LOST":
		if a.reason == "drain" { // the lock's keys are still there, so it can be resumed at the next redlockd
			c.detach(l)
			l.notOn = lk
			lk.draining = true
			c.kick()
		} else {
			c.lose(l, a.reason)
		}
	}
}

// ---- a lock's time ----

// deadlineBy returns the deadline on our clock, which is at most the longest duration of the protocol away.
func (l *Lock) deadlineBy(s *sample, now int64) int64 {
	deadline := s.deadline(l.until)
	if deadline < 1 {
		return 1
	}
	if most := now + milliseconds(durationMax); deadline > most {
		return most
	}
	return deadline
}

func (c *Client) setUntil(lk *link, l *Lock, until, now int64) {
	before := l.deadline.Load()
	longer := before == 0 || l.toldBy != lk.daemon || until > l.until
	l.until, l.toldBy = until, lk.daemon
	deadline := l.deadlineBy(&lk.sample, now)
	if !longer && before < deadline {
		deadline = before // another sample of the clock is no renewal
	}
	if l.span = deadline - now; l.span < 0 {
		l.span = 0
	}
	l.warned, l.overAt = false, 0
	l.deadline.Store(deadline)
	if deadline-l.span/3 < c.wakeAt {
		c.kick()
	}
}

func (c *Client) earlier(l *Lock, by int64) {
	deadline := l.deadline.Load()
	if by <= 0 || deadline == 0 {
		return
	}
	if deadline -= by; deadline < 1 {
		deadline = 1
	}
	l.deadline.Store(deadline)
	c.kick()
}

func (c *Client) tickLock(l *Lock, now int64, soon func(int64)) {
	deadline := l.deadline.Load()
	if deadline == 0 {
		return
	}
	if deadline <= now {
		if lookAt := c.readFirst(l, now); lookAt > now {
			soon(lookAt)
		} else {
			c.expire(l)
		}
		return
	}
	soon(deadline)
	if warnAt := deadline - l.span/3; !l.warned && warnAt <= now {
		c.warn(l)
	} else if !l.warned {
		soon(warnAt)
	}
	if at := l.downgradeAt; at > now {
		soon(at)
	} else if at > 0 {
		l.downgradeAt = 0
		c.downgradeAgain(l)
	}
	if !l.isSession() || c.link == nil || l.link == c.link || l.resuming || l.notOn == c.link || c.busy(l) {
		return
	}
	if l.retryAt > now {
		soon(l.retryAt)
		return
	}
	k := newCall("RESUME", l, l.name)
	k.own = true
	if c.link.isFull(k, now) {
		c.link.crowded = true
		return
	}
	l.resuming = true
	c.serial++
	k.serial = c.serial
	c.link.send(k, now)
	c.link.wakeWriter()
}

// readFirst returns when to judge a lock whose time is over. After a pause of this program (SIGSTOP, a virtual machine
// that stood still), a renewal may have come that no goroutine has read yet.
func (c *Client) readFirst(l *Lock, now int64) int64 {
	paused := l.isSession() && c.link != nil && l.link == c.link && now-l.deadline.Load() > pauseMS
	if l.overAt == 0 && paused {
		l.overAt = now
	}
	if l.overAt == 0 {
		return now
	}
	return l.overAt + readMS
}

// busy reports whether a request about the lock is under way, and its caller waits. It shows the lock's token, which
// RESUME would replace; and the answer to a downgrade has a new one.
func (c *Client) busy(l *Lock) bool {
	for lk := range c.links {
		for _, k := range lk.calls {
			if k.lock == l && !k.abandoned {
				return true
			}
		}
	}
	return false
}

func (c *Client) warn(l *Lock) {
	l.warned = true
	select {
	case l.expiring <- struct{}{}:
	default:
	}
}

func (c *Client) detach(l *Lock) {
	l.link, l.retryAt, l.notHeldAt = nil, 0, 0
}

// expire ends a lock whose time is over. redlockd may just have renewed a session lock, and is to let go of it too.
func (c *Client) expire(l *Lock) {
	there := l.isSession() && l.link != nil
	reason := "expired"
	if l.maxUntil > 0 && nowMS() >= l.maxUntil-l.options.max/50-50 {
		reason = "max" // as redlockd says at about the same moment
	}
	c.lose(l, reason)
	if there {
		c.give(l.name, l.token)
	}
}

func (c *Client) lose(l *Lock, reason string) {
	if l.state == lockHeld && reason != "closed" {
		c.happened("lost", "lock", l.name, "reason", reason)
	}
	c.end(l, &Error{Err: ErrLost, Name: l.name, Reason: reason})
	kept := c.queue[:0]
	for _, k := range c.queue {
		if k.lock == l {
			k.finish(nil, l.err)
		} else {
			kept = append(kept, k)
		}
	}
	c.queue = kept
}

func (c *Client) end(l *Lock, err error) {
	if l.state == lockOver {
		return
	}
	l.state, l.err = lockOver, err
	l.deadline.Store(0)
	delete(c.locks, l)
	if c.byToken[l.token] == l {
		delete(c.byToken, l.token)
	}
	l.cancel()
}
