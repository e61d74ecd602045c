//go:build unix

package redlockd

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Tests against a real daemon and real masters, which tests/stubs/world starts. REDLOCKD names the daemon.

var cycles = flag.Int("cycles", 2000, "how many times TestCyclesLeaveNothing locks and unlocks")

func TestMain(m *testing.M) {
	if os.Getenv("REDLOCKD_TEST_HOLDER") != "" {
		holder()
		return
	}
	if os.Getenv("REDLOCKD_TEST_CANDIDATE") != "" {
		candidate()
	}
	for _, key := range []string{"REDLOCK_ADDRESS", "REDLOCK_USER", "REDLOCK_SECRET_FILE", "REDLOCK_CA", "REDLOCK_CERT"} {
		os.Unsetenv(key)
	}
	os.Exit(m.Run())
}

type world struct {
	t         *testing.T
	in        io.Writer
	out       *bufio.Scanner
	unix, tcp string
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	if os.Getenv("REDLOCKD") == "" {
		t.Skip("REDLOCKD does not name a daemon")
	}
	program := os.Getenv("REDLOCKD_WORLD")
	if program == "" {
		program = "../../tests/stubs/world"
	}
	command := exec.Command(program, args...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // world ends with its input
		command.Wait()
	})
	w := &world{t: t, in: in, out: bufio.NewScanner(out)}
	for _, word := range strings.Fields(w.line()) {
		key, value, _ := strings.Cut(word, "=")
		if key == "unix" {
			w.unix = "unix:" + value
		} else if key == "tcp" {
			w.tcp = value
		}
	}
	return w
}

func (w *world) line() string {
	w.t.Helper()
	if !w.out.Scan() {
		w.t.Fatal("the world has ended")
	}
	if strings.HasPrefix(w.out.Text(), "error") {
		w.t.Fatal(w.out.Text())
	}
	return w.out.Text()
}

func (w *world) do(command string) string {
	w.t.Helper()
	fmt.Fprintln(w.in, command)
	return w.line()
}

func (w *world) open(address string) *Client {
	w.t.Helper()
	c, err := Open(Config{Address: address})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

var background = context.Background()

func TestLockGoesOnWithoutItsDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, address := range []string{w.unix, w.tcp} {
		c, other := w.open(address), w.open(address)
		l := must[*Lock](t)(c.Lock(background, "restart", TTL(5*time.Second)))
		fence := l.Fence()
		w.do("kill")
		if l.Valid() == 0 || l.Err() != nil {
			t.Error("it is held while the daemon is away")
		}
		w.do("restart")
		eventually(t, "a new fence", func() bool { return l.Fence() > fence })
		if err := l.Check(background); err != nil || l.Err() != nil || l.Context().Err() != nil {
			t.Error(err, l.Err())
		}
		if _, err := other.TryLock(background, "restart"); !errors.Is(err, ErrBusy) {
			t.Error("another can have it: ", err)
		}
		if err := l.Unlock(background); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryKindOfLockGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	ttl := TTL(8 * time.Second)
	locks := []*Lock{must[*Lock](t)(c.Lock(background, "reader", ttl, Shared())),
		must[*Lock](t)(c.Lock(background, "place", ttl, Slots(2))),
		must[*Lock](t)(c.LockAll(background, []string{"one", "two"}, ttl)),
		must[*Lock](t)(c.Lock(background, "writer", ttl))}
	if err := locks[3].Downgrade(background); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, l := range locks {
		tokens = append(tokens, l.Token())
	}
	slot := locks[1].Slot()
	w.do("kill")
	w.do("restart")
	for i, l := range locks {
		i, l := i, l
		eventually(t, "a new token of "+l.Name(), func() bool { return l.Token() != tokens[i] })
		if err := l.Check(background); err != nil {
			t.Error(l, err)
		}
	}
	if locks[1].Slot() != slot || slot < 0 || locks[0].Slot() != -1 {
		t.Error("a place keeps its number")
	}
	must[*Lock](t)(w.open(w.unix).Lock(background, "writer", Shared(), Wait(10*time.Second)))
	for _, name := range []string{"reader", "two", "writer"} {
		if _, err := w.open(w.unix).TryLock(background, name); !errors.Is(err, ErrBusy) {
			t.Error(name, err)
		}
	}
	for _, l := range locks {
		if err := l.Unlock(background); err != nil {
			t.Error(err)
		}
	}
}

func TestLockGoesOnWhileItsDaemonDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	l := must[*Lock](t)(c.Lock(background, "drain", TTL(5*time.Second)))
	fence := l.Fence()
	w.do("term")
	w.do("restart")
	eventually(t, "a new fence", func() bool { return l.Fence() > fence })
	if err := l.Unlock(background); err != nil {
		t.Error(err)
	}
}

func TestLossIsToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	l := must[*Lock](t)(c.Lock(background, "taken", TTL(5*time.Second)))
	thief := must[*Lock](t)(w.open(w.unix).Attach("taken", l.Token()))
	if err := thief.Unlock(background); err != nil {
		t.Error(err)
	}
	select {
	case <-l.Context().Done():
	case <-time.After(2 * time.Second):
		t.Fatal("its context goes on")
	}
	var e *Error
	if !errors.As(l.Err(), &e) || e.Err != ErrLost || e.Reason != "released" || l.Valid() != 0 {
		t.Error(l.Err())
	}
	if err := l.Unlock(background); !errors.Is(err, ErrLost) {
		t.Error("the release tells it once: ", err)
	}
	if err := l.Unlock(background); !errors.Is(err, ErrNotHeld) || errors.Is(err, ErrLost) {
		t.Error("and no more than once: ", err)
	}
}

// holder is the program that TestStoppedProgramNoticesFirst stops. It "writes" with the time at which it had looked.
func holder() {
	c, err := Open(Config{})
	if err != nil {
		panic(err)
	}
	l, err := c.Lock(background, "stopped", TTL(500*time.Millisecond), Max(1000*time.Millisecond))
	if err != nil {
		panic(err)
	}
	for looked := nowMS(); l.Valid() > 0; looked = nowMS() {
		fmt.Println(looked)
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("noticed")
}

func TestStoppedProgramNoticesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "REDLOCKD_TEST_HOLDER=1", "REDLOCK_ADDRESS="+w.unix)
	program.Stderr = os.Stderr
	out, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		program.Process.Kill()
		program.Wait()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it never held the lock")
	}
	program.Process.Signal(syscall.SIGSTOP)
	stopped := nowMS()
	// Another client gets the lock while the program stands still.
	next := must[*Lock](t)(w.open(w.unix).Lock(background, "stopped", Wait(10*time.Second)))
	time.Sleep(100 * time.Millisecond)
	program.Process.Signal(syscall.SIGCONT)
	last := ""
	for lines.Scan() {
		last = lines.Text()
		if looked, err := strconv.ParseInt(last, 10, 64); err == nil && looked > stopped+50 {
			t.Errorf("it wrote %d ms after it was stopped", looked-stopped)
		}
	}
	if last != "noticed" || next.Valid() == 0 {
		t.Error(last)
	}
}

// No caller waits for longer than it wants where redlockd stands still, and its socket is full.
func TestNobodyWaitsForAFullSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	for i := 0; i < 20; i++ { // from the first answers on, a caller writes and reads by itself
		must[*Lock](t)(c.Lock(background, "full")).Unlock(background)
	}
	w.do("pause")
	for i := 0; i < 1000; i++ {
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		start := time.Now()
		_, err := c.Who(ctx, "full")
		cancel()
		if took := time.Since(start); err == nil || took > 5*time.Second {
			t.Fatal("call", i, "took", took, err)
		}
	}
	w.do("continue")
	must[*Lock](t)(c.Lock(background, "full")).Unlock(background)
}

// The program that people copy out of README.md runs as it stands.
func TestReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go here")
	}
	w := newWorld(t)
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(text), "```go\n")
	program, _, _ = strings.Cut(program, "```\n")
	folder, here := t.TempDir(), must[string](t)(os.Getwd())
	write(t, folder+"/main.go", program)
	write(t, folder+"/go.mod", "module readme\n\ngo 1.19\n")
	run := func(args ...string) string {
		command := exec.Command("go", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "REDLOCK_ADDRESS="+w.unix, "GOFLAGS=-mod=mod", "GOPROXY=off")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	path := "redlockd.invalid/client/go"
	run("mod", "edit", "-require", path+"@v0.0.0", "-replace", path+"="+here)
	if out := run("run", "."); strings.Count(out, "fence 1") != 3 {
		t.Error(out)
	}
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
}

func TestCancelledWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.tcp)
	l := must[*Lock](t)(c.Lock(background, "wanted", TTL(5*time.Second)))
	var waits sync.WaitGroup
	for i := 0; i < 20; i++ {
		waits.Add(1)
		go func(i int) {
			defer waits.Done()
			ctx, cancel := context.WithTimeout(background, time.Duration(20+10*i)*time.Millisecond)
			defer cancel()
			got, err := c.Lock(ctx, "wanted", TTL(5*time.Second))
			if err == nil {
				got.Unlock(ctx) // the last waiters may get the lock
			} else if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrTimeout) {
				t.Error(err)
			}
		}(i)
	}
	time.Sleep(120 * time.Millisecond) // in the middle of their deadlines
	if err := l.Unlock(background); err != nil {
		t.Error(err)
	}
	waits.Wait()
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
}

func TestUnlockWorksWhenTheContextHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(background)
	l := must[*Lock](t)(w.open(w.unix).Lock(ctx, "ended"))
	cancel()
	if err := l.Unlock(ctx); err != nil {
		t.Error(err)
	}
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
}

func TestReentryAndDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	var outer *Lock
	err := c.Do(background, "again", func(ctx context.Context, l *Lock) error {
		outer = l
		if text := fmt.Sprint(l); !strings.Contains(text, "held") || strings.Contains(text, l.Token()) {
			t.Error("for logs:", text)
		}
		if _, err := c.TryLock(ctx, "again"); !errors.Is(err, ErrBusy) {
			t.Error("without being asked for there is no re-entry: ", err)
		}
		inner, err := c.Lock(ctx, "again", Reentrant())
		if err != nil || inner != l {
			t.Error(err)
		}
		if err := inner.Unlock(ctx); err != nil || l.Err() != nil {
			t.Error(err, l.Err())
		}
		return ctx.Err()
	})
	if err != nil || !errors.Is(outer.Err(), ErrNotHeld) {
		t.Error(err, outer.Err())
	}
	err = c.Do(background, "again", func(ctx context.Context, l *Lock) error {
		if inner, err := c.Lock(ctx, "again", Reentrant(), Shared()); err != nil || inner != l {
			t.Error(err)
		} else if err := inner.Unlock(ctx); err != nil {
			t.Error(err)
		}
		_, err := c.Lock(ctx, "again", Reentrant())
		return err
	}, Shared())
	if !errors.Is(err, ErrMode) {
		t.Error("a reader does not enter as a writer: ", err)
	}
	if _, err := c.TryLock(outer.Context(), "again", Reentrant()); !errors.Is(err, ErrCancelled) {
		t.Error("a lock that was given back is not entered again: ", err)
	}
}

func TestDoGivesBackWhenItsWorkPanics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	said := func() (said any) {
		defer func() { said = recover() }()
		c.Do(background, "panics", func(context.Context, *Lock) error { panic("own") })
		return nil
	}()
	if said != "own" {
		t.Errorf("the panic is the caller's: %v", said)
	}
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
}

func TestMutexWithoutLock(t *testing.T) {
	c, err := Open(Config{Address: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an Unlock without a Lock panics, as sync.Mutex does")
		}
	}()
	c.Mutex("job").Unlock()
}

func TestProgramInheritsNoConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sockets := func() int {
		out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
		if err != nil {
			t.Skip(err)
		}
		return strings.Count(string(out), "socket:")
	}
	before := sockets()
	l := must[*Lock](t)(w.open(w.unix).Lock(background, "inherit"))
	if n := sockets(); n != before {
		t.Errorf("%d sockets, not %d", n, before)
	}
	if err := l.Unlock(background); err != nil {
		t.Error(err)
	}
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(w.unix)
	counter, last := 0, uint64(0)
	var tasks sync.WaitGroup
	for i := 0; i < 200; i++ {
		tasks.Add(1)
		go func(i int) {
			defer tasks.Done()
			m := c.Mutex("counter", TTL(5*time.Second))
			m.Lock()
			defer m.Unlock()
			if fence := m.Held().Fence(); fence > last {
				last = fence
			} else {
				t.Error("a fence that does not grow")
			}
			n := counter
			runtime.Gosched()
			counter = n + 1
		}(i)
	}
	tasks.Wait()
	if counter != 200 {
		t.Errorf("200 tasks added 1 each: %d", counter)
	}
}

func TestCyclesLeaveNothing(t *testing.T) {
	w := newWorld(t)
	c := w.open(w.unix)
	cycle := func(n int) {
		var tasks sync.WaitGroup
		for task := 0; task < 20; task++ {
			tasks.Add(1)
			go func(task int) {
				defer tasks.Done()
				for i := 0; i < n/20; i++ {
					l, err := c.Lock(background, "cycle-"+strconv.Itoa(task), TTL(5*time.Second))
					if err == nil {
						err = l.Unlock(background)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}(task)
		}
		tasks.Wait()
	}
	inUse := func() (heap uint64, goroutines int) {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc, runtime.NumGoroutine()
	}
	cycle(*cycles / 10)
	heap, goroutines := inUse()
	cycle(*cycles)
	eventually(t, "as many goroutines as before", func() bool { _, n := inUse(); return n <= goroutines })
	if after, _ := inUse(); after > heap+200<<10 {
		t.Errorf("%d bytes more after %d cycles", after-heap, *cycles)
	}
	c.mu.Lock()
	if len(c.locks)+len(c.byToken)+len(c.queue)+len(c.link.calls) > 0 || c.link.short != 0 {
		t.Errorf("%d %d %d %d %d", len(c.locks), len(c.byToken), len(c.queue), len(c.link.calls), c.link.short)
	}
	c.mu.Unlock()
	eventually(t, "no key on any master", func() bool { return w.do("keys") == "keys 0" })
	c.Close()
	eventually(t, "no goroutine of the client", func() bool { _, n := inUse(); return n <= goroutines-2 })
}
