"""Shapes and strides of tensors, whose ranks may not be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arithmetic import key_of, text_of
from .values import Number, Sizes, Symbol, Tensor

if TYPE_CHECKING:
    from .domain import HostDomain


def shape_of(domain: HostDomain, tensor: Tensor, text: str) -> Any:
    """The shape of a tensor: a tuple, or sizes."""
    if tensor.shape is not None:
        return tensor.shape
    id_ = domain.world.identity("shape", tensor.id)
    return Sizes(id_, text, id_)


def rank_of(domain: HostDomain, tensor: Tensor, text: str) -> Any:
    """How many dimensions a tensor has."""
    shape = shape_of(domain, tensor, text)
    if isinstance(shape, tuple):
        return len(shape)
    if shape.rank_id in domain.world.ranks:
        return domain.world.ranks[shape.rank_id]
    return Number(domain.world.identity("rank", shape.rank_id), text, "int")


def elements_of(domain: HostDomain, sizes: Sizes, count: int | None = None) -> list[Any] | None:
    """The elements of sizes, if their number is known or given."""
    world = domain.world
    rank = domain.rank(sizes)
    if rank is None and count is not None:
        rank = world.ranks[sizes.rank_id] = count
    return None if rank is None else [element(domain, sizes, i) for i in range(rank)]


def element(domain: HostDomain, sizes: Sizes, index: Any) -> Any:
    """One element of sizes."""
    rank = domain.rank(sizes)
    if isinstance(index, int) and rank is not None and index < 0:
        index += rank
    return Number(domain.world.identity("size", sizes.id, key_of(index)), f"{sizes.text}[{text_of(index)}]", "int")


def stride(domain: HostDomain, tensor: Tensor, args: Sequence[Any], text: str) -> Any:
    """`tensor.stride(...)`."""
    world = domain.world
    shape = shape_of(domain, tensor, f"{tensor.text}.shape")
    rank = len(shape) if isinstance(shape, tuple) else world.ranks.get(shape.rank_id)
    sizes = Sizes(world.identity("strides", tensor.id), text, shape.rank_id if isinstance(shape, Sizes) else -1)
    if not args:
        if rank is None:
            return sizes
        return tuple(_stride(domain, tensor, sizes, shape, rank, i) for i in range(rank))
    return _stride(domain, tensor, sizes, shape, rank, args[0])


def _stride(domain: HostDomain, tensor: Tensor, sizes: Sizes, shape: Any, rank: int | None, index: Any) -> Any:
    index = domain.world.resolve(index)
    contiguous = tensor.contiguous or tensor.id in domain.world.contiguous
    if isinstance(index, int) and rank is not None:
        index = index + rank if index < 0 else index
        if contiguous and 0 <= index < rank:
            product = 1
            for size in shape[index + 1 :] if isinstance(shape, tuple) else [None] * (rank - index - 1):
                if type(size) is not int:
                    break
                product *= size
            else:
                return product
    if contiguous and index == -1:
        return 1
    return Number(
        domain.world.identity("size", sizes.id, key_of(index)), f"{tensor.text}.stride({text_of(index)})", "int"
    )


def sizes_of(domain: HostDomain, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The sizes that a function which makes a tensor was given: a tuple, or Sizes, or None where they are not known."""
    given: Any = tuple(args)
    if "size" in kwargs:
        given = kwargs["size"]
    elif len(args) == 1 and not isinstance(domain.world.resolve(args[0]), (int, Number)):
        given = args[0]
    given = domain.world.resolve(given)
    if isinstance(given, list):
        given = tuple(given)
    if isinstance(given, Sizes):
        return given
    if isinstance(given, tuple) and all(_is_number(domain, g) for g in given):
        return tuple(domain.world.resolve(g) for g in given)
    return None


def _is_number(domain: HostDomain, value: Any) -> bool:
    value = domain.world.resolve(value)
    return isinstance(value, (int, Number)) or (isinstance(value, Symbol) and value.id not in domain.world.others)


def unfolded(domain: HostDomain, sizes: tuple[Any, ...], id_: int) -> tuple[Any, ...]:
    """Sizes of a view; that which is -1 is not known."""
    return tuple(
        Number(domain.world.identity("view", id_, i), f"size {i} of a view", "int") if s == -1 else s
        for i, s in enumerate(sizes)
    )
