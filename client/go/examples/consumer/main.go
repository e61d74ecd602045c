// A message queue's consumer that handles each message once.
//
//	redis-cli XADD bills '*' customer ann amount 12       (as often as you like)
//	consumer localhost:6379 bills c1                      and c2, c3 in other terminals
//	redis-cli HGETALL bills:balances
//
// A queue delivers at least once: a Redis stream lets another consumer claim a message that was not acknowledged for a
// while, since nothing tells a dead consumer from a slow consumer. So there is a lock named after the message, which keeps
// two consumers from working on it at a time; a consumer that finds the message locked leaves it alone. And there is a mark,
// set in one step with the effect: a message has no effect twice, even if a consumer was paused beyond its lock in the
// middle of its work. The mark is the fence of this resource: here the first consumer counts, not the later.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	redlockd "redlockd.invalid/client/go"
	"redlockd.invalid/client/go/examples/resource"
)

const (
	steps = 5
	step  = 10 * time.Millisecond
	pause = 100 * time.Millisecond
)

// KEYS: the stream, its balances, the mark of the message; ARGV: message, who did it, customer, amount. A mark lives
// for a day: a consumer that stands still for longer just before this step would count twice.
const settle = "local first = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', 86400) " +
	"if first then redis.call('HINCRBY', KEYS[2], ARGV[3], ARGV[4]) end " +
	"redis.call('XACK', KEYS[1], 'billing', ARGV[1]) " +
	"return first and 1 or 0"

type consumer struct {
	client       *redlockd.Client
	redis        *resource.Redis
	stream, name string
	idle, ttl    time.Duration
}

// work stands for writing a bill: one step is one page. It returns false if the lock is not held any more.
func (c *consumer) work(lock *redlockd.Lock, id string) bool {
	fmt.Printf("%s: works on %s\n", c.name, id)
	for i := 0; i < steps; i++ {
		if lock.Valid() == 0 {
			return false
		}
		time.Sleep(step)
	}
	return true
}

func (c *consumer) handleLocked(lock *redlockd.Lock, id string, fields []any) {
	mark := c.stream + ":done:" + id
	if c.redis.Ask("EXISTS", mark).(int64) == 0 && !c.work(lock, id) {
		fmt.Printf("%s: lost %s\n", c.name, id)
		return
	}
	says := "was handled before:"
	by := fmt.Sprintf("%s-%d", c.name, lock.Fence())
	if c.redis.Ask("EVAL", settle, 3, c.stream, c.stream+":balances", mark, id, by, fields[1], fields[3]) == int64(1) {
		says = "handled"
	}
	fmt.Printf("%s: %s %s\n", c.name, says, id)
}

func (c *consumer) handle(message []any) {
	id := message[0].(string)
	fields, _ := message[1].([]any)
	if len(fields) < 4 {
		fmt.Fprintln(os.Stderr, id, "is no bill")
		return
	}
	ctx := context.Background()
	// Max: a consumer that stands still keeps its message for no longer than this and one TTL.
	lock, err := c.client.TryLock(ctx, c.stream+"/"+id, redlockd.TTL(c.ttl), redlockd.Max(3*c.ttl))
	if errors.Is(err, redlockd.ErrBusy) {
		return
	}
	if err != nil { // the message stays in the queue
		fmt.Fprintf(os.Stderr, "%s: no lock: %v\n", c.name, err)
		time.Sleep(pause)
		return
	}
	defer lock.Unlock(ctx)
	c.handleLocked(lock, id, fields)
}

// handleNext handles a message that a consumer has had for too long, or else a new message; false: there is none.
func (c *consumer) handleNext() bool {
	claimed := c.redis.Ask("XAUTOCLAIM", c.stream, "billing", c.name, c.idle.Milliseconds(), 0, "COUNT", 1).([]any)
	messages, _ := claimed[1].([]any)
	if len(messages) == 0 {
		streams, _ := c.redis.Ask("XREADGROUP", "GROUP", "billing", c.name, "COUNT", 1, "STREAMS", c.stream, ">").([]any)
		if len(streams) > 0 {
			messages, _ = streams[0].([]any)[1].([]any)
		}
	}
	if len(messages) == 0 {
		return false
	}
	if message, there := messages[0].([]any); there { // else it was deleted
		c.handle(message)
	}
	return true
}

// allIsDone reports whether all messages that were delivered are acknowledged.
func (c *consumer) allIsDone() bool {
	pending := c.redis.Ask("XPENDING", c.stream, "billing").([]any)
	return len(pending) > 0 && pending[0] == int64(0)
}

func milliseconds(text string, otherwise time.Duration) time.Duration {
	if ms, err := strconv.Atoi(text); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return otherwise
}

func main() {
	leaves := flag.Bool("x", false, "end when all is handled")
	flag.Parse()
	if flag.NArg() < 3 {
		fmt.Fprintln(os.Stderr, "usage: consumer [-x] REDIS STREAM NAME [IDLE_MS [TTL_MS]]")
		os.Exit(2)
	}
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	c := &consumer{client: client, redis: resource.Open(flag.Arg(0)), stream: flag.Arg(1), name: flag.Arg(2),
		idle: milliseconds(flag.Arg(3), 2*time.Second), ttl: milliseconds(flag.Arg(4), 10*time.Second)}
	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.redis.Try("XGROUP", "CREATE", c.stream, "billing", 0, "MKSTREAM") // an error, when it is there
	for ended.Err() == nil {
		if c.handleNext() {
			continue
		}
		if *leaves && c.allIsDone() {
			return
		}
		time.Sleep(pause)
	}
}
