package redlockd

import (
	"context"
	"math/rand"
	"strings"
)

const downgradeAfter = 500 // ms: so long after a refusal the client asks again, and up to as much later

// Downgrade makes a writer's lock a reader's, and no other writer gets in between: readers that wait are let in. Fence
// stays, Token is new. It is for a session lock of one name without Slots (else ErrBadArg) that was entered once (else
// ErrMode). A reader's lock stays as it is.
//
// After ErrMode, ErrBadArg, ErrLimit and ErrUnsupported it is a writer's lock as before. After ErrNoQuorum,
// ErrNoAnswer, ErrUnreachable, or an error of the context, it is a reader's, for which other readers may still have to
// wait: too few masters know it yet, or the outcome is open. The client goes on asking, so that the lock never is a
// writer's unawares; call again to hear when it is done. IsShared says what it is.
func (l *Lock) Downgrade(ctx context.Context) error {
	c := l.client
	c.mu.Lock()
	if err := l.mayDowngrade(); err != nil || l.shared {
		c.mu.Unlock()
		return err
	}
	k := newCall("DOWNGRADE", l, l.name)
	k.first, l.reader = !l.reader, true
	return c.ask(ctx, k, c.config.Timeout, 0)
}

// IsShared reports whether this program only reads. That is so from Downgrade on, and for a lock of Attach, of which
// nothing is known.
func (l *Lock) IsShared() bool {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.reader
}

func (l *Lock) mayDowngrade() error {
	switch {
	case !l.isSession() || l.slot >= 0 || strings.Contains(l.name, ","):
		return &Error{Err: ErrBadArg, Name: l.name, Text: "only a session lock of one name without slots is downgraded"}
	case l.err != nil:
		return l.err
	case l.depth > 1:
		return &Error{Err: ErrMode, Name: l.name, Text: "it was entered more than once: unlock it until it is entered once"}
	}
	return nil
}

// The client's mutex is held in the functions below.

// needless ends a queued downgrade of a lock that is over, or a reader's by now: with a reader's token, the same line
// would enter the lock once more.
func (k *call) needless() bool {
	if k.verb != "DOWNGRADE" || k.lock.state == lockHeld && !k.lock.shared {
		return false
	}
	k.finish(k.lock.err)
	return true
}

func (c *Client) downgraded(lk *link, k *call, a *answer, now int64) {
	l := k.lock
	if l.resuming { // by the token before; the answer to that will have another
		c.askAgain(k)
		return
	}
	if c.byToken[l.token] == l {
		delete(c.byToken, l.token)
		c.byToken[a.token] = l
	}
	l.token, l.fence, l.shared = a.token, a.fence, true
	if l.state == lockHeld && l.deadline.Load() <= now {
		c.expire(l) // the answer is late: another may have had the lock in between
	}
	if l.state == lockHeld && l.link == lk {
		c.setUntil(lk, l, a.until, now)
	}
	k.finish(l.err)
}

func (c *Client) notDowngraded(lk *link, k *call, err *Error, now int64) {
	l := k.lock
	switch {
	case err.Err == ErrNotHeld && l.state == lockHeld && (l.resuming || l.link != lk):
		c.askAgain(k) // the lock moves, and the answer to RESUME says what became of it
		return
	case err.Err == ErrNotHeld && l.state == lockHeld:
		c.lose(l, "gone")
	case err.Err == ErrNotHeld:
	case k.first && err.Err != ErrNoQuorum && err.Err != ErrCancelled && err.Err != ErrDraining:
		l.reader = false
	default: // too few masters know yet, or the program was told before that it is a reader
		l.downgradeAt = now + downgradeAfter + rand.Int63n(downgradeAfter)
		c.kick()
	}
	k.finish(err)
}

// askAgain has a downgrade wait until its lock was resumed. Without a caller it is asked then if need be.
func (c *Client) askAgain(k *call) {
	if !k.own && !k.abandoned {
		c.queue = append(c.queue, k)
	}
}

// isDowngrading reports whether redlockd is asked for that now, and the answer is waited for.
func (c *Client) isDowngrading(l *Lock) bool {
	for lk := range c.links {
		for _, k := range lk.calls {
			if k.lock == l && k.verb == "DOWNGRADE" && !k.abandoned {
				return true
			}
		}
	}
	return false
}

// downgradeAgain asks for what the program was told: too few masters know it, or redlockd has the lock as a writer's all
// the same.
func (c *Client) downgradeAgain(l *Lock) {
	if !l.reader || l.shared || l.state != lockHeld || c.isDowngrading(l) {
		return
	}
	for _, k := range c.queue {
		if k.lock == l && k.verb == "DOWNGRADE" {
			return
		}
	}
	k := newCall("DOWNGRADE", l, l.name)
	k.own = true
	c.submit(k)
}
