// A cache entry that one process rebuilds while the others wait, instead of all processes rebuilding it when it runs out
// (the stampede, or dog-pile).
//
//	cache localhost:6379 weather 60 'sleep 3; date'      in ten terminals at once: one date
//
// The program prints the entry. If there is none, the program runs the command, prints its output, and keeps it for 60 s.
// Processes that had to wait look again, and find the entry. If the process that builds dies, its lock is free at once and
// the next process builds. Max bounds (but for one TTL) how long a process that stands still holds up the others; its fence
// then keeps it from replacing a newer entry.
//
// Such a lock only saves work, and the result is right without it: without redlockd every process builds for itself.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	redlockd "redlockd.invalid/client/go"
	"redlockd.invalid/client/go/examples/resource"
)

// KEYS: the entry, the fences of all; ARGV: the fence, the value, its seconds, the entry's name.
const store = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[2], ARGV[4]) or 0) then return 0 end " +
	"redis.call('HSET', KEYS[2], ARGV[4], ARGV[1]) " +
	"redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) " +
	"return 1"

type cache struct {
	client                  *redlockd.Client
	redis                   *resource.Redis
	entry, seconds, command string
}

func (c *cache) printCached() bool {
	value, there := c.redis.Ask("GET", "cache:"+c.entry).(string)
	fmt.Print(value)
	return there
}

func (c *cache) build() ([]byte, error) {
	command := exec.Command("sh", "-c", c.command)
	command.Stderr = os.Stderr
	return command.Output()
}

func (c *cache) get() error {
	if c.printCached() {
		return nil
	}
	ctx, fence := context.Background(), uint64(0)
	lock, err := c.client.Lock(ctx, "cache:"+c.entry,
		redlockd.TTL(30*time.Second), redlockd.Max(time.Minute), redlockd.Wait(2*time.Minute))
	if err != nil {
		fmt.Fprintln(os.Stderr, "cache: without a lock:", err)
	} else {
		defer lock.Unlock(ctx)
		fence = lock.Fence() // read before the work, since the build that began earlier has the older output
	}
	if c.printCached() { // the entry was built while this process waited
		return nil
	}
	value, err := c.build()
	if err != nil {
		return err
	}
	if fence > 0 && c.redis.Ask("EVAL", store, 2, "cache:"+c.entry, "cache:,fences", fence, string(value), c.seconds, c.entry) == int64(0) {
		fmt.Fprintln(os.Stderr, "cache: not kept, somebody has built it later")
	}
	_, err = os.Stdout.Write(value)
	return err
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: cache REDIS ENTRY SECONDS COMMAND")
		os.Exit(2)
	}
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c := &cache{client: client, redis: resource.Open(os.Args[1]), entry: os.Args[2], seconds: os.Args[3], command: os.Args[4]}
	err = c.get()
	client.Close()
	if err != nil {
		log.Fatal("cache: ", err)
	}
}
