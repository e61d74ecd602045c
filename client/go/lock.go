package redlockd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

type options struct {
	ttl, max   int64 // ms; 0: not given
	wait       time.Duration
	waitGiven  bool
	lease      bool
	note, mode string
	data       string
	atLeast    int64 // ms
	slots      int64
	reentrant  bool
	bad        string // why the options are not allowed; "": they are
}

// A LockOption is an argument of Client.Lock and of the other methods that take or resume a lock.
type LockOption func(*options)

func (o *options) duration(d time.Duration, what string) int64 {
	if d <= 0 || d > durationMax {
		o.bad = what + " has to be more than 0 and at most 720h"
	}
	return milliseconds(d)
}

// TTL is how long the masters keep the lock if nobody renews it; redlockd renews all but leases while this program is
// connected. Default: redlockd's default_ttl. It bounds how long others wait when this program's host dies.
func TTL(d time.Duration) LockOption { return func(o *options) { o.ttl = o.duration(d, "TTL") } }

// Wait bounds how long Lock waits while another has the lock, besides its context. Wait(0) does not wait.
func Wait(d time.Duration) LockOption {
	return func(o *options) {
		o.wait, o.waitGiven = d, true
		if d < 0 || d > durationMax {
			o.bad = "Wait has to be 0 to 720h"
		}
	}
}

// Max is for how long the lock may be renewed: then it is lost, whatever the program does.
func Max(d time.Duration) LockOption { return func(o *options) { o.max = o.duration(d, "Max") } }

// Note is a word of at most 64 bytes that SHOW LOCKS tells.
func Note(word string) LockOption {
	return func(o *options) {
		if o.note = word; !isWord(word, wordBytes) {
			o.bad = "a note is one word of 1 to 64 printable ASCII characters"
		}
	}
}

// Lease takes a lock that nobody renews and that outlives the program: it belongs to whoever shows its token, until
// its TTL is over.
func Lease() LockOption { return func(o *options) { o.lease = true } }

// Shared asks for a reader's lock: any number of readers have it, or one writer, who asks without Shared. A redlockd
// without such locks answers ErrUnsupported.
func Shared() LockOption { return func(o *options) { o.mode = "shared" } }

// Slots asks for one of n places, 1 to 1,024, each of which one client has at a time; Lock.Slot is its number. All who
// use the name give the same n, else ErrMode. A redlockd without places answers ErrUnsupported.
func Slots(n int) LockOption {
	return func(o *options) {
		if o.slots = int64(n); n < 1 {
			o.bad = "Slots has to be 1 or more"
		}
	}
}

// Data is what the holder tells others, by Who and Watch: where it can be reached, mostly. 1 to 256 printable ASCII
// characters without space and ". It is for the exclusive lock of one name, and no lease. Lock.SetData changes it.
func Data(text string) LockOption {
	return func(o *options) {
		if o.data = text; !isData(text) {
			o.bad = badData
		}
	}
}

const badData = "data has 1 to 256 printable ASCII characters, and no space or \""

// AtLeast keeps the name taken for so long from the grant on: if the lock is given back earlier, that is as by
// UnlockKeep with what is left. So a job that many hosts begin at about the same time runs once. It is for the exclusive
// lock of one name.
func AtLeast(d time.Duration) LockOption {
	return func(o *options) { o.atLeast = o.duration(d, "AtLeast") }
}

// Reentrant lets a task enter again: if the context comes from a lock of this name and client (Lock.Context, or the
// context that Do gives) that is still held, Lock returns that same lock, which then has to be unlocked as often. In another mode it is ErrMode.
func Reentrant() LockOption { return func(o *options) { o.reentrant = true } }

type lockState int

const (
	lockAsked lockState = iota
	lockHeld            // also while its connection is gone and it is to be resumed
	lockOver            // lost, or given back
)

// A Lock is a lock that was granted. All its methods may be called from any goroutine.
type Lock struct {
	client   *Client
	name     string
	options  options
	deadline atomic.Int64 // ms; 0: not held, or not known

	// The client's mutex guards what follows.
	ctx         context.Context // nil: nobody has asked for it
	cancel      context.CancelFunc
	expiring    chan struct{} // nil: neither anybody has asked for it nor there was a warning
	state       lockState
	err         error // why it is over
	told        bool  // Unlock has returned err
	depth       int
	reader      bool  // for the program, from the call of Downgrade on
	shared      bool  // redlockd has said so, or is asked for nothing else
	downgradeAt int64 // ms: when the client asks for that by itself; 0: not
	token       string
	fence, slot int64
	maxUntil    int64 // ms; 0: no end
	keepUntil   int64 // ms, by AtLeast
	until       int64 // ms, of the daemon's clock
	toldBy      *daemon
	span        int64 // ms, of the last grant or renewal
	warned      bool
	overAt      int64 // when its time was seen to be over, after a pause of this program; 0: it was not
	// The next fields are for session locks.
	link      *link // the connection that holds it; nil: it is to be resumed
	resuming  bool
	retryAt   int64 // ms
	notHeldAt int64 // ms, the first -NOTHELD; 0: none
	notOn     *link // the draining link on which it cannot be resumed
}

type lockKey struct {
	client *Client
	name   string
}

func newLock(c *Client, name string, opts []LockOption) (*Lock, error) {
	l := &Lock{client: c, name: name, slot: -1, depth: 1}
	o := &l.options
	for _, opt := range opts {
		opt(o)
	}
	if one := o.mode == "" && o.slots == 0 && !strings.Contains(name, ","); o.data != "" && (!one || o.lease) || o.atLeast > 0 && !one {
		o.bad = "Data and AtLeast are for the exclusive lock of one name, and Data for no lease"
	}
	if o.bad != "" {
		return nil, &Error{Err: ErrBadArg, Name: name, Text: o.bad}
	}
	l.reader = o.mode == "shared"
	l.shared = l.reader
	return l, nil
}

func (l *Lock) isSession() bool { return !l.options.lease }

// String is for logs. It leaves the token out, by which anybody could give the lock back.
func (l *Lock) String() string {
	state := "held"
	if err := l.Err(); err != nil {
		state = err.Error()
	}
	return fmt.Sprintf("lock %s, valid %s, fence %d: %s", l.name, l.Valid(), l.Fence(), state)
}

// Name returns the name that was locked.
func (l *Lock) Name() string { return l.name }

// Valid returns how long the lock is surely still held, or 0. It asks nobody and costs a clock reading: call it
// before each step of the work, and stop at 0. The time while the machine sleeps counts.
func (l *Lock) Valid() time.Duration {
	deadline := l.deadline.Load()
	if left := deadline - nowMSAbove(); deadline > 0 && left > 0 {
		return time.Duration(left) * time.Millisecond
	}
	return 0
}

// Until returns the instant of Valid on the wall clock, for people and logs; the zero time when the lock is not held.
// Renewals make it later. To decide, use Valid: somebody may set the wall clock.
func (l *Lock) Until() time.Time {
	left := l.Valid()
	if left == 0 {
		return time.Time{}
	}
	return time.Now().Add(left).Round(0)
}

// Context is cancelled as soon as the lock is lost or unlocked; Err then says why. It is not bound to the context
// that Lock got, and carries the lock for Reentrant.
func (l *Lock) Context() context.Context {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancel(context.WithValue(context.Background(), lockKey{l.client, l.name}, l))
		if l.state == lockOver {
			l.cancel()
		}
	}
	return l.ctx
}

// Err returns nil while the lock is held, an error that is ErrLost when it was lost, and ErrNotHeld after Unlock.
func (l *Lock) Err() error {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.err
}

// Expiring receives a value when less than a third of the lock's time is left and nobody has renewed it. It may still
// get better.
func (l *Lock) Expiring() <-chan struct{} {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.warnings()
}

func (l *Lock) warnings() chan struct{} {
	if l.expiring == nil {
		l.expiring = make(chan struct{}, 1)
	}
	return l.expiring
}

// Fence returns a number that grows with every grant of the name, whoever gets it. Hand it to what the lock protects.
// It is new when the lock was resumed on another connection: read it at each use. 0 for an attached lock.
func (l *Lock) Fence() uint64 {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return uint64(l.fence)
}

// Token returns the token by which anybody may extend, resume or release the lock: 40 hex digits. Treat it like a
// key. It is new when the lock was resumed on another connection, and behind Downgrade.
func (l *Lock) Token() string {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.token
}

// Slot returns the number of the place that Slots got, -1 for other locks.
func (l *Lock) Slot() int {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return int(l.slot)
}

// unlockGrace is how long Unlock waits after its context has ended: a defer must not leave the lock behind.
const unlockGrace = 2 * time.Second

// Unlock gives the lock back, or leaves it once if it was entered more than once. nil: it was held until now. ErrLost:
// it was lost before, and another may have had it while you worked; that is told once, and later calls return
// ErrNotHeld. ErrNoQuorum, ErrNoAnswer, ErrUnreachable: not known; the lock is free when its TTL is over at the
// latest. If the context has ended, Unlock asks all the same, and waits for the answer for 2 s.
func (l *Lock) Unlock(ctx context.Context) error { return l.unlock(ctx, 0) }

// UnlockKeep gives the lock back, and the name stays taken for so long from now on: nobody holds it, and nobody can lock
// it. So of ten hosts that run a job at each full hour, the first does it. It is for the exclusive lock of one name. With
// Reentrant, the last Unlock is the one that counts. After an error the name is not surely kept; the lock is given back all the
// same, as by Unlock, with its errors. ErrBadArg: a list, a place, a reader, or longer than max_keep; ErrLimit: this
// redlockd keeps too many names.
func (l *Lock) UnlockKeep(ctx context.Context, keep time.Duration) error {
	if keep <= 0 || keep > durationMax {
		err := &Error{Err: ErrBadArg, Name: l.name, Text: "a name is kept for more than 0 and at most 720h"}
		l.Unlock(ctx)
		return err
	}
	return l.unlock(ctx, milliseconds(keep))
}

func (l *Lock) unlock(ctx context.Context, keep int64) error {
	c := l.client
	c.mu.Lock()
	if l.state == lockHeld && l.depth > 1 {
		l.depth--
		c.mu.Unlock()
		return nil
	}
	if l.state != lockHeld {
		defer c.mu.Unlock()
		if errors.Is(l.err, ErrLost) && !l.told {
			l.told = true
			return l.err
		}
		return &Error{Err: ErrNotHeld, Name: l.name}
	}
	c.cancelResume(l)
	c.end(l, &Error{Err: ErrNotHeld, Name: l.name, Text: "it was unlocked"})
	request := newCall("UNLOCK", l, l.name)
	if l.keepUntil > 0 {
		if left := l.keepUntil - nowMS(); left > keep {
			keep = left
		}
	}
	request.keep = keep
	err := c.ask(ctx, request, c.config.Timeout, unlockGrace)
	var refused *Error
	if errors.As(err, &refused) && refused.Err == ErrNotHeld {
		refused.also = ErrLost
	}
	return err
}

// Extend makes the lock last ttl from now, never shorter; 0 is its own TTL. A lock that redlockd renews is renewed
// with this TTL from then on. After ErrNoQuorum or ErrNoAnswer Valid is as it was.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if ttl < 0 || ttl > durationMax {
		return &Error{Err: ErrBadArg, Name: l.name, Text: "a TTL is 0 to 720h"}
	}
	return l.prove(ctx, &call{verb: "EXTEND", ttl: milliseconds(ttl)})
}

// SetData changes what the lock tells others. The lock was taken with Data, else the error is ErrMode. ErrNoQuorum: some
// may still hear what was told before.
func (l *Lock) SetData(ctx context.Context, text string) error {
	if !isData(text) || !l.isSession() {
		return &Error{Err: ErrBadArg, Name: l.name, Text: badData + "; and a lease has none"}
	}
	return l.prove(ctx, &call{verb: "DATA", data: text})
}

// Check asks redlockd (which asks the masters about a lease) whether the lock is still held, and until when. A lock that
// redlockd renews does not need it: Valid knows.
func (l *Lock) Check(ctx context.Context) error { return l.prove(ctx, &call{verb: "CHECK"}) }

// prove is for requests that redlockd answers by whether the lock is held.
func (l *Lock) prove(ctx context.Context, k *call) error {
	c := l.client
	c.mu.Lock()
	if err := l.err; err != nil {
		c.mu.Unlock()
		return err
	}
	k.lock, k.name = l, l.name
	if k.verb == "EXTEND" && k.ttl == 0 {
		k.ttl = l.options.ttl
	}
	return c.ask(ctx, k, c.config.Timeout, 0)
}
