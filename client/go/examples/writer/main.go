// A writer that is paused beyond its lease and is refused by its fence.
//
//	writer localhost:6379 motd           asks for a text: press ^Z, and wait for ten seconds
//	writer localhost:6379 motd           in another terminal: type a text, Enter: "written"
//	fg, a text, Enter                    in the first: "refused"
//	redis-cli HGETALL doc:motd
//
// The first writer held the lock, had looked whether it still did, and then stood still: swapping, a hypervisor that
// moves its machine, a debugger. The writer cannot know that. Neither a lock service nor another look at the clock can
// help, since the pause may come right after that look. But each holder's fence is higher than the fences of all holders
// before, so a resource that keeps the highest fence refuses a late writer.
//
// Exit status: 0 written, 1 not written (no lock, no text, or the Redis failed), 2 usage, 3 refused.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	redlockd "redlockd.invalid/client/go"
	"redlockd.invalid/client/go/examples/resource"
)

// KEYS: the document; ARGV: the fence, the text.
const writeText = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return 0 end " +
	"redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'text', ARGV[2]) " +
	"return 1"

const refused = 3

func main() {
	ms := flag.Int("t", 10000, "the lease, in ms")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: writer [-t TTL_MS] REDIS DOCUMENT")
		os.Exit(2)
	}
	redis, document := resource.Open(flag.Arg(0)), "doc:"+flag.Arg(1)
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	lock, err := client.Lock(ctx, document, redlockd.Lease(), redlockd.TTL(time.Duration(*ms)*time.Millisecond),
		redlockd.Wait(time.Minute))
	if err != nil {
		log.Fatal("no lock: ", err)
	}
	// The program may stand still while it reads the text, after it has looked at the clock.
	fence := lock.Fence()
	fmt.Printf("fence %d, held for %d ms; the new text of %s?\n", fence, lock.Valid().Milliseconds(), flag.Arg(1))
	text, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		lock.Unlock(ctx)
		log.Fatal("not written: ", err)
	}
	written := redis.Ask("EVAL", writeText, 1, document, fence, strings.TrimRight(text, "\n")) == int64(1)
	lock.Unlock(ctx)
	client.Close()
	if !written {
		fmt.Println("refused: somebody has had the lock since")
		os.Exit(refused)
	}
	fmt.Println("written")
}
