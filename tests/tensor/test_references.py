"""Every public op is compared with something that is not relume.

The tables in `references/` say what ops compute, in NumPy and SciPy; they are compared on the
samples of the gradient tests, in every layout in memory. The other ops have a test file of their
own: COMPARED_IN names it, and an op that is in neither table fails here.
"""

import importlib.util
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import relume as rl

HERE = Path(__file__).parent
TESTS = HERE.parent


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


op_samples = loaded(TESTS / "autograd" / "op_samples.py")
layouts = loaded(HERE / "test_registry_properties.py").LAYOUTS
REFERENCES = {}
for table in sorted((HERE / "references").glob("*.py")):
    REFERENCES.update(runpy.run_path(str(table))["REFERENCES"])

PUBLIC = {row["name"]: row for row in rl._C.registry() if "internal" not in row["traits"]}
# file: the ops that it compares with NumPy, SciPy, Torch7's numbers, mathematics or PyTorch.
_FILES = {
    "nn/test_functional.py": "ctc_loss group_norm layer_norm",
    "peers/test_functional_against_torch.py": (
        "alpha_dropout binary_cross_entropy cosine_similarity cross_entropy embedding_bag "
        "gelu glu huber_loss l1_loss mse_loss multi_margin_loss nll_loss one_hot "
        "smooth_l1_loss"
    ),
    "tensor/test_arranging.py": (
        "addbmm cartesian_prod column_stack combinations count_nonzero cross diag diag_embed "
        "diagflat diagonal_scatter dstack einsum hstack logspace meshgrid repeat_interleave "
        "rot90 select_scatter slice_scatter tril_indices triu_indices unflatten vander vstack"
    ),
    "tensor/test_complex.py": "angle complex polar view_as_complex view_as_real",
    "tensor/test_convolution.py": "conv1d conv2d conv_transpose2d",
    "tensor/test_copy.py": "copy_ fill_ to_dtype zero_",
    "tensor/test_creation.py": (
        "arange empty empty_like eye full full_like linspace ones ones_like zeros zeros_like"
    ),
    "tensor/test_elementwise.py": "prelu round",
    "tensor/test_indexing.py": (
        "gather index index_put index_put_ index_select masked_fill masked_select scatter "
        "scatter_add take where"
    ),
    "tensor/test_joining.py": "chunk repeat split unbind",
    "tensor/test_linalg.py": "geqrf",
    "tensor/test_matmul.py": "addmm addmv addr baddbmm linear",
    "tensor/test_normalization.py": "batch_norm dropout",
    "tensor/test_order_statistics.py": (
        "bincount bucketize histc isin kthvalue mode msort nanquantile quantile searchsorted"
    ),
    "tensor/test_padding.py": "pad upsample_nearest2d",
    "tensor/test_python_indexing.py": "slice",
    "tensor/test_random.py": (
        "bernoulli_ exponential_ geometric_ log_normal_ multinomial normal_ rand randn "
        "random_ randperm uniform_"
    ),
    "tensor/test_random_distributions.py": (
        "binomial cauchy_ poisson rand_like randn_like standard_gamma"
    ),
    "tensor/test_reductions.py": "argmax argmin max_with_indices min_with_indices sum_to",
    "tensor/test_resampling.py": "affine_grid grid_sample",
    "tensor/test_running_totals.py": "cummax cummin logcumsumexp",
    "tensor/test_scatter.py": (
        "index_copy index_copy_ index_reduce masked_scatter masked_scatter_ nonzero scatter_ "
        "scatter_add_ scatter_reduce scatter_reduce_"
    ),
    "tensor/test_sorting.py": "sort topk",
    "tensor/test_special_functions.py": "mvlgamma",
    "tensor/test_statistics.py": ("aminmax corrcoef cov cumulative_trapezoid diff dist trapezoid"),
    "tensor/test_views.py": ("as_strided expand flatten reshape select squeeze unfold view"),
    "tensor/test_volumes_and_folds.py": (
        "channel_shuffle conv3d conv_transpose3d local_response_norm pixel_shuffle pixel_unshuffle"
    ),
}
COMPARED_IN = {file: names.split() for file, names in _FILES.items()}


def converted(value, function):
    """Tensors become arrays, and sequences lists of them."""
    if isinstance(value, rl.Tensor):
        return function(value.detach())
    if isinstance(value, list | tuple):
        return type(value)(converted(item, function) for item in value)
    return value


def arrays_of(value):
    parts = value if isinstance(value, list | tuple) else [value]
    return [np.asarray(part) for part in parts]


@pytest.mark.parametrize("layout", ["plain", *layouts])
@pytest.mark.parametrize("name", REFERENCES)
def test_the_op_computes_what_its_reference_does(name, layout):
    samples = op_samples.samples_of(PUBLIC[name])
    assert samples, f"{name} has no sample arguments"
    for arguments, keywords in samples:
        relaid = layouts.get(layout, lambda tensor: tensor.clone())
        given = [converted(argument, relaid) for argument in arguments]
        named = {key: converted(value, relaid) for key, value in keywords.items()}
        plain = [converted(argument, lambda t: t.numpy().copy()) for argument in arguments]
        plain_named = {
            key: converted(value, lambda t: t.numpy().copy()) for key, value in keywords.items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reference's own overflow
            expected = arrays_of(REFERENCES[name](*plain, **plain_named))
        got = arrays_of(rl._C.ops[name](*given, **named))
        assert len(got) == len(expected)
        for ours, theirs in zip(got, expected, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_every_public_op_is_compared_somewhere():
    named = {name for names in COMPARED_IN.values() for name in names}
    assert not named - PUBLIC.keys(), "no such ops"
    missing = sorted(PUBLIC.keys() - REFERENCES.keys() - named)
    assert not missing, f"compared with nothing: {' '.join(missing)}"
    assert not named & REFERENCES.keys(), "these have a reference; one place is enough"


@pytest.mark.parametrize("file", COMPARED_IN)
def test_the_files_name_the_ops_that_they_compare(file):
    text = (TESTS / file).read_text()
    for name in COMPARED_IN[file]:
        # A trailing number, or the dimensions of a family, may be put together there.
        stem = re.sub(r"[123]d(_with_indices)?$", "", name)
        assert re.search(rf"(?<![A-Za-z]){re.escape(stem)}", text), name
