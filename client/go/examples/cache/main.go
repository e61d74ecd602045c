// A cache entry that one process rebuilds while the others wait, instead of all at once when it runs out (the
// stampede, or dog-pile).
//
//	cache localhost:6379 weather 60 'sleep 3; date'      in ten terminals at once: one date
//
// prints what the entry holds; when it holds nothing, what the command prints, which is kept for 60 s. The ones that
// had to wait look again, and find it. When the one that builds dies, its lock is free at once and the next one
// builds. Max bounds how long one that stands still holds up the others; the fence then keeps what it writes later
// from replacing what is newer.
//
// Such a lock saves work and is not needed for being right, so without redlockd everybody builds for himself.
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
		fence = lock.Fence() // from before the work: what began earlier is older
	}
	if c.printCached() { // it was built while this one waited
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
