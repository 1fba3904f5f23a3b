from fleet.models.evidence import Evidence, EvidenceKind
from fleet.models.gpu_model import GpuModel
from fleet.models.node import Gpu, Node, NodeState

__all__ = ["Evidence", "EvidenceKind", "Gpu", "GpuModel", "Node", "NodeState"]
