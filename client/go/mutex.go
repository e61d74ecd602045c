package redlockd

import (
	"context"
	"sync"
	"time"
)

// A Mutex is a sync.Locker on a name, for code that takes a sync.Locker. It is the weaker way: Lock cannot say that it
// failed, and nothing tells the code that the lock was lost while it works. If you can, use Client.Lock or Client.Do;
// here Held gives the Lock, with its Fence and Context.
type Mutex struct {
	client *Client
	name   string
	opts   []LockOption
	mu     sync.Mutex
	held   *Lock
}

var _ sync.Locker = (*Mutex)(nil)

const mutexPause = 100 * time.Millisecond

// Mutex makes a sync.Locker of a name. Other goroutines of this program, other Mutexes and other programs are kept
// out alike.
func (c *Client) Mutex(name string, opts ...LockOption) *Mutex {
	return &Mutex{client: c, name: name, opts: opts}
}

// Lock waits until the lock is had, through failures of masters, redlockd and network. It panics if waiting would never
// help: ErrBadArg, ErrClosed, ErrUsage, ErrAuth, ErrDenied, ErrUnsupported.
func (m *Mutex) Lock() {
	for {
		l, err := m.client.Lock(context.Background(), m.name, m.opts...)
		if err == nil {
			m.mu.Lock()
			m.held = l
			m.mu.Unlock()
			return
		}
		if isHopeless(err) {
			panic(err)
		}
		time.Sleep(mutexPause)
	}
}

// Unlock gives the lock back, and panics if it was not locked. It does not say whether the lock was lost before.
func (m *Mutex) Unlock() {
	m.mu.Lock()
	l := m.held
	m.held = nil
	m.mu.Unlock()
	if l == nil {
		panic("redlockd: unlock of unlocked Mutex " + m.name)
	}
	_ = l.Unlock(context.Background())
}

// Held returns the lock between Lock and Unlock, else nil.
func (m *Mutex) Held() *Lock {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}
