"""Training steps against all published runs, and what must hold of any."""

from dataclasses import replace

import pytest

from starverse.model.errors import BadInput
from starverse.physics.training.layout import A100, CARDS, H100, Layout, Software
from starverse.physics.training.memory import memory
from starverse.physics.training.published import STACKS, published, shaped_like, software
from starverse.physics.training.step import step
from starverse.physics.training.transformer import Transformer, of_size

RUNS = [(name, run) for name, (_, runs) in STACKS.items() for run in runs]
NAMES = {
    "175B": "Megatron-LM 175B on 256",
    **{f"{size}B": f"Megatron Core {size}B" for size in (177, 314, 462)},
}
GPT3 = Transformer(96, 12288, 96, 51_200, 2048)
PLAIN = Software("plain", 0.5, 0.0)


def test_published_runs_take_as_long_as_computed() -> None:
    """The gate: 38 rows, at most a third to fit on; of the others 10 % on average, none over 20 %."""
    assert len(RUNS) == 38
    assert sum(run.fitted for _, run in RUNS) <= 38 / 3
    errors = []
    for name, run in RUNS:
        computed_s = step(run.model, run.layout, run.card, software(name)).time_s
        if not run.fitted:
            errors.append(abs(computed_s / run.time_s - 1))
    assert sum(errors) / len(errors) <= 0.10
    assert max(errors) <= 0.20


@pytest.mark.parametrize(("cards", "mfu"), [(96, 0.47), (4608, 0.42)])
def test_strong_scaling_falls_as_published(cards: int, mfu: float) -> None:
    """Megatron-LM README: 177B, batch 1,152, from 96 to 4,608 H100; none of it fitted on."""
    model = Transformer(96, 12288, 96, 131_072, 4096)
    layout = Layout(1152, cards // 48, 8, 6, interleave=16)
    assert step(model, layout, H100, software("megatron-core")).mfu_share == pytest.approx(mfu, rel=0.1)


@pytest.mark.parametrize("name", STACKS)
def test_what_software_attains_has_a_meaning(name: str) -> None:
    fitted = software(name)
    assert 0.4 < fitted.matmul_share < 0.8
    assert 0 <= fitted.step_s < 2


@pytest.mark.parametrize(("name", "run"), [pytest.param(n, r, id=r.name) for n, r in RUNS if n != "llama-3"])
def test_what_was_run_fits_its_cards(name: str, run) -> None:  # type: ignore[no-untyped-def]
    """Llama 3 frees activations early in ways of its own (arXiv 2407.21783, 3.3.2) and is left out."""
    assert memory(run.model, run.layout, software(name)).fits(run.card)


def test_operations_are_those_of_the_papers() -> None:
    """Narayanan et al., SC 2021: 96 B s l h² (1 + s/6h + V/16lh), with recomputation."""
    s, l, h, v, b = 2048, 96, 12288, 51_200, 1536  # noqa: E741
    assert GPT3.step_flops(b, recompute=True) == pytest.approx(
        96 * b * s * l * h**2 * (1 + s / (6 * h) + v / (16 * l * h))
    )
    assert GPT3.parameters == pytest.approx(174.6e9, rel=2e-3)


@pytest.mark.parametrize(
    ("model", "billions", "active"),
    [
        (Transformer(126, 16384, 128, 128_256, 8192, 53_248, gated=True, kv_heads=8), 405, 405),
        (Transformer(32, 4096, 32, 32_000, 4096, 14_336, True, 8, 8, 2), 46.7, 12.9),
        (of_size(5e12, 4096), 5000, 5000),
        (of_size(175e9, 2048, 50_257), 175, 175),
    ],
    ids=["Llama 3 405B", "Mixtral 8x7B", "5T", "175B"],
)
def test_models_have_their_parameters(model: Transformer, billions: float, active: float) -> None:
    assert model.parameters == pytest.approx(billions * 1e9, rel=0.03)
    assert model.active_parameters == pytest.approx(active * 1e9, rel=0.03)


@pytest.mark.parametrize("billions", [1.5, 3, 7, 8, 13, 20, 34, 70, 175, 177, 314, 405, 462, 530, 1000, 5000])
def test_a_guessed_shape_is_one_that_people_would_build(billions: float) -> None:
    """Within a percent, heads of 128 that divide among tensor parallel cards, not far from GPT-3's."""
    model = of_size(billions * 1e9, 4096)
    assert model.parameters == pytest.approx(billions * 1e9, rel=0.01)
    assert model.hidden == 128 * model.heads
    assert model.heads % (8 if billions >= 20 else 4) == 0
    assert 85 < model.hidden / model.layers < 192


@pytest.mark.parametrize(
    ("billions", "layers", "hidden", "like"),
    [(175, 96, 12288, "175B"), (177, 96, 12288, "177B"), (314, 96, 16384, "314B"), (462, 112, 18432, "462B")],
)
def test_a_guessed_shape_is_the_published_one_of_its_size(
    billions: float, layers: int, hidden: int, like: str
) -> None:
    model = of_size(billions * 1e9, 4096)
    assert (model.layers, model.hidden) == (layers, hidden)
    assert shaped_like(model)
    assert (model.layers, model.hidden) == (published(NAMES[like])[1].model.layers, hidden)


def test_activations_are_those_of_korthikanti() -> None:
    """34 s b h + 5 a s² b a layer in all; 2.7 GB for one of 175B unsplit, one sequence."""
    per_layer = memory(GPT3, Layout(1, pipeline=96), replace(PLAIN, flash=False)).activations
    s, h, a = 2048, 12288, 96
    assert per_layer == pytest.approx(s * (34 * h + 5 * a * s))


def test_zero_shares_what_it_says() -> None:
    """ZeRO, SC 2020, figure 1: 7.5B on 64 cards: 120, 31.4, 16.6 and 1.9 GB (gradients in 2 bytes)."""
    model = Transformer(1, 1024, 8, 1, 8, ffn=3_660_000)
    half = replace(PLAIN, gradient_bytes=2)
    scale = 7.5e9 / model.parameters
    for zero, gigabytes in ((0, 120), (1, 31.4), (2, 16.6), (3, 1.9)):
        held = memory(model, Layout(64, data=64, zero=zero), half)
        total = (held.weights + held.gradients + held.optimiser) * scale
        assert total == pytest.approx(gigabytes * 1e9, rel=0.02)


BASE = Layout(512, data=8, tensor=8, pipeline=8, interleave=2)


@pytest.mark.parametrize(
    ("worse", "part"),
    [
        ({"interleave": 1}, "bubble_s"),
        ({"zero": 3}, "data_s"),
        ({"recompute": "full"}, "matmul_s"),
        ({"recompute": "attention"}, "matmul_s"),
        ({"sequence_parallel": False}, "memory_s"),
    ],
)
def test_each_choice_costs_where_it_should(worse: dict[str, int], part: str) -> None:
    before, after = (step(GPT3, layout, A100, PLAIN) for layout in (BASE, replace(BASE, **worse)))
    assert getattr(after, part) > getattr(before, part)


def test_a_step_is_the_sum_of_its_parts_and_never_beats_the_card() -> None:
    for name, run in RUNS:
        found = step(run.model, run.layout, run.card, software(name))
        parts = [value for part, value in vars(found).items() if part.endswith("_s")]
        assert found.time_s == pytest.approx(sum(parts))
        assert min(parts) >= 0
        assert found.mfu_share < software(name).matmul_share


@pytest.mark.parametrize(
    ("batch", "overlap", "calculon_s"),
    [(3840, 0, (24.37, 19.48, 18.66)), (7680, 0, (39.46, 34.01, 33.10)), (15360, 0.8, (60.12, 56.0, 55.42))],
)
def test_a_quicker_network_saves_what_calculon_says(
    batch: int, overlap: float, calculon_s: tuple[float, float, float]
) -> None:
    """N6: 5T on 30,720 cards at 100, 400 and 800 Gbit/s; 23 % at the most, and 1 to 4 % from 400 to 800.

    Calculon caa4b11, TP 8, PP 40, DP 96; the shares of time saved agree within 3 points.
    """
    model = Transformer(160, 51_200, 400, 51_200, 2048)
    plain = Software("plain", 0.6, 0.0, tensor_overlap=overlap, data_overlap=overlap)
    layout = Layout(batch, 96, 8, 40)
    slow, middle, quick = (
        step(model, layout, replace(CARDS["h200"], network_bytes_per_s=gbit * 1e9 / 8), plain).time_s
        for gbit in (100, 400, 800)
    )
    assert 1 - quick / slow == pytest.approx(1 - calculon_s[2] / calculon_s[0], abs=0.03)
    assert 1 - quick / middle == pytest.approx(1 - calculon_s[2] / calculon_s[1], abs=0.01)


def test_experts_cost_two_all_to_alls_and_less_arithmetic() -> None:
    mixtral = Transformer(32, 4096, 32, 32_000, 4096, 14_336, True, 8, 8, 2)
    dense = replace(mixtral, experts=1, active_experts=1, ffn=8 * 14_336)
    layout = Layout(64, data=8, tensor=1, pipeline=4, expert=8)
    sparse, full = step(mixtral, layout, H100, PLAIN), step(dense, replace(layout, expert=1), H100, PLAIN)
    assert sparse.expert_s > 0 == full.expert_s
    assert sparse.matmul_s < full.matmul_s / 2
    near = memory(mixtral, layout, PLAIN).weights
    assert near < memory(mixtral, replace(layout, expert=1), PLAIN).weights / 4


LONG = Transformer(32, 4096, 32, 32_000, 32_768)
SPARSE = replace(LONG, experts=8, active_experts=2)


@pytest.mark.parametrize(("tensor", "inside"), [(1, True), (2, False)])
def test_keys_and_values_are_gathered_twice_and_their_gradients_scattered(tensor: int, inside: bool) -> None:
    """Llama 3, arXiv 2407.21783, 3.3.2: 8 contexts are in one node, those of tensor parallel pairs are not.

    Each card gets the seven other shares of keys and values, 2 bytes each, forward and again backward, and
    sends as much of their gradients; recomputing goes forward once more.
    """
    layout = Layout(8, context=8, tensor=tensor)
    share = 2 * 2 * LONG.sequence / 8 * LONG.hidden / tensor
    speed = H100.node_bytes_per_s if inside else H100.network_bytes_per_s * 0.9
    once_s = 8 * LONG.layers * 7 * share / speed
    for recompute, passes in (("none", 3), ("full", 4)):
        found = step(LONG, replace(layout, recompute=recompute), H100, PLAIN)
        assert found.context_s == pytest.approx(passes * once_s, rel=0.05)


def test_experts_that_contexts_hold_apart_are_not_in_one_node() -> None:
    """Ranks count tensor, context, then data: 4 data parallel cards with 4 contexts each are on two nodes."""
    near, apart = (step(SPARSE, Layout(16, 4, context=c, expert=4), H100, PLAIN) for c in (2, 4))
    assert apart.expert_s / near.expert_s == pytest.approx(
        H100.node_bytes_per_s / (2 * H100.network_bytes_per_s * 0.9), rel=0.02
    )


def test_what_reaches_over_the_edge_of_a_node_goes_by_its_network() -> None:
    """Rings of 3 ranks: of 8 cards to a node, the third ring has two in one and one in the next."""
    model = Transformer(16, 1536, 12, 32_000, 2048)
    cut, whole = (step(model, Layout(48, 3, pipeline=p), H100, PLAIN) for p in (4, 2))
    assert cut.data_s > 3 * whole.data_s
    assert cut.pipeline_s > 3 * whole.pipeline_s
    threes = step(model, Layout(48, tensor=3, pipeline=4), H100, PLAIN)
    assert threes.tensor_s > 3 * step(model, Layout(48, tensor=3, pipeline=2), H100, PLAIN).tensor_s / 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"tensor": 7}, "heads = 96"),
        ({"batch": 500}, "batch = 500"),
        ({"pipeline": 64, "interleave": 3}, "96 layers"),
        ({"expert": 2}, "experts = 1"),
        ({"zero": 9}, "zero = 9"),
        ({"data": 0}, "one or more"),
        ({"pipeline": 1}, "nothing to interleave"),
        ({"batch": 96}, "12 micro-batches do not go in rounds of 8"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(change: dict[str, int], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        step(GPT3, replace(BASE, **change), A100, PLAIN)


def test_a_model_that_cannot_be_is_refused() -> None:
    for make in (
        lambda: Transformer(0, 1, 1, 1, 1),
        lambda: Transformer(1, 10, 3, 1, 1),
        lambda: Transformer(1, 8, 1, 1, 1, experts=2, active_experts=3),
        lambda: of_size(1, 1),
        lambda: software("mine"),
    ):
        with pytest.raises(BadInput):
            make()
    assert set(CARDS) == {"a100", "h100", "h200", "b200"}
