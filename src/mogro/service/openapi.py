"""The description of the service as OpenAPI 3.1, made from its types."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from mogro._version import __version__
from mogro.service.operations import Operation
from mogro.service.wire import ErrorAnswer

_ERRORS = (400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 501, 503)


def openapi_document(operations: Sequence[Operation], agents: Sequence[str]) -> dict[str, Any]:
    """Return the whole description, of a service with some agents."""
    pairs = [(operation.request_type, operation.response_type) for operation in operations]
    types = [body_type for pair in pairs for body_type in pair if body_type is not None]
    types.append(ErrorAnswer)
    type_schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}", schema_hook=_array
    )
    schemas = dict(zip(types, type_schemas, strict=True))
    for schema in components.values():  # the name of a call is needed in batches only
        if "call" in schema.get("required", ()):
            schema["required"].remove("call")
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        description = _describe(operation, schemas, agents)
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
                f"Error{status}": {
                    "description": HTTPStatus(status).phrase,
                    "content": _json(schemas[ErrorAnswer]),
                }
                for status in _ERRORS
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
    operation: Operation, schemas: dict[Any, Any], agents: Sequence[str]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "As asked."}
    if operation.status != 204:
        answer_type = operation.response_type
        answer["content"] = {"*/*": {}} if answer_type is None else _json(schemas[answer_type])
    path = f"{operation.method.lower()}{operation.path.replace('/', '_')}"
    responses = {str(operation.status): answer}
    for status in _ERRORS:
        responses[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
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
        content = _json(schemas[operation.request_type])
        description["requestBody"] = {"required": True, "content": content}
    for name in re.findall(r"{(\w+)}", operation.path):
        choices = {"enum": list(agents)} if name == "agent" else {}
        parameters[name, "path"] = {"type": "string", **choices}
    if parameters:
        description["parameters"] = [
            {"name": name, "in": location, "schema": schema, "required": True}
            for (name, location), schema in parameters.items()
        ]
    if operation.role is not None:
        description["security"] = [{"key": []}]
        description["description"] = f"Role: {operation.role}."
    return description
