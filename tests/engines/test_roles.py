"""Gangs whose members do several kinds of work: each role has its command, its cards and its ranks."""

from msgspec.structs import replace

from starverse.engines.roles import parts
from starverse.model.commands import StopRun
from starverse.model.events import RunStarted
from starverse.model.job import Role, Work

TELL = (
    "echo $STARVERSE_ROLE rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE "
    "role $ROLE_RANK/$ROLE_WORLD_SIZE $SEES; "
)


def test_ranks_are_ordered_by_role_and_each_role_has_the_next_cards():
    serve = Role("serve", 2, Work(("serve",)))
    train = Role("train", 3, Work(("train.py",), "per-card"))
    assert [(part.rank, part.role.name, part.role_rank, part.role_ranks, part.first) for part in
            parts((serve, train))] == [
        (0, "serve", 0, 1, 0), (1, "train", 0, 3, 2), (2, "train", 1, 3, 2), (3, "train", 2, 3, 2),
    ]  # fmt: skip


def test_each_role_runs_its_own_command_on_its_share(machine):
    engine = machine.engine()
    serve = Role("serve", 2, Work(("sh", "-c", TELL + "exit 0"), environment=(("SEES", "much"),)))
    train = Role("train", 2, Work(("sh", "-c", TELL + "exit 0"), "per-card"))
    order = replace(machine.order("j-a.0", cards=4), roles=(serve, train))
    engine.act(order)
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code) == ("exit", 0), ended.text
    machine.quiet(engine)
    assert sorted(line.strip() for line in machine.log("j-a.0").splitlines()) == [
        "[0] serve rank 0/3 local 0/1 role 0/1 much",
        "[1] train rank 1/3 local 0/2 role 0/2",
        "[2] train rank 2/3 local 1/2 role 1/2",
    ]  # fmt: skip


def test_a_role_that_fails_takes_the_others_along_and_is_named_by_its_rank(machine):
    engine = machine.engine()
    wait = Role("wait", 1, Work(("sleep", "1000")))
    fail = Role("fail", 1, Work(("sh", "-c", "echo no >&2; exit 3")))
    engine.act(replace(machine.order("j-a.0", cards=2), roles=(wait, fail)))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code, ended.rank, ended.text) == ("exit", 3, 1, "no")


def test_all_roles_start_or_none(machine):
    engine = machine.engine()
    wait = Role("wait", 1, Work(("sleep", "1000")))
    none = Role("none", 1, Work(("there-is-no-such-command",)))
    engine.act(replace(machine.order("j-a.0", cards=2), roles=(wait, none)))
    ended = machine.ended(engine, "j-a.0")
    assert ended.how == "unstarted"
    assert "there-is-no-such-command" in ended.text
    assert not any(isinstance(event, RunStarted) for event in machine.heard)


def test_a_shell_of_one_role_and_a_trainer_of_another_are_both_told_to_stop(machine):
    engine = machine.engine()
    shell = Role("shell", 1, Work(("sh", "-c", "sleep 1000; echo never")))
    trap = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(85))\n"
    trap += "print('ready', flush=True)\nwhile True: time.sleep(0.05)\n"
    train = Role("train", 2, Work(("train.py",), "per-card"))
    order = machine.order("j-a.0", cards=3, files={"train.py": trap})
    engine.act(replace(order, roles=(shell, train)))
    machine.until_true(lambda: machine.listen(engine) or machine.log("j-a.0").count("ready") == 2)
    engine.act(StopRun("j-a.0", "person", order.lease_until_ms))
    ended = machine.ended(engine, "j-a.0")
    assert ended.happened_ms < order.lease_until_ms
    machine.quiet(engine)
    assert machine.processes("j-a.0") == []
