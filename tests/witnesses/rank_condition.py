"""The rank condition of 001 Theorem 2.4, as it is written."""


def satisfies(nest, exponents, subgroup):
    """Whether rank(H) <= Σ_j s_j rank(φ_j(H)) for one subgroup H."""
    total = sum(exponents[name] * subgroup.image_rank(matrix) for name, matrix in nest.arrays.items())
    return subgroup.rank <= total
