#!/usr/bin/env python3
"""stubs.py [--check]: writes from proto/stubs.def what the client libraries in Python, Node.js, Go and Java have of it.

With --check it writes nothing, names the files that are not as it would write them, and then exits with 1. It needs
Python 3.8 or later, and no package.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTE = "Written by `make stubs` from proto/stubs.def."
# The names that a language had before there was one table, and the classes of its library that an error belongs to.
PYTHON_NAMES = {"Cancelled": "LockCancelled"}
PYTHON_BASES = {"LockTimeout": "TimeoutError", "BadArgument": "ValueError", "Unreachable": "ConnectionError",
                "Usage": "RuntimeError"}
GO_NAMES = {"LockTimeout": "Timeout", "BadArgument": "BadArg"}


class Row:
    def __init__(self, kind, fields):
        self.kind, self.fields = kind, fields
        if kind in ("REFUSAL", "FAILURE"):
            self.code, self.stem, self.meaning, self.more = fields

    def sentence(self):
        """For a comment. "redlockd" has no capital at the beginning of a sentence either."""
        first = self.meaning if self.meaning.startswith("redlockd") else self.meaning[0].upper() + self.meaning[1:]
        return f"{first}. {self.more}".strip()


class Table:
    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)
        rows = [Row(kind, [value.strip().strip('"') for value in re.findall(r'"[^"]*"|[^,"]+', inside) if value.strip()])
                for kind, inside in re.findall(r'(\w+)\(((?:[^()"]|"[^"]*")*)\)', text)]
        self.errors = [row for row in rows if row.kind in ("REFUSAL", "FAILURE") and row.meaning]
        # Codes that redlockd has beside that of the class. What is not listed is BadArgument anyway.
        self.others = [row for row in rows if row.kind == "REFUSAL" and not row.meaning and row.stem != "BadArgument"]
        self.refusals = [row for row in self.errors if row.kind == "REFUSAL"]
        self.options = [row.fields for row in rows if row.kind == "OPTION"]
        self.bounds = [(name, int(value)) for name, value in (row.fields for row in rows if row.kind == "BOUND")]


def filled(text, width, indent):
    """Lines of at most so many characters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(indent) + len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


# ---- Python ----


def python(table):
    def name(row):
        return PYTHON_NAMES.get(row.stem, row.stem) + "Error"

    text = [f'"""The errors. Every exception that this package raises by itself is a RedlockdError.\n\n{NOTE}\n"""',
            "from __future__ import annotations\n", "from ._error import RedlockdError\n",
            "__all__ = [" + filled(", ".join(f'"{one}"' for one in sorted(["RedlockdError", *map(name, table.errors)])),
                                   112, "    ")[0]]
    names = filled(", ".join(f'"{one}"' for one in sorted(["RedlockdError", *map(name, table.errors)])), 112, "    ")
    text[-1] = "__all__ = [\n" + "\n".join(f"    {line}" for line in names) + "]"
    for row in table.errors:
        bases = ", ".join(["RedlockdError", *filter(None, [PYTHON_BASES.get(row.stem)])])
        said = "\n    ".join(filled(row.sentence() + '"""', 120, '    """'))
        text.append(f'\n\nclass {name(row)}({bases}):\n    """{said}\n\n    code = "{row.code}"')
    refusals = filled(", ".join(name(row) for row in table.refusals), 118, "    ")
    text.append("\n\n_REFUSALS: dict[str, type[RedlockdError]] = {cls.code: cls for cls in (\n    "
                + "\n    ".join(refusals) + ")}")
    text += [f'_REFUSALS["{row.code}"] = {name(row)}' for row in table.others]
    text.append('''

def error_of(code: str, text: str, retry_ms: int | None) -> RedlockdError:
    """The exception for a refusal of redlockd; codes of later versions are BadArgumentError."""
    return _REFUSALS.get(code, BadArgumentError)(text, None if retry_ms is None else retry_ms / 1000)
''')
    yield "client/python/redlockd/errors.py", "\n".join(text)
    text = [f'"""What a request may say, and the limits of a line. {NOTE}"""\n']
    text += [f"{bound} = {value}" for bound, value in table.bounds]
    text.append("OPTIONS: dict[str, tuple[str, int, tuple[str, ...]]] = {")
    for option, kind, most, words in table.options:
        chosen = ", ".join(f'"{word}"' for word in words.split())
        text.append(f'    "{option}": ("{kind.lower()}", {most}, ({chosen})),')
    yield "client/python/redlockd/_table.py", "\n".join([*text, "}\n"])


# ---- Node.js ----


def node(table):
    names = [f"{row.stem}Error" for row in table.errors]
    head = f"// {NOTE}\n"
    text = ["'use strict';", head + "const { RedlockdError, LostError } = require('./error.js');\n"]
    text += [f"class {name} extends RedlockdError {{}}" for name in names if name != "LostError"]
    text += ["", "const types = {", *(f"  {row.code}: {row.stem}Error," for row in table.errors), "};"]
    text.append('''for (const [code, type] of Object.entries(types)) {
  Object.defineProperty(type.prototype, 'code', { value: code });
  Object.defineProperty(type.prototype, 'name', { value: type.name, writable: true, configurable: true });
}
// Programs look for this name when they have aborted something themselves.
Object.defineProperty(CancelledError.prototype, 'name', { value: 'AbortError' });

const refusals = {
''' + "\n".join(f"  {row.code}: {row.stem}Error," for row in [*table.refusals, *table.others]) + '''
};

/** The error for a line that begins with "-". A code of a later version is a BadArgumentError. */
function refusal(answer) {
  const { retry } = answer.pairs;
  return new (refusals[answer.code.slice(1)] ?? BadArgumentError)(answer.text, retry === undefined ? {} : { retryMs: retry });
}

module.exports = {
  RedlockdError,
  ...Object.fromEntries(Object.values(types).map((type) => [type.name, type])),
  refusal,
};
''')
    yield "client/node/lib/errors.js", "\n".join(text)
    listed = "\n  ".join(filled(", ".join(["RedlockdError", *names]) + ",", 118, "  "))
    yield "client/node/lib/errors.mjs", f"{head}import errors from './errors.js';\n\nexport const {{\n  {listed}\n}} = errors;\n"
    codes = "\n  ".join(filled(" | ".join(f"'{row.code}'" for row in table.errors) + ";", 118, "  "))
    text = [f"{head}export type ErrorCode =\n  {codes}\n",
            "/** The base of every error of this package. The message is redlockd's own line where redlockd refused. */",
            "export class RedlockdError extends Error {", "  readonly code: ErrorCode;",
            "  /** After how many ms asking again may help. */", "  readonly retryMs?: number;", "}"]
    for row in table.errors:
        text.append("/** " + "\n * ".join(filled(row.sentence() + " */", 118, " * ")))
        text.append(f"export class {row.stem}Error extends RedlockdError {{" + ("}" if row.stem != "Lost" else ""))
        if row.stem == "Lost":
            text += ["  /** redlockd's word (expired max gone released moved denied ...), or \"refused\": it could not be resumed. */",
                     "  readonly reason: string;", "}"]
    yield "client/node/lib/errors.d.ts", "\n".join([*text, ""])
    text = ["'use strict';", f"// What a request may say, and the limits of a line. {NOTE}", "module.exports = {"]
    text += [f"  {bound}: {value}," for bound, value in table.bounds]
    text.append("  OPTIONS: {")
    for option, kind, most, words in table.options:
        chosen = ", ".join(f"'{word}'" for word in words.split())
        text.append(f"    {option}: {{ kind: '{kind.lower()}', most: {most}, words: [{chosen}] }},")
    yield "client/node/lib/table.js", "\n".join([*text, "  },", "};", ""])


# ---- Go ----


def go(table):
    def name(row):
        return "Err" + GO_NAMES.get(row.stem, row.stem)

    def aligned(rows):
        width = max(len(name(row)) for row in rows)
        for row in rows:
            if row.more:
                yield f"\t// {row.more}"
            yield f'\t{name(row):{width}} = errors.New("{row.meaning}")'

    def block(rows):
        """gofmt lines up what stands between two comments."""
        piece = []
        for row in rows:
            if row.more and piece:
                yield from aligned(piece)
                piece = []
            piece.append(row)
        yield from aligned(piece)

    text = [f"// Code generated by `make stubs` from proto/stubs.def. DO NOT EDIT.\n", "package redlockd\n",
            'import "errors"\n',
            "// The kinds of errors, for errors.Is. The error itself is an *Error, which has redlockd's own words too.", "var (",
            "\t// Refusals of redlockd. This package also uses some of them by itself, as ErrTimeout, ErrNotHeld and ErrBadArg.\n",
            *block(table.refusals), "\n\t// Errors that this package finds.\n",
            *block([row for row in table.errors if row.kind == "FAILURE"]), ")\n"]
    width = max(len(row.code) for row in table.refusals)
    text.append("var refusals = map[string]error{")
    text += [f'\t"{row.code}":{" " * (width - len(row.code))} {name(row)},' for row in [*table.refusals, *table.others]]
    text.append("}\n")
    text.append("// The limits of the protocol.\nconst (")
    width = max(len(camel(bound)) for bound, _ in table.bounds)
    text += [f"\t{camel(bound):{width}} = {value}" for bound, value in table.bounds]
    yield "client/go/table.go", "\n".join([*text, ")", ""])


def camel(name):
    first, *rest = name.lower().split("_")
    return first + "".join(word.title() for word in rest)


# ---- Java: a public class needs a file of its own ----


def java(table):
    folder = "client/java/src/main/java/redlockd"
    for row in table.errors:
        if row.stem == "Lost":  # has a reason, and is written by hand
            continue
        said = filled(row.sentence(), 117, " * ")
        comment = f"/** {said[0]} */" if len(said) == 1 else "/**\n" + "\n".join(f" * {line}" for line in said) + "\n */"
        yield f"{folder}/{row.stem}Exception.java", f'''// {NOTE}
package redlockd;

{comment}
public final class {row.stem}Exception extends RedlockException {{
    private static final long serialVersionUID = 1;

    {row.stem}Exception(String message, long retryMs) {{
        super(message, retryMs);
    }}
}}
'''
    kinds = ",\n        ".join(f"{row.code}({row.kind == 'REFUSAL'}".lower().replace(row.code.lower(), row.code)
                               + f", {row.stem}Exception::new)" if row.stem != "Lost" else
                               'LOST(false, (text, retryMs) -> new LostException("the lock was lost: " + text, text))'
                               for row in table.errors)
    codes = {row.stem: row.code for row in table.refusals}
    others = "".join(f"""
            if (code.equals("{row.code}")) {{
                return {codes[row.stem]};
            }}""" for row in table.others)
    yield f"{folder}/Failure.java", f'''// {NOTE}
package redlockd;

import java.util.function.BiFunction;

/** How a request failed. The exception is made in the thread that throws it, so that its stack trace is of use. */
record Failure(Kind kind, String text, long retryMs) {{
    enum Kind {{
        {kinds};

        private final boolean refusal;
        private final BiFunction<String, Long, RedlockException> maker;

        Kind(boolean refusal, BiFunction<String, Long, RedlockException> maker) {{
            this.refusal = refusal;
            this.maker = maker;
        }}

        /** The kind of a refusal by its code. A code of a later version of redlockd counts as BADARG. */
        static Kind of(String code) {{{others}
            for (Kind kind : values()) {{
                if (kind.refusal && kind.name().equals(code)) {{
                    return kind;
                }}
            }}
            return BADARG;
        }}
    }}

    static Failure of(Kind kind, String text) {{
        return new Failure(kind, text, -1);
    }}

    static Failure refused(Answer answer) {{
        return new Failure(Kind.of(answer.code()), answer.text(), answer.number("retry", -1));
    }}

    RedlockException exception() {{
        return kind.maker.apply(text, retryMs);
    }}
}}
'''


def main():
    table = Table((ROOT / "proto/stubs.def").read_text())
    stale = []
    for language in (python, node, go, java):
        for name, text in language(table):
            path = ROOT / name
            if not path.exists() or path.read_text() != text:
                stale.append(name)
                if "--check" not in sys.argv:
                    path.write_text(text)
                    print(f"written: {name}")
    if stale and "--check" in sys.argv:
        print("not as proto/stubs.def has it:", *stale, "run `make stubs`, and commit what it writes", sep="\n    ")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
