"""NumPy forward passes agree with torch's, batched with single, and draws with their distribution."""

from __future__ import annotations

import numpy as np
import pytest

from mlsched.core.errors import InvalidFile
from mlsched.learned import net as _net
from mlsched.learned.net import ALONE, Mlp, product_in_blocks, sample


def tensors(sizes: list[int], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = {}
    for k, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False)):
        found[f"{k}.weight"] = rng.normal(size=(b, a)).astype(np.float32)
        found[f"{k}.bias"] = rng.normal(size=b).astype(np.float32)
    return found


def test_agrees_with_torch():
    torch = pytest.importorskip("torch")
    made = tensors([19, 64, 32, 4, 7])
    layers: list[object] = []
    for k in range(4):
        layer = torch.nn.Linear(*made[f"{k}.weight"].T.shape)
        layer.weight.data, layer.bias.data = (torch.from_numpy(made[f"{k}.{n}"]) for n in ("weight", "bias"))
        layers += [layer, torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    x = np.random.default_rng(1).random((50, 19), dtype=np.float32)
    assert np.allclose(Mlp(made)(x), net(torch.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-4)


def test_batched_and_single_passes_agree():
    net = Mlp(tensors([19, 64, 32, 4, 7], 2))
    x = np.random.default_rng(1).random((36, 19), dtype=np.float32)
    batched = net(x)
    scale = np.abs(batched).max()
    for row, many in zip(x, batched, strict=True):
        assert np.abs(net(row) - many).max() <= 1e-6 * scale


def test_a_pass_leaves_its_input_alone():
    net, x = Mlp(tensors([3, 4, 2])), np.ones((2, 3), dtype=np.float32)
    net(x)
    assert (x == 1).all()


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"0.weight": np.zeros((2, 3), np.float32)},
        {"0.weight": np.zeros(3, np.float32), "0.bias": np.zeros(3, np.float32)},
        {**tensors([3, 4, 2]), "1.weight": np.zeros((2, 5), np.float32)},
    ],
)
def test_tensors_that_do_not_fit_are_refused(broken):
    with pytest.raises(InvalidFile, match=r"another policy"):
        Mlp(broken)


def test_draws_follow_the_softmax():
    logits = np.log(np.array([0.5, 0.25, 0.25, 1e-30], dtype=np.float32))
    logits[3] = -np.inf
    drawn = sample(np.tile(logits, (40_000, 1)), np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    assert np.abs(shares - [0.5, 0.25, 0.25, 0]).max() < 0.01
    assert shares[3] == 0


@pytest.mark.parametrize("rows", [0, 1, 177, 178, 179, 1000])
def test_a_product_some_rows_at_a_time_is_the_product(rows):
    rng = np.random.default_rng(rows)
    x, weight = rng.random((rows, 46), dtype=np.float32), rng.random((46, 32), dtype=np.float32)
    found = product_in_blocks(x, weight)
    assert found.dtype == np.float32
    assert np.allclose(found, x.astype(np.float64) @ weight, rtol=1e-5)


def test_no_product_is_large_enough_for_a_second_thread(monkeypatch):
    sizes = []
    matmul = np.matmul

    def counted(x, weight, out):
        sizes.append(x.shape[0] * weight.size)
        return matmul(x, weight, out=out)

    monkeypatch.setattr(_net.np, "matmul", counted)
    x = np.ones((1000, 46), dtype=np.float32)
    product_in_blocks(x, np.ones((46, 32), dtype=np.float32))
    assert sum(sizes) == 1000 * 46 * 32
    assert max(sizes) <= ALONE
    sizes.clear()
    product_in_blocks(x[:5], np.ones((46, 10**4), dtype=np.float32))
    assert sizes == [46 * 10**4] * 5, "a row at a time is the least"
