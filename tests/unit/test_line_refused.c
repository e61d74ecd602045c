/* Lines that are refused, and how the refusal is said. */
#include "tests/unit/line_said.h"
#include "tests/unit/suite.h"

T(bytes_outside_ascii_text_are_badline)
{
    char line[] = "#7 LOCK a?b";
    char *odd = strchr(line, '?');

    for (int byte = 0; byte < 256; byte++) {
        *odd = (char)byte;
        const char *got = answer_bytes(line, sizeof line - 1);
        bool allowed = byte >= 0x20 && byte <= 0x7e;
        ck_assert_msg(allowed != (strncmp(got, "#7 -BADLINE", 11) == 0), "byte 0x%02x: %s", (unsigned)byte,
                      got);
    }
    *odd = '\0';
    ck_assert_str_eq(answer_bytes(line, sizeof line - 1),
                     "#7 -BADLINE : byte 10 is 0x00: a line has 0x20 to 0x7e, then LF or CR LF");
    ck_refused("LOCK a\r", "-BADLINE : byte 7 is 0x0d: a line has 0x20 to 0x7e, then LF or CR LF");
    ck_refused("\tLOCK a", "-BADLINE : byte 1 is 0x09: a line has 0x20 to 0x7e, then LF or CR LF");
    ck_refused("AUTH me s\xc3\xa9same",
               "-BADLINE : byte 10 is not ASCII: a line has 0x20 to 0x7e, then LF or CR LF");
    ck_begins("#7\tLOCK a", "-BADLINE");
}

T(a_line_is_too_long_from_1024_bytes_on)
{
    char line[LINE_BYTES + 1];

    memset(line, ' ', sizeof line);
    memcpy(line, "PING", 4);
    ck_assert_str_eq(answer_bytes(line, LINE_BYTES - 1), "");
    ck_assert_str_eq(answer_bytes(line, LINE_BYTES), "-TOOLONG : a line has at most 1024 bytes with its end");
    memset(line, 'x', sizeof line);
    ck_assert_str_eq(answer_bytes(line, LINE_BYTES - 1),
                     "-BADVERB : \"xxxxxxxxxxxxxxxxxxxxxxxx...\" is not a verb; HELP lists them");
}

T(a_tag_that_cannot_be_read_is_badtag)
{
    static const char *const lines[] = {"#",           "# PING",     "#7,8 PING",
                                        "#a:b LOCK a", "##7 PING",   "#1234567890abcdefg PING",
                                        "#a=b PING",   "#\"x\" PING"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_refused(lines[i], "-BADTAG : a tag is # and 1 to 16 of A-Z a-z 0-9 . _ -");
    ck_assert_uint_eq(accepted("#1234567890abcdef PING").tag.len, TAG_BYTES);
}

T(an_unknown_verb_is_named_and_help_offered)
{
    ck_refused("LOK job", "-BADVERB : \"LOK\" is not a verb; HELP lists them");
    ck_refused("#7 LOCKS job", "#7 -BADVERB : \"LOCKS\" is not a verb; HELP lists them");
    ck_refused("#7", "#7 -BADVERB : no verb after the tag; HELP lists them");
    ck_refused("a\"b\\c", "-BADVERB : \"a\\\"b\\\\c\" is not a verb; HELP lists them");
    ck_refused("LOC job", "-BADVERB : \"LOC\" is not a verb; HELP lists them");
}

T(names_have_limits)
{
    static const char *const bad[] = {"#a", ":a", "a=b", "ttl=10s"};
    char line[64];
    char expected[256];

    ck_assert_uint_eq(accepted("LOCK " A200).name.len, NAME_BYTES);
    ck_assert_uint_eq(accepted("LOCK a:b#c!{}~'").name.len, 10);
    ck_refused("LOCK " A200 "b", "-BADARG : a name has at most 200 bytes, this one has 201");
    ck_refused("LOCK", "-BADARG : LOCK needs a name; write LOCK job ttl=10s wait=30s");
    ck_refused("#7 unlock", "#7 -BADARG : UNLOCK needs a name; write UNLOCK job");
    ck_begins("LOCK a\"b", "-BADARG : \"a\\\"b\" is not a name: ");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(line, sizeof line, "LOCK %s", bad[i]);
        (void)snprintf(
            expected, sizeof expected,
            "-BADARG : \"%s\" is not a name: 1 to 200 visible characters except , \" = and no # or : "
            "first; options follow it",
            bad[i]);
        ck_refused(line, expected);
    }
}

T(lists_of_names_have_limits)
{
    static const char *const bad[] = {",", "a,", ",a", "a,,b", "a,#b", "a,b=c"};
    char line[1024] = "LOCK a";
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(line, sizeof line, "LOCK %s", bad[i]);
        ck_begins(line, "-BADARG : \"");
    }
    ck_begins("LOCK a,,b",
              "-BADARG : \"a,,b\" is no list of names: name,name without spaces, and each 1 to 200 visible ");
    ck_assert_uint_eq(accepted("LOCK 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16").name.more, 15);
    ck_refused("LOCK 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
               "-BADARG : LOCK takes at most 16 names at once");
    ck_refused("UNLOCK b,a,b", "-BADARG : a name stands twice in \"b,a,b\": write each once");
    ck_refused("CHECK b,a", "-BADARG b,a : CHECK needs the lock's token; write CHECK job token=<40 hex>");
    (void)snprintf(line, sizeof line, "LOCK %.198s1,%.198s2,%.198s3,%.198s4,%.100s", A200, A200, A200, A200,
                   A200);
    ck_assert_uint_eq(accepted(line).name.len, 900);
    strcat(line, "b");
    ck_refused(line, "-BADARG : several names have at most 900 bytes together, these have 901");
}

T(options_are_refused_with_the_name_and_what_to_write)
{
    ck_refused("LOCK job tll=1s",
               "-BADARG job : LOCK has no option \"tll\"; it has ttl= wait= max= hold= note= "
               "token= mode= slots= data=");
    ck_refused("#7 CHECK job ttl=1s", "#7 -BADARG job : CHECK has no option \"ttl\"; it has token=");
    ck_refused("PING now=1", "-BADARG : PING has no options; write PING");
    ck_refused("LOCK job =1s",
               "-BADARG job : LOCK has no option \"\"; it has ttl= wait= max= hold= note= token= "
               "mode= slots= data=");
    ck_refused("LOCK job ttl=1s TTL=1s", "-BADARG job : ttl= stands twice: write it once");
    ck_refused("LOCK job ttl=",
               "-BADARG job : ttl=\"\" is not allowed: write 250ms, 10s, 5m or 1h; at most 30 days (720h)");
    ck_refused(
        "LOCK job wait=31d",
        "-BADARG job : wait=\"31d\" is not allowed: write 250ms, 10s, 5m or 1h; at most 30 days (720h)");
    ck_refused(
        "LOCK job max=721h",
        "-BADARG job : max=\"721h\" is not allowed: write 250ms, 10s, 5m or 1h; at most 30 days (720h)");
    ck_refused(
        "LOCK job hold=forever",
        "-BADARG job : hold=\"forever\" is not allowed: write session (ends with this connection) or lease");
    ck_refused("LOCK job mode=read",
               "-BADARG job : mode=\"read\" is not allowed: write shared (many readers) or "
               "exclusive (one writer)");
    ck_refused("HELLO 1 events=all",
               "-BADARG : events=\"all\" is not allowed: write renewed; all other events come anyway");
}

T(notes_and_client_words_have_limits)
{
    char line[128] = "LOCK job note=";
    size_t start = strlen(line);

    memset(line + start, 'n', WORD_BYTES);
    ck_assert_uint_eq(accepted(line).note.len, WORD_BYTES);
    line[start + WORD_BYTES] = 'n';
    ck_refused(
        line, "-BADARG job : note=\"nnnnnnnnnnnnnnnnnnnnnnnn...\" is not allowed: 1 to 64 visible characters "
              "except , \" = and no # or : first");
    ck_begins("LOCK job note=", "-BADARG job : note=\"\" is not allowed");
    ck_begins("LOCK job note=a=b", "-BADARG job : note=\"a=b\" is not allowed");
    ck_begins("LOCK job note=#1", "-BADARG job : note=\"#1\" is not allowed");
    ck_begins("HELLO 1 client=a,b", "-BADARG : client=\"a,b\" is not allowed");
}

T(tokens_are_exact_and_never_echoed)
{
    ck_refused("LOCK job token=" TOKEN "0",
               "-BADARG job : token= takes the 40 hex digits of +LOCKED, not these 41 bytes");
    ck_refused("LOCK job token=012345",
               "-BADARG job : token= takes the 40 hex digits of +LOCKED, not these 6 bytes");
    ck_begins("CHECK job token=g123456789abcdef0123456789abcdef01234567", "-BADARG job : token= takes");
    ck_begins("CHECK job token=0123456789abcdef0123456789abcdef0123456/", "-BADARG job : token= takes");
    ck_refused("CHECK job", "-BADARG job : CHECK needs the lock's token; write CHECK job token=<40 hex>");
    ck_refused("RESUME job ttl=1s",
               "-BADARG job : RESUME needs the lock's token; write RESUME job token=<40 hex>");
    ck_refused("RESUME job token=" TOKEN " hold=lease",
               "-BADARG job : RESUME has no option \"hold\"; it has ttl= wait= max= note= token=");
    ck_refused("EXTEND job ttl=1s",
               "-BADARG job : EXTEND needs the lock's token; write EXTEND job token=<40 hex> ttl=30s");
}

T(reentry_takes_no_other_option)
{
    const char *alone =
        "-BADARG job : token= asks for a lock once more and stands alone: its first LOCK's options go on";

    ck_refused("LOCK job token=" TOKEN " ttl=1s", alone);
    ck_refused("LOCK job wait=1s token=" TOKEN, alone);
    ck_refused("LOCK job mode=exclusive token=" TOKEN, alone);
    ck_refused("LOCK job mode=shared ttl=10s token=" TOKEN, alone);
}

T(a_word_too_many_is_shown)
{
    ck_refused(
        "LOCK job 10s",
        "-BADARG job : \"10s\" is a word too many: write LOCK job ttl=10s wait=30s (options are key=value)");
    ck_refused("PING PING", "-BADARG : \"PING\" is a word too many: write PING (options are key=value)");
    ck_begins("CANCEL 7 8", "-BADARG : \"8\" is a word too many");
    ck_begins("SHOW LOCKS all", "-BADARG : \"all\" is a word too many");
}

T(arguments_that_are_no_names_are_checked)
{
    ck_refused("CANCEL #7", "-BADARG : \"#7\" is not a tag: 1 to 16 of A-Z a-z 0-9 . _ - (here without #)");
    ck_begins("CANCEL 12345678901234567", "-BADARG : \"12345678901234567\" is not a tag");
    ck_refused("HELLO", "-BADARG : HELLO needs the protocol's number first; write HELLO 1");
    ck_refused("HELLO client=me 1", "-BADARG : HELLO needs the protocol's number first; write HELLO 1");
    ck_refused(
        "SHOW",
        "-BADARG : SHOW takes LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD or "
        "VERSION");
    ck_refused(
        "SHOW LOCK",
        "-BADARG : SHOW takes LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD or "
        "VERSION");
}

/* A refusal repeats neither the user nor the secret. */
T(auth_takes_two_words)
{
    static const char answered[] = "-BADARG : AUTH takes two words; write AUTH <user> <secret>";
    ck_refused("AUTH", answered);
    ck_refused("AUTH me", answered);
    ck_refused("AUTH me sesame more", answered);
    ck_refused("AUTH me sesame client=x", answered);
}

T(slots_are_a_number_up_to_1024)
{
    static const char *const wrong[] = {"0",  "1025", "2000", "99999999999", "01",
                                        "-1", "+1",   "1.5",  "x",           "3x"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[64], refusal[128];
        snprintf(line, sizeof line, "LOCK job slots=%s", wrong[i]);
        snprintf(refusal, sizeof refusal,
                 "-BADARG job : slots=\"%s\" is not allowed: write a number from 1 to 1024", wrong[i]);
        ck_refused(line, refusal);
    }
    static const char *const none[] = {"-1", "x", "1024", "99999"};
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        char line[64], refusal[128];
        snprintf(line, sizeof line, "BREAK job slot=%s", none[i]);
        snprintf(refusal, sizeof refusal,
                 "-BADARG job : slot=\"%s\" is not allowed: write a number from 0 to 1023, as WHO tells it",
                 none[i]);
        ck_refused(line, refusal);
    }
    ck_refused("LOCK job slots=3 mode=shared", "-BADARG job : mode=shared is for one name without slots=");
    ck_refused("LOCK job,log slots=3", "-BADARG job,log : slots= is for one name, not for several at once");
    ck_begins("UNLOCK job slots=3", "-BADARG job : UNLOCK has no option");
    ck_begins("LOCK job slots=3 token=" TOKEN, "-BADARG job : token= asks for a lock once more");
}

T(what_this_version_lacks_is_unsupported)
{
    ck_refused("HELLO 2 later=option", "-UNSUPPORTED proto=1");
    ck_refused("#7 HELLO 99999999999999999999", "#7 -UNSUPPORTED proto=1");
}

T(refusals_fit_even_with_the_worst_words)
{
    char line[512];
    char quotes[65];

    memset(quotes, '"', 64);
    quotes[64] = '\0';
    static const char *const frames[] = {"%s",
                                         "LOCK %s",
                                         "LOCK " A200 " %s",
                                         "LOCK " A200 " ttl=%s",
                                         "LOCK a %s=1",
                                         "LOCK a note=%s",
                                         "LOCK a hold=%s",
                                         "LOCK a mode=%s",
                                         "LOCK a max=%s",
                                         "CANCEL %s",
                                         "CANCEL 7 %s",
                                         "HELLO 1 events=%s",
                                         "UNLOCK a %s=1",
                                         "EXTEND a %s",
                                         "RESUME a %s",
                                         "SHOW LOCKS %s"};
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        const char *slot = strstr(frames[i], "%s");
        size_t before = (size_t)(slot - frames[i]);
        memcpy(line, frames[i], before);
        memcpy(line + before, quotes, sizeof quotes - 1);
        strcpy(line + before + sizeof quotes - 1, slot + 2);
        ck_begins(line, "-BAD"); /* line_answer() checks for cuts */
    }
}

T(keep_and_kept)
{
    ck_refused("UNLOCK job keep=0",
               "-BADARG job : keep=\"0\" is not allowed: write at least 1ms, or leave it out");
    ck_refused(
        "UNLOCK job keep=721h",
        "-BADARG job : keep=\"721h\" is not allowed: write 250ms, 10s, 5m or 1h; at most 30 days (720h)");
    ck_refused("UNLOCK job keep=1h lost=gone",
               "-BADARG job : keep= is for a lock that was not lost: leave lost= out");
    ck_refused("UNLOCK a,b keep=1h",
               "-BADARG a,b : keep= and kept are for one name, not for several at once");
    ck_refused("UNLOCK a,b kept", "-BADARG a,b : keep= and kept are for one name, not for several at once");
    ck_refused("UNLOCK job kept=1", "-BADARG job : kept=\"1\" is not allowed: write kept alone, without =");
    ck_refused("UNLOCK job kept keep=1h",
               "-BADARG job : kept stands alone: UNLOCK <name> kept ends what keep= began");
    ck_refused("LOCK job kept", "-BADARG job : \"kept\" is a word too many: write LOCK job ttl=10s wait=30s "
                                "(options are key=value)");
    ck_refused("UNLOCK job ttl=1h",
               "-BADARG job : UNLOCK has no option \"ttl\"; it has token= lost= keep= kept");
}
