"""Claims N1 to N6: what 30,000 cards train, and what their network does."""

import numpy as np

from starverse.model.spec import GBPS
from starverse.money.tco import FLAT
from starverse.physics.checkpoints import state_bytes
from starverse.physics.fabric.collectives import Timing, Wire, bus_factor, ring_allreduce_s
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.loss import step_stretch
from starverse.physics.fabric.measured import sweep
from starverse.physics.fabric.topology import ENDS_NS, latencies_ns
from starverse.physics.fabric.traffic import Conditions, collective
from starverse.physics.fabric.tree import clos
from starverse.physics.training.layout import B200, H100
from starverse.physics.training.published import software
from starverse.physics.training.transformer import of_size
from starverse.planning.claim import Claim, judged, near, percent
from starverse.planning.claims_cooling import reference_site
from starverse.planning.collective import alone
from starverse.planning.network import topology_of
from starverse.planning.training import best_layout, days_at

CARDS = 30_000
SLOW_BYTES_PER_S, FAST_BYTES_PER_S = 100e9 / 8, 800e9 / 8
SLOW_S, FAST_S, SAVED_SHARE = 0.400, 0.175, 0.15
"""Claims N3 and N6: an all-reduce at 100 Gb/s, the window at 800 Gb/s, and the training time it saves."""
STEP_S = (SLOW_S - FAST_S) / SAVED_SHARE
"""The step in which that window saves that share: the only one in which both are true."""
TORUS = (32, 32, 30)
HYPERX = (32, 32, 32)
BF16_BYTES = 2

# N1. Tokens and MFU of a run of the kind: Llama Team, "The Llama 3 Herd of Models" (2024), 15.6 T tokens
# rounded as in its abstract, and table 4's 43 % on 8,192 cards. Peaks: makers' data sheets, dense BF16.
PARAMETERS, TOKENS, MFU_SHARE = 5e12, 15e12, 0.43
SEQUENCE, BATCHES = 8_192, (2_048, 16_384)
"""What a layout is searched for: Llama 3's batch of 16 M tokens, and one eight times as large."""
CHINCHILLA_TOKENS_PER_PARAMETER = 20
"""Hoffmann et al., "Training Compute-Optimal Large Language Models" (2022)."""

# N2. A round trip over three switches under light load, assumed.
ROUND_TRIP_S = 10e-6
# N3. Size and layout that are said of GPT-4; its maker published neither.
GPT4_PARAMETERS, GPT4_SHARDS = 1.8e12, 8 * 16
# N4. A switch, and 60 m of fibre at 5 ns/m over three switches, so six links, each with half of a switch.
SWITCH_NS, FIBRE_NS = 500.0, 300.0
LINK_NS = SWITCH_NS / 2 + FIBRE_NS / 6
SWITCH_RADIX = 64
"""800 Gb/s ports of a 51.2 Tb/s switch."""
# N5. The buffer at which both fabrics are compared, and the line rate of the measured one (8 x 400 Gb/s).
BUFFER_BYTES, MEASURED_BYTES_PER_S = float(1 << 30), 400e9


def network_claims() -> list[Claim]:
    """The rows N1 to N6."""
    return [n1(), n2(), n3(), n4(), n5(), n6()]


def n1(claimed: float = 180.0, tokens: float = TOKENS) -> Claim:
    """Days to train: 6 x parameters x tokens over cards x peak x MFU, and what stops add."""
    found = days_at(PARAMETERS, tokens, CARDS, B200.peak_flops, MFU_SHARE)
    computed = found.all
    needed = found.steps * MFU_SHARE / claimed
    slower = days_at(PARAMETERS, tokens, CARDS, H100.peak_flops, MFU_SHARE).steps
    best = CHINCHILLA_TOKENS_PER_PARAMETER * PARAMETERS
    model, llama = of_size(PARAMETERS, SEQUENCE), software("llama-3")
    small, large = (best_layout(model, CARDS, batch, B200, llama).step.mfu_share for batch in BATCHES)
    return Claim(
        "N1",
        f"days to train 5 T dense parameters on {tokens / 1e12:g} T tokens in BF16 on {CARDS:,} B200-class "
        "cards, stops included",
        claimed,
        computed,
        "days",
        judged(near(claimed, computed)),
        f"Assumed {percent(MFU_SHARE)} MFU of {B200.peak_flops / 1e15:g} PFLOP/s: {found.steps:.0f} days of "
        f"steps, over an ETTR of {found.ettr:.3f} at {found.stops_per_day:.1f} stops a day (Llama 3's rate). "
        f"Without stops {claimed:g} days need {percent(needed)} MFU. The best layout that `plan train` finds "
        f"has {percent(small)} at a batch of {BATCHES[0] * SEQUENCE / 1e6:.0f} M tokens, {percent(large)} at "
        f"{BATCHES[1] * SEQUENCE / 1e6:.0f} M. H100-class cards take {slower:.0f} days; compute-optimal "
        f"training ({best / 1e12:.0f} T tokens) {found.steps * best / tokens:,.0f}.",
        "6ND: Kaplan et al., arXiv 2001.08361; Llama 3 (2024), tables 4 and 5; Daly, FGCS 22 (2006)",
        f"starverse plan train --parameters {PARAMETERS:g} --cards {CARDS} --card b200 --tokens {tokens:g} "
        f"--mfu-share {MFU_SHARE:g}",
    )


def n2(claimed: float = 10.0, loss_share: float = 0.01, round_trip_s: float = ROUND_TRIP_S) -> Claim:
    """How much longer training takes when packets get lost."""
    exposed = SLOW_S / STEP_S

    def longer(bytes_per_s: float, recovery: str) -> tuple[float, float]:
        """On average, and with the timeouts of the slowest; of bytes alone, as ways are not lost."""
        torus = Grid(TORUS, link_bytes_per_s=bytes_per_s, hop_ns=0)
        lossy = Conditions(loss_share=loss_share, recovery=recovery, round_trip_s=round_trip_s, ends_ns=0)
        ranks = np.arange(torus.cards)
        found = collective(torus, "all-reduce", "bucket", ranks, BUFFER_BYTES, lossy, dims=TORUS)
        stretches = found.loss_stretch_mean, found.loss_stretch_slowest
        mean, slowest = (100 * (step_stretch(exposed, stretch) - 1) for stretch in stretches)
        return mean, slowest

    computed, slowest = longer(SLOW_BYTES_PER_S, "go-back-n")
    # what is sent again grows with the window, and that with the round trip
    exact_s = round_trip_s * claimed / computed
    return Claim(
        "N2",
        f"training time added by {percent(loss_share)} loss under go-back-N at 100 Gb/s, "
        f"{round_trip_s * 1e6:g} µs round trip, synchronisation exposed as in N6",
        claimed,
        computed,
        "%",
        judged(near(claimed, computed)),
        f"{percent(exposed, 1)} of the step waits for the network ({SLOW_S:g} s of {STEP_S:.2g} s). Exactly "
        f"+{claimed:g} % at a round trip of {exact_s * 1e6:.1f} µs. Go-back-N at 800 Gb/s "
        f"+{longer(FAST_BYTES_PER_S, 'go-back-n')[0]:.0f} %, selective repeat "
        f"+{longer(FAST_BYTES_PER_S, 'selective-repeat')[0]:.2g} % at any speed. These are means, of bytes "
        f"alone: with the timeouts of 1 ms that the slowest of {Grid(TORUS).cards:,} messages waits for on "
        f"each axis of a torus all-reduce of {BUFFER_BYTES / (1 << 30):g} GiB, +{slowest:.1f} %.",
        "goodput: Bertsekas and Gallager, Data Networks, 2.4",
        f"starverse plan collective torus:{'x'.join(map(str, TORUS))} --link-gbps {_gbps(SLOW_BYTES_PER_S)} "
        f"--hop-ns 0 --ends-ns 0 --algorithm bucket --loss {loss_share:g} --recovery go-back-n "
        f"--round-trip-us {round_trip_s * 1e6:g} --exposed-share {exposed:.6f}",
    )


def n3(claimed: float = 400.0, parameters: float = GPT4_PARAMETERS) -> Claim:
    """An all-reduce of a GPT-4-class gradient at 100 Gb/s, and the global rate."""
    whole = state_bytes(parameters, BF16_BYTES)
    shard = whole / GPT4_SHARDS
    replicas = CARDS // GPT4_SHARDS
    computed = 1e3 * _ring(replicas, shard, SLOW_BYTES_PER_S).time_s
    fits = claimed / 1e3 * SLOW_BYTES_PER_S / bus_factor("all-reduce", replicas)
    rate = whole / computed * 1e3
    both = 1.8e12 * claimed / 1e3
    return Claim(
        "N3",
        f"ms of a ring all-reduce at 100 Gb/s of the BF16 gradient of {parameters / 1e12:g} T parameters in "
        f"{GPT4_SHARDS} shards over {replicas} replicas",
        claimed,
        computed,
        "ms",
        judged(near(claimed, computed)),
        f"A shard is {shard / 1e9:.1f} GB. {claimed:g} ms carry {fits / 1e9:.2g} GB: one bucket of it. "
        f"1.8 TB/s over {CARDS:,} cards is {1.8e12 * 8 / CARDS / 1e9:.2f} Gb/s a card, trivially small; read "
        f"as one gradient a {claimed:g} ms it is {both / 1e12:.2f} TB, {both / BF16_BYTES / 1e9:.0f} G "
        f"parameters in {both / fits:.0f} shards. What was computed reduces {rate / 1e12:.2g} TB/s. Size and "
        "layout are what is said of GPT-4, unpublished.",
        "ring: Patarasuk and Yuan (2009)",
        f"starverse plan collective ethernet:{replicas} --link-gbps {_gbps(SLOW_BYTES_PER_S)} "
        f"--megabytes {shard / 1e6:.6f} --algorithm ring",
    )


def n4(claimed: float = 3.0, latency_us: float = 2.8) -> Claim:
    """Switches between any two cards, and the latency over them."""
    torus, hyper = Grid(TORUS), Grid(HYPERX, "hyperx", link_bytes_per_s=FAST_BYTES_PER_S, hop_ns=LINK_NS)
    (hops, share), (passed, _) = torus.distances(), hyper.distances()
    most = int(passed.max())
    tree = clos(CARDS, SWITCH_RADIX, FAST_BYTES_PER_S)
    latency = float(latencies_ns(hyper)[0].max()) / 1e3
    relayed = latency + (most - 1) * ENDS_NS / 1e3
    return Claim(
        "N4",
        f"most switches between two cards of HyperX/BCube({'×'.join(map(str, HYPERX))}), a switch on every "
        "line of a grid, cards relaying at no cost; latency unloaded, a small message",
        claimed,
        float(most),
        "switches",
        judged(most == claimed, hyper.cards >= CARDS, near(latency_us, latency)),
        f"{hyper.cards:,} cards; three dimensions and three tiers at once only so. A 3D torus of "
        f"{'×'.join(map(str, TORUS))} has diameter {int(hops.max())} and {float(hops @ share):.1f} hops on "
        f"average. Over {most} switches {latency:.1f} µs unloaded (network cards {ENDS_NS:g} ns, "
        f"switch {SWITCH_NS:g}, fibre {FIBRE_NS:g}: {latency_us:g} µs is plausible), but BCube's relaying "
        f"cards make it {relayed:.1f} µs unless they relay at no cost. A Clos of {SWITCH_RADIX} ports has "
        f"{tree.tiers} tiers too, and passes {int(tree.distances()[0].max())} switches.",
        "Guo et al., BCube, SIGCOMM 2009; Ahn et al., HyperX, SC 2009",
        f"starverse plan collective hyperx:32x32x32 --megabytes 0.001 --hop-ns {LINK_NS:g}",
    )


def n5(claimed: float = 93.0, buffer_bytes: float = BUFFER_BYTES) -> Claim:
    """The efficiency of an all-reduce over the whole cluster."""
    wire, words = Wire(FAST_BYTES_PER_S), f"torus:{'x'.join(map(str, TORUS))}"
    torus = topology_of(words, FAST_BYTES_PER_S, wire.step_ns)
    within = Conditions(ends_ns=0)  # the ends are in the time of a step
    timing = alone(torus, "all-reduce", "bucket", buffer_bytes, conditions=within)
    assert timing is not None, "a torus reduces in buckets"
    cards, computed = timing.cards, 100 * timing.wire_share
    flat = computed * timing.time_s / ring_allreduce_s(cards, buffer_bytes, wire)
    lag_s = 2 * sum(length - 1 for length in TORUS) * wire.step_ns * 1e-9
    enough = claimed / (100 - claimed) * lag_s * wire.bytes_per_s / bus_factor("all-reduce", cards)
    half = cards * wire.step_ns * 1e-9 * wire.bytes_per_s
    sizes, seconds = sweep("b200-4-nodes")
    bus = 100 * bus_factor("all-reduce", 32) * sizes / seconds / MEASURED_BYTES_PER_S
    small = int(abs(sizes - (1 << 28)).argmin())
    works = STEP_S - SLOW_S
    step = 100 * works / (works + FAST_S)
    return Claim(
        "N5",
        f"bus bandwidth of an all-reduce of {buffer_bytes / (1 << 30):g} GiB over {cards:,} cards "
        f"({'×'.join(map(str, TORUS))} torus, one 800 Gb/s wire at a time), as a share of the wire",
        claimed,
        computed,
        "%",
        judged(computed >= claimed),
        f"Ordinary as bus bandwidth, from {enough / (1 << 20):.0f} MiB on; 32 B200 as measured reach "
        f"{bus[small]:.0f} % at 256 MiB and {bus[-1]:.0f} % at {sizes[-1] / (1 << 30):.0f} GiB, so 75 and "
        f"93 % may be one fabric at two sizes. As step efficiency the article's own N6 gives {step:.0f} % "
        f"({works:.2g} s of work and {FAST_S * 1e3:g} ms). A flat ring gives {flat:.0f} %; half of the "
        f"wire takes {half / 1e9:.1f} GB there. A step takes {wire.step_ns / 1e3:g} µs beside its bytes.",
        "bucket algorithm: Chan et al. (2007); nccl-tests PERFORMANCE.md; stas00/ml-engineering, 744d01e",
        f"starverse plan collective {words} --link-gbps {_gbps(FAST_BYTES_PER_S)} --hop-ns {wire.step_ns:g} "
        f"--ends-ns 0 --megabytes {buffer_bytes / 1e6:.6f} --algorithm bucket",
    )


def n6(claimed: float = 175.0, saved_yuan: float = 12e6, site_mwh: float | None = None) -> Claim:
    """The window at eight times the speed, what it saves, and what that is worth in electricity."""
    mwh = reference_site().energy_mwh_per_year if site_mwh is None else site_mwh
    replicas = CARDS // GPT4_SHARDS
    buffer = round(SLOW_S * SLOW_BYTES_PER_S / bus_factor("all-reduce", replicas))
    computed = 1e3 * _ring(replicas, buffer, FAST_BYTES_PER_S).time_s
    speed = FAST_BYTES_PER_S / SLOW_BYTES_PER_S
    floor = (speed * claimed - SLOW_S * 1e3) / (speed - 1)
    yuan = SAVED_SHARE * mwh * 1e3 * FLAT.micro_yuan_per_kwh[0] / 1e6
    quick = (SLOW_S - computed / 1e3) / STEP_S
    today_s = SLOW_S / 4  # 400 Gb/s
    against = (today_s - computed / 1e3) / (STEP_S - SLOW_S + today_s)
    return Claim(
        "N6",
        f"ms at 800 Gb/s for the buffer whose bytes alone take {SLOW_S * 1e3:g} ms at 100 Gb/s, in a ring of "
        f"{replicas} cards as in N3",
        claimed,
        computed,
        "ms",
        judged(near(claimed, computed), near(saved_yuan, yuan)),
        f"{claimed:g} ms need a part of {floor:.0f} ms that no bandwidth shortens. {percent(SAVED_SHARE)} "
        f"saved fits a step of {STEP_S:.2g} s; {computed:.0f} ms would save {percent(quick)} of it, and "
        f"{percent(against, 1)} against 400 Gb/s. {percent(SAVED_SHARE)} of the reference site's "
        f"{mwh / 1e3:,.0f} GWh at {FLAT.micro_yuan_per_kwh[0] / 1e6:g} yuan/kWh is {yuan / 1e6:.1f} "
        f"million yuan: {saved_yuan / 1e6:g} million are {CARDS * saved_yuan / yuan:,.0f} cards (C6's 37 % "
        f"would be {37 / 63 * yuan / SAVED_SHARE / 1e6:.0f} million).",
        "arithmetic on claims N3 and N6; site: ISO/IEC 30134-2 model of `plan site`",
        f"starverse plan collective ethernet:{replicas} --link-gbps {_gbps(FAST_BYTES_PER_S)} "
        f"--megabytes {buffer / 1e6:.6f} --algorithm ring",
    )


def _ring(cards: int, bytes_: float, bytes_per_s: float) -> Timing:
    """An all-reduce in a ring of cards on one switch."""
    found = alone(topology_of(f"ethernet:{cards}", bytes_per_s), "all-reduce", "ring", bytes_)
    assert found is not None, "a ring has a closed form"
    return found


def _gbps(bytes_per_s: float) -> str:
    """A link's speed as a command takes it."""
    return f"{bytes_per_s / GBPS:g}"
