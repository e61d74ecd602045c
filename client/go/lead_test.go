//go:build unix

package redlockd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// candidate is the program of which TestAnotherLeadsWhenTheLeaderIsKilled starts some.
func candidate() {
	c, err := Open(Config{})
	if err != nil {
		panic(err)
	}
	panic(c.Lead(background, "leader", func(ctx context.Context, l *Lock) error {
		fmt.Println("leads", l.Fence())
		<-ctx.Done()
		fmt.Println("leads no more")
		return nil
	}, TTL(5*time.Second), Data(os.Getenv("REDLOCKD_TEST_CANDIDATE"))))
}

func TestAnotherLeadsWhenTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	ctx, cancel := context.WithCancel(background)
	states := must[<-chan State](t)(c.Watch(ctx, "leader"))
	if s := <-states; s != (State{State: "free"}) {
		t.Error(s)
	}
	programs := map[string]*exec.Cmd{}
	for _, name := range []string{"host-1:80", "host-2:80"} {
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), "REDLOCKD_TEST_CANDIDATE="+name, "REDLOCK_ADDRESS="+w.unix)
		program.Stderr = os.Stderr
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		defer program.Wait()
		defer program.Process.Kill()
		programs[name] = program
	}
	leader := func() State {
		for s := range states {
			if s.State == "held" && s.Data != "" {
				return s
			}
		}
		t.Fatal("the watch has ended")
		return State{}
	}
	first := leader()
	rows := must[[]Row](t)(c.Who(background, "leader"))
	if rows[0]["data"] != first.Data || rows[0]["fence"] != fmt.Sprint(first.Fence) || programs[first.Data] == nil {
		t.Error(rows, first)
	}
	programs[first.Data].Process.Kill() // SIGKILL
	second := leader()
	if second.Data == first.Data || second.Fence <= first.Fence {
		t.Error(first, second)
	}
	cancel()
	eventually(t, "the channel is closed", func() bool {
		select {
		case _, open := <-states:
			return !open
		default:
			return false
		}
	})
}

func soon[T any](t *testing.T, values <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-values:
	case <-time.After(10 * time.Second):
		t.Fatal("it never came")
	}
	return value
}

func TestLeaderEndsInTimeAndLeadsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	terms := make(chan *Lock)
	valid := make(chan time.Duration, 2)
	ended := make(chan error)
	go func() {
		ended <- c.Lead(ctx, "in-time", func(ctx context.Context, l *Lock) error {
			terms <- l
			<-ctx.Done()
			valid <- l.Valid()
			return nil
		}, TTL(3*time.Second))
	}()
	first := soon(t, terms)
	w.do("pause") // nobody renews
	if left := soon(t, valid); left == 0 {
		t.Error("the work is told when it is too late")
	}
	w.do("continue")
	second := soon(t, terms)
	if second == first || second.Fence() <= first.Fence() {
		t.Error(first, second)
	}
	cancel()
	soon(t, valid)
	if err := soon(t, ended); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
}

func TestLeadReturnsWhatItsWorkReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	own := errors.New("own")
	for _, want := range []error{nil, own} {
		want := want
		if err := c.Lead(background, "work", func(context.Context, *Lock) error { return want }); err != want {
			t.Error(err)
		}
	}
	if err := c.Lead(background, "two words", nil); !errors.Is(err, ErrBadArg) {
		t.Error(err)
	}
}

// More than eight watch one name, which is as many as redlockd lets ask at a time.
func TestManyWatchOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	ctx, cancel := context.WithCancel(background)
	var all []<-chan State
	for i := 0; i < 50; i++ {
		all = append(all, must[<-chan State](t)(c.Watch(ctx, "crowd")))
	}
	w.do("kill")
	w.do("restart")
	l := must[*Lock](t)(c.Lock(background, "crowd", Data("there")))
	for _, states := range all {
		for s := soon(t, states); s.Data != "there"; s = soon(t, states) {
		}
	}
	l.Unlock(background)
	cancel()
	eventually(t, "nobody watches", func() bool {
		rows := must[[]Row](t)(c.Show(background, "STATS"))
		for _, row := range rows {
			if n, told := row["watches"]; told {
				return n == "0"
			}
		}
		return false
	})
}

func TestNameIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	is := func(mode string) {
		t.Helper()
		rows := must[[]Row](t)(c.Who(background, "job"))
		if len(rows) == 0 || rows[0]["mode"] != mode {
			t.Error(rows)
		}
	}
	l := must[*Lock](t)(c.Lock(background, "job"))
	is("exclusive")
	if err := l.UnlockKeep(background, time.Second); err != nil {
		t.Error(err)
	}
	is("kept")
	if _, err := c.TryLock(background, "job"); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	work := func(context.Context, *Lock) error { return nil }
	if err := c.Do(background, "job", work, AtLeast(time.Second)); err != nil { // it waits until that time is over
		t.Error(err)
	}
	is("kept")
	if err := c.Do(background, "job", work, AtLeast(time.Second), Shared()); !errors.Is(err, ErrBadArg) {
		t.Error(err)
	}
	l = must[*Lock](t)(c.Lock(background, "job"))
	if err := l.UnlockKeep(background, 700*time.Hour); !errors.Is(err, ErrBadArg) { // more than max_keep
		t.Error(err)
	}
	must[*Lock](t)(c.TryLock(background, "job")).Unlock(background) // it was given back all the same
}

func TestRowsOfShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	l := must[*Lock](t)(c.Lock(background, "shown", Note("here"), Data("there")))
	rows := must[[]Row](t)(c.Show(background, "LOCKS"))
	if len(rows) != 1 || rows[0]["name"] != "shown" || rows[0]["note"] != "here" || rows[0]["data"] != "there" {
		t.Error(rows)
	}
	if err := l.SetData(background, "elsewhere"); err != nil {
		t.Error(err)
	}
	if rows = must[[]Row](t)(c.Who(background, "shown")); rows[0]["data"] != "elsewhere" {
		t.Error(rows)
	}
	if _, err := c.Show(background, "NOTHING"); !errors.Is(err, ErrBadArg) {
		t.Error(err)
	}
}

// A receiver that does not come loses the oldest states, and never the last.
func TestSlowWatcherHearsTheLastState(t *testing.T) {
	for most := uint64(1); most <= 3*watchBuffer; most++ {
		watch := &watch{states: make(chan State, watchBuffer)}
		for fence := uint64(1); fence <= most; fence++ {
			watch.tell(&answer{state: "held", fence: int64(fence)})
			watch.tell(&answer{state: "held", fence: int64(fence)})
		}
		last := State{}
		for n := len(watch.states); n > 0; n-- {
			last = <-watch.states
		}
		if last.Fence != most {
			t.Error(last, most)
		}
	}
}
