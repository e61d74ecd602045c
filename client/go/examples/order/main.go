// An order that must not be placed twice, though it is sent twice: a customer clicks again, a phone repeats a request
// that got no answer, two web servers take the same request from a queue.
//
//	nc -l localhost 7001                     the supplier: you
//	order localhost:7001 4711 'two lamps'    type OK where nc runs: "placed"
//	order localhost:7001 4711 'two lamps'    "placed already, or being placed"
//
// The lock is named after the order, is a lease, and is not given back when the order was placed: for its TTL every
// repeat finds it, here or on another host, whether this program still runs or not. It is given back only if the supplier
// surely has no order.
//
// Exit status: 0 placed, 1 surely not placed (try again at any time), 2 wrong usage, 3 a repeat, 4 in doubt, 75 no lock.
//
// Choose a TTL (-t, in seconds; redlockd's max_ttl has to allow it) that is longer than the time in which repeats may
// come. To refuse repeats for ever, put the order's number under a unique index in your database.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	redlockd "redlockd.invalid/client/go"
)

const supplierTime = 10 * time.Second

const (
	placed    = 0
	notPlaced = 1
	usage     = 2
	repeated  = 3
	inDoubt   = 4
	noLock    = 75
)

// place places the order with a supplier that does not notice repeats.
func place(lock *redlockd.Lock, address, number, what string) int {
	supplier, err := net.DialTimeout("tcp", address, supplierTime)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the supplier cannot be reached")
		return notPlaced
	}
	defer supplier.Close()
	if lock.Valid() <= supplierTime { // a pause until here may have lasted longer than the lease
		return notPlaced
	}
	supplier.SetDeadline(time.Now().Add(supplierTime))
	// From here on the supplier may have the order.
	fmt.Fprintf(supplier, "ORDER %s fence=%d %s\n", number, lock.Fence(), what)
	answer, _ := bufio.NewReader(supplier).ReadString('\n')
	switch {
	case strings.HasPrefix(answer, "OK"):
		return placed
	case strings.HasPrefix(answer, "NO"):
		return notPlaced
	default:
		return inDoubt
	}
}

func order(client *redlockd.Client, ttl time.Duration, address, number, what string) int {
	ctx := context.Background()
	lock, err := client.TryLock(ctx, "order:"+number, redlockd.Lease(), redlockd.TTL(ttl))
	if errors.Is(err, redlockd.ErrBusy) {
		fmt.Printf("order %s: placed already, or being placed\n", number)
		return repeated
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "order %s: not placed, try later: %v\n", number, err)
		return noLock
	}
	outcome := place(lock, address, number, what)
	says := map[int]string{placed: "placed", notPlaced: "not placed", inDoubt: "in doubt"}
	fmt.Printf("order %s: %s\n", number, says[outcome])
	if outcome == notPlaced {
		lock.Unlock(ctx)
	}
	return outcome
}

func main() {
	seconds := flag.Int("t", 60, "for how many seconds repeats are refused")
	flag.Parse()
	ttl := time.Duration(*seconds) * time.Second
	if flag.NArg() != 3 || ttl <= supplierTime {
		fmt.Fprintln(os.Stderr, "usage: order [-t SECONDS] SUPPLIER NUMBER WHAT, with more than 10 seconds")
		os.Exit(usage)
	}
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	outcome := order(client, ttl, flag.Arg(0), flag.Arg(1), flag.Arg(2))
	client.Close() // the lease stays
	os.Exit(outcome)
}
