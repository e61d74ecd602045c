"""Case files: their grammar (see README.md), what their patterns match, and what {words} stand for."""
import hashlib
import re
import shlex

UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
HEADERS = ("over", "needs", "known", "open", "env", "file", "address")


class CaseError(Exception):
    """The case file itself is wrong."""


class Mismatch(Exception):
    """The client did something else than the case says."""


class Case:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.title = ""
        self.over = ["unix"]
        self.needs = []
        self.known = []  # drivers whose library is known to fail the case
        self.open = ""
        self.env = {}
        self.files = {}
        self.address = None
        self.steps = []  # (line number, text)
        self.many = None  # where a block is read: how often, and its steps
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.strip()
            if line.startswith("#") and not self.title:
                self.title = line[1:].strip()
            if line and not line.startswith("#"):
                self.read(number, line)

    def read(self, number, line):
        word, _, rest = line.partition(" ")
        if word not in HEADERS:
            self.read_step(number, line, word, rest)
            return
        if self.steps:
            raise CaseError(f"{self.path}:{number}: {word} belongs before the first step")
        if word == "over":
            self.over = rest.split()
        elif word in ("needs", "known"):
            setattr(self, word, rest.split())
        elif word == "env":
            key, _, value = rest.partition("=")
            self.env[key] = value
        elif word == "file":
            name, _, text = rest.partition(" ")
            self.files[name] = text
        else:
            setattr(self, word, rest)

    def read_step(self, number, line, word, rest):
        if word == "many":
            self.many = (int(rest), [])
        elif word == "end" and self.many:
            times, steps = self.many
            self.steps += [(at, text.replace("{i}", str(i))) for i in range(1, times + 1) for at, text in steps]
            self.many = None
        else:
            (self.many[1] if self.many else self.steps).append((number, line))


def duration_ms(text):
    match = re.fullmatch(r"(\d+)(ms|s|m|h|)", text)
    if not match:
        raise ValueError(text)
    return int(match[1]) * UNITS_MS[match[2]]


def token_of(name):
    return hashlib.sha1(name.encode()).hexdigest()


def filled(text, values):
    """Replaces {word}: a value of the run, {now+5000}, or {T1}, which is the same token each time."""

    def one(match):
        word = match[1]
        if word in values:
            return str(values[word])
        shifted = re.fullmatch(r"now([+-]\d+)", word)
        if shifted:
            return str(int(values["now"]) + int(shifted[1]))
        if re.fullmatch(r"T\d+", word):
            return token_of(word)
        raise CaseError(f"nothing is known of {{{word}}}")

    return re.sub(r"\{([^{}\s]+)\}", one, text)


def value_matches(want, got):
    if want == "*" or want == got:
        return True
    if want.startswith("!"):
        return got != want[1:]
    try:
        low, dots, high = want.partition("..")
        if not dots:
            return duration_ms(want) == duration_ms(got)
        return duration_ms(low or "0") <= duration_ms(got) and (not high or duration_ms(got) <= duration_ms(high))
    except ValueError:
        return False


def words_of(line):
    """Positional words and key=value pairs of a line; the text behind " : " is for people."""
    words, pairs = [], {}
    for word in re.split(r"(?:^| ): ", line)[0].split():
        key, equals, value = word.partition("=")
        if equals:
            pairs[key] = value
        else:
            words.append(word)
    return words, pairs


def line_matches(want, got, more):
    """more: whether the line may have pairs that the pattern does not name. "key=-": it must not be there."""
    want_words, want_pairs = words_of(want)
    got_words, got_pairs = words_of(got)
    if want_words and want_words[-1] == "...":
        want_words.pop()
        more = True
    if len(want_words) != len(got_words):
        return False
    if not all(value_matches(a, b) for a, b in zip(want_words, got_words)):
        return False
    for key, value in want_pairs.items():
        if (value == "-") != (key not in got_pairs) or (value != "-" and not value_matches(value, got_pairs[key])):
            return False
    return more or all(key in want_pairs for key in got_pairs)


def unescaped(text):
    """The quoted text of a step: shell quotes, then \\n, \\xff."""
    return shlex.split(text)[0].encode("latin-1").decode("unicode_escape").encode("latin-1")
