"""langdetect's seeded labels from compiled code: identical labels, about a hundred times faster.

It repeats the published algorithm step by step with the installed package's own profiles and tables: n-grams of one to three
normalised letters; seven trials, each with a normally distributed smoothing parameter, which multiply the probabilities of
random n-grams until one language exceeds 0.99999; the mean over trials. Rounding is the same, too: products in
the same order, and sums as in the running Python (left to right until 3.11; with Neumaier's compensation since 3.12).
Random numbers are CPython's: `Random(0)`, with its 32-bit words stored in an array.

One shortcut: if the remaining trials (each adds at most 1/7 to a language) cannot change the leading language, they are
skipped.
"""

from __future__ import annotations

import functools
import math
import random
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.text.compiled import kept, njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 10_000
"""Maximum number of characters that langdetect uses."""

WORDS_OF_CHANCE = 1 << 16
"""Number of stored random words, far more than seven trials of at most 1,001 draws need; beyond, langdetect itself runs."""

TRIALS, STEPS, LANES = 7, 1000, 56
COMPENSATED = sys.version_info >= (3, 12)
NO_FEATURES, UNKNOWN, OUT_OF_CHANCE = -1, -2, -3
PRIME, S33, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(33), np.uint64(1)
S21, S42 = np.uint64(21), np.uint64(42)


def detect(texts: Sequence[str]) -> list[str]:
    """Return langdetect's label of each text with seed 0; "" if it finds no features or no language."""
    from langdetect.detector import Detector
    from langdetect.utils.ngram import NGram

    languages, *tables = _model()
    ready = []
    for text in texts:
        plain = Detector.URL_RE.sub(" ", text) if "http" in text else text
        plain = Detector.MAIL_RE.sub(" ", plain) if "@" in plain else plain
        ready.append(plain if plain.isascii() else NGram.normalize_vi(plain))
    end = np.cumsum([0, *map(len, ready)])
    points = np.frombuffer("".join(ready).encode("utf-32-le", "surrogatepass"), np.int32)
    codes: NDArray[np.int64] = _detect(points, end, *tables, len(languages), COMPENSATED)
    return [
        languages[code] if code >= 0 else _detect_with_package(text) if code == OUT_OF_CHANCE else ""
        for code, text in zip(codes.tolist(), texts, strict=True)
    ]


def _detect_with_package(text: str) -> str:
    """Return the label from langdetect itself."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    label: str = langdetect.detect(text)
    return "" if label == "unknown" else label


@functools.cache
def _model() -> tuple[Any, ...]:
    """Return the languages; each n-gram's position and probabilities; letter normalisation; random words."""
    tables = kept(f"langdetect-{version('langdetect')}", _build_model)
    chances = np.zeros((len(tables["keys"]), LANES))
    chances.put(tables["places"], tables["odds"])
    return tables["languages"].tolist(), chances, *(tables[name] for name in TABLES)


TABLES = ("keys", "slots", "normal", "upper", "words")


def _build_model() -> dict[str, NDArray[Any]]:
    """Build the model from the package's own profiles."""
    from langdetect import detector_factory
    from langdetect.utils.ngram import NGram

    detector_factory.init_factory()
    factory = detector_factory._factory  # noqa: SLF001 - the package has no public access to its profiles
    grams = {gram: odds for gram, odds in factory.word_lang_prob_map.items() if len(gram) <= 3}
    chances = np.zeros((len(grams), LANES))
    languages = list(factory.langlist)
    chances[:, : len(languages)] = np.array(list(grams.values()))[:, : len(languages)]
    keys = np.array([_key(gram) for gram in grams], np.uint64)
    slots = np.zeros(1 << (2 * len(keys)).bit_length(), np.int32)
    _fill(slots, keys)
    normal = np.arange(0x110000, dtype=np.int32)
    for point in (*range(0xD800), *range(0xE000, 0x10000)):  # characters beyond are not normalised
        normal[point] = ord(NGram.normalize(chr(point)))
    upper = np.array([chr(point).isupper() for point in range(0x110000)])
    source = random.Random(0)  # noqa: S311 - langdetect's own generator, to be repeated
    words = np.array([source.getrandbits(32) for _ in range(WORDS_OF_CHANCE)], np.uint32)
    places = np.flatnonzero(chances)  # most n-grams occur in few languages
    few = {"languages": np.array(languages), "places": places, "odds": chances.take(places)}
    return few | dict(zip(TABLES, (keys, slots, normal, upper, words), strict=True))


def _key(gram: str) -> int:
    """Return one to three code points as one number."""
    number = 0
    for letter in gram:
        number = number << 21 | (ord(letter) + 1)
    return number


# Compiled: no Python objects, no interpreter lock.


@njit
def _fill(slots: Any, keys: Any) -> None:
    mask = np.uint64(len(slots) - 1)
    for gram in range(len(keys)):
        place = (keys[gram] * PRIME) >> S33 & mask
        while slots[place]:
            place = (place + ONE) & mask
        slots[place] = gram + 1


@njit(helper=True)
def _find(slots: Any, keys: Any, key: Any) -> Any:
    """Return the n-gram with this key, or -1."""
    mask = np.uint64(len(slots) - 1)
    place = (key * PRIME) >> S33 & mask
    while slots[place]:
        if keys[slots[place] - 1] == key:
            return slots[place] - 1
        place = (place + ONE) & mask
    return -1


@njit
def _detect(
    points: Any,
    end: Any,
    chances: Any,
    keys: Any,
    slots: Any,
    normal: Any,
    upper: Any,
    words: Any,
    languages: Any,
    compensated: Any,
) -> Any:
    """Return the number of each text's language, or why there is none."""
    codes = np.empty(len(end) - 1, np.int64)
    letters, grams = np.empty(MOST, np.int32), np.empty(3 * MOST, np.int32)
    for text in range(len(codes)):
        size = _clean(points, end[text], end[text + 1], letters)
        count = _grams(letters, size, keys, slots, normal, upper, grams)
        codes[text] = NO_FEATURES
        if count:
            codes[text] = _label(grams, count, chances, words, languages, compensated)
    return codes


@njit(helper=True)
def _clean(points: Any, begin: Any, end: Any, letters: Any) -> Any:
    """Merge spaces, and remove Latin letters if others prevail. Returns the length."""
    size, last = 0, 0
    for at in range(begin, min(end, begin + MOST)):
        if points[at] != 32 or last != 32:
            letters[size] = points[at]
            size += 1
        last = points[at]
    latin, others = 0, 0
    for at in range(size):
        if 65 <= letters[at] <= 122:
            latin += 1
        elif letters[at] >= 0x300 and not 0x1E00 <= letters[at] <= 0x1EFF:
            others += 1
    if 2 * latin < others:
        kept = 0
        for at in range(size):
            if not 65 <= letters[at] <= 122:
                letters[kept] = letters[at]
                kept += 1
        size = kept
    return size


@njit(helper=True)
def _grams(letters: Any, size: Any, keys: Any, slots: Any, normal: Any, upper: Any, grams: Any) -> Any:
    """Return the text's known n-grams in order, without words in capitals."""
    first, second, third, length, capitals, count = 0, 0, 32, 1, False, 0
    for at in range(size):
        letter = normal[letters[at]]
        before = third
        if before == 32:
            first, second, length, capitals = 0, 0, 1, False
        if before != 32 or letter != 32:
            first, second, third = second, third, letter
            length = min(length + 1, 3)
            capitals = upper[letter] and (capitals or upper[before])
        if capitals:
            continue
        key = np.uint64(third + 1)
        if third != 32:
            gram = _find(slots, keys, key)
            if gram >= 0:
                grams[count] = gram
                count += 1
        if length >= 2:
            key |= np.uint64(second + 1) << S21
            gram = _find(slots, keys, key)
            if gram >= 0:
                grams[count] = gram
                count += 1
        if length >= 3:
            gram = _find(slots, keys, key | np.uint64(first + 1) << S42)
            if gram >= 0:
                grams[count] = gram
                count += 1
    return count


@njit(helper=True)
def _sum(odds: Any, languages: Any, compensated: Any) -> Any:
    """Add floats like the built-in `sum`."""
    total, lost = 0.0, 0.0
    if not compensated:
        for k in range(languages):
            total += odds[k]
        return total
    for k in range(languages):
        more = total + odds[k]
        lost += (total - more) + odds[k] if abs(total) >= abs(odds[k]) else (odds[k] - more) + total
        total = more
    return total + lost if lost and math.isfinite(lost) else total


@njit(helper=True)
def _random(words: Any, at: Any) -> Any:
    """Return CPython's `random()` from two words."""
    return ((words[at] >> np.uint32(5)) * 67108864.0 + (words[at + 1] >> np.uint32(6))) * (
        1.0 / 9007199254740992.0
    )


@njit(helper=True)
def _label(grams: Any, count: Any, chances: Any, words: Any, languages: Any, compensated: Any) -> Any:
    """Run seven trials and return the most probable mean language if above 0.1."""
    odds, mean = np.empty(LANES), np.zeros(LANES)
    bits = 0
    while count >> bits:
        bits += 1
    shift, below = np.uint32(32 - bits), np.uint32(count)
    at, spare = 0, 0.0  # the next random word; the second of a pair of normal numbers
    for trial in range(TRIALS):
        for k in range(LANES):
            odds[k] = 1.0 / languages
        if trial % 2 == 0:
            angle, radius = (
                _random(words, at) * (2.0 * math.pi),
                math.sqrt(-2.0 * math.log(1.0 - _random(words, at + 2))),
            )
            normal, spare = math.cos(angle) * radius, math.sin(angle) * radius
            at += 4
        else:
            normal = spare
        weight = (0.5 + (0.0 + normal * 1.0) * 0.05) / 10000
        for step in range(STEPS + 1):
            draw = words[at] >> shift
            at += 1
            while draw >= below:
                draw = words[at] >> shift
                at += 1
            if at > len(words) - 200:  # the number of draws has no upper bound
                return OUT_OF_CHANCE
            gram = grams[draw]
            for k in range(LANES):
                odds[k] *= weight + chances[gram, k]
            if step % 5 == 0:
                total, most = _sum(odds, languages, compensated), 0.0
                for k in range(LANES):
                    odds[k] /= total
                for k in range(languages):
                    most = max(most, odds[k])
                if most > 0.99999:
                    break
        first, second = 0.0, 0.0
        for k in range(languages):
            mean[k] += odds[k] / TRIALS
            if mean[k] > first:
                first, second = mean[k], first
            else:
                second = max(second, mean[k])
        if first - second > (TRIALS - 1 - trial) / TRIALS + 1e-9:
            break
    best = 0
    for k in range(1, languages):
        if mean[k] > mean[best]:
            best = k
    return best if mean[best] > 0.1 else UNKNOWN
