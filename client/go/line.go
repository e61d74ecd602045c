package redlockd

import (
	"strconv"
	"strings"
	"time"
)

const (
	namesBytes  = 800 // of several names together, so that a line has room for all options
	durationMax = 30 * 24 * time.Hour
)

// An answer is a line of redlockd. Numbers that the line does not have are -1.
type answer struct {
	tag, code, name, text      string // text: the whole line without its tag
	token, reason, mode        string
	state, host, data          string
	features                   string // with commas between
	fence, until, now          int64
	behind, retry, proto, slot int64
}

const (
	hasName = 1 << iota
	hasToken
	hasState
	hasFence
	hasUntil
	hasProto
	hasNow
)

// The parts that a line must have to be of use.
var needs = map[string]int{
	"+LOCKED": hasName | hasToken | hasFence | hasUntil, "+UNLOCKED": hasName, "+EXTENDED": hasName | hasUntil,
	"+HELD": hasName | hasUntil, "+HELLO": hasProto | hasNow, "+OK": 0, "+PONG": 0, "+BYE": 0, "+KEPT": hasName,
	"+DATA": hasName, "+WATCHING": hasName | hasState, "+END": 0,
	"!EXPIRING": hasName | hasToken, "!LOST": hasName | hasToken, "!RENEWED": hasName | hasToken | hasUntil,
	"!DRAIN": 0, "!CLOCK": 0, "!NOW": hasName | hasState,
}

// parseAnswer reads a line without its end. False: no redlockd of this protocol wrote it.
func parseAnswer(line string) (a answer, ok bool) {
	a = answer{fence: -1, until: -1, now: -1, behind: -1, retry: -1, proto: -1, slot: -1}
	for i := 0; i < len(line); i++ {
		if line[i] < ' ' || line[i] > '~' {
			return a, false
		}
	}
	if strings.HasPrefix(line, "#") {
		a.tag, line, _ = strings.Cut(line[1:], " ")
		if a.tag == "" {
			return a, false
		}
	}
	a.text = strings.TrimLeft(line, " ")
	a.code, line, _ = strings.Cut(a.text, " ")
	if a.code == "*" {
		return a, true
	}
	if len(a.code) < 2 || !strings.Contains("+-!", a.code[:1]) {
		return a, false
	}
	need, known := needs[a.code]
	if !known && a.code[0] == '+' {
		return a, false
	}
	ok = a.words(line) && need&^a.parts() == 0
	return a, ok
}

// words reads the name and the key=value words. A line in which a known key stands twice cannot be trusted.
func (a *answer) words(line string) bool {
	for first := true; line != ""; first = false {
		var word string
		word, line, _ = strings.Cut(line, " ")
		if word == ":" {
			return true
		}
		if word == "" {
			continue
		}
		key, value, pair := strings.Cut(word, "=")
		if !pair && first {
			a.name = word
		}
		if pair && !a.pair(key, value) {
			return false
		}
	}
	return true
}

// pair takes a pair whose key it knows, and passes over others, since later versions add words.
func (a *answer) pair(key, value string) bool {
	var text *string
	var number *int64
	switch key {
	case "token":
		text = &a.token
	case "reason":
		text = &a.reason
	case "mode":
		text = &a.mode
	case "features":
		text = &a.features
	case "state":
		text = &a.state
	case "host":
		text = &a.host
	case "data":
		text = &a.data
	case "fence":
		number = &a.fence
	case "until":
		number = &a.until
	case "now":
		number = &a.now
	case "behind":
		number = &a.behind
	case "retry":
		number = &a.retry
	case "proto":
		number = &a.proto
	case "slot":
		number = &a.slot
	}
	if text != nil {
		twice := *text != ""
		*text = value
		return !twice
	}
	if number == nil {
		return true
	}
	n, err := strconv.ParseUint(value, 10, 62)
	twice := *number >= 0
	*number = int64(n)
	return err == nil && !twice
}

func (a *answer) hasFeature(word string) bool {
	return strings.Contains(","+a.features+",", ","+word+",")
}

func (a *answer) parts() (parts int) {
	for i, has := range [...]bool{a.name != "", isToken(a.token), a.state != "", a.fence > 0, a.until >= 0, a.proto == 1,
		a.now >= 0} {
		if has {
			parts |= 1 << i
		}
	}
	return parts
}

func isToken(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// isWord reports whether redlockd takes this as a name, a note or a client's name.
func isWord(text string, most int) bool {
	if text == "" || len(text) > most || text[0] == '#' || text[0] == ':' {
		return false
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c <= ' ' || c > '~' || c == ',' || c == '"' || c == '=' {
			return false
		}
	}
	return true
}

// isData reports whether a holder may tell this.
func isData(text string) bool {
	return text != "" && len(text) <= dataBytes && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) < 0
}

// isNames reports whether this is a name, or several with commas between them, as Lock.Name returns them.
func isNames(text string) bool {
	for _, name := range strings.Split(text, ",") {
		if !isWord(name, nameBytes) {
			return false
		}
	}
	return len(text) <= namesBytes
}

func appendNumber(line []byte, key string, n int64) []byte {
	if n <= 0 {
		return line
	}
	return strconv.AppendInt(append(line, key...), n, 10)
}

func appendText(line []byte, key, text string) []byte {
	if text == "" {
		return line
	}
	return append(append(line, key...), text...)
}

// milliseconds rounds up, so that redlockd is asked for no less than the caller wants.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
