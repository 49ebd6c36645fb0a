"""The names of a collection's indices and aliases, all made from one prefix.

Of a tenant's group: ``GROUP-v000001`` is an index, ``GROUP-read`` the alias that is searched,
``GROUP-Write-N`` the alias that writers of epoch N use, ``GROUP-Next-N`` the index that a rebuild
fills beside it. An epoch's aliases vanish when a rebuild begins or ends, so that every writer, also
one that was paused, is refused until it has looked at what holds now. Their capitals are for
deletions: ``require_alias`` does not hold for those, and one with an external version makes an
index of a missing name, but no index name may have a capital.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from logicalrag.engines.identity import tenant_key

PREFIX_RULE = "lower-case letters, digits and '_', a letter first, at most 40"
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,39}")
# No other part of a name holds a '-', so that no two names meet.
_PLAIN_TENANT = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")
_INDEX = re.compile(r"-v([0-9]{6,})\Z")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one collection.

    Args:
        prefix: `PREFIX_RULE`.
        shared: all tenants in one group; else each has its own, and its own statistics.

    Raises:
        ValueError: the prefix breaks the rule.
    """

    prefix: str = "logicalrag"
    shared: bool = False

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(f"an index prefix is {PREFIX_RULE}, not {self.prefix[:60]!r}")

    @property
    def catalog(self) -> str:
        """The index that says what the collection is, which tenants it has, and their commits."""
        return f"{self.prefix}-x-catalog"

    @property
    def ledger(self) -> str:
        """The index of the ledger."""
        return f"{self.prefix}-x-ledger"

    def group(self, tenant: str) -> str:
        """Return the group of indices that hold a tenant's passages."""
        if self.shared:
            return f"{self.prefix}-x-shared"
        if _PLAIN_TENANT.fullmatch(tenant):
            return f"{self.prefix}-{tenant}"
        return f"{self.prefix}-x-{tenant_key(tenant)}"

    def read_alias(self, tenant: str) -> str:
        """Return the alias that a tenant's searches go to."""
        return f"{self.group(tenant)}-read"


def index_name(group: str, number: int) -> str:
    """Return the name of a group's index number `number`, from 1."""
    return f"{group}-v{number:06d}"


def index_number(index: str) -> int:
    """Return an index's number within its group; 0 where the name has none."""
    found = _INDEX.search(index)
    return int(found[1]) if found else 0


def write_alias(group: str, epoch: int) -> str:
    """Return the alias that writers of an epoch write through."""
    return f"{group}-Write-{epoch}"


def next_alias(group: str, epoch: int) -> str:
    """Return the alias of the index that writers of an epoch fill as well."""
    return f"{group}-Next-{epoch}"
