// The conformance driver of this package: commands on standard input become calls, and results lines on standard
// output. client/conformance/README.md has both grammars.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	redlockd "redlockd.invalid/client/go"
)

var codes = map[error]string{
	redlockd.ErrBusy: "BUSY", redlockd.ErrTimeout: "TIMEOUT", redlockd.ErrNoQuorum: "NOQUORUM",
	redlockd.ErrNotHeld: "NOTHELD", redlockd.ErrCancelled: "CANCELLED", redlockd.ErrMode: "MODE",
	redlockd.ErrLimit: "LIMIT", redlockd.ErrDraining: "DRAINING", redlockd.ErrDenied: "DENIED",
	redlockd.ErrAuth: "AUTH", redlockd.ErrUnsupported: "UNSUPPORTED", redlockd.ErrBadArg: "BADARG",
	redlockd.ErrLost: "LOST", redlockd.ErrUnreachable: "UNREACHABLE", redlockd.ErrNoAnswer: "NOANSWER",
	redlockd.ErrProtocol: "PROTOCOL", redlockd.ErrClosed: "CLOSED", redlockd.ErrUsage: "USAGE",
}

var outMutex sync.Mutex

func say(format string, args ...any) {
	outMutex.Lock()
	defer outMutex.Unlock()
	fmt.Printf(format+"\n", args...)
}

func sayError(handle string, err error) {
	var e *redlockd.Error
	if !errors.As(err, &e) {
		panic(err)
	}
	retry := ""
	if e.Retry > 0 {
		retry = fmt.Sprintf(" retry=%d", e.Retry.Milliseconds())
	}
	say("%s error %s%s : %s", handle, codes[e.Err], retry, strings.ReplaceAll(e.Error(), "\n", " "))
}

// A handle is a lock that the case calls a, b ...
type handle struct {
	name    string
	mutex   sync.Mutex
	waiting bool
	cancel  context.CancelFunc
	unwatch context.CancelFunc
	lock    *redlockd.Lock
}

type command struct {
	words   []string
	names   []string // of lock, resume, attach: what stands between commas
	options map[string]string
}

func parse(line string) (c command) {
	c.options = map[string]string{}
	first := 0
	switch verb, _, _ := strings.Cut(line, " "); verb {
	case "lock", "resume", "attach", "data":
		first = 2 // it may have "=", in a case about forbidden names, or as data
	}
	for i, word := range strings.Fields(line) {
		if key, value, pair := strings.Cut(word, "="); pair && i > first {
			c.options[key] = decode(value)
		} else {
			c.words = append(c.words, decode(word))
		}
		if i == first && first > 0 {
			for _, name := range strings.Split(word, ",") {
				c.names = append(c.names, decode(name))
			}
		}
	}
	return c
}

func decode(word string) string {
	text, err := url.PathUnescape(word)
	if err != nil {
		panic(err)
	}
	return text
}

func (c command) span(key string) time.Duration {
	d, err := time.ParseDuration(c.options[key])
	if err != nil {
		panic(err)
	}
	return d
}

func (c command) lockOptions() (opts []redlockd.LockOption) {
	for key, value := range c.options {
		switch key {
		case "ttl":
			opts = append(opts, redlockd.TTL(c.span(key)))
		case "wait":
			opts = append(opts, redlockd.Wait(c.span(key)))
		case "max":
			opts = append(opts, redlockd.Max(c.span(key)))
		case "note":
			opts = append(opts, redlockd.Note(value))
		case "hold":
			opts = append(opts, redlockd.Lease())
		case "mode":
			opts = append(opts, redlockd.Shared())
		case "data":
			opts = append(opts, redlockd.Data(value))
		case "slots":
			n, _ := strconv.Atoi(value)
			opts = append(opts, redlockd.Slots(n))
		}
	}
	return opts
}

func (h *handle) watch(l *redlockd.Lock) {
	for {
		select {
		case <-l.Expiring():
			say("%s expiring", h.name)
		case <-l.Context().Done():
			select { // a select among channels that are all ready takes any
			case <-l.Expiring():
				say("%s expiring", h.name)
			default:
			}
			var e *redlockd.Error
			if errors.As(l.Err(), &e) && e.Err == redlockd.ErrLost && e.Reason != "closed" {
				say("%s lost reason=%s", h.name, e.Reason)
			}
			return
		}
	}
}

func (h *handle) take(ctx context.Context, client *redlockd.Client, c command) {
	var l *redlockd.Lock
	var err error
	_, waits := c.options["wait"]
	all := strings.Join(c.names, ",")
	switch {
	case c.words[0] == "resume":
		l, err = client.Resume(ctx, all, c.options["token"], c.lockOptions()...)
	case c.words[0] == "attach":
		l, err = client.Attach(all, c.options["token"])
	case len(c.names) > 1 && waits:
		l, err = client.LockAll(ctx, c.names, c.lockOptions()...)
	case len(c.names) > 1:
		l, err = client.LockAll(ctx, c.names, append(c.lockOptions(), redlockd.Wait(0))...)
	case waits:
		l, err = client.Lock(ctx, c.words[2], c.lockOptions()...)
	default:
		l, err = client.TryLock(ctx, c.words[2], c.lockOptions()...)
	}
	h.mutex.Lock()
	h.waiting, h.lock = false, l
	h.mutex.Unlock()
	switch {
	case err != nil:
		sayError(h.name, err)
	case c.words[0] == "attach":
		say("%s attached", h.name)
	default:
		slot := ""
		if l.Slot() >= 0 {
			slot = fmt.Sprintf(" slot=%d", l.Slot())
		}
		say("%s locked%s%s", h.name, numbers(l), slot)
	}
	if l != nil {
		go h.watch(l)
	}
}

func numbers(l *redlockd.Lock) string {
	return fmt.Sprintf(" fence=%d token=%s valid=%d", l.Fence(), l.Token(), l.Valid().Milliseconds())
}

func (h *handle) ask(l *redlockd.Lock, c command) {
	ctx := context.Background()
	var err error
	switch {
	case l == nil:
		err = &redlockd.Error{Err: redlockd.ErrNotHeld}
	case c.words[0] == "unlock" && c.options["keep"] != "":
		err = l.UnlockKeep(ctx, c.span("keep"))
	case c.words[0] == "unlock":
		err = l.Unlock(ctx)
	case c.words[0] == "data":
		err = l.SetData(ctx, c.words[2])
	case c.words[0] == "check":
		err = l.Check(ctx)
	case c.words[0] == "downgrade":
		err = l.Downgrade(ctx)
	case c.options["ttl"] != "":
		err = l.Extend(ctx, c.span("ttl"))
	default:
		err = l.Extend(ctx, 0)
	}
	if err != nil {
		sayError(h.name, err)
		return
	}
	done := map[string]string{"unlock": "unlocked", "check": "checked", "extend": "extended", "data": "data"}[c.words[0]]
	if c.options["keep"] != "" {
		done = "kept"
	}
	if c.words[0] == "unlock" || c.words[0] == "data" {
		say("%s %s", h.name, done)
	} else if c.words[0] == "downgrade" {
		say("%s downgraded%s", h.name, numbers(l))
	} else {
		say("%s %s valid=%d", h.name, done, l.Valid().Milliseconds())
	}
}

// rows obeys who and show.
func (h *handle) rows(client *redlockd.Client, c command) {
	ask := client.Who
	if c.words[0] == "show" {
		ask = client.Show
	}
	rows, err := ask(context.Background(), c.words[2])
	if err != nil {
		sayError(h.name, err)
		return
	}
	for _, row := range rows {
		text := ""
		for key, value := range row {
			text += " " + key + "=" + value
		}
		say("%s row%s", h.name, text)
	}
	say("%s rows %d", h.name, len(rows))
}

func (h *handle) states(ctx context.Context, client *redlockd.Client, c command) {
	states, err := client.Watch(ctx, c.words[2])
	if err != nil && ctx.Err() == nil {
		sayError(h.name, err)
		return
	}
	for s := range states {
		if s.Err != nil {
			sayError(h.name, s.Err)
			return
		}
		text := ""
		for key, value := range map[string]string{"mode": s.Mode, "host": s.Host, "data": s.Data} {
			if value != "" {
				text += " " + key + "=" + value
			}
		}
		if s.Fence > 0 {
			text += fmt.Sprintf(" fence=%d", s.Fence)
		}
		say("%s now state=%s%s", h.name, s.State, text)
	}
}

func (h *handle) info() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	l, state := h.lock, "none"
	if l == nil {
		if h.waiting {
			state = "waiting"
		}
		say("%s info state=%s valid=0 fence=0 token= mode=shared", h.name, state)
		return
	}
	if err := l.Err(); err == nil {
		state = "held"
	} else if errors.Is(err, redlockd.ErrLost) {
		state = "lost"
	}
	mode := map[bool]string{false: "exclusive", true: "shared"}[l.IsShared()]
	say("%s info state=%s%s mode=%s", h.name, state, numbers(l), mode)
}

func open(c command) *redlockd.Client {
	config := redlockd.Config{Client: c.options["client"]}
	if c.options["timeout"] != "" {
		config.Timeout = c.span("timeout")
	}
	client, err := redlockd.Open(config)
	if err != nil {
		opened = err
	}
	say("client open")
	return client
}

// The error of Open, which the case hears from its first lock.
var opened error

func (h *handle) obey(client *redlockd.Client, c command) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	switch c.words[0] {
	case "lock", "resume", "attach":
		if opened != nil {
			sayError(h.name, opened)
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		h.waiting, h.lock, h.cancel = true, nil, cancel
		go h.take(ctx, client, c)
	case "cancel":
		h.cancel()
	case "who", "show":
		go h.rows(client, c)
	case "watch":
		ctx, cancel := context.WithCancel(context.Background())
		h.unwatch = cancel
		go h.states(ctx, client, c)
	case "unwatch":
		if h.unwatch == nil {
			say("%s error NOTHELD", h.name)
			return
		}
		h.unwatch()
		h.unwatch = nil
		say("%s unwatched", h.name)
	case "unlock", "check", "extend", "downgrade", "data":
		go h.ask(h.lock, c)
	default:
		fmt.Fprintf(os.Stderr, "driver: %s is no command of this driver\n", c.words[0])
		os.Exit(2)
	}
}

func main() {
	fmt.Println("driver go features=attach,auth,client,close-wakes,closed,data,downgrade,drain,keep,lists,notheld-again,quit,resume,rows,shared,slots,timeout,twice,watch")
	handles := map[string]*handle{}
	var client *redlockd.Client
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		c := parse(input.Text())
		switch {
		case len(c.words) == 0:
		case c.words[0] == "open":
			client = open(c)
		case c.words[0] == "close":
			client.Close()
			say("client closed")
		default:
			h := handles[c.words[1]]
			if h == nil {
				h = &handle{name: c.words[1]}
				handles[c.words[1]] = h
			}
			if c.words[0] == "info" {
				h.info()
			} else {
				h.obey(client, c)
			}
		}
	}
	if client != nil {
		client.Close()
	}
}
