"""Schemas of the requests and replies of the API, for its documentation and its checks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Token = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Reply = Literal["left", "right", "tie", "unseen left", "unseen right", "unseen both"]


class Taken(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(Taken):
    """Nothing needs to be said."""


class Answer(Taken):
    token: Token
    reply: Reply
    seconds: float | None = Field(None, ge=0, le=1e6, allow_inf_nan=False, description="how long it took to decide")


class Undo(Taken):
    token: Token


class Item(BaseModel):
    id: str
    title: str
    description: str | None = None
    picture: str | None = Field(None, description="a path on this server")


class Question(BaseModel):
    token: str = Field(description="names the question in an answer")
    left: Item
    right: Item
    probability: float | None = Field(description="of preferring left, where something is known")


class News(BaseModel):
    question: Question | None
    answered: int = Field(description="answers of yours that stand")
    reason: str | None = Field(description="why there is no question")
    repeated: bool = Field(description="this had been done before, and nothing changed")


class Collecting(BaseModel):
    answers: int = Field(description="but for those that look like a script's, which a fit leaves out")
    needed: int = Field(description="answers before the first model, which takes enough people as well")
    people: int
    people_needed: int = Field(description="people who must have answered before the first model")


class About(BaseModel):
    title: str
    items: int
    people: int
    answers: int
    model: str | None = Field(description="the version of the model")
    collecting: Collecting | None


class Row(BaseModel):
    place: int
    best: int | None = Field(description="with `worst`: between which places the item is, as sure as `interval` says")
    worst: int | None
    top: float | None = Field(description="probability of being among the first `top_of`")
    group: int | None = Field(
        description="number of a group; it is not certain that an item is behind the first of its group"
    )
    item: Item


class Settled(BaseModel):
    top: int
    share: float = Field(description="of the first `top`, expected to belong there")
    sure: float
    more: int | None = Field(
        description="answers that are expected to bring the share to `sure`; null: very many, or more than are left"
    )
    left: int = Field(description="pairs that may still be asked; `more` is at most that")


class Ranking(BaseModel):
    rows: list[Row]
    interval: float
    top_of: int
    of: int
    answered: int
    settled: Settled | None


class Different(BaseModel):
    item: Item
    difference: float = Field(description="how much more it is worth to you, in log-odds")
    low: float = Field(description="with `high`: between which numbers the difference is, as sure as `interval` says")
    high: float


class Differences(BaseModel):
    rows: list[Different]
    interval: float
    answered: int


class Spread(BaseModel):
    item: Item
    mean: float = Field(description="what it is worth on average, in log-odds")
    spread: float = Field(description="by how much people differ about it")


class Crowd(BaseModel):
    divides: list[Spread]
    unites: list[Spread]


class Dot(BaseModel):
    item: Item
    x: float
    y: float


class Shape(BaseModel):
    """A normal distribution in the plane."""

    x: float
    y: float
    sxx: float
    sxy: float
    syy: float


class TasteMap(BaseModel):
    items: list[Dot]
    me: Shape | None
    crowd: Shape | None
    answered: int


class Move(BaseModel):
    item: Item
    from_: int = Field(alias="from")
    to: int


class WhatIf(BaseModel):
    token: str
    left: list[Move]
    right: list[Move]


class Given(BaseModel):
    token: str
    reply: Reply
    left: Item
    right: Item
    probability: float | None = Field(description="of what you said, by your other answers")


class Answers(BaseModel):
    answers: list[Given]


class Items(BaseModel):
    items: list[Item]
    of: int


class Link(BaseModel):
    path: str


class Health(BaseModel):
    ok: Literal[True]


class Problem(BaseModel):
    error: str
