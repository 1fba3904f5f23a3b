from fabric.models.location import Block, Pod, Rack

__all__ = ["Block", "Pod", "Rack"]
