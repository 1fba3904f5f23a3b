"""What is answered is what the schema promises, for those who see names and for those who do not."""

from typing import Any

import jsonschema
import pytest
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found = SchemaGenerator().get_schema(request=None, public=True)
    return {"paths": found["paths"], "components": _plain(found["components"])}


def _plain(node: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, and what may be more is closed."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: _plain(value) for key, value in node.items() if key != "nullable"}
    if "properties" in found and found.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return {"anyOf": [found, {"type": "null"}]} if node.get("nullable") else found


def _answer_schema(schema: dict[str, Any], path: str) -> dict[str, Any]:
    content = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    return {**_plain(content), "components": schema["components"]}


@pytest.mark.parametrize("person", ["viewer", "cluster_owner"])
def test_every_answer_is_as_promised(busy, client_of, schema, person):
    client = client_of(busy.people[person])
    client.post("/api/v1/tokens/", {"label": "mine"})
    keys = {"jobs": busy.running.pk, "nodes": "p1b1n1", "tenants": "vision", "gpu-models": "H100", "ticks": 1}
    keys |= {"pods": "p1", "blocks": "p1b1", "racks": "p1b1-rack"}
    checked = 0
    for path in schema["paths"]:
        part = path.split("/")[3]
        if "get" not in schema["paths"][path] or ("{" in path and part not in keys):
            continue
        address = path.replace("{id}", "{0}").replace("{name}", "{0}").replace("{number}", "{0}")
        answer = client.get(address.format(keys.get(part)))
        if person == "viewer" and answer.status_code == 403:
            continue
        assert answer.status_code == 200, (path, answer.content)
        jsonschema.validate(answer.json(), _answer_schema(schema, path))
        checked += 1
    assert checked > (30 if person == "viewer" else 35)


def test_the_rows_of_one_are_as_promised(busy, client_of, schema):
    client = client_of(busy.people["cluster_owner"])
    for part in ("runs", "allocations", "decisions"):
        for row in client.get(f"/api/v1/{part}/?page_size=5").json()["results"]:
            answer = client.get(f"/api/v1/{part}/{row['id']}/")
            jsonschema.validate(answer.json(), _answer_schema(schema, f"/api/v1/{part}/{{id}}/"))


def test_a_refusal_is_as_promised(busy, client_of, schema):
    problem = {"$ref": "#/components/schemas/Problem", "components": schema["components"]}
    client = client_of(busy.people["viewer"])
    for answer in (
        client.post("/api/v1/jobs/", {"gpus": -1}),
        client.post("/api/v1/jobs/1/cancel/"),
        client.get("/api/v1/jobs/?state=x"),
        client.get("/api/v1/jobs/99999/"),
        client_of().get("/api/v1/jobs/"),
    ):
        assert answer.status_code >= 400
        jsonschema.validate(answer.json(), problem)
