#!/usr/bin/env python3
"""order.py [-t SECONDS] SUPPLIER NUMBER WHAT: an order that must not be placed twice, though it is sent twice: a customer
clicks again, a phone repeats a request that got no answer, two web servers take the same request from a queue.

    nc -l localhost 7001                        the supplier: you
    order.py localhost:7001 4711 'two lamps'    type OK where nc runs: "placed"
    order.py localhost:7001 4711 'two lamps'    "placed already, or being placed"

The lock is named after the order, is a lease, and is not given back when the order was placed: for its ttl (-t) every
repeat finds it, here or on another host, whether this program still runs or not. It is given back only if the supplier
surely has no order. To refuse repeats for ever, put the order's number under a unique index in your database.

Exit status: 0 placed, 1 surely not placed (try again at any time), 2 wrong usage, 3 a repeat, 4 in doubt, 75 no lock.
"""
import argparse
import socket
import sys

import redlockd

SUPPLIER_S = 10
PLACED, NOT_PLACED, REPEATED, IN_DOUBT, NO_LOCK = 0, 1, 3, 4, 75
SAYS = {PLACED: "placed", NOT_PLACED: "not placed", IN_DOUBT: "in doubt"}


def place(lock, address, number, what):
    """Places the order with a supplier that does not notice repeats."""
    host, _, port = address.rpartition(":")
    try:
        supplier = socket.create_connection((host, port), SUPPLIER_S)
    except OSError:
        print("the supplier cannot be reached", file=sys.stderr)
        return NOT_PLACED
    with supplier:
        if lock.valid() <= SUPPLIER_S:  # a pause until here may have lasted longer than the lease
            return NOT_PLACED
        try:  # from here on the supplier may have the order
            supplier.sendall(f"ORDER {number} fence={lock.fence} {what}\n".encode())
            answer = supplier.makefile().readline()
        except OSError:
            return IN_DOUBT
    return {"OK": PLACED, "NO": NOT_PLACED}.get(answer[:2], IN_DOUBT)


def order(client, ttl, supplier, number, what):
    lock = client.lock(f"order:{number}", hold="lease", ttl=ttl)
    if not lock.acquire(blocking=False):
        print(f"order {number}: placed already, or being placed")
        return REPEATED
    outcome = place(lock, supplier, number, what)
    print(f"order {number}: {SAYS[outcome]}")
    if outcome == NOT_PLACED:
        lock.release()
    return outcome


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-t", type=float, default=60, metavar="SECONDS", help="for how long repeats are refused")
    parser.add_argument("supplier")
    parser.add_argument("number")
    parser.add_argument("what")
    args = parser.parse_args()
    if args.t <= SUPPLIER_S:
        parser.error(f"-t has to be more than {SUPPLIER_S}")
    try:
        with redlockd.Client() as client:  # closing it leaves the lease
            return order(client, args.t, args.supplier, args.number, args.what)
    except redlockd.RedlockdError as error:
        print(f"order {args.number}: not placed, try later: {error}", file=sys.stderr)
        return NO_LOCK


if __name__ == "__main__":
    sys.exit(main())
