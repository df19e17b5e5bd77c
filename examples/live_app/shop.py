"""A web shop under uvicorn. What an agent may see of it, and do, stands in one place below."""

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import uvicorn
from fastapi import FastAPI

import repl_pair as rp


@dataclass
class Order:
    """What a customer ordered; the card never leaves the process."""

    sku: str
    quantity: int
    card: Annotated[str, rp.Sensitive] = ""


shop = rp.surface("shop", doc="The web shop.")
orders = shop.collection("orders", dict[str, Order])
paused = shop.cell("paused", bool, default=False)
refunds = shop.event("refunds", str)
shop.expose("orders", "paused")


@shop.function(mutates=False, expose=True, thread_safe=True)
def count_open(sku: str | None = None) -> int:
    """Count the orders, or those of one article."""
    return sum(sku in (None, order.sku) for order in list(orders.values()))


@shop.function(expose=True, ask=True, thread_safe=True)
def pause(on: bool = True) -> bool:
    """Stop taking orders, or go on."""
    paused.set(on)
    return on


@shop.function(thread_safe=True)
def refund(order_id: str) -> None:
    """Give the money back: no agent reaches this."""
    orders.pop(order_id)
    refunds.emit(order_id)


@asynccontextmanager
async def lifespan(_app: FastAPI):
    """Embed a kernel for agents as long as the app runs."""
    kernel = rp.embed(name=os.environ.get("SHOP_KERNEL", "shop"))
    yield
    await asyncio.to_thread(kernel.close)


app = FastAPI(lifespan=lifespan)
orders["0"] = Order("tea", 2, card="5500 0000 0000 0004")


@app.post("/orders/{order_id}")
def place(order_id: str, sku: str, quantity: int, card: str) -> dict[str, bool]:
    """Take an order, unless the shop is paused."""
    if paused.get():
        return {"taken": False}
    orders[order_id] = Order(sku, quantity, card)
    return {"taken": True}


if __name__ == "__main__":
    uvicorn.run(
        app, host="127.0.0.1", port=int(os.environ.get("SHOP_PORT", "8000")), log_level="warning"
    )
