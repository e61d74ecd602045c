package redlockd

// A lock's time, its way to another connection, and its end. The client's mutex is held in all functions here.

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
	case l.warnings() <- struct{}{}:
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
			k.finish(l.err)
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
	if l.cancel != nil {
		l.cancel()
	}
}
