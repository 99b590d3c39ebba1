"""Random numbers that depend on a seed and a key, and on nothing else."""

import hashlib
import struct


def number(seed, *key):
    """A number from 0 up to 1: the first 53 bits of SHA-256 of the parts, each with its length before it. [reference/chance]"""
    parts = [str(part).encode("utf-8", "surrogatepass") for part in (seed, *key)]
    digest = hashlib.sha256(b"".join(struct.pack("<Q", len(part)) + part for part in parts)).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def in_order(seed, stage, names):
    """Names by their numbers, the smallest first. [reference/chance]"""
    return sorted(names, key=lambda name: (number(seed, stage, name), name))
