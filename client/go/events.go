package redlockd

import (
	"math/rand"
	"strconv"
)

// Lines of redlockd, and what they do to requests and locks. The client's mutex is held in all functions here.

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
			if lk.prompt++; now-k.sent >= lookMS {
				lk.prompt = 0
			}
			if k.done != nil {
				lk.woken++
			}
			c.answered(lk, k, a, now)
			c.flush(now)
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
		k.finish(err)
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
		k.finish(&Error{Err: ErrUnsupported, Name: k.name, Text: "this redlockd keeps no names: the lock is given back, and the name is free"})
	default:
		k.finish(nil)
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
	k.finish(nil)
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
		k.finish(l.err)
		return
	}
	if k.verb == "EXTEND" && k.ttl > 0 {
		l.options.ttl = k.ttl
	}
	c.setUntil(lk, l, a.until, now)
	k.finish(nil)
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
		k.finish(err)
	case k.proves() && err.Err == ErrNotHeld && l.state == lockHeld && k.token != l.token:
		c.queue = append(c.queue, k) // the lock was resumed meanwhile
	case k.unsure && err.Err == ErrNotHeld:
		text := "the connection ended before the answer: the lock is free now"
		if k.keep > 0 {
			text = "the connection ended before the answer: the lock is free, or the name is kept"
		}
		k.finish(&Error{Err: ErrNoAnswer, Name: k.name, Text: text})
	case k.verb == "LOCK" && err.Err == ErrBusy && k.waitUntil > 0:
		err.Err = ErrTimeout // connecting has used up the wait
		fallthrough
	default:
		if k.proves() && err.Err == ErrNotHeld && l.state == lockHeld {
			c.lose(l, "gone")
		}
		k.finish(err)
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
	if !l.resuming {
		return
	}
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
