"""Projects, their members, and secrets."""

from dataclasses import replace

import pytest
from tests.service.place import Place

from starverse.model.errors import BadInput, Conflict, NotAllowed, NotFound, Refused
from starverse.service import access, projects, secrets
from starverse.service.access import Actor


def test_ones_own_project_is_the_first_whatever_one_is_invited_to(
    place: Place, ann: Actor, bob: Actor
) -> None:
    projects.invite(place.platform, ann, "", "BOB@example.com", "owner")
    assert access.project_of(bob, "", "owner") == bob.projects[0]
    assert bob.projects[0].tenant == access.tenant_of(bob.user)


def test_a_project_keeps_an_owner(place: Place, ann: Actor, bob: Actor) -> None:
    project = projects.create(place.platform, ann, "vision")
    ann = replace(ann, projects=(*ann.projects, project))
    for leave in (
        lambda: projects.remove(place.platform, ann, "vision", ann.user),
        lambda: projects.invite(place.platform, ann, "vision", "ann@example.com", "viewer"),
    ):
        with pytest.raises(Refused, match="needs an owner"):
            leave()
    projects.invite(place.platform, ann, "vision", "bob@example.com", "owner")
    projects.remove(place.platform, ann, "vision", ann.user)
    bob = replace(bob, projects=(*bob.projects, project))
    assert [(m.email, m.role) for m in projects.members(place.platform, bob, "vision")] == [
        ("bob@example.com", "owner")
    ]


def test_only_owners_invite_and_only_people_there_are(place: Place, ann: Actor, bob: Actor) -> None:
    with pytest.raises(NotFound, match="Nobody has registered"):
        projects.invite(place.platform, ann, "", "nobody@example.com", "member")
    member = replace(bob, projects=(replace(ann.projects[0], role="member"),))
    with pytest.raises(NotAllowed):
        projects.invite(place.platform, member, "", "ann@example.com", "member")
    with pytest.raises(NotFound):
        projects.members(place.platform, bob, ann.projects[0].project)
    with pytest.raises(NotFound):
        projects.remove(place.platform, ann, "", bob.user)


@pytest.mark.parametrize("name", ["", " ", "x" * 65, "a\nb"])
def test_a_project_has_a_name_one_can_read(place: Place, ann: Actor, name: str) -> None:
    with pytest.raises(BadInput):
        projects.create(place.platform, ann, name)


def test_two_projects_of_a_tenant_differ_in_name(place: Place, ann: Actor) -> None:
    projects.create(place.platform, ann, "vision")
    with pytest.raises(Conflict):
        projects.create(place.platform, ann, "vision")


def test_secrets_go_in_and_are_named_but_never_told(place: Place, ann: Actor, bob: Actor) -> None:
    secrets.put(place.platform, ann, "", "KEY", "canary")
    assert [secret.name for secret in secrets.names(place.platform, ann, "")] == ["KEY"]
    assert not secrets.names(place.platform, bob, "")
    assert "canary" not in str(secrets.names(place.platform, ann, ""))
    secrets.delete(place.platform, ann, "", "KEY")
    with pytest.raises(NotFound):
        secrets.delete(place.platform, ann, "", "KEY")
    with pytest.raises(BadInput):
        secrets.put(place.platform, ann, "", "a b", "x")
