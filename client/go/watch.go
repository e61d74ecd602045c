package redlockd

import (
	"context"
	"math/rand"
)

const (
	watchBuffer = 16   // so many states wait for a slow receiver; then the oldest is left out
	watchAgain  = 1000 // ms: the most before WATCH is asked again after a refusal that may pass
)

// A State says who has a name.
type State struct {
	State string // "held", "free", "kept" (by UnlockKeep) or "unknown": too few masters answered
	Mode  string // "shared", or ""
	Fence uint64 // of a holder that tells Data; else 0
	Host  string // the holder's redlockd runs there; "" if that is not known
	Data  string // what the holder tells, see Data; trust it no further than that client
	Err   error  // not nil in the last value only: why the watch has ended, if its context has not
}

// A watch is one call of Watch. The client's mutex guards it.
type watch struct {
	name    string
	states  chan State
	ended   chan struct{}
	done    <-chan struct{} // the program watches no more
	last    State
	link    *link // the connection on which redlockd tells it; nil: none
	asked   bool  // WATCH is under way
	over    bool
	retryAt int64 // ms
}

// Watch tells who has a name, without taking it: the present state at once, and each change of it, until ctx ends. Then
// the channel is closed. Between two states there may have been others. When the connection breaks, the client watches
// again by itself, and tells the state if it is another by then. Errors: as of Who, and ErrLimit.
func (c *Client) Watch(ctx context.Context, name string) (<-chan State, error) {
	if !isWord(name, nameBytes) {
		return nil, badName(name)
	}
	if ctx.Err() != nil {
		return nil, contextError(ctx, name)
	}
	w := &watch{name: name, states: make(chan State, watchBuffer), ended: make(chan struct{}), done: ctx.Done(), asked: true}
	k := newCall("WATCH", nil, name)
	k.watch = w
	c.mu.Lock()
	c.watches = append(c.watches, w)
	if err := c.ask(ctx, k, c.config.Timeout, 0); err != nil {
		c.mu.Lock()
		c.endWatch(w, nil)
		c.mu.Unlock()
		return nil, err
	}
	go func() {
		select {
		case <-ctx.Done():
			c.mu.Lock()
			c.endWatch(w, nil)
			c.mu.Unlock()
		case <-w.ended:
		}
	}()
	return w.states, nil
}

// The client's mutex is held in the functions below.

func (w *watch) tell(a *answer) {
	now := State{State: a.state, Mode: a.mode, Host: a.host, Data: a.data}
	if a.fence > 0 {
		now.Fence = uint64(a.fence)
	}
	if now != w.last {
		w.last = now
		w.send(now)
	}
}

// send never blocks: this is the only sender, under the mutex.
func (w *watch) send(s State) {
	select {
	case <-w.done:
		return
	default:
	}
	select {
	case w.states <- s:
		return
	default:
	}
	select {
	case <-w.states:
	default:
	}
	w.states <- s
}

// watching is the answer to WATCH, which is good for all who watch the name.
func (c *Client) watching(lk *link, k *call, a *answer) {
	k.watch.asked = false
	for _, w := range c.watches {
		if w.name == k.name {
			w.link = lk
			w.tell(a)
		}
	}
	k.finish(nil)
}

// notWatching ends the watch, unless the client asked by itself, on a new connection, and the refusal may pass.
func (c *Client) notWatching(k *call, err *Error, now int64) {
	k.watch.asked = false
	if k.own && (err.Err == ErrLimit || err.Err == ErrDraining || err.Err == ErrNoQuorum) {
		k.watch.retryAt = now + watchAgain/2 + rand.Int63n(watchAgain/2)
		c.kick()
	} else {
		c.endWatch(k.watch, err)
	}
	k.finish(err)
}

// tickWatch has redlockd tell the name on the present connection.
func (c *Client) tickWatch(w *watch, now int64, soon func(int64)) {
	if c.link == nil || w.link == c.link {
		return
	}
	for _, other := range c.watches {
		if other.asked && other.name == w.name {
			return // the answer will be good for both
		}
	}
	if w.retryAt > now {
		soon(w.retryAt)
		return
	}
	k := newCall("WATCH", nil, w.name)
	k.watch, k.own, w.asked = w, true, true
	c.submit(k)
}

// endWatch ends it, and has redlockd tell the name no more if it was the last of that name. err may be nil.
func (c *Client) endWatch(w *watch, err error) {
	if w.over {
		return
	}
	w.over = true
	kept, others := make([]*watch, 0, len(c.watches)), false
	for _, other := range c.watches {
		if other != w {
			kept, others = append(kept, other), others || other.name == w.name
		}
	}
	c.watches = kept
	if err != nil {
		w.send(State{State: "unknown", Err: err})
	}
	close(w.states)
	close(w.ended)
	if !others && !c.closed && c.link != nil && (w.asked || w.link == c.link) {
		k := newCall("UNWATCH", nil, w.name)
		k.abandoned, k.giveUp = true, nowMS()+milliseconds(c.config.Timeout)
		c.submit(k)
	}
}
