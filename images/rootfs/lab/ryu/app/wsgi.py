# SPDX-License-Identifier: MIT
"""Ryu's web server for applications that answer HTTP requests, which os-ken left out; without its WebSockets.

Ryu's manager started the server for an application that asked for it. os-ken's does not, so the server starts itself.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import webob.dec
import webob.exc
from os_ken import cfg
from os_ken.lib import hub
from routes import Mapper, URLGenerator
from webob import Request as Request
from webob import Response as _Response

cfg.CONF.register_cli_opts([cfg.StrOpt("wsapi-host", default=""), cfg.IntOpt("wsapi-port", default=8080)])


class Response(_Response):  # type: ignore[misc]
    """An answer whose text is UTF-8 unless it says otherwise."""

    def __init__(self, *words: Any, charset: str = "UTF-8", **named: Any) -> None:
        super().__init__(*words, charset=charset, **named)


def route(
    name: str, path: str, methods: Sequence[str] | None = None, requirements: dict[str, str] | None = None
) -> Callable[[Any], Any]:
    """Mark a method as the one that answers requests for a path."""

    def mark(method: Any) -> Any:
        method.routing_info = {"name": name, "path": path, "methods": methods, "requirements": requirements or {}}
        return method

    return mark


class ControllerBase:
    """What answers requests; an object for each."""

    def __init__(self, req: Request, link: Any, data: Any, **config: Any) -> None:
        self.req, self.link, self.data, self.parent = req, link, data, None
        for name, value in config.items():
            setattr(self, name, value)

    def __call__(self, req: Request) -> Any:
        """Answer with the method that the path names."""
        named = {name: value for name, value in req.urlvars.items() if name not in {"controller", "action"}}
        return getattr(self, req.urlvars.get("action", "index"))(req, **named)


class WSGIApplication:
    """Which class answers which path; an application gets it by `_CONTEXTS = {"wsgi": WSGIApplication}`."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self.mapper = Mapper()
        self.registory: dict[str, Any] = {}  # as Ryu spells it
        self.server = hub.WSGIServer((cfg.CONF.wsapi_host, cfg.CONF.wsapi_port), self)
        hub.spawn(self.server.serve_forever)

    @webob.dec.wsgify  # type: ignore[untyped-decorator]
    def __call__(self, request: Request) -> Any:
        """Answer a request."""
        found = self.mapper.match(environ=request.environ)
        if found is None:
            return webob.exc.HTTPNotFound()
        request.urlvars = found
        answers = found["controller"]
        link, data = URLGenerator(self.mapper, request.environ), self.registory.get(answers.__name__)
        return answers(request, link, data, **self.config)(request)

    def register(self, controller: type, data: Any = None) -> None:
        """Have the marked methods of a class answer, with `data` at hand."""
        for method_name, method in inspect.getmembers(controller, lambda member: hasattr(member, "routing_info")):
            about = method.routing_info
            conditions = {"method": about["methods"]} if about["methods"] else {}
            self.mapper.connect(
                about["name"],
                about["path"],
                controller=controller,
                action=method_name,
                requirements=about["requirements"],
                conditions=conditions,
            )
        self.registory[controller.__name__] = data
