"""The paths of the API and of the page, with their handlers."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from ..errors import InputError
from . import panels
from . import schemas as told
from .desk import Desk
from .gate import Rates, neighbourhood
from .listed import PICTURES
from .metrics import Metrics
from .refusal import Refusal
from .static import page_files
from .votes import as_csv, as_parquet

log = logging.getLogger("rather.serve")
COOKIE = "rather"  # its name by itself was that of every poll's cookie once
YEARS = 2 * 365 * 24 * 3600
MOST_ROWS, MOST_ITEMS = 500, 1000  # given at once
PAGES = {"/": "index.html", "/arena": "arena.html", "/api": "api.html", "/shared/{token}": "shared.html"}
ABOUT = (
    "Which of two would you rather have? Every question that is put has a token, and an answer names it: a repeated or "
    "forged answer changes nothing and says so. Who you are is a cookie that POST /api/question sets; nobody can read "
    'or change another\'s answers. An answer is acknowledged only after it is on disk. Errors are {"error": sentence}; '
    "429 and 503 say in Retry-After when to try again."
)
WHY = {
    400: "not a request", 401: "the admin token is missing or wrong", 403: "sent by another site's page",
    404: "there is no such thing", 409: "answered already, otherwise", 413: "too long", 421: "not this server's name",
    422: "something is not as it must be", 429: "too many at once; Retry-After", 501: "pyarrow is not installed",
    503: "not now; Retry-After",
}  # fmt: skip

UNREADABLE = {
    "json_invalid": "The body is not JSON.",
    "model_attributes_type": "The body must be a JSON object, with the header Content-Type: application/json.",
}

Limit = Annotated[int, Query(ge=1, le=MOST_ROWS, description="rows at most")]
BEARER = HTTPBearer(auto_error=False, description="the admin token")
CSV: dict[str, Any] = {"content": {"text/csv": {}}, "description": "every answer, also those undone, with marks"}
PARQUET: dict[str, Any] = {"content": {"application/vnd.apache.parquet": {}}, "description": "the same"}


class Json(JSONResponse):
    """As it is, without another look: what is told is ours."""

    def render(self, content: Any) -> bytes:
        told = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return told.encode("utf-8", "replace")  # what is refused may be quoted, and may be no text


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of refusals; some can meet anybody."""
    return {s: {"model": told.Problem, "description": WHY[s]} for s in sorted({*statuses, 421, 422, 429, 503})}


@dataclass
class Here:
    """The objects that the paths use."""

    desk: Desk
    metrics: Metrics
    title: str
    admin: str
    cookie: str  # of this poll: browsers send cookies to every port of a host
    secure: bool
    collecting: Callable[[], dict[str, int] | None]
    turns: Rates  # of visitors
    arrivals: Rates  # of addresses

    @property
    def old_cookie(self) -> str:
        return cookie_name("", self.secure)


def cookie_name(poll: str, secure: bool) -> str:
    """The name of a poll's cookie; without a poll, the older name."""
    return ("__Host-" if secure else "") + COOKIE + (f"-{poll}" if poll else "")


def here(request: Request) -> Here:
    found: Here = request.app.state.here
    return found


def address(request: Request) -> str:
    return neighbourhood(request.client.host) if request.client else ""


def secret(request: Request) -> str | None:
    """Return the cookie of the visitor's browser."""
    own = here(request)
    found = request.cookies.get(own.cookie, request.cookies.get(own.old_cookie))
    return found if found is not None and len(found) <= 200 else None


async def visitor(request: Request) -> str | None:
    """The same, of whoever may have another turn: so many of one visitor, and so many new ones of an address."""
    own, mine = here(request), secret(request)
    if await own.desk.visitors.of(mine) is None:
        mine = None  # made up, and so as new as who has none
    later = own.turns.wait(mine) if mine is not None else own.arrivals.wait(address(request))
    if later:
        raise Refusal(429, "That was a lot at once; wait a little.", later)
    return mine


def admin(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> None:
    if given is None or not hmac.compare_digest(given.credentials.encode(), here(request).admin.encode()):
        raise HTTPException(401, "This takes the admin token.", {"www-authenticate": "Bearer"})


def turned(request: Request, told: Any, new: str | None = None) -> Response:
    """The reply to a turn. It sets the cookie of somebody new, and replaces the older cookie of somebody known."""
    own, reply = here(request), Json(told)
    old = secret(request) if new is None and own.cookie not in request.cookies else None
    if new or old:
        reply.set_cookie(own.cookie, new or old or "", YEARS, httponly=True, samesite="strict", secure=own.secure)
    if old:
        reply.delete_cookie(own.old_cookie, httponly=True, samesite="strict", secure=own.secure)
    return reply


# -- turns ------------------------------------------------------------------------------------------------------------

turns = APIRouter(tags=["turns"])


@turns.post("/api/question", response_model=told.News, responses=problems(400, 403, 413))
async def question(body: told.Nothing, request: Request) -> Any:
    """Return the open question, or a new one. A new visitor gets a cookie."""
    own = here(request)
    return turned(request, *await own.desk.question(await visitor(request), address(request)))


@turns.post("/api/answer", response_model=told.News, responses=problems(400, 403, 404, 409, 413))
async def answer(body: told.Answer, request: Request) -> Any:
    """Answer a question, and get the next. The same answer again is acknowledged again, and changes nothing."""
    desk = here(request).desk
    return turned(request, await desk.answer(await visitor(request), body.token, body.reply, body.seconds))


@turns.post("/api/undo", response_model=told.News, responses=problems(400, 403, 404, 413))
async def undo(body: told.Undo, request: Request) -> Any:
    """Take an answer back, and be asked again."""
    return turned(request, await here(request).desk.undo(await visitor(request), body.token))


@turns.post("/api/share", response_model=told.Link, responses=problems(400, 403, 404, 413))
async def share(body: told.Nothing, request: Request) -> Any:
    """A link that shows your ranking, and none of your answers, to whoever has it."""
    return turned(request, {"path": f"/shared/{await here(request).desk.share(await visitor(request))}"})


# -- what is known ----------------------------------------------------------------------------------------------------

known = APIRouter(tags=["known"])


@known.get("/api/about", response_model=told.About, responses=problems())
async def about(request: Request) -> Any:
    """Describe what is ranked here, and how many votes there are."""
    own, desk = here(request), here(request).desk
    return Json(
        {
            "title": own.title, "items": len(desk.listed), "people": desk.people, "answers": desk.answers,
            "model": desk.knowledge.version, "collecting": own.collecting(),
        }
    )  # fmt: skip


@known.get("/api/ranking", response_model=told.Ranking, responses=problems())
async def ranking(request: Request, who: Literal["me", "everyone"] = "me", limit: Limit = 20) -> Any:
    """Your ranking or everybody's, best first, with the places between which each item is."""
    desk = here(request).desk
    if who == "everyone":
        return Json(await desk.everyone(limit))
    return Json(await desk.panel(secret(request), panels.ranking, limit))


@known.get("/api/difference", response_model=told.Differences, responses=problems())
async def difference(request: Request, limit: Limit = 10) -> Any:
    """List the items that are certainly worth more, or less, to you than to everybody else."""
    return Json(await here(request).desk.panel(secret(request), panels.difference, limit))


@known.get("/api/crowd", response_model=told.Crowd, responses=problems())
async def crowd(request: Request, limit: Limit = 10) -> Any:
    """List the items that divide people, and those that unite them."""
    return Json(await here(request).desk.crowd(limit))


@known.get("/api/map", response_model=told.TasteMap, responses=problems())
async def taste_map(request: Request) -> Any:
    """The two directions in which people differ most, and where you may be."""
    return Json(await here(request).desk.panel(secret(request), panels.taste_map))


@known.get("/api/whatif", response_model=told.WhatIf, responses=problems(404))
async def whatif(request: Request) -> Any:
    """Return how either answer to the open question would change your list."""
    return Json(await here(request).desk.whatif(secret(request)))


@known.get("/api/answers", response_model=told.Answers, responses=problems())
async def answers(request: Request, limit: Limit = 100) -> Any:
    """Your own answers, the last first, with how likely each was by the others."""
    return Json(await here(request).desk.given(secret(request), limit))


@known.get("/api/shared/{token}", response_model=told.Ranking, responses=problems(404))
async def shared(request: Request, token: Annotated[told.Token, Path()], limit: Limit = 50) -> Any:
    """A ranking that somebody shared."""
    return Json(await here(request).desk.shared(token, limit))


@known.get("/api/items", response_model=told.Items, responses=problems())
async def items(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Any:
    """The items, in the order of the list."""
    listed = here(request).desk.listed
    return Json({"items": listed.documents[offset : offset + limit], "of": len(listed)})


# -- for whoever runs it ----------------------------------------------------------------------------------------------

operators = APIRouter(tags=["operators"], dependencies=[Depends(admin)], default_response_class=Response)


@contextmanager
def readable() -> Iterator[None]:
    """Whoever runs the server is told why the ledger cannot be read."""
    try:
        yield
    except InputError as e:
        raise Refusal(503, str(e), 5) from e


@operators.get("/api/export.csv", responses={200: CSV, **problems(401)})
async def export_csv(request: Request) -> Any:
    """All votes."""
    parts = as_csv(here(request).desk.ledger)
    with readable():
        first = await asyncio.to_thread(next, parts)  # so that a ledger which cannot be read is refused
    return StreamingResponse(chain((first,), parts), media_type="text/csv; charset=utf-8")


@operators.get("/api/export.parquet", responses={200: PARQUET, **problems(401, 501)})
async def export_parquet(request: Request) -> Any:
    """All votes."""
    if find_spec("pyarrow") is None:
        raise Refusal(501, "Parquet needs pyarrow; run: pip install 'rather[parquet]'")
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        with readable():
            await asyncio.to_thread(as_parquet, here(request).desk.ledger, file)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_parts(file), media_type="application/vnd.apache.parquet")


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    """A file from its beginning, closed in the end."""
    with file:
        file.seek(0)
        yield from iter(lambda: file.read(2**16), b"")


@operators.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **problems(401)})
async def numbers(request: Request) -> Any:
    """Numbers for operators, as Prometheus reads them."""
    return Response(here(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


health = APIRouter(tags=["operators"])


@health.get("/livez", response_model=told.Health)
async def livez() -> Any:
    """The process answers."""
    return Json({"ok": True})


@health.get("/readyz", response_model=told.Health, responses=problems())
async def readyz(request: Request) -> Any:
    """Questions can be put and answers can be kept."""
    writer = here(request).desk.writer
    if writer.failing is not None:
        try:
            await asyncio.to_thread(writer.probe)
        except Exception as e:
            raise Refusal(503, "Answers cannot be saved just now.", 5) from e
    return Json({"ok": True})


def make_app(own: Here) -> FastAPI:
    app = FastAPI(title=own.title, description=ABOUT, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.here = own
    _refusals(app)
    for router in (turns, known, operators, health):
        app.include_router(router)
    schema = get_openapi(title=own.title, version="1", description=ABOUT, routes=app.routes)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Any:
        return Json(schema)

    _page(app, own.desk)
    own.metrics.know({path for path in [*schema["paths"], *PAGES, "/openapi.json"] if "{" not in path})
    return app


def _page(app: FastAPI, desk: Desk) -> None:
    """The page's files, and the items' pictures."""
    files = page_files()

    def sent(name: str, request: Request) -> Response:
        file = files[name]
        headers = {"etag": file.tag, "vary": "accept-encoding", "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.packed, media_type=file.kind, headers={**headers, "content-encoding": "gzip"})
        return Response(file.body, media_type=file.kind, headers=headers)

    def page(path: str, name: str) -> None:
        @app.api_route(path, methods=["GET", "HEAD"], include_in_schema=False)
        async def show(request: Request) -> Response:
            return sent(name, request)

    for path, name in PAGES.items():
        page(path, name)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str, request: Request) -> Response:
        if name not in files or name.endswith(".html"):
            raise Refusal(404, "There is no such page.")
        return sent(name, request)

    @app.get("/pictures/{number}", include_in_schema=False)
    async def picture(number: Annotated[int, Path(ge=0)]) -> Response:
        path = desk.listed.pictures.get(number)
        if path is None or not path.is_file():
            raise Refusal(404, "There is no such picture.")
        alone = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return FileResponse(path, media_type=PICTURES[path.suffix.lower()], headers=alone)


def _refusals(app: FastAPI) -> None:
    """Answer every failure with a sentence."""

    @app.exception_handler(Refusal)
    async def refused(_: Request, e: Refusal) -> Response:
        return Json({"error": e.sentence}, e.status, e.headers)

    @app.exception_handler(HTTPException)
    async def http(_: Request, e: HTTPException) -> Response:
        said = {404: "There is no such page.", 405: "That is not done with this."}.get(e.status_code, str(e.detail))
        return Json({"error": said}, e.status_code, dict(e.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, e: RequestValidationError) -> Response:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        said = UNREADABLE.get(first["type"], f"{where or 'the request'}: {first['msg']}")
        return Json({"error": said}, 422)

    @app.exception_handler(InputError)
    async def input_error(_: Request, e: InputError) -> Response:
        log.warning("%s", e)  # without the path, which may hold the secret of a link
        return Json({"error": "That could not be looked up just now."}, 503, {"retry-after": "5"})
