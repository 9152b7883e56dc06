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
    pairs = [(o.request_type, o.response_type) for o in operations]
    types = [body_type for pair in pairs for body_type in pair if body_type is not None]
    types.append(ErrorAnswer)
    type_schemas, components = msgspec.json.schema_components(
        types, ref_template=_REFERENCE, schema_hook=_array
    )
    schemas = dict(zip(types, type_schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        description = _describe(operation, schemas, components, agents)
        paths.setdefault(operation.path, {})[operation.method.lower()] = description
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
        kind = operation.response_type
        answer["content"] = {"*/*": {}} if kind is None else _json(schemas[kind])
    path = f"{operation.method.lower()}{operation.path.replace('/', '_')}"
    responses = {str(operation.status): answer}
    for status in _REFUSALS:
        responses[str(status)] = {"$ref": f"#/components/responses/Refused{status}"}
    description: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": path.translate(str.maketrans("-", "_", "{}")),
        "responses": responses,
    }
    parameters = {}
    if operation.request_type is not None and operation.method == "GET":
        text = {"type": "string", "minLength": 1}
        parameters = {(name, "query"): text for name in operation.request_type.__struct_fields__}
    elif operation.request_type is not None:
        body = _body(schemas[operation.request_type], components)
        description["requestBody"] = {"required": True, "content": _json(body)}
    for name in re.findall(r"{(\w+)}", operation.path):
        choices = {"enum": list(agents)} if name == "agent" else {}
        parameters[name, "path"] = {"type": "string", **choices}
    if parameters:
        description["parameters"] = [
            {"name": name, "in": where, "schema": schema, "required": True}
            for (name, where), schema in parameters.items()
        ]
    if operation.role is not None:
        description["security"] = [{"key": []}]
        description["description"] = f"Role: {operation.role}."
    return description


def _body(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a body; the name of a call is needed in batches only."""
    name = schema["$ref"].rpartition("/")[2]
    call_schema = components[name]
    if "call" not in call_schema.get("properties", {}):
        return schema
    body_schema = dict(call_schema, title=f"{name}Body")
    body_schema["properties"] = {k: v for k, v in call_schema["properties"].items() if k != "call"}
    body_schema["required"] = [field for field in call_schema["required"] if field != "call"]
    components[f"{name}Body"] = body_schema
    return {"$ref": _REFERENCE.format(name=f"{name}Body")}
