/* The status page: what is wrong, first and large; then figures, curves, masters, waits, holds, events. It
 * has no script, loads nothing, and reads without its style sheet. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_private.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#f4f5f7;--card:#fff;--ink:#1b1f24;--dim:#5b6572;--line:#dde1e6;"
    "--good:#18794e;--warn:#9a5b00;--bad:#c02026;--curve:#2563c9}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#101418;--card:#1a2027;--ink:#e8ecf0;--dim:#9aa6b2;"
    "--line:#2c353f;--good:#4cc38a;--warn:#f0b03e;--bad:#ff6b6b;--curve:#6ea8fe}}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.45 system-ui,sans-serif}\n"
    "main{max-width:1180px;margin:0 auto;padding:12px}\n"
    "header{border-left:10px solid var(--tone);background:var(--card);padding:12px 16px;border-radius:6px}\n"
    ".good{--tone:var(--good)}.warn{--tone:var(--warn)}.bad{--tone:var(--bad)}\n"
    "h1{margin:0;font-size:1.75em;line-height:1.2;color:var(--tone)}\n"
    "header p{margin:4px 0 0}header ul{margin:10px 0 0;padding-left:1.2em;font-size:1.1em}\n"
    "li{color:var(--tone);margin:3px 0;overflow-wrap:anywhere}li b{font-weight:600}\n"
    ".votes i{display:inline-block;width:.8em;height:.8em;margin-right:4px;border-radius:50%;"
    "background:var(--tone);vertical-align:-.05em}\n"
    "dl,.curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:10px "
    "0}\n"
    ".curves{grid-template-columns:repeat(auto-fit,minmax(230px,1fr))}\n"
    "dl div,figure{background:var(--card);border-radius:6px;padding:8px 12px;margin:0}\n"
    "dt,figcaption,small,.none,.dim{color:var(--dim)}dt,figcaption,small{font-size:.87em}\n"
    "dd,.now{margin:0;font-size:1.45em;font-weight:600;color:var(--tone,inherit)}.now "
    "small{font-weight:400}\n"
    "svg{width:100%;height:46px;display:block}\n"
    "polyline{fill:none;stroke:var(--curve);stroke-width:1.6;vector-effect:non-scaling-stroke}\n"
    ".base{stroke:var(--line);vector-effect:non-scaling-stroke}\n"
    "h2{font-size:1.05em;margin:18px 0 6px}\n"
    "table{width:100%;border-collapse:collapse;background:var(--card);border-radius:6px;font-size:.93em}\n"
    "th{color:var(--dim);font-weight:500;text-align:left}th,td{padding:5px 10px;border-bottom:1px solid "
    "var(--line);"
    "vertical-align:top}\n"
    "td{overflow-wrap:anywhere}.name{font-weight:600}.number{white-space:nowrap}.tag{color:var(--tone)}\n"
    ".events td:first-child{white-space:nowrap}footer{margin:18px 0;font-size:.87em}\n"
    "@media(max-width:700px){thead{display:none}tr{display:block;border-bottom:1px solid var(--line);"
    "border-left:5px solid var(--tone,transparent);padding:5px 0}\n"
    "td{display:flex;border:0;padding:2px 10px;white-space:normal}td:empty{display:none}\n"
    "td::before{content:attr(data-l);flex:0 0 8.2em;color:var(--dim);font-weight:400}\n"
    ".curves{grid-template-columns:1fr 1fr}dl{grid-template-columns:1fr 1fr}svg{height:36px}}\n";

/* ---- the verdict ---- */

enum { VERDICT_BYTES = 80 };

static const char *verdict(const struct snapshot *s, enum event_tone tone, char out[VERDICT_BYTES])
{
    unsigned away = s->voters > s->voting ? s->voters - s->voting : 0;
    if (s->voting < s->quorum)
        return "No lock is granted";
    if (s->draining)
        return "Shutting down";
    if (s->unready)
        return "Starting";
    if (tone == TONE_GOOD)
        return "All is well";
    if (away == 0)
        return tone == TONE_BAD ? "Locks are granted, but something is wrong"
                                : "Locks are granted, with warnings";
    snprintf(out, VERDICT_BYTES, "Locks are granted, but %u of %u masters %s no vote", away, s->voters,
             away == 1 ? "has" : "have");
    return out;
}

static void page_head(struct body *b, const struct snapshot *s, const char *title)
{
    body_putf(b, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<title>%s - ", title);
    body_html(b, s->host, strlen(s->host));
    body_put(b, " - redlockd</title>\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                "<style>\n");
    body_put(b, style);
    body_put(b, "</style>\n</head>\n<body>\n<main>\n");
}

/* A dot for each master; the words say the same. */
static void page_votes(struct body *b, const struct snapshot *s)
{
    body_put(b, "<p class=votes>");
    for (unsigned i = 0; i < s->master_count; i++)
        body_putf(b, "<i class=%s></i>", s->masters[i].voting ? "good" : "bad");
    body_putf(b, " <b>%u of %u masters vote</b>, %u %s needed", s->voting, s->voters, s->quorum,
              s->quorum == 1 ? "is" : "are");
    if (s->group.step > 0 || s->group.generation > 0)
        body_putf(b, "; generation %" PRIu32 ", step %" PRIu32 ": %s", s->group.generation, s->group.step,
                  s->group.state);
    body_put(b, "</p>\n");
}

static void page_verdict(struct body *b, const struct snapshot *s, const struct rates *rates)
{
    char words[VERDICT_BYTES];
    struct trouble troubles[TROUBLES];
    unsigned count = troubles_find(s, rates, troubles);
    enum event_tone tone = TONE_GOOD;
    for (unsigned i = 0; i < count; i++)
        tone = troubles[i].tone > tone ? troubles[i].tone : tone;
    const char *said = verdict(s, tone, words);
    page_head(b, s, said);
    body_putf(b, "<header class=%s>\n<h1>%s</h1>\n", words_tone(tone), said);
    page_votes(b, s);
    body_put(b, count > 0 ? "<ul>\n" : "");
    for (unsigned i = 0; i < count; i++) {
        body_putf(b, "<li class=%s>", words_tone(troubles[i].tone));
        body_html(b, troubles[i].text, strlen(troubles[i].text));
        body_put(b, "</li>\n");
    }
    body_put(b, count > 0 ? "</ul>\n</header>\n" : "</header>\n");
}

/* ---- figures ---- */

static void figure(struct body *b, const char *what, uint64_t value, uint64_t limit)
{
    body_putf(b, "<div><dt>%s</dt><dd>%" PRIu64 "</dd>", what, value);
    if (limit > 0)
        body_putf(b, "<small>of at most %" PRIu64 "</small>", limit);
    body_put(b, "</div>\n");
}

static uint64_t limit_of(const struct snapshot *s, const char *key)
{
    for (unsigned i = 0; i < SNAPSHOT_LIMITS; i++)
        if (strcmp(s->limits[i].key, key) == 0)
            return s->limits[i].limit;
    return 0;
}

static void page_figures(struct body *b, const struct snapshot *s)
{
    char time[DURATION_BYTES];
    uint64_t lost = s->lost[LOST_EXPIRED] + s->lost[LOST_GONE] + s->lost[LOST_CLOCK];
    body_put(b, "<dl>\n");
    figure(b, "Locks held", s->figures.core.holds[HOLD_SESSION] + s->figures.core.holds[HOLD_LEASE],
           limit_of(s, "max_locks"));
    figure(b, "Requests waiting", s->figures.core.waiters, limit_of(s, "max_waiters"));
    if (s->figures.core.kept > 0)
        figure(b, "Names kept", s->figures.core.kept, limit_of(s, "max_marks"));
    body_putf(b, "<div><dt>Longest wait</dt><dd>%s</dd></div>\n",
              s->figures.core.waiters ? words_duration(s->longest_wait_ms, time) : "none");
    figure(b, "Clients", s->figures.conns.clients, limit_of(s, "max_clients"));
    body_putf(b, "<div%s><dt>Locks lost since the start</dt><dd>%" PRIu64 "</dd></div>\n",
              lost > 0 ? " class=warn" : "", lost);
    body_put(b, "</dl>\n");
}

static void page_foot(struct body *b, const struct snapshot *s)
{
    char time[DURATION_BYTES];
    body_put(b, "<footer class=dim>redlockd ");
    body_html(b, s->version, strlen(s->version));
    body_put(b, " on ");
    body_html(b, s->host, strlen(s->host));
    body_putf(b, ", up for %s; ", words_duration(s->up_ms, time));
    body_putf(
        b,
        "as of %s, refreshed every 5 s. Locks, waits and clients are those of this daemon alone. "
        "For programs: <a href=\"/status.json\">/status.json</a>.</footer>\n</main>\n</body>\n</html>\n",
        words_time(s->wall_ms, time));
}

void page_write(struct body *b, const struct snapshot *snapshot, const struct rates *rates)
{
    page_verdict(b, snapshot, rates);
    page_figures(b, snapshot);
    page_curves(b, rates);
    page_masters(b, snapshot);
    page_waits(b, snapshot);
    page_locks(b, snapshot);
    page_leaders(b, snapshot);
    page_kept(b, snapshot);
    page_daemons(b, snapshot);
    page_events(b, snapshot);
    page_foot(b, snapshot);
}
