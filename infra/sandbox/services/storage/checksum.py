"""CRC32C, which Python has not."""

from __future__ import annotations

import base64
from collections.abc import Iterator


def _crc_table() -> Iterator[int]:
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        yield value


CRC_TABLE = tuple(_crc_table())


def crc32c(data: bytes) -> str:
    """As an object's metadata has it: big-endian, in base64. Source: Object.crc32c in the discovery document, RFC 4960."""
    value = 0xFFFFFFFF
    for byte in data:
        value = CRC_TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return base64.b64encode((value ^ 0xFFFFFFFF).to_bytes(4)).decode()
