"""What an invoice comes to."""


def total(prices: list[float], vat: float = 0.0) -> float:
    """Add up prices and VAT."""
    return round(sum(prices) * (1 + vat), 2)
