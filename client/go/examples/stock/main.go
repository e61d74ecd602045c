// Stock that must not be oversold: 200 workers want one of 50 items.
//
//	redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
//	stock localhost:6379 lamp 200            "50 sold, 150 came too late"
//
// Each worker, a goroutine here, reads what is left, decides, and writes what is left then. The lock lets one at a
// time do so, of all goroutines of all hosts. The fence keeps it right when a worker stands still after it has read,
// for longer than it may hold the lock, and writes what is no longer true. Try it:
//
//	stock -a localhost:6379 lamp 1           asks before it buys: press ^Z
//	stock localhost:6379 lamp 200            goes on when the other's time is over
//	fg, Enter                                "refused", and it looks again
//
// The fence is shown for reading too: were it shown for writing only, the late worker could still write in between.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	redlockd "redlockd.invalid/client/go"
	"redlockd.invalid/client/go/examples/resource"
)

// What a fenced resource does: it keeps the highest fence that it was shown, and refuses a lower one.
const (
	fenced = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return -1 end " +
		"redis.call('HSET', KEYS[1], 'fence', ARGV[1]) "
	readLeft  = fenced + "return tonumber(redis.call('HGET', KEYS[1], 'left') or 0)"
	writeLeft = fenced + "redis.call('HSET', KEYS[1], 'left', ARGV[2]) return redis.call('RPUSH', KEYS[2], ARGV[3])"
)

type shop struct {
	client *redlockd.Client
	redis  *resource.Redis
	item   string
	asks   bool
}

type outcome int

const (
	failed outcome = iota
	sold
	tooLate
	refused
)

func (s *shop) buyLocked(worker int, fence uint64) outcome {
	left := s.redis.Ask("EVAL", readLeft, 1, "stock:"+s.item, fence).(int64)
	if left == 0 {
		return tooLate
	}
	if left < 0 {
		return refused
	}
	if s.asks { // what makes it several steps
		fmt.Printf("worker %d: %d left; Enter buys\n", worker, left)
		bufio.NewReader(os.Stdin).ReadString('\n')
	} else {
		time.Sleep(time.Millisecond)
	}
	orders := s.redis.Ask("EVAL", writeLeft, 2, "stock:"+s.item, "orders:"+s.item, fence, left-1, fmt.Sprintf("worker-%d", worker))
	if orders.(int64) < 0 {
		return refused
	}
	return sold
}

func (s *shop) buy(worker int) outcome {
	// Max: a worker that stands still holds up the others for so long, and no longer.
	lock, err := s.client.Lock(context.Background(), "stock:"+s.item,
		redlockd.TTL(2*time.Second), redlockd.Max(4*time.Second), redlockd.Wait(time.Minute))
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %d: no lock: %v\n", worker, err)
		return failed
	}
	// Whether it was still held in the end does not matter: the fence has decided.
	defer lock.Unlock(context.Background())
	return s.buyLocked(worker, lock.Fence()) // read once: both steps belong to this hold
}

func main() {
	asks := flag.Bool("a", false, "ask before buying")
	flag.Parse()
	workers, err := strconv.Atoi(flag.Arg(2))
	if flag.NArg() != 3 || err != nil || workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: stock [-a] REDIS ITEM WORKERS")
		os.Exit(2)
	}
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	s := &shop{client: client, redis: resource.Open(flag.Arg(0)), item: flag.Arg(1), asks: *asks}
	var counts [refused + 1]int
	var mutex sync.Mutex
	var all sync.WaitGroup
	for i := 1; i <= workers; i++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			end := s.buy(worker)
			for ; end == refused; end = s.buy(worker) {
				fmt.Printf("worker %d: refused, a later lock was here; again\n", worker)
			}
			mutex.Lock()
			defer mutex.Unlock()
			counts[end]++
		}(i)
	}
	all.Wait()
	fmt.Printf("%d sold, %d came too late\n", counts[sold], counts[tooLate])
	if counts[failed] > 0 {
		client.Close()
		log.Fatalf("%d workers failed", counts[failed])
	}
}
