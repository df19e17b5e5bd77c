"""A small service: what is in stock, and orders that take from it."""

from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, Field

STOCK = {"tea": 5, "cup": 1}


class Order(BaseModel):
    """So many of one thing."""

    sku: str
    quantity: Annotated[int, Field(ge=1, le=10)] = 1


class Stock:
    """What is there, for as long as one service lives."""

    def __init__(self) -> None:
        self.left = dict(STOCK)

    def take(self, order: Order) -> int:
        """Take from the stock and give what is left."""
        if order.sku not in self.left:
            raise HTTPException(404, f"no {order.sku!r} is sold here")
        if self.left[order.sku] < order.quantity:
            raise HTTPException(409, f"only {self.left[order.sku]} of {order.sku!r} left")
        self.left[order.sku] -= order.quantity
        return self.left[order.sku]


def make_app() -> FastAPI:
    """Make a service with a stock of its own."""
    app, stock = FastAPI(title="Shop"), Stock()

    @app.get("/stock")
    async def read_stock() -> dict[str, int]:
        return stock.left

    @app.post("/orders", status_code=201)
    async def order(order: Order, left: Annotated[int, Depends(stock.take)]) -> dict[str, int]:
        return {"left": left}

    return app
