"""Data larger than the device: arrays that nobody writes any more go to the host, and come back when they are used.

Nothing happens while there is room. Where an allocation fails, the array that was used most recently, but not in this
visit or the last one, makes room: shards are visited in turn, so it is needed again last. Copies run beside the
kernels: what the next shard needs is asked for while this one is solved (`prefetch`).

A launch brings back the arrays that it is given, so no kernel and no learner knows of it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from topmix.cuda.arrays import DeviceArray


class Copies(Protocol):
    """Copies that a device makes beside its kernels. Each has a token for whoever waits."""

    capacity: int  # bytes

    def copy_out(self, array: DeviceArray) -> tuple[np.ndarray, object]:
        """(a copy on the host, token)"""
        ...

    def copy_in(self, host: np.ndarray) -> tuple[DeviceArray, object]:
        """(a copy on the device, token)"""
        ...

    def wait(self, token: object) -> None:
        """Kernels that are launched from now on come after the copy."""
        ...

    def finish(self, token: object) -> None:
        """Returns when the copy is made."""
        ...


class Held:
    """An array on the device that nobody writes any more; perhaps on the host alone, until it is used."""

    def __init__(self, parking: Parking, array: DeviceArray):
        self._parking, self.n_bytes = parking, int(array.nbytes)
        self._array: DeviceArray | None = array
        self._host: np.ndarray | None = None
        self._coming: object = None  # the token of a copy that is on its way
        self.visit = parking.visit  # when it was used last

    @property
    def is_here(self) -> bool:
        return self._array is not None

    def __call__(self) -> DeviceArray:
        """The array on the device."""
        self.prefetch()
        if self._coming is not None:
            self._parking.copies.wait(self._coming)
            self._coming = None
        assert self._array is not None
        return self._array

    def prefetch(self) -> None:
        """It will be used soon."""
        self.visit = self._parking.visit
        if self._array is None:
            assert self._host is not None
            self._array, self._coming = self._parking.copies.copy_in(self._host)

    def park(self) -> None:
        """Gives up its place on the device. The copy on the host stays good, as the array never changes."""
        if self._host is None:
            self._host, token = self._parking.copies.copy_out(self())
            self._parking.leaving.append((self._array, token))
        elif self._coming is not None:
            self()
        self._array = None


class Parking:
    """All arrays of a device that can make room."""

    def __init__(self, copies: Copies):
        self.copies = copies
        self.visit = 0  # counts visits to shards
        self.is_used = False  # whether anything has had to leave
        self.is_early = False  # whether room is for what is needed later, for which nothing of now has to leave
        self.leaving: deque[tuple[DeviceArray | None, object]] = deque()  # arrays whose copies are not made yet
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()

    def hold(self, array: DeviceArray | Held) -> Held:
        if isinstance(array, Held):
            return array
        held = Held(self, array)
        self._held.add(held)
        return held

    def make_room(self) -> bool:
        """Some, a sixteenth of the device where that can be; False where there is none to make. Asking often costs
        more than a copy, so much leaves at a time."""
        if self.leaving:
            self._see_off()
            return True
        here = [held for held in self._held if held.is_here and not (self.is_early and held.visit >= self.visit - 1)]
        if not here:
            return False
        self.is_used, n_bytes = True, 0
        for held in sorted(here, key=lambda held: (held.visit < self.visit - 1, held.visit), reverse=True):
            held.park()
            n_bytes += held.n_bytes
            if n_bytes * 16 >= self.copies.capacity or held.visit >= self.visit - 1:
                break
        return True

    def _see_off(self) -> None:
        while self.leaving:
            self.copies.finish(self.leaving.popleft()[1])

    def clear(self) -> None:
        self._see_off()
        self._held.clear()
        self.is_used = False

    def prefetch(self, things: object) -> None:
        """What a later visit needs comes while this one is computed, as far as there is room."""
        if not self.is_used:
            return
        self.is_early = True
        try:
            for held in held_in(things):
                held.prefetch()
        except MemoryError:
            pass
        finally:
            self.is_early = False


def held_in(thing: object) -> Iterator[Held]:
    """The arrays that an object holds, itself or in tuples and objects of this package that it has."""
    if isinstance(thing, Held):
        yield thing
    elif isinstance(thing, tuple | list):
        for each in thing:
            yield from held_in(each)
    elif hasattr(thing, "HOLDS"):
        for name in thing.HOLDS:
            yield from held_in(getattr(thing, name, None))
