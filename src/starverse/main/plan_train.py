"""What `starverse plan train` prints: a model laid out on cards, as searched for or as given."""

from typing import NamedTuple

from starverse.main.answer import show_answer
from starverse.main.plan_network import cluster_of
from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.model.spec import Cluster
from starverse.physics.training.layout import CARDS, Card, Layout
from starverse.physics.training.published import fitted_cards, published, shaped_like, software
from starverse.physics.training.runs import Run
from starverse.physics.training.transformer import Transformer, of_size
from starverse.planning import training
from starverse.planning.network import card_of, network_of
from starverse.planning.words import layout_of, model_of

PARAMETERS, BATCH, SEQUENCE, STACK, CARD_NAME, MOST = 405e9, 2_048, 8_192, "llama-3", "h100", 16_384
"""What is taken where nothing is said."""


class Asked(NamedTuple):
    """What a person said of a model and of how it is to be trained; None where nothing."""

    parameters: float | None = None
    model: str | None = None
    layout: str | None = None
    cluster: str | None = None
    cards: int | None = None
    batch: int | None = None
    sequence: int | None = None
    card: str | None = None
    stack: str | None = None
    mfu_share: float | None = None


def train(asked: Asked, tokens: float, *, json: bool) -> None:
    """Print the best layout of a model, or a given one, and how long it trains."""
    bounded(1, training.TOKENS_MAX, tokens=tokens)
    bounded(1, training.SEQUENCE_MAX, sequence=asked.sequence)
    bounded(1e-3, 1, mfu_share=asked.mfu_share)
    stack, run = _published(asked)
    model, shape = _model(asked, run)
    spec = cluster_of(asked.cluster) if asked.cluster else None
    card = _card(asked.card, spec, run)
    if asked.mfu_share is not None:
        show_answer(_at_share(asked, asked.mfu_share, model, card, spec, tokens), json=json)
        return
    notes = [shape, "days are of steps; with stops at Llama 3's rate"]
    if spec:
        notes.append(
            f"on the first cards of {spec.name or asked.cluster}, its data parallel rings all at once"
        )
    name = asked.stack or stack or STACK
    found = _found(asked, model, card, name, spec, run)
    if card.name not in fitted_cards(name):
        known = ", ".join(fitted_cards(name))
        notes.append(f"{name}'s constants were fitted on {known}; that {card.name} keeps them is assumed")
    same = run is not None and (found.layout, found.card, asked.stack or stack) == (
        run.layout,
        run.card,
        stack,
    )
    days = training.with_stops(found.days(tokens), model.parameters, found.layout.cards)
    answer = {
        "fits": found.fits,
        "model": model,
        "model_parameters": model.parameters,
        "layout": found.layout,
        "cards": found.layout.cards,
        "step": found.step,
        "step_s": found.step.time_s,
        "published_step_s": run.time_s if run and same else None,
        "mfu_share": found.step.mfu_share,
        "tokens_per_s": found.tokens_per_s,
        "days": days.steps,
        "ettr": days.ettr,
        "stops_per_day": days.stops_per_day,
        "days_with_stops": days.all,
        "network_bytes_per_s": found.card.network_bytes_per_s,
        "memory_bytes": found.memory.total,
        "memory": found.memory,
        "layouts_tried": found.tried,
        "too_large_by": found.full,
        "equation": training.EQUATION,
        "source": training.SOURCE,
        "notes": tuple(filter(None, (found.why_not(), *notes))),
    }
    show_answer(answer, json=json)


def _at_share(
    asked: Asked, share: float, model: Transformer, card: Card, spec: Cluster | None, tokens: float
) -> dict[str, object]:
    """The days at an MFU that was given; the size counts as asked for, not as a shape near it."""
    if asked.layout:
        raise BadInput("--mfu-share takes the place of a layout.", "Leave one of them out.")
    cards = asked.cards or (spec.cards if spec else MOST)
    parameters = model.active_parameters if asked.model else asked.parameters or PARAMETERS
    days = training.days_at(parameters, tokens, cards, card.peak_flops, share)
    return {
        "parameters": parameters,
        "cards": cards,
        "mfu_share": share,
        "days": days.steps,
        "ettr": days.ettr,
        "stops_per_day": days.stops_per_day,
        "days_with_stops": days.all,
        "equation": "6 × parameters × tokens / (cards × peak × MFU), over ETTR with stops",
        "source": "Kaplan et al., arXiv 2001.08361; Daly, FGCS 22 (2006)",
        "assumed": (f"MFU of {share:g}", "stops at Llama 3's rate"),
    }


def _published(asked: Asked) -> tuple[str, Run | None]:
    """The published run that the model is named by, if it is, and its software; else that of the layout."""
    for words in (asked.model, asked.layout):
        if words and "=" not in words:
            return published(words)
    return "", None


def _model(asked: Asked, run: Run | None) -> tuple[Transformer, str]:
    """The model, and what is to be said of its shape."""
    if asked.model and asked.parameters is not None:
        raise BadInput("--model and --parameters both describe the model.", "Leave one of them out.")
    if asked.model and "=" not in asked.model:
        assert run is not None
        if asked.sequence not in {None, run.model.sequence}:
            raise BadInput(
                f"{run.name} has sequences of {run.model.sequence:,}.",
                "Leave out --sequence, or say its shape.",
            )
        return run.model, f"the model of {run.name}"
    sequence = asked.sequence or (run.model.sequence if run else SEQUENCE)
    if asked.model:
        return model_of(asked.model, sequence), ""
    size = PARAMETERS if asked.parameters is None else asked.parameters
    bounded(1e6, 1e15, parameters=size)
    model = of_size(size, sequence)
    like = shaped_like(model)
    return model, (
        f"{size:g} parameters are taken as {model.layers} layers, hidden size {model.hidden:,} and "
        f"{model.heads} heads: {model.parameters:.4g}" + (f", the shape of {like}" if like else "")
    )


def _card(asked: str | None, spec: Cluster | None, run: Run | None) -> Card:
    name = asked or (spec.node.card if spec else run.card.name.lower() if run else CARD_NAME)
    if name not in CARDS:
        known = f"Say --card {', '.join(CARDS)}."
        if spec is None or asked:
            raise BadInput(f"There is no card {shown(name)}.", nearest(name, CARDS))
        raise BadInput(
            f"No training was fitted on the '{name}' of {spec.name}, of whose {spec.cards:,} cards only the "
            f"network is known here: {spec.network.link_gbps:g} Gbit/s a link.",
            f"For another card on that network: {known[0].lower()}{known[1:]}",
        )
    return card_of(spec, CARDS[name]) if spec else CARDS[name]


def _found(
    asked: Asked, model: Transformer, card: Card, stack: str, spec: Cluster | None, run: Run | None
) -> training.Plan:  # fmt: skip
    """The layout that was given, or else the best one."""
    run_by = software(stack)
    batch = asked.batch or (run.layout.batch if run else BATCH)
    cards = asked.cards or (spec.cards if spec else run.layout.cards if run else MOST)
    if asked.layout:
        layout = _layout(asked, batch)
        if asked.cards and layout.cards > asked.cards:
            raise BadInput(
                f"The layout takes {layout.cards:,} cards.", f"Give --cards {layout.cards} or more."
            )
        if spec:
            return training.train_on(model, layout, card, run_by, network_of(spec))
        return training.train(model, layout, card, run_by)
    if spec:
        return training.best_on(model, min(cards, spec.cards), batch, card, run_by, network_of(spec))
    return training.best_layout(model, cards, batch, card, run_by)


def _layout(asked: Asked, batch: int) -> Layout:
    assert asked.layout is not None
    if "=" in asked.layout:
        return layout_of(asked.layout, batch)
    layout = published(asked.layout)[1].layout
    if asked.batch not in {None, layout.batch}:
        raise BadInput(
            f"{asked.layout} has a batch of {layout.batch:,}.", "Leave out --batch, or say its layout."
        )
    return layout
