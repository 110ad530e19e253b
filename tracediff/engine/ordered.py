"""Products and reductions that accumulate in one declared order, in the arrays' own dtype.

Every accumulation starts from +0 and takes its terms by ascending index, one rounded multiply and
one rounded add a term, so the bits are those of a plain scalar loop and depend neither on memory
layout nor on the machine. Must not call BLAS, `np.einsum` or a numpy reduction, whose order is
nowhere promised. Operands are all float32 or all float64, else TypeError.
"""

import numpy as np

from tracediff.engine.elementwise import FloatArray, require_float, unify_nan


def matmul(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the matrix product a @ b, each output the sum over ascending k of a[k] * b[k].

    a [..., m, k] and b [..., k, n] give [..., m, n], leading dimensions broadcast, dtype kept.
    Fewer than two dimensions, different k, or batches that do not broadcast are a ValueError.
    """
    require_float(a, b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        message = f"matmul takes [..., m, k] and [..., k, n], not {a.shape} and {b.shape}."
        raise ValueError(message)
    if a.shape[-2] > b.shape[-1]:
        # The longer side innermost: the same products, in longer runs.
        return _transpose(_accumulate_products(_transpose(b), _transpose(a)))
    return _accumulate_products(a, b)


def sum_over(x: FloatArray, axis: int = -1, *, keepdims: bool = False) -> FloatArray:
    """Return the sum over one axis, by ascending index; 0 where that axis is empty.

    x [..., n, ...] gives x's shape without the axis, or with length 1 there if `keepdims`.
    """
    return _place(_accumulate(_lead(x, axis)), axis, keepdims)


def cumulative(x: FloatArray) -> FloatArray:
    """Return the running sums over the last axis: element i is the ordered sum up to i, inclusive.

    x [..., n] gives [..., n]; the last running sum has the bits of `sum_over`.
    """
    terms = _lead(x, -1)
    with np.errstate(all="ignore"):
        sums = terms + terms.dtype.type(0)  # a copy that starts from +0
        for i in range(1, len(sums)):
            np.add(sums[i - 1 : i], sums[i : i + 1], out=sums[i : i + 1])
        unify_nan(sums)
    return np.ascontiguousarray(np.moveaxis(sums, 0, -1))


def mean_over(x: FloatArray, axis: int = -1, *, keepdims: bool = False) -> FloatArray:
    """Return the mean over one axis: the ordered sum divided by the length in x's dtype.

    x [..., n, ...] gives x's shape without the axis, or with length 1 there if `keepdims`.
    An empty axis is a ValueError.
    """
    terms = _lead(x, axis)
    return _place(_divide_by_length(_accumulate(terms), terms), axis, keepdims)


def mean_square_over(x: FloatArray, axis: int = -1, *, keepdims: bool = False) -> FloatArray:
    """Return the mean of squares over one axis, as RMS norm takes it; each square is rounded.

    x [..., n, ...] gives x's shape without the axis, or with length 1 there if `keepdims`.
    An empty axis is a ValueError.
    """
    terms = _lead(x, axis)
    with np.errstate(all="ignore"):
        squares = terms * terms
    return _place(_divide_by_length(_accumulate(squares), terms), axis, keepdims)


def max_over(x: FloatArray, axis: int = -1, *, keepdims: bool = False) -> FloatArray:
    """Return the largest element over one axis; NaN if one is there, the first of +0 and -0.

    x [..., n, ...] gives x's shape without the axis, or with length 1 there if `keepdims`.
    An empty axis is a ValueError.
    """
    terms = _lead(x, axis)
    if len(terms) == 0:
        message = f"The maximum over an empty axis is undefined; the shape is {x.shape}."
        raise ValueError(message)
    largest = np.array(terms[0])
    with np.errstate(all="ignore"):
        for term in terms[1:]:
            np.copyto(largest, term, where=(term > largest) | np.isnan(term))
        unify_nan(largest)
    return _place(largest, axis, keepdims)


def _accumulate_products(a: FloatArray, b: FloatArray) -> FloatArray:
    columns = np.ascontiguousarray(np.moveaxis(a, -1, 0))[..., :, np.newaxis]  # [k, ..., m, 1]
    rows = np.ascontiguousarray(np.moveaxis(b, -2, 0))[..., np.newaxis, :]  # [k, ..., 1, n]
    shape = np.broadcast_shapes(columns.shape[1:], rows.shape[1:])
    total = np.zeros(shape, a.dtype)
    product = np.empty(shape, a.dtype)
    with np.errstate(all="ignore"):
        for column, row in zip(columns, rows, strict=True):
            np.multiply(column, row, out=product)
            np.add(total, product, out=total)
        unify_nan(total)
    return total


def _accumulate(terms: FloatArray) -> FloatArray:
    """Return the sum over the first axis."""
    total = np.zeros(terms.shape[1:], terms.dtype)
    with np.errstate(all="ignore"):
        for term in terms:
            np.add(total, term, out=total)
        unify_nan(total)
    return total


def _divide_by_length(total: FloatArray, terms: FloatArray) -> FloatArray:
    if len(terms) == 0:
        message = f"The mean over an empty axis is undefined; the result has shape {total.shape}."
        raise ValueError(message)
    with np.errstate(all="ignore"):
        return np.divide(total, terms.dtype.type(len(terms)), out=total)


def _lead(x: FloatArray, axis: int) -> FloatArray:
    """Return x with the axis first and each index of it contiguous in memory."""
    require_float(x)
    return np.ascontiguousarray(np.moveaxis(x, axis, 0))


def _place(result: FloatArray, axis: int, keepdims: bool) -> FloatArray:
    """Return the result with a dimension of length 1 at the axis it was reduced over, if kept."""
    return np.expand_dims(result, axis) if keepdims else result


def _transpose(x: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))
