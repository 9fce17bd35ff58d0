"""`starverse plan`: a figure from a paper is checked by one line typed in a shell."""

import json
from pathlib import Path

import pytest

from starverse.main.commands import build


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints that ends well."""
    with pytest.raises(SystemExit) as end:
        build()(["plan", *words])
    assert not end.value.code, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The sentence of a command that ends badly."""
    with pytest.raises(SystemExit) as end:
        build()(["plan", *words])
    assert end.value.code == 2
    return capsys.readouterr().err


def test_a_cold_plate_holds_the_card_where_the_article_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "cooling", "--json"))
    assert answer["die_c"] == pytest.approx(63, abs=0.2)
    assert "OCP" in answer["source"]
    assert answer["equation"]


def test_the_whole_cluster_stops_fourteen_times_a_day(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "faults", "--cards", "30000", "--days", "1", "--json"))
    assert answer["stops_per_day"] == pytest.approx(14.2, abs=0.05)


def test_people_read_figures_with_their_source(capsys: pytest.CaptureFixture[str]) -> None:
    said = asked(capsys, "checkpoint", "--memory-survives", "0.5")
    assert "daly interval  " in said
    assert "memory of a peer" in said
    assert "source: Young" in said


def test_a_site_prints_its_year_and_draws_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec, drawn = tmp_path / "site.toml", tmp_path / "year.svg"
    spec.write_text('name = "ours"\n[cards]\ncount = 4000\n')
    said = asked(capsys, "site", str(spec), "--plot", str(drawn))
    assert "SYNTHETIC" in said
    assert "¥" in said
    pue = json.loads(asked(capsys, "site", str(spec), "--json"))["pue_by_month"]
    assert f"Jan {pue[0]:.4g}" in said
    assert f"Dec {pue[11]:.4g}" in said
    assert "boundary:" in said
    assert drawn.read_text().count("<svg") == 1


def test_bad_input_gets_one_sentence_and_a_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "site.toml"
    spec.write_text("[plant]\nsuply_c = 40\n")
    assert "Did you mean `plant.supply_c`?" in refused(capsys, "site", str(spec))
    assert "cannot be read" in refused(capsys, "site", "--weather", str(tmp_path / "none.epw"))
    assert ".png or .svg" in refused(capsys, "site", "--plot", str(tmp_path / "year.gif"))


def test_a_whole_torus_reduces_as_in_astra_sim(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "collective", "torus:4x4x4", "--algorithm", "bucket", "--json"))
    assert answer["cards"] == 64
    assert answer["time_s"] >= answer["bytes"] * 2 * 63 / 64 / 6 / 100e9, "quicker than its six wires"
    assert "a cube" not in refused(capsys, "collective", "cube:4x4x4")


def test_a_model_is_laid_out_and_one_too_large_says_what_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    words = "train", "--parameters", "70e9", "--cards", "512", "--batch", "512", "--json"
    answer = json.loads(asked(capsys, *words))
    assert answer["fits"]
    assert 0 < answer["mfu_share"] < 1
    assert answer["days"] == pytest.approx(15e12 / answer["tokens_per_s"] / 86_400)
    said = asked(capsys, "train", "--parameters", "5e12", "--cards", "8", "--batch", "8")
    assert "The fullest card needs" in said


def test_a_cluster_is_asked_by_its_preset_or_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "ours.toml"
    file.write_text('[levels]\nnode = 8\n[network]\nkind = "torus"\nof = "node"\nsize = [4, 2]\n')
    answer = json.loads(asked(capsys, "collective", "--cluster", str(file), "--json"))
    assert answer["cards"] == 64
    assert answer["assumed"] == [
        f"{each}, as {file} does not say" for each in ("links of 800 Gbit/s", "hops of 500 ns")
    ]
    trained = json.loads(
        asked(capsys, "train", "--cluster", str(file), "--parameters", "7e9", "--batch", "64", "--json")
    )
    assert trained["cards"] <= 64
    file.write_text(file.read_text() + "link_gbps = 400\nhop_ns = 300\n")
    assert not json.loads(asked(capsys, "collective", "--cluster", str(file), "--json"))["assumed"]
    answer = json.loads(asked(capsys, "collective", "--cluster", "tpu-v4", "--json"))
    assert [each for each in answer["assumed"] if "does not say" in each] == []
    answer = json.loads(asked(capsys, "collective", "--cluster", "llama3-24k", "--json"))
    assert "hops of 500 ns, as llama3-24k does not say" in answer["assumed"]
    assert "Did you mean 'xiamen-30k'" in refused(capsys, "collective", "--cluster", "xiamen")
    assert "--link-gbps" in refused(capsys, "collective", "--cluster", str(file), "--link-gbps", "400")
    assert "--card" in refused(capsys, "train", "--cluster", "frontier")


def test_a_solved_placement_is_asked_about(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    case, solved = tmp_path / "case.toml", tmp_path / "solved.json"
    case.write_text(
        '[cluster]\nlevels = ["rack"]\ntorus = {level = "rack", size = [2, 2]}\n'
        'nodes = [{name = "x[0-1]y[0-1]-n[1-2]", place = "rack-{1}{2}", at = ["{1}", "{2}"], cards = 8}]\n'
        '[[jobs]]\nname = "one"\ncards = 32\nmember = 8\n[[jobs]]\nname = "two"\ncards = 24\nmember = 8\n'
        '[[at]]\ntime = "1s"\n'
    )
    with pytest.raises(SystemExit) as end:
        build()(["solve", str(case), "--json", str(solved)])
    assert not end.value.code
    capsys.readouterr()
    words = ("collective", "torus:2x2/16", "--node-cards", "8", "--placement", str(solved), "--json")
    alone = json.loads(asked(capsys, *words, "--job", "two"))
    assert alone["cards"] == 24
    assert json.loads(asked(capsys, *words, "--job", "two", "--beside"))["time_s"] >= alone["time_s"]
    assert "Name one with --job" in refused(capsys, *words[:-1])


def test_a_preset_whose_card_nobody_trained_on_says_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    for name, card, link in (("frontier", "mi250x", "200 Gbit/s"), ("tpu-v4", "tpu-v4", "360 Gbit/s")):
        said = refused(capsys, "train", "--cluster", name)
        assert f"fitted on the '{card}'" in said
        assert link in said


def test_sites_are_changed_by_keys_and_their_hours_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hours = tmp_path / "hours.csv"
    words = ("--set", "plant.kind=single-phase", "--set", "plant.fluid=mineral-oil")
    said = asked(capsys, "site", *words, "--hours", str(hours))
    assert "flash point is 174" in " ".join(said.split())
    lines = hours.read_text().splitlines()
    assert len(lines) == 8761
    assert lines[0].split(",")[-1] == "pue"
    assert "from `plant.supply_c` = 62 to 70" in refused(
        capsys, "site", *words[:2], "--set", "plant.supply_c=62"
    )
    assert "conducts" in refused(capsys, "site", *words[:2], "--set", "plant.fluid=water")
    assert "boiling" in refused(capsys, "site", "--set", "plant.kind=two-phase", *words[2:]).lower()
    assert "fan_share" in refused(capsys, "site", "--set", "cards.fan_share=0.1")
    assert "plant.supply_c" in refused(capsys, "site", "--set", "plant.suply_c=30")
    assert "plant.kind=air" in refused(capsys, "site", "--set", "plant")


def test_an_idle_cards_loop_is_as_long_as_a_busy_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """4.8 s of delay at no load and 42 s at full: once idling drained the loop."""
    for load in ("0", "1"):
        words = "cooling", "--card", "h100", "--load", load, "--json"
        assert json.loads(asked(capsys, *words))["delay_s"] == pytest.approx(42)


def test_names_that_are_nearly_right_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'novec-649'?" in refused(
        capsys, "cooling", "--kind", "two-phase", "--coolant", "novec649"
    )
    assert "Did you mean 'h100'?" in refused(capsys, "train", "--card", "h10")
    assert "Did you mean 'energyplus-tampa'? Or name a .toml file." in refused(capsys, "site", "energyplus")
    with pytest.raises(SystemExit):
        build()(["bench", "fisics"])
    assert "Did you mean 'physics'?" in capsys.readouterr().err


def test_published_sites_take_no_changes(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "site", "energyplus-tampa", "--json"))
    assert answer["pue"] == pytest.approx(answer["published_pue"], rel=0.01)
    assert "--set" in refused(capsys, "site", "lbnl-chicago", "--set", "plant.kind=air")
    assert "lbnl-chicago" in refused(capsys, "site", "lbnl")


ACME = Path(__file__).parents[2] / "../shared/traces/acme-utilization"


@pytest.mark.skipif(not ACME.exists(), reason="the traces are not here")
def test_the_slope_of_acmes_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    """Kalos 0.091 K/W; Seren, held out, within a tenth of it."""
    for cluster, share in (("kalos", 0.005), ("seren", 0.1)):
        files = (str(ACME / f"gpu_{what}_{cluster}.csv") for what in ("power", "temp"))
        assert json.loads(asked(capsys, "slope", *files, "--json"))["k_per_w"] == pytest.approx(
            0.091, rel=share
        )


def test_a_table_that_is_no_distribution_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "power.csv"
    table.write_text("w,pct\n50,0\n60,x\n")
    other = tmp_path / "temperature.csv"
    other.write_text("c,pct\n30,0\n60,100\n")
    assert "line 3" in refused(capsys, "slope", str(table), str(other))
    table.write_text("w,pct\n50,0\n60,50\n")
    assert "does not reach" in refused(capsys, "slope", str(table), str(other))
    table.write_text("w,pct\n300,0\n600,100\n")
    for wrong in ((table, table), (other, table)):
        assert "the power" in refused(capsys, "slope", *map(str, wrong))
    table.write_text("")
    assert "is empty" in refused(capsys, "slope", str(table), str(other))


def test_a_published_run_is_checked_by_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    run = "Megatron Core 177B"
    theirs = json.loads(asked(capsys, "train", "--model", run, "--layout", run, "--json"))
    assert theirs["step_s"] == pytest.approx(theirs["published_step_s"], rel=0.1)
    best = json.loads(asked(capsys, "train", "--model", run, "--json"))
    assert best["step_s"] <= theirs["step_s"]
    assert best["published_step_s"] is None, "the layout found is not theirs"
    assert "Did you mean 'Megatron Core 177B'?" in refused(capsys, "train", "--model", "Megatron Core 178B")


def test_a_model_and_a_layout_are_given_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    shape = "layers=32 hidden=4096 heads=32 kv_heads=8 ffn=14336 gated experts=8 active_experts=2"
    words = "train", "--model", shape, "--batch", "64"
    answer = json.loads(asked(capsys, *words, "--layout", "data=8,expert=8,zero=1,recompute=full", "--json"))
    assert answer["cards"] == 8
    assert answer["model_parameters"] == pytest.approx(47e9, rel=0.02)
    assert not answer["fits"]
    assert "The fullest card needs" in answer["notes"][0]
    assert "heads = 32 does not divide by tensor = 3" in refused(capsys, *words, "--layout", "tensor=3")
    assert "Did you mean 'tensor'?" in refused(capsys, *words, "--layout", "tensr=3")
    assert "The model has no heads" in refused(capsys, "train", "--model", "layers=2,hidden=64")
    assert "a whole number" in refused(capsys, "train", "--model", "layers=2.5,hidden=64,heads=1")
    assert "both describe" in refused(capsys, *words, "--parameters", "7e9")
    assert "said twice" in refused(capsys, *words, "--layout", "data=2 data=3")


def test_a_size_says_which_shape_was_taken(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "train", "--parameters", "177e9", "--cards", "64", "--json"))
    assert answer["model"]["layers"] == 96
    assert "96 layers" in " ".join(answer["notes"])
    assert "the shape of Megatron Core 177B" in " ".join(answer["notes"])
    assert "or more" in refused(capsys, "train", "--parameters", "2e6")


def test_what_is_slow_spread_or_lossless_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    def time_s(*words: str) -> float:
        line = "collective", "clos:64/8", "--kind", "all-to-all", "--megabytes", "1", *words, "--json"
        return float(json.loads(asked(capsys, *line))["time_s"])

    well = time_s()
    assert time_s("--slow", "leaf 0=0.25") > 2 * well
    assert time_s("--slow", "leaf 0 -> spine 0=0.5", "--failed", "spine 1") > well
    assert time_s("--adaptive") <= well
    assert time_s("--lossless") >= well
    assert time_s("--hop-ns", "5000") > well
    assert "Write it like" in refused(capsys, "collective", "clos:64/8", "--slow", "leaf 0")
    assert "makes no sense" in refused(capsys, "collective", "clos:64/8", "--slow", "leaf 0=2")
    assert "one path each" in refused(capsys, "collective", "clos:64/8", "--adaptive", "--lossless")
    large = "collective", "ethernet:512", "--kind", "all-to-all", "--lossless"
    assert "Ask of 316 or fewer" in refused(capsys, *large)


def test_how_far_cards_are_apart_is_a_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "collective", "torus:4x4", "--json"))
    hops = dict(answer["hops_shares"])
    assert hops == pytest.approx({1: 4 / 15, 2: 6 / 15, 3: 4 / 15, 4: 1 / 15})
    assert answer["hops_mean"] == pytest.approx(sum(far * share for far, share in hops.items()))
    assert sum(share for _, share in answer["message_ns_shares"]) == pytest.approx(1)
    assert answer["message_most_ns"] == 1_100 + 4 * 500


def test_loss_is_put_on_a_step_by_what_of_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    words = "collective", "ethernet:8", "--loss", "0.01", "--link-gbps", "100", "--recovery", "go-back-n"
    more = "--round-trip-us", "10", "--exposed-share", "0.25", "--hop-ns", "0", "--ends-ns", "0"
    answer = json.loads(asked(capsys, *words, *more, "--algorithm", "ring", "--json"))
    window = 12.5e9 * 10e-6 / 4096
    assert answer["loss_stretch_mean"] == pytest.approx((0.99 + 0.01 * window) / 0.99)
    for which in ("mean", "slowest"):
        stretch = answer[f"loss_stretch_{which}"]
        assert answer[f"step_longer_{which}_share"] == pytest.approx((stretch - 1) / 4)
    assert json.loads(asked(capsys, *words, "--json"))["step_longer_mean_share"] is None


@pytest.mark.parametrize("recovery", ["go-back-n", "selective-repeat"])
def test_time_with_loss_is_the_time_without_stretched(
    recovery: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a torus whose network has a mean round trip many times that of a step between neighbours."""
    words = "collective", "torus:16x16x8", "--algorithm", "bucket", "--json"
    well = json.loads(asked(capsys, *words))
    ill = json.loads(asked(capsys, *words, "--loss", "0.01", "--recovery", recovery))
    assert ill["loss_stretch_slowest"] == pytest.approx(ill["time_s"] / well["time_s"])
    assert 1.009 < ill["loss_stretch_mean"] < ill["loss_stretch_slowest"]


def test_a_step_has_ends_and_the_hops_of_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Halving-doubling over one switch: as many messages of the latency that the answer says."""
    words = "collective", "ethernet:8", "--megabytes", "1e-6", "--algorithm", "halving-doubling", "--json"
    for more in ((), ("--ends-ns", "10", "--hop-ns", "300")):
        answer = json.loads(asked(capsys, *words, *more))
        for key in ("time_s", "alone_s"):
            assert answer[key] == pytest.approx(6 * answer["message_most_ns"] * 1e-9, rel=1e-3)


def test_chunks_and_memory_are_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = "collective", "torus:8x8x16", "--link-gbps", "858.993459", "--ends-ns", "10"
    more = "--memory-gb-per-s", "1600", "--algorithm", "bucket", "--json"
    for chunks, astra_ms in ((4, 19.290204), (16, 19.375872), (64, 19.718656)):
        answer = json.loads(asked(capsys, *words, *more, "--chunks", str(chunks)))
        assert answer["alone_s"] * 1e3 == pytest.approx(astra_ms, rel=1e-4)
        assert answer["time_s"] * 1e3 == pytest.approx(astra_ms, rel=1e-4)
    assert "bucket or hierarchical" in refused(capsys, *words, "--chunks", "4", "--algorithm", "ring")
    assert "reduces nothing" in refused(capsys, *words, "--kind", "broadcast", "--memory-gb-per-s", "1600")
    assert "chunks" in refused(capsys, *words, "--chunks", "5000")


def test_a_permutation_says_the_mean_and_the_slowest_hundredth(capsys: pytest.CaptureFixture[str]) -> None:
    words = "collective", "clos:64/8", "--kind", "permutation", "--megabytes", "2", "--json"
    fair = json.loads(asked(capsys, *words, "--draws", "3"))
    paused = json.loads(asked(capsys, *words, "--draws", "3", "--lossless"))
    for answer in (fair, paused):
        assert answer["alone_s"] < answer["mean_s"] < answer["p99_s"] <= answer["most_s"]
    assert paused["mean_s"] > fair["mean_s"]
    assert fair == json.loads(asked(capsys, *words, "--draws", "3", "--seed", "0"))
    assert fair["mean_s"] != json.loads(asked(capsys, *words, "--draws", "3", "--seed", "3"))["mean_s"]
    assert "knows no --loss" in refused(capsys, *words[:-1], "--loss", "0.01")
    assert "Add --kind permutation" in refused(capsys, "collective", "clos:64/8", "--draws", "2")


def test_a_clos_has_the_cards_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(asked(capsys, "collective", "clos:100/64", "--json"))
    assert answer["cards"] == 100
    assert "the first 100 of 128 ports" in answer["assumed"][0]
    assert "cards" not in " ".join(json.loads(asked(capsys, "collective", "clos:64/8", "--json"))["assumed"])
    assert "numbered 0 to 99" in refused(capsys, "collective", "clos:100/64", "--placement", "0-120")
    assert "numbered 0 to 99" in refused(capsys, "collective", "clos:100/64", "--cards", "120")


def test_a_network_question_that_makes_no_sense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "loses no packets" in refused(capsys, "collective", "clos:64/8", "--lossless", "--loss", "0.1")
    assert "two or more cards" in refused(capsys, "collective", "clos:64/8", "--placement", "")
    for words, meant in (("bcube:4x4", "hyperx"), ("hiperx:4x4", "hyperx"), ("Fat-Tree:64", "clos")):
        assert f"Did you mean '{meant}'" in refused(capsys, "collective", words)


def test_people_see_how_far_cards_are_apart_at_a_glance(capsys: pytest.CaptureFixture[str]) -> None:
    shown = asked(capsys, "collective", "torus:32x32x30")
    assert "mean 23.5, p50 24, p90 34, p99 41, most 47" in shown
    assert "p50 13.1, p90 18.1, p99 21.6, most 24.6 µs" in shown
    told = asked(capsys, "collective", "--help")
    assert "clos:CARDS/PORTS" in told
    assert "dragonfly:GROUPS" in told


def test_days_at_a_given_share_of_peak_are_arithmetic(capsys: pytest.CaptureFixture[str]) -> None:
    words = "train", "--parameters", "1e12", "--cards", "1000", "--card", "h100", "--tokens", "1e12"
    answer = json.loads(asked(capsys, *words, "--mfu-share", "0.5", "--json"))
    assert answer["days"] == pytest.approx(6e24 / (1000 * 989e12 * 0.5) / 86_400)
    assert answer["days_with_stops"] == pytest.approx(answer["days"] / answer["ettr"])
    assert "takes the place" in refused(capsys, *words, "--mfu-share", "0.5", "--layout", "data=8")
    assert "no sense" in refused(capsys, *words, "--mfu-share", "1.5")


@pytest.mark.parametrize(("card", "stack", "said"), [("b200", "llama-3", True), ("h100", "llama-3", False)])
def test_constants_of_other_cards_are_told(
    card: str, stack: str, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "train",
        "--parameters",
        "7e9",
        "--cards",
        "8",
        "--batch",
        "64",
        "--card",
        card,
        "--stack",
        stack,
    )
    notes = json.loads(asked(capsys, *words, "--json"))["notes"]
    assert any("fitted on H100" in note for note in notes) == said


def test_more_cards_of_a_cluster_are_used_better_or_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    times_s = [
        json.loads(asked(capsys, "train", "--cluster", "xiamen-30k", "--cards", cards, "--json"))["step_s"]
        for cards in ("16384", "20480", "28672")
    ]
    assert times_s == sorted(times_s, reverse=True)
