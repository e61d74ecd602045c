package redlockd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	connectTimeout = 5 * time.Second
	closeTimeout   = 2 * time.Second
	window         = 48           // requests under way that are answered at once: fewer than the 64 that redlockd spares
	waits          = 256 - window // and that may wait: fewer than max_waits_per_client
	inBytes        = 16384        // of what is read at once: at least a line of redlockd, and room for another
	unheardMany    = 16           // after so many requests without any line no caller writes by itself
	promptMany     = 8            // after so many prompt answers the next callers read for themselves
	helloRepeats   = 3            // so often a first HELLO that was slow to be answered is repeated

	// All in ms.
	backoffFirst  = 20
	backoffMost   = 1000
	stable        = 1000  // a connection that lasted so long was no failure
	patienceMost  = 10000 // silence of redlockd before PING, and again before the connection is given up
	patienceLeast = 1000  // the same with the shortest TTLs: the machine may be just busy
	pauseMS       = 20    // a look at a deadline that comes so late shows that this program was paused
	readMS        = 50    // and so long later, what had come meanwhile is read
	stallMost     = 5000  // silence within an answer
	resumeAgain   = 20    // the least pause before another RESUME, and how much more it may be
	resumeJitter  = 30
	notHeldSpan   = 100   // for so long RESUME is asked again after -NOTHELD: other daemons learn of a token later
	helloSlow     = 50    // a first HELLO that took longer may have lain in a backlog
	helloHeld     = 1000  // after so long HELLO is said again while a lock is held, if redlockd reads another clock
	helloSoon     = 100   // the same after a lock was granted or the daemon's clock stood still
	helloStale    = 10000 // a HELLO that is older is said again before a request
	lookMS        = 2     // so often the link's goroutine looks whether callers go on reading for themselves
	leadMS        = 50    // after so long it reads for a caller that waits
	lookAgain     = 250   // deadlines count sleep, and Go's timers may not: look at deadlines so often
)

// A Client is one connection to redlockd, made at the first request and made anew when it breaks. All of its methods
// may be called from any goroutine, and one Client is enough for a program: requests of all goroutines run side by
// side on it.
type Client struct {
	config  Config
	targets []target

	kicked chan struct{}
	ctx    context.Context // until Close
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	running  bool
	dialing  bool
	everUp   bool
	failures uint
	why      *Error // the error of the last failing connection
	retryAt  int64  // ms: no connecting before
	wakeAt   int64  // ms: when run looks again
	serial   uint64
	link     *link              // where requests go; nil: none
	links    map[*link]struct{} // it, and older links that drain
	parked   []net.Conn         // connections that were given up, and whose end would give back locks
	queue    []*call            // calls that wait for a connection, for room, or for a RESUME
	locks    map[*Lock]struct{} // held, or to be resumed
	byToken  map[string]*Lock   // session locks among them
	watches  []*watch           // in the order in which they were begun
	before   sample             // of the connection before
	daemon   *daemon            // of the last connection
	toTell   []func()           // for the hooks
	telling  bool
}

// A daemon is a run of redlockd, with its behind= as it was told last. Each until= is a time on the clock of a daemon.
type daemon struct{ behind int64 }

// Open makes a client. It does not connect yet: the first request does. An error is ErrBadArg or ErrUsage, about the
// configuration or the environment.
func Open(config Config) (*Client, error) {
	if config.Client != "" && !isWord(config.Client, wordBytes) || config.Timeout < 0 {
		return nil, &Error{Err: ErrBadArg, Text: "Client is one word, and Timeout not negative"}
	}
	if config.Timeout == 0 {
		config.Timeout = 10 * time.Second
	}
	targets, err := config.resolve()
	if err != nil {
		return nil, &Error{Err: ErrUsage, Text: err.Error(), also: err}
	}
	c := &Client{config: config, targets: targets, kicked: make(chan struct{}, 1), links: map[*link]struct{}{},
		locks: map[*Lock]struct{}{}, byToken: map[string]*Lock{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Lock takes a lock and waits for it while another has it: until ctx ends, and with Wait for so long at most. When
// the connection breaks meanwhile, the request is made again. If ctx ends first, nothing is left behind: a grant that
// comes all the same is given back.
//
// Errors: ErrTimeout (also context.DeadlineExceeded, if the context's deadline ended the wait), ErrCancelled (also
// context.Canceled), ErrNoQuorum, ErrUnreachable (at once if redlockd has never answered), and the others.
func (c *Client) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	if !isWord(name, nameBytes) {
		return nil, badName(name)
	}
	return c.take(ctx, name, opts)
}

// TryLock takes a lock if nobody has it; else the error is ErrBusy.
func (c *Client) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.Lock(ctx, name, append(opts[:len(opts):len(opts)], Wait(0))...)
}

// LockAll takes several locks at once, all or none, as one lock with one token and one fence: at most 16 names, and 800
// bytes. It waits as Lock does; with Wait(0) not at all. A redlockd without such locks answers ErrUnsupported.
func (c *Client) LockAll(ctx context.Context, names []string, opts ...LockOption) (*Lock, error) {
	for _, name := range names {
		if !isWord(name, nameBytes) {
			return nil, badName(name)
		}
	}
	all := strings.Join(names, ",")
	if !isNames(all) {
		return nil, badName(all)
	}
	return c.take(ctx, all, opts)
}

// Resume takes over a lock of which this program has the token, a lease or not, and from then on it belongs to this
// client and is renewed. Token and fence become new, and the former holder loses it. Wait and Lease mean nothing here.
func (c *Client) Resume(ctx context.Context, name, token string, opts ...LockOption) (*Lock, error) {
	l, err := newLock(c, name, opts)
	if err == nil && !(isNames(name) && isToken(token)) {
		err = &Error{Err: ErrBadArg, Name: name, Text: "a name and a token of 40 hex digits are needed"}
	}
	if err != nil {
		return nil, err
	}
	l.options.lease = false
	k := newCall("RESUME", l, name)
	k.token = token
	return c.taken(ctx, k, c.config.Timeout)
}

// Attach makes a Lock of a token from elsewhere, to extend, check or unlock it; nobody is asked, and nothing is known
// of it: Valid is 0 until Extend or Check.
func (c *Client) Attach(name, token string) (*Lock, error) {
	if !isNames(name) || !isToken(token) {
		return nil, &Error{Err: ErrBadArg, Name: name, Text: "a name and a token of 40 hex digits are needed"}
	}
	l, _ := newLock(c, name, []LockOption{Lease()})
	l.state, l.token = lockHeld, token
	l.reader = true // that is not known, and a reader may do less
	c.mu.Lock()
	defer c.mu.Unlock()
	c.locks[l] = struct{}{}
	return l, nil
}

func badName(name string) error {
	return &Error{Err: ErrBadArg, Text: "a name has 1 to 200 printable ASCII characters, no space , \" or = and neither # nor : in front"}
}

func (c *Client) take(ctx context.Context, name string, opts []LockOption) (*Lock, error) {
	l, err := newLock(c, name, opts)
	if err != nil {
		return nil, err
	}
	o := &l.options
	if o.reentrant {
		if l, ok := ctx.Value(lockKey{c, name}).(*Lock); ok {
			if entered, err := c.again(l, *o); err != nil {
				return nil, err
			} else if entered {
				return l, nil
			}
		}
	}
	if ctx.Err() != nil {
		return nil, contextError(ctx, name)
	}
	wait, byContext := durationMax, false
	if o.waitGiven {
		wait = o.wait
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		wait, byContext = time.Until(deadline), true
	}
	k := newCall("LOCK", l, name)
	if wait > 0 {
		k.waitUntil = nowMS() + milliseconds(wait)
	}
	l, err = c.taken(ctx, k, wait+c.config.Timeout)
	var refused *Error
	if byContext && errors.As(err, &refused) && refused.Err == ErrTimeout {
		refused.also = context.DeadlineExceeded // redlockd's clock was a little faster than the context's
	}
	return l, err
}

// again enters a lock that the task has already. A reader does not enter as a writer.
func (c *Client) again(l *Lock, o options) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.state != lockHeld || l.Valid() == 0 {
		return false, nil
	}
	if l.reader != (o.mode == "shared") || l.options.slots != o.slots {
		return false, &Error{Err: ErrMode, Name: l.name, Text: "the task has it in another mode: unlock it first"}
	}
	l.depth++
	return true, nil
}

func (c *Client) taken(ctx context.Context, k *call, limit time.Duration) (*Lock, error) {
	c.mu.Lock()
	if err := c.ask(ctx, k, limit, 0); err != nil {
		return nil, err
	}
	return k.lock, nil
}

// Do takes the lock as Lock does, calls work, and gives the lock back. The context of work ends when ctx does or when
// the lock is lost. Do returns what work returned, also if the release failed; but if work returned nil and the lock
// was lost, ErrLost, and if AtLeast failed, its error.
func (c *Client) Do(ctx context.Context, name string, work func(context.Context, *Lock) error, opts ...LockOption) (err error) {
	l, err := c.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	inside, cancel := l.during(ctx, nil)
	defer func() { // also when work panics
		cancel()
		if lost := l.Unlock(ctx); err == nil && (errors.Is(lost, ErrLost) || l.options.atLeast > 0) {
			err = lost
		}
	}()
	err = work(inside, l)
	return err
}

// Close gives back all locks but leases: it says QUIT and reads to +BYE, for 2 s at most. Every lock of this client,
// leases too, counts as lost from then on, and every request fails with ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	for l := range c.locks {
		c.lose(l, "closed")
	}
	for _, w := range c.watches {
		c.endWatch(w, &Error{Err: ErrClosed, Name: w.name})
	}
	var links []*link
	for lk := range c.links {
		for _, k := range lk.calls {
			k.finish(&Error{Err: ErrClosed, Name: k.name})
		}
		lk.calls = map[uint64]*call{}
		lk.write("#q QUIT\n")
		links = append(links, lk)
	}
	c.failQueue(&Error{Err: ErrClosed})
	c.closeParked()
	c.kick()
	c.mu.Unlock()
	c.cancel()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	for _, lk := range links {
		select {
		case <-lk.bye:
		case <-timer.C:
		}
		c.linkDown(lk, &Error{Err: ErrClosed})
	}
	return nil
}
