"""Accounts and their balances."""


class Ledger:
    """Balances by account."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = {}

    def credit(self, account: str, amount: int) -> None:
        """Adds to an account."""
        self.balances[account] = self.balances.get(account, 0) + amount

    def debit(self, account: str, amount: int) -> None:
        """Takes from an account. Raises ValueError if it holds less."""
        if self.balances.get(account, 0) < amount:
            raise ValueError(account)
        self.balances[account] = -amount
