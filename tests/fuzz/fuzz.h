/* Hostile bytes. Each harness is one function, built twice: with libFuzzer into a program of its
 * own (make fuzz), and with all others into replay, which runs the files of corpus/ (make check).
 *
 *     fuzz_line         one client line after the other, through line_parse() and back into text and RESP
 *     fuzz_conn         what clients send, through the connections and over real sockets
 *     fuzz_resp         what a hostile master answers, in pieces of any size
 *     fuzz_conf         a configuration
 *     fuzz_coordinator  events of every kind, in any order that its shell could bring
 *     fuzz_http         the head of an HTTP request
 *     fuzz_wire         a TLS peer, client or master, that does what it likes, against a wire
 *     fuzz_client       a hostile server and a restless program, against the client library's core
 *
 * A file of corpus/ that once crashed a harness is named after the crash. */
#ifndef REDLOCKD_TESTS_FUZZ_H
#define REDLOCKD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef FUZZING
#define HARNESS(name) LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#else
#define HARNESS(name) name
int fuzz_line(const uint8_t *data, size_t size);
int fuzz_conn(const uint8_t *data, size_t size);
int fuzz_resp(const uint8_t *data, size_t size);
int fuzz_conf(const uint8_t *data, size_t size);
int fuzz_coordinator(const uint8_t *data, size_t size);
int fuzz_http(const uint8_t *data, size_t size);
int fuzz_wire(const uint8_t *data, size_t size);
int fuzz_client(const uint8_t *data, size_t size);
#endif

/* The input, read from the front; 0 when no input is left. */
struct bytes {
    const uint8_t *at, *end;
};

static inline uint8_t bytes_next(struct bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

static inline uint64_t bytes_number(struct bytes *b, unsigned len)
{
    uint64_t number = 0;
    while (len-- > 0)
        number = number << 8 | bytes_next(b);
    return number;
}

#endif
