"""Zip archives of strangers, read within limits: nothing is unpacked before its declared size is known to be small."""

import io
import re
import struct
import zipfile
from pathlib import Path

from ropeval.errors import UserError, first_line
from ropeval.files import UNREADABLE

MAX_BYTES = 256 * 2**20  # of an archive, and of all that is unpacked from it; an MLP policy has a few million
MAX_DIRECTORY = 2 * 2**20  # bytes of the list of members
END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")
LONGEST_COMMENT = 2**16
ENCRYPTED = 0x1
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # LZMA may ask for gigabytes of dictionary before its first byte


def read_bytes(path: Path, where: str) -> bytes:
    """A whole file, if it is a file and not too large."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UserError(f"{where}: the file has {size / 2**20:,.0f} MiB; no policy of this format is that large")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{where}: cannot be read ({error.strerror or error})") from error


class Archive:
    """A zip archive in memory. `read` gives members; all of them together may unpack to `MAX_BYTES`."""

    def __init__(self, content: bytes, where: str):
        self.where, self._left = where, MAX_BYTES
        _check_directory(content, where)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            members = self._zip.infolist()
        except UNREADABLE as error:
            raise UserError(f"{where}: the archive is cut short or damaged ({first_line(error)})") from error
        self.members: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            self._check(member)
            self.members[member.filename] = member

    def _check(self, member: zipfile.ZipInfo) -> None:
        name = ascii(member.filename[:100])
        if member.filename.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", member.filename) or (
            re.match(r"[A-Za-z]:", member.filename)
        ):  # fmt: skip
            raise UserError(f"{self.where}: member {name} points outside the archive; no policy file needs that")
        if member.filename in self.members:
            raise UserError(f"{self.where}: member {name} is there twice; which one is meant?")
        if member.flag_bits & ENCRYPTED:
            raise UserError(f"{self.where}: member {name} is encrypted; unpack it and pack it without a password")
        if member.compress_type not in METHODS:
            raise UserError(f"{self.where}: member {name} is compressed by method {member.compress_type}; "
                            "only stored and deflated members are read")  # fmt: skip

    def read(self, name: str, limit: int = MAX_BYTES) -> bytes:
        member = self.members.get(name)
        if member is None:
            raise UserError(f"{self.where}: the archive has no member {name[:100]!a}; damaged?")
        limit = min(limit, self._left)
        if member.file_size > limit:
            raise UserError(
                f"{self.where}: member {name[:100]!a} unpacks to {member.file_size / 2**20:,.0f} MiB; no policy is "
                f"that large (it may have {limit // 2**20} MiB)"
            )
        self._left -= member.file_size
        try:
            return self._zip.read(member)
        except UNREADABLE as error:
            raise UserError(f"{self.where}: member {name[:100]!a} is damaged ({first_line(error)})") from error


def is_zip(start: bytes) -> bool:
    return start.startswith(b"PK\x03\x04")


def _check_directory(content: bytes, where: str) -> None:
    """`zipfile` reads the whole list of members at once, whatever its length: look at the length first."""
    at = content.rfind(b"PK\x05\x06", max(0, len(content) - LONGEST_COMMENT - END.size))
    if at < 0 or len(content) - at < END.size:
        raise UserError(f"{where}: the archive is cut short: its list of members is missing; copy the file again")
    sizes = [END.unpack_from(content, at)[5]]
    before = at - LOCATOR_64.size
    if before >= 0 and content[before : before + 4] == b"PK\x06\x07":
        end_64 = before - END_64.size
        if LOCATOR_64.unpack_from(content, before)[2] != end_64 or content[end_64 : end_64 + 4] != b"PK\x06\x06":
            raise UserError(f"{where}: the archive's end is not where it says; damaged?")
        sizes.append(END_64.unpack_from(content, end_64)[8])
    if max(sizes) > MAX_DIRECTORY:
        raise UserError(f"{where}: its list of members declares {max(sizes):,} bytes; no policy has that many members")
