/* The last minute as small curves: inline SVG, a point a second, the newest on the right. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/http/http_private.h"

enum { WIDE = 4 /* of a second */, HIGH = 44, TOP = 4 };

static double granted_of(const struct snapshot_sample *second)
{
    return (double)second->granted;
}

static double refused_of(const struct snapshot_sample *second)
{
    return (double)second->refused;
}

static double waiters_of(const struct snapshot_sample *second)
{
    return (double)second->waiters;
}

static double rtt_of(const struct snapshot_sample *second)
{
    return (double)second->rtt_us / 1000;
}

static const struct curve {
    const char *what, *unit;
    double (*value)(const struct snapshot_sample *second);
    int digits;
} curves[] = {
    {"Locks granted", "a second", granted_of, 0},
    {"Refused or timed out", "a second", refused_of, 0},
    {"Requests waiting", "", waiters_of, 0},
    {"Slowest round trip", "ms", rtt_of, 2},
};

static void curve_line(struct body *b, const struct rates *rates, const struct curve *curve, double most)
{
    for (unsigned i = rates->count; i-- > 0;) {
        double value = curve->value(rates_second(rates, i));
        double y = HIGH - (most > 0 ? value / most : 0) * (HIGH - TOP);
        body_putf(b, "%u,%.1f ", (RATES - 1 - i) * WIDE, y);
    }
}

static void curve_write(struct body *b, const struct rates *rates, const struct curve *curve)
{
    const struct snapshot_sample *last = rates_second(rates, 0);
    double most = 0, now = last ? curve->value(last) : 0;
    for (unsigned i = 0; i < rates->count; i++) {
        double value = curve->value(rates_second(rates, i));
        most = value > most ? value : most;
    }
    body_putf(b, "<figure><figcaption>%s</figcaption><p class=now>%.*f <small>%s</small></p>", curve->what,
              curve->digits, now, curve->unit);
    body_putf(
        b,
        "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=none role=img aria-label=\"%s: at most %.*f in the "
        "last minute\"><path d=\"M0 %d H%d\" class=base /><polyline points=\"",
        (RATES - 1) * WIDE, HIGH + 2, curve->what, curve->digits, most, HIGH, (RATES - 1) * WIDE);
    curve_line(b, rates, curve, most);
    body_putf(b, "\" /></svg><small>at most %.*f in the last minute</small></figure>\n", curve->digits, most);
}

void page_curves(struct body *b, const struct rates *rates)
{
    body_put(b, "<section class=curves aria-label=\"the last minute\">\n");
    for (unsigned i = 0; i < sizeof curves / sizeof curves[0]; i++)
        curve_write(b, rates, &curves[i]);
    body_put(b, "</section>\n");
}
