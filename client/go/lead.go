package redlockd

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

const leadPause = time.Second // the most before a leader's lock is asked for again after a failure

// Lead has one of many programs do the work at a time. It waits until this program leads, which is to have the lock, and
// calls work with a context that ends when this program leads no more: at the latest when the lock is lost, and before
// that, when nobody could renew it for two thirds of its time, so that work can end in time. When work has returned
// after that, Lead waits to lead again. It goes on through failures of masters, redlockd and network.
//
// Lead returns what work returned by itself; when ctx has ended, what work returned then, or else an error of the
// context; and an error that waiting would not mend: ErrBadArg, ErrClosed, ErrUsage, ErrAuth, ErrDenied, ErrUnsupported,
// ErrMode. With Data the others hear who leads, by Who and Watch. Fence keeps a leader out that has not heard of its end.
func (c *Client) Lead(ctx context.Context, name string, work func(context.Context, *Lock) error, opts ...LockOption) error {
	for {
		l, err := c.Lock(ctx, name, opts...)
		if err == nil {
			var over bool
			if over, err = l.lead(ctx, work); over {
				return err
			}
		} else if ctx.Err() != nil || isHopeless(err) || errors.Is(err, ErrMode) {
			return err
		} else {
			pause(ctx, leadPause/2+time.Duration(rand.Int63n(int64(leadPause/2))))
		}
	}
}

// lead is one term. It reports whether that was the last.
func (l *Lock) lead(ctx context.Context, work func(context.Context, *Lock) error) (over bool, err error) {
	inside, cancel := l.during(ctx, l.Expiring())
	defer func() { // also when work panics
		cancel()
		lost := l.Unlock(ctx)
		if over && err == nil && ctx.Err() != nil {
			err = contextError(ctx, l.name)
		} else if over && err == nil && l.options.atLeast > 0 {
			err = lost
		}
	}()
	err = work(inside, l)
	return inside.Err() == nil || ctx.Err() != nil, err
}

// during returns a context for what is done under the lock: it ends with ctx, with the lock, or by a value of early.
func (l *Lock) during(ctx context.Context, early <-chan struct{}) (context.Context, context.CancelFunc) {
	inside, cancel := context.WithCancel(context.WithValue(ctx, lockKey{l.client, l.name}, l))
	over := l.Context().Done()
	go func() {
		select {
		case <-over:
		case <-early:
		case <-inside.Done():
		}
		cancel()
	}()
	return inside, cancel
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// isHopeless reports whether asking again would end in the same way.
func isHopeless(err error) bool {
	for _, kind := range []error{ErrBadArg, ErrClosed, ErrUsage, ErrAuth, ErrDenied, ErrUnsupported} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
