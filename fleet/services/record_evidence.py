"""Keep something seen about a node. The same sighting is kept once."""

from datetime import datetime

from fleet.models import Evidence, EvidenceKind


def record_evidence(
    *, node_id: int, kind: EvidenceKind, seen_at: datetime, source: str, detail: str, key: str
) -> bool:
    """True if it was new."""
    _, is_new = Evidence.objects.get_or_create(
        key=key[:100],
        defaults={
            "node_id": node_id,
            "kind": kind,
            "seen_at": seen_at,
            "source": source[:64],
            "detail": detail[:200],
        },
    )
    return is_new
