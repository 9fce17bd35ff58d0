"""Routes of the cluster: what there is, and its nodes."""

from typing import Annotated

from fastapi import APIRouter, Path

from starverse.faces.api.context import At, Caller
from starverse.faces.schemas import Cluster, Node
from starverse.service import nodes

router = APIRouter(prefix="/v1", tags=["cluster"])

NodeName = Annotated[str, Path(max_length=128)]


@router.get("/cluster")
def cluster(at: At, caller: Caller) -> Cluster:
    """What there is to rent, at what price, and within which limits."""
    return nodes.cluster(at)


@router.get("/nodes")
def list_nodes(at: At, caller: Caller) -> tuple[Node, ...]:
    """All nodes."""
    return nodes.list_nodes(at)


@router.post("/nodes/{node}/cordon")
def cordon(at: At, caller: Caller, node: NodeName) -> Node:
    """Operator: let no new runs come to the node."""
    return nodes.cordon(at, caller, node)


@router.post("/nodes/{node}/drain")
def drain(at: At, caller: Caller, node: NodeName) -> Node:
    """Operator: cordon the node and ask the runs there to save and leave."""
    return nodes.cordon(at, caller, node, drain=True)


@router.post("/nodes/{node}/uncordon")
def uncordon(at: At, caller: Caller, node: NodeName) -> Node:
    """Operator: let runs come to the node again."""
    return nodes.uncordon(at, caller, node)
