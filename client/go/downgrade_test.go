//go:build unix

package redlockd

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestWriterBecomesReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.open(w.unix), w.open(w.unix)
	l := must[*Lock](t)(c.Lock(background, "down"))
	fence, token := l.Fence(), l.Token()
	read := make(chan *Lock)
	go func() {
		reader, err := other.Lock(background, "down", Shared(), Wait(30*time.Second))
		if err != nil {
			t.Error(err)
		}
		read <- reader
	}()
	for range []int{1, 2} { // the second call changes nothing, so that one Unlock is enough
		if err := l.Downgrade(background); err != nil {
			t.Fatal(err)
		}
	}
	if l.Fence() != fence || l.Token() == token || l.Valid() == 0 {
		t.Error(l, "the fence is the same, and the token another")
	}
	for _, held := range []*Lock{<-read, l} {
		if _, err := other.TryLock(background, "down"); !errors.Is(err, ErrBusy) {
			t.Error("a writer beside a reader:", err)
		}
		if err := held.Unlock(background); err != nil {
			t.Error(err)
		}
	}
	must[*Lock](t)(other.Lock(background, "down", Wait(10*time.Second)))
	if err := l.Downgrade(background); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
}

func TestOnlyWhatIsEnteredOnceIsDowngraded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.open(w.unix), w.open(w.unix)
	err := c.Do(background, "twice", func(ctx context.Context, l *Lock) error {
		must[*Lock](t)(c.Lock(ctx, "twice", Reentrant()))
		if err := l.Downgrade(ctx); !errors.Is(err, ErrMode) {
			t.Error("entered twice:", err)
		}
		if _, err := other.TryLock(ctx, "twice", Shared()); !errors.Is(err, ErrBusy) {
			t.Error("it is a writer's as before:", err)
		}
		l.Unlock(ctx)
		if err := l.Downgrade(ctx); err != nil {
			t.Error(err)
		}
		if _, err := c.Lock(ctx, "twice", Reentrant()); !errors.Is(err, ErrMode) {
			t.Error("a reader enters as a writer:", err)
		}
		same := must[*Lock](t)(c.Lock(ctx, "twice", Reentrant(), Shared()))
		if same != l {
			t.Error("another lock")
		}
		return same.Unlock(ctx)
	})
	if err != nil {
		t.Error(err)
	}
	must[*Lock](t)(other.Lock(background, "twice", Wait(10*time.Second)))
}

func TestOnlySessionLocksOfOneNameAreDowngraded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	for _, l := range []*Lock{must[*Lock](t)(c.Lock(background, "lease", Lease())),
		must[*Lock](t)(c.Lock(background, "slot", Slots(2))),
		must[*Lock](t)(c.LockAll(background, []string{"a", "b"}))} {
		if err := l.Downgrade(background); !errors.Is(err, ErrBadArg) {
			t.Error(l, err)
		}
		if err := l.Check(background); err != nil {
			t.Error(l, err)
		}
	}
}

func TestDowngradeWhoseContextEndsIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.open(w.unix), w.open(w.unix)
	l := must[*Lock](t)(c.Lock(background, "ended"))
	token := l.Token()
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := l.Downgrade(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	reader := must[*Lock](t)(other.Lock(background, "ended", Shared(), Wait(10*time.Second)))
	if err := l.Downgrade(background); err != nil || l.Token() == token {
		t.Error(l, err)
	}
	for _, held := range []*Lock{l, reader} {
		if err := held.Unlock(background); err != nil {
			t.Error(err)
		}
	}
	must[*Lock](t)(other.Lock(background, "ended", Wait(10*time.Second)))
}
