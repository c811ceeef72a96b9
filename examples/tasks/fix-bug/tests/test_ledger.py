"""The ledger adds up."""

import sys

import pytest

sys.path.append("/app")

from ledger import Ledger


def test_debits_add_up() -> None:
    ledger = Ledger()
    ledger.credit("a", 10)
    ledger.debit("a", 3)
    ledger.debit("a", 4)
    assert ledger.balances == {"a": 3}


def test_no_account_is_overdrawn() -> None:
    ledger = Ledger()
    ledger.credit("a", 1)
    with pytest.raises(ValueError, match="a"):
        ledger.debit("a", 2)
    assert ledger.balances == {"a": 1}
