"""A small valid cluster description for tests to spoil."""

import textwrap

from cluster.imports.document import parse_document
from cluster.imports.loader import LoadedCluster, cluster_in
from cluster.imports.problems import ImportRefused

VALID = """
gpu_models:
  - name: h100
    idle_w: 70
    expected_w: 600
    maximum_w: 700
  - name: a100
racks:
  - {name: "r[1-2]", row: A, position: 3}
  - {name: r9}
pods:
  - name: p1
    blocks:
      - name: b1
        nodes:
          - {name: "n[1-4]", gpu_model: h100, gpus: 8, rack: "r[1-2]"}
  - name: p2
    blocks:
      - name: b2
        nodes:
          - {name: m1, gpu_model: a100, gpus: 4, rack: r9, base_w: 900}
tenants:
  - name: org
    entitlement: {h100: 24}
    tenants:
      - name: vision
        entitlement: {h100: 16}
      - name: speech
        entitlement: {h100: 8}
  - name: science
    entitlement: {a100: 4}
users:
  - name: olga
    roles: [{role: cluster_owner}]
"""


def load(text: str) -> LoadedCluster:
    return cluster_in(parse_document(textwrap.dedent(text), "cluster.yaml"))


def refusals(text: str) -> list[str]:
    """The findings for which the text is refused, in the order of its lines; empty when it is not."""
    try:
        load(text)
    except ImportRefused as refused:
        return [str(problem) for problem in refused.problems]
    return []


def spoilt(old: str, new: str) -> str:
    assert old in VALID, old
    return VALID.replace(old, new, 1)
