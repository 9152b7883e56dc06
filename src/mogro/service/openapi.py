"""The description of the service, for programs that read such things: OpenAPI 3.1, from types."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mogro._version import __version__
from mogro.service.operations import Operation
from mogro.service.wire import ErrorAnswer

_REFERENCE = "#/components/schemas/{name}"
_DESCRIPTIONS = {
    400: "The body is no JSON.",
    401: "A key is needed.",
    403: "The key does not allow it.",
    404: "No such agent or decision.",
    408: "The body did not come in time.",
    409: "A reward that contradicts an earlier one.",
    413: "Too large.",
    415: "The body is not said to be JSON.",
    421: "The host is not one of this service.",
    422: "An argument is wrong; it is named.",
    429: "Too many requests.",
    501: "It needs a package that is not installed.",
    503: "Busy, or the journal cannot be written: try again.",
}


def openapi_document(operations: Sequence[Operation], agents: Sequence[str]) -> dict[str, Any]:
    """Return the whole description, of a service with some agents."""
    types = [kind for o in operations for kind in (o.asks, o.answers) if kind is not None]
    schemas, components = msgspec.json.schema_components(
        [*types, ErrorAnswer], ref_template=_REFERENCE, schema_hook=_array
    )
    known = dict(zip([*types, ErrorAnswer], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        asked = known[operation.asks] if operation.asks is not None else None
        body = None if asked is None else _body(asked, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation_object(
            operation, body, known.get(operation.answers), known[ErrorAnswer], agents
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mogro",
            "version": __version__,
            "description": "Decisions among arms, and what comes of them.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _array(_: Any) -> dict[str, Any]:
    """Describe an array of numbers; how many axes it has is in the words of its type."""
    return {"type": "array", "items": {"type": ["number", "array", "null"]}}


def _body(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body; the name of a call is needed in batches only."""
    name = schema["$ref"].rpartition("/")[2]
    whole = components[name]
    if "call" not in whole.get("properties", {}):
        return schema
    single = dict(whole, title=f"{name}Body")
    single["properties"] = {k: v for k, v in whole["properties"].items() if k != "call"}
    single["required"] = [field for field in whole["required"] if field != "call"]
    components[f"{name}Body"] = single
    return {"$ref": _REFERENCE.format(name=f"{name}Body")}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _operation_object(
    operation: Operation, body: Any, answer: Any, problem: Any, agents: Sequence[str]
) -> dict[str, Any]:
    good: dict[str, Any] = {"description": "As asked."}
    if operation.good != 204:
        good["content"] = {"*/*": {}} if answer is None else _json(answer)
    bad = {
        str(status): {"description": words, "content": _json(problem)}
        for status, words in _DESCRIPTIONS.items()
    }
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": f"{operation.method.lower()}{operation.path.replace('/', '_')}".translate(
            str.maketrans("-", "_", "{}")
        ),
        "responses": {str(operation.good): good, **bad},
    }
    parameters: list[dict[str, Any]] = []
    if operation.method == "GET" and operation.asks is not None:
        text = {"type": "string", "minLength": 1}
        names = operation.asks.__struct_fields__
        parameters = [{"name": name, "in": "query", "schema": text} for name in names]
        body = None
    if "{agent}" in operation.path:
        known = {"type": "string", "enum": list(agents)}
        parameters.append({"name": "agent", "in": "path", "schema": known})
    if "{event}" in operation.path:
        parameters.append({"name": "event", "in": "path", "schema": {"type": "string"}})
    if parameters:
        described["parameters"] = [{**each, "required": True} for each in parameters]
    if body is not None:
        described["requestBody"] = {"required": True, "content": _json(body)}
    if operation.role is not None:
        described["security"] = [{"key": []}]
        described["description"] = f"Role: {operation.role}."
    return described
