from fabric.models.location import Block, Pod, Rack
from fabric.models.power import CoolingSide, CoolingUnit, CoolingZone, FeedStatus, PowerFeed, PowerPanel

__all__ = [
    "Block",
    "CoolingSide",
    "CoolingUnit",
    "CoolingZone",
    "FeedStatus",
    "Pod",
    "PowerFeed",
    "PowerPanel",
    "Rack",
]
