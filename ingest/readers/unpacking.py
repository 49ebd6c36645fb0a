"""What is packed, unpacked in bounds: gzip streams, and the members of zip files.

Deflate packs up to 1,032 to one, so a small file may stand for one without end. A zip file's
members cannot unpack to more than the directory declares (`zipfile` cuts them there and finds the
checksum wrong), so their declared sizes are bounded before one is opened.
"""

from __future__ import annotations

import errno
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, cast

from ingest.locations import label_of
from ingest.readers.settings import MIB, ReaderSettings
from ingest.readers.source import RefusedError

_UNSUSPICIOUS_BYTES = 10 * MIB
_BUFFER_BYTES = MIB
_MAX_DIRECTORY_BYTES = 64 * MIB
_ENCRYPTED = 0x1
# `zipfile` unpacks a block of the other ways (bzip2, LZMA) whole, whatever comes out of it.
_BOUNDED_WAYS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DAMAGES = (
    EOFError,
    NotImplementedError,
    LookupError,
    OverflowError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class _Unpacked(io.RawIOBase):
    """A packed stream as a plain one that says in one way what is wrong with it."""

    def __init__(
        self,
        packed: gzip.GzipFile | zipfile.ZipExtFile,
        packed_bytes: Callable[[], int],
        max_ratio: int,
    ) -> None:
        self._packed = packed
        self._packed_bytes = packed_bytes
        self._max_ratio = max_ratio
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # mypy's Buffer has no length
        with damage_told():
            # All that is whole is handed on before the damage is told, unlike with `read`.
            data = self._packed.read1(len(buffer))
        self._bytes += len(data)
        if is_bomb(self._bytes, self._packed_bytes(), self._max_ratio):
            raise _bomb(self._max_ratio)
        buffer[: len(data)] = data
        return len(data)

    def tell(self) -> int:
        return self._bytes

    def close(self) -> None:
        self._packed.close()
        super().close()


@contextmanager
def damage_told(*more: type[Exception]) -> Iterator[None]:
    """Turn what broken packing raises, and `more`, into a refusal; a failing disk is none."""
    damages: tuple[type[Exception], ...] = (*_DAMAGES, *more)
    try:
        yield
    except damages as failure:
        raise _damaged(failure) from None
    except OSError as failure:
        # A place before the file's beginning, which only a broken list of members names.
        if failure.errno not in (None, errno.EINVAL):
            raise
        raise _damaged(failure) from None


def _damaged(failure: Exception) -> RefusedError:
    detail = label_of(str(failure)) or type(failure).__name__
    return RefusedError("damaged_file", f"it is damaged ({detail}); get a whole copy of it")


def is_bomb(unpacked_bytes: int, packed_bytes: int, max_ratio: int) -> bool:
    """Return whether this much from so little is no honest file."""
    return unpacked_bytes > _UNSUSPICIOUS_BYTES and unpacked_bytes > max_ratio * packed_bytes


def _bomb(max_ratio: int) -> RefusedError:
    return RefusedError(
        "unsafe_archive",
        f"it unpacks to more than {max_ratio} times its size; unpack it yourself if you trust it",
    )


def unpacked_gzip(stream: io.BufferedReader, settings: ReaderSettings) -> io.BufferedReader:
    """Return the content of a gzip stream, as a stream; reading it raises `RefusedError`."""
    packed = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(_Unpacked(packed, stream.tell, settings.max_ratio), _BUFFER_BYTES)


class _BoundedDirectory:
    """A zip file whose list of members is bounded: `zipfile` reads it in one piece."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable

    def read(self, size: int = -1) -> bytes:
        if size > _MAX_DIRECTORY_BYTES:
            raise RefusedError("unsafe_archive", "its list of files is too long; split it")
        return self._stream.read(size)


def open_zip(
    stream: io.BufferedIOBase, settings: ReaderSettings, max_bytes: int
) -> zipfile.ZipFile:
    """Open a zip file whose members, unpacked, are at most `max_bytes` in all.

    Args:
        stream: seekable; left open.

    Raises:
        RefusedError: it is damaged, or holds too many or too large members.
    """
    with damage_told():
        archive = zipfile.ZipFile(cast("IO[bytes]", _BoundedDirectory(stream)))
    members = archive.infolist()
    if len(members) > settings.max_members:
        raise RefusedError(
            "unsafe_archive",
            f"it holds {len(members)} files, over {settings.max_members}; split it or raise the "
            "limit",
        )
    if sum(member.file_size for member in members) > max_bytes:
        raise RefusedError(
            "unsafe_archive",
            f"it unpacks to more than {max_bytes} bytes; split it or raise the limit",
        )
    return archive


def open_package(
    stream: io.BufferedIOBase, settings: ReaderSettings, max_members: int
) -> zipfile.ZipFile:
    """Open a zip file that is one document, all of whose members a library may read.

    Raises:
        RefusedError: it, or one of its members, is damaged, encrypted or over a bound.
    """
    archive = open_zip(stream, settings, settings.max_package_bytes)
    members = archive.infolist()
    if len(members) > max_members:
        raise RefusedError("unsafe_archive", f"it holds over {max_members} parts; save it anew")
    for member in members:
        check_member(member, settings)
    return archive


def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, settings: ReaderSettings
) -> io.BufferedReader:
    """Return the content of a member, as a stream; reading it raises `RefusedError`.

    Raises:
        RefusedError: it is encrypted, damaged, or unpacks to too much.
    """
    check_member(member, settings)
    with damage_told():
        packed = archive.open(member)
    packed_bytes = member.compress_size
    unpacked = _Unpacked(packed, lambda: packed_bytes, settings.max_ratio)  # type: ignore[arg-type]
    return io.BufferedReader(unpacked, _BUFFER_BYTES)


def check_member(member: zipfile.ZipInfo, settings: ReaderSettings) -> None:
    """Look at what the directory says of a member.

    Raises:
        RefusedError: it is encrypted, unpacks to too much, or is packed in an unbounded way.
    """
    if member.flag_bits & _ENCRYPTED:
        raise RefusedError("encrypted_file", "it is encrypted; unpack it with its password first")
    if member.compress_type not in _BOUNDED_WAYS:
        raise RefusedError(
            "unsupported_type", "it is packed in another way than deflate; pack it anew"
        )
    if is_bomb(member.file_size, member.compress_size, settings.max_ratio):
        raise _bomb(settings.max_ratio)
