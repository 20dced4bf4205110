"""The HTTPS server to which the API server sends its reviews (aiohttp; own certificates, renewed in place).

Objects are converted from the first moment: the caches that admission looks at are filled by lists for which an API
server may have to ask for conversion. Admission is answered once it was let in.
"""

import asyncio
import logging
import traceback
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from aiohttp import web

from worker_agent.api.crds import CONVERT_PATH
from worker_agent.kube.errors import ApiError
from worker_agent.kube.http_server import HttpsServer
from worker_agent.webhooks import conversion, review
from worker_agent.webhooks.request_tally import RequestTally
from worker_agent.webhooks.review import LONGEST_QUOTE, Hook, Review, ReviewError, Verdict
from worker_agent.webhooks.shown_certificate import ShownCertificate

log = logging.getLogger(__name__)

LARGEST_BODY = 16 * 1024 * 1024
"""Bytes; an AdmissionReview holds two objects of at most 1.5 MiB each, and room to spare."""
LARGEST_CONVERSION = 512 * 1024 * 1024
"""Bytes; a ConversionReview holds every object of a list."""
IN_THE_LOOP = 16 * 1024
"""Bytes; larger conversions take a thread, so that admission is answered meanwhile."""


UNREADABLE = "the object is not of the form that its kind has, or this is an error of fedhub: "


class WebhookServer:
    """Serves ``hooks`` by path. ``start`` returns when it listens; ``ready`` tells probes so.

    ``certificate`` is what it shows, and says how callers may speak TLS.
    """

    def __init__(self, hooks: Mapping[str, Hook], host: str, port: int, certificate: ShownCertificate) -> None:
        self._hooks = dict(hooks)
        self._host = host
        self._wanted_port = port
        self._certificate = certificate
        self._server: HttpsServer | None = None
        self._admits = False
        self.tally = RequestTally()
        self.port = port
        """The port it listens on once started; differs from the wanted one where that was 0."""

    @property
    def ready(self) -> bool:
        return self._server is not None

    def admit(self) -> None:
        """Answer admission from now on."""
        self._admits = True

    async def start(self) -> None:
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_post(CONVERT_PATH, partial(self.tally.counted, answer=self._convert))
        app.router.add_post("/{path:.*}", self._handle)
        server = HttpsServer(app, shutdown_seconds=5.0)
        self.port = await server.listen(self._host or None, self._wanted_port, self._certificate.context)
        self._server = server
        log.info("webhooks listen on port %d", self.port)

    async def stop(self) -> None:
        """Finish the requests under way, then close."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.end()

    async def _handle(self, request: web.Request) -> web.Response:
        if request.path not in self._hooks:
            return web.Response(status=404, text=f"no webhook at {request.path[:LONGEST_QUOTE]}\n")
        return await self.tally.counted(request, self._review)

    async def _review(self, request: web.Request) -> web.Response:
        if not self._admits:
            return web.Response(status=503, text="the agent is starting; its caches are not filled yet\n")
        try:
            question = review.read(await request.read())
        except ReviewError as error:
            return web.Response(status=400, text=f"{error}\n")
        answer = await _answer(self._hooks[request.path], question, request.path)
        return web.Response(body=answer, content_type="application/json")

    async def _convert(self, request: web.Request) -> web.Response:
        larger = request.clone(client_max_size=LARGEST_CONVERSION)
        body = await larger.read()
        try:
            if len(body) <= IN_THE_LOOP:
                found = conversion.answer(body)
            else:
                found = await asyncio.to_thread(conversion.answer, body)
        except ReviewError as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response(body=found, content_type="application/json")


async def _answer(hook: Hook, question: Review, path: str) -> bytes:
    """The response body, whatever the object is like: mutating webhooks are asked before anybody looked at its form."""
    try:
        return review.answer(question, await hook(question))
    except (ApiError, ConnectionError) as error:
        log.warning("webhook %s could not look at %s/%s: %s", path, question.namespace, question.name, error)
        problem = f"the API server could not be asked: {error}"
    except RecursionError:
        problem = "the object is nested too deeply"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        problem = f"{UNREADABLE}{type(error).__name__} at {where}: {str(error)[:LONGEST_QUOTE]}"
        log.warning("webhook %s failed on %s/%s: %s", path, question.namespace, question.name, problem)
        log.debug("webhook %s", path, exc_info=error)
    return review.answer(question, Verdict(errors=(problem,)))
