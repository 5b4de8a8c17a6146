"""Words that come from files and people: what is not meant to be seen is never shown."""

import re
from pathlib import Path

# Control characters (a terminal obeys them), halves of surrogate pairs (they cannot be written), and the marks that
# turn the direction of the text around (they rearrange what stands beside them).
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
MAX_TEXT = 64 << 20  # bytes of JSON: read by Python, it takes up to thirty times as much


def clean(words: str) -> str:
    return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", words)


def spelt(json: str) -> str:
    """The same JSON, with what is unseen written as escapes."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def writable(words: str) -> bool:
    """Whether it is text. A file's name need not be: Python keeps its odd bytes as halves of surrogate pairs."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_text(path: Path, largest: int = MAX_TEXT) -> str:
    """A description in words; a ValueError where it is too large to be one."""
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"more than {largest >> 20} MB")
    return content.decode("utf-8")
