"""Check the pages of docs/: links lead somewhere, and few sentences are long. ``make lint`` runs it.

A sentence has at most 25 words. At most 5 % of a page's sentences may be longer. Links of the other pages of the
project, such as the README, are followed, too.
"""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
MOST_WORDS = 25
MOST_LONG = 0.05
#: Numbers and the symbols of formulas are no words.
WORD = re.compile(r"\b(?:[^\W\d_]{2,}(?:['’.-]?[^\W\d_]+)*|a|I)\b")


def slug(heading: str) -> str:
    """Return the anchor of a heading, as the site makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def without_code(text: str) -> str:
    """Return a page without fenced and indented code."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join("" if re.match(r" {4}(?! *[-*\d])", line) else line for line in text.splitlines())


def broken_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file or no heading."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            found.append(f"{page.name}: no file {target}")
        elif anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ +(.*)$", without_code(file.read_text(encoding="utf-8")), re.MULTILINE)
            if anchor not in map(slug, headings):
                found.append(f"{page.name}: no heading {target}")
    return found


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose: without headings, code, tables and what is generated."""
    text = re.sub(r"<!-- generated: (\S+) -->.*?<!-- end of generated \1 -->", "", text, flags=re.DOTALL)
    lines = [line for line in without_code(text).splitlines() if not re.match(r"\s*(\||#|!\[|--8<--|\$\s)", line)]
    prose = re.sub(r"`[^`]*`", "Code", "\n".join(lines))
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s+", prose)
    return [
        one
        for block in blocks
        for one in re.split(r"(?<=[.!?])[)*_]*\s+(?=[\W_]*[A-Z0-9])|:\s*$", block)
        if one.strip()
    ]


def share_of_long(text: str) -> float:
    """Return the share of sentences with more than `MOST_WORDS` words."""
    counts = [len(WORD.findall(sentence)) for sentence in sentences(text)]
    return sum(count > MOST_WORDS for count in counts) / max(1, len(counts))


def main() -> int:
    """Print what is wrong with each page, and return 1 where anything is."""
    wrong = [link for page in sorted(DOCS.parent.glob("*.md")) for link in broken_links(page)]
    for page in sorted(DOCS.glob("*.md")):
        wrong += broken_links(page)
        share = share_of_long(page.read_text(encoding="utf-8"))
        if share > MOST_LONG:
            wrong.append(
                f"{page.name}: {share:.1%} of the sentences have more than {MOST_WORDS} words ({MOST_LONG:.0%})"
            )
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
