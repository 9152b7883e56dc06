"""The description of the service, for programs that read such things: OpenAPI 3.1, from types."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mogro._version import __version__
from mogro.service.operations import Operation
from mogro.service.wire import ErrorAnswer

_REFERENCE = "#/components/schemas/{name}"
_REFUSALS = {
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
    types.append(ErrorAnswer)
    found, components = msgspec.json.schema_components(
        types, ref_template=_REFERENCE, schema_hook=_array
    )
    schemas = dict(zip(types, found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        described = _describe(each, schemas, components, agents)
        paths.setdefault(each.path, {})[each.method.lower()] = described
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
            "responses": {
                f"Refused{status}": {"description": words, "content": _json(schemas[ErrorAnswer])}
                for status, words in _REFUSALS.items()
            },
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _array(_: Any) -> dict[str, Any]:
    """Describe an array of numbers; how many axes it has is in the words of its type."""
    return {"type": "array", "items": {"type": ["number", "array", "null"]}}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _describe(
    operation: Operation, schemas: dict[Any, Any], components: dict[str, Any], agents: Sequence[str]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "As asked."}
    if operation.status != 204:
        answer["content"] = (
            {"*/*": {}} if operation.answers is None else _json(schemas[operation.answers])
        )
    path = f"{operation.method.lower()}{operation.path.replace('/', '_')}"
    responses = {str(operation.status): answer}
    for status in _REFUSALS:
        responses[str(status)] = {"$ref": f"#/components/responses/Refused{status}"}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": path.translate(str.maketrans("-", "_", "{}")),
        "responses": responses,
    }
    parameters = {}
    if operation.asks is not None and operation.method == "GET":
        text = {"type": "string", "minLength": 1}
        parameters = {(name, "query"): text for name in operation.asks.__struct_fields__}
    elif operation.asks is not None:
        body = _body(schemas[operation.asks], components)
        described["requestBody"] = {"required": True, "content": _json(body)}
    for name in re.findall(r"{(\w+)}", operation.path):
        known = {"enum": list(agents)} if name == "agent" else {}
        parameters[name, "path"] = {"type": "string", **known}
    if parameters:
        described["parameters"] = [
            {"name": name, "in": where, "schema": schema, "required": True}
            for (name, where), schema in parameters.items()
        ]
    if operation.role is not None:
        described["security"] = [{"key": []}]
        described["description"] = f"Role: {operation.role}."
    return described


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
