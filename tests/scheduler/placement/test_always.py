"""What holds for every placement, tried against all there could be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduler.placement.clusters import Case, all_placements, by_node, cases, crossed, obeys

from starverse.scheduler.placement import Chosen
from starverse.scheduler.placement.rejoin import rejoin
from starverse.scheduler.placement.tree import place


@given(cases())
@settings(max_examples=300, deadline=None)
def test_a_place_obeys_the_rule_and_there_is_none_only_if_there_is_none(case: Case) -> None:
    topology, room, want, rule = case
    chosen = place(*case)
    allowed = [way for way in all_placements(room, want) if obeys(topology, way, rule)]
    assert (chosen is None) == (not allowed)
    if chosen:
        members = by_node(topology, chosen)
        assert tuple(members) in set(allowed)
        assert crossed(topology, members) == max(crossed(topology, way) for way in allowed)


@given(cases())
@settings(max_examples=50, deadline=None)
def test_the_same_question_has_the_same_answer(case: Case) -> None:
    before = case.room.copy()
    first, second = place(*case), place(*case)
    assert str(first) == str(second)
    assert (case.room == before).all()


@given(cases(nodes_max=6, want_max=6), st.data())
@settings(max_examples=300, deadline=None)
def test_members_come_back_wherever_the_whole_gang_then_obeys_the_rule(
    case: Case, data: st.DataObject
) -> None:
    topology, room, want, rule = case
    rule = rule._replace(balanced=False)
    chosen = place(topology, room, want, rule)
    if not chosen:
        return
    whole = np.array(by_node(topology, chosen))
    lost = data.draw(st.sampled_from(chosen.nodes.tolist()))
    back = int(whole[lost])
    room = room - whole
    room[lost] = 0
    whole[lost] = 0
    stays = np.flatnonzero(whole)
    again = rejoin(topology, room, back, rule, Chosen(stays, whole[stays]))
    ways = [tuple(whole + way) for way in all_placements(room, back)]
    allowed = [way for way in ways if obeys(topology, way, rule)]
    assert (again is None) == (not allowed)
    if again:
        members = tuple(whole + by_node(topology, again))
        assert members in set(allowed)
        assert crossed(topology, members) == max(crossed(topology, way) for way in allowed)
