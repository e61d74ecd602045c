// Stock that must not be oversold: 200 workers want one item each, and there are 50.
//
//	redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
//	stock localhost:6379 lamp 200            "50 sold, 150 came too late"
//
// Each worker, a goroutine here, reads how many items are left, decides, and writes how many are left then. The lock
// lets one goroutine of all hosts at a time do so. The fence keeps the number right if a worker stands still after it has
// read, for longer than it may hold the lock, and then tries to write an old number. Try it:
//
//	stock -a localhost:6379 lamp 1           asks before it buys: press ^Z
//	stock localhost:6379 lamp 200            goes on when the first worker's time is over
//	fg, Enter                                "refused", and the worker reads again
//
// The workers show the fence for reading too. If they showed it for writing only, a late worker could still write after
// the next worker has read and before the next worker has written.
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

// A fenced resource keeps the highest fence that it was shown, and refuses a lower fence.
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
	if s.asks { // these lines stand for the steps between reading and writing
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
	// Max: a worker that stands still holds up the others for no longer than this and one TTL.
	lock, err := s.client.Lock(context.Background(), "stock:"+s.item,
		redlockd.TTL(2*time.Second), redlockd.Max(4*time.Second), redlockd.Wait(time.Minute))
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %d: no lock: %v\n", worker, err)
		return failed
	}
	// Whether the lock was still held in the end does not matter, since the fence has decided.
	defer lock.Unlock(context.Background())
	return s.buyLocked(worker, lock.Fence()) // the fence is read once, since both steps belong to the same hold
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
