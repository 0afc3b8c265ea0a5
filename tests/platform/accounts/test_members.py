import threading

import pytest
from django.db import connection

from hone.accounts import services
from hone.accounts.core.roles import Role
from hone.accounts.models import Membership, Organization, User
from hone.common.errors import ConflictError, HoneError

MEMBERS = "/api/projects/demo/members"


def member_id(organization: Organization, user: User) -> int:
    return Membership.objects.get(organization=organization, user=user).pk


def test_a_new_person_gets_a_password_that_is_shown_once(as_alice, as_nobody) -> None:
    body = {"email": "Dora@Example.com", "name": "Dora", "role": "viewer"}
    made = as_alice.post(MEMBERS, body)
    assert made.status_code == 201
    assert made.json()["email"] == "dora@example.com"
    password = made.json()["initial_password"]
    answer = as_nobody.post("/api/auth/login", {"email": "dora@example.com", "password": password})
    assert answer.json()["projects"][0]["role"] == "viewer"
    assert "password" not in str(as_alice.get(MEMBERS).json())


def test_a_known_person_keeps_the_password(as_alice, charlie: User) -> None:
    refused = as_alice.post(
        MEMBERS, {"email": charlie.email, "role": "member", "password": "taken over 123"}
    )
    assert (refused.status_code, refused.json()["error"]["field"]) == (409, "password")
    added = as_alice.post(MEMBERS, {"email": charlie.email, "role": "member"})
    assert (added.status_code, added.json()["initial_password"]) == (201, None)
    assert charlie.check_password("correct horse battery")


def test_nobody_is_added_twice(as_alice) -> None:
    refused = as_alice.post(MEMBERS, {"email": "bob@example.com", "role": "admin"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (409, "email")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"email": "no-address", "role": "viewer"}, "email"),
        ({"email": "x@example.com", "role": "king"}, "role"),
        ({"email": "x@example.com"}, "role"),
        ({"email": "x@example.com", "role": "viewer", "password": "short"}, "password"),
        ({"email": "x@example.com", "role": "viewer", "extra": 1}, "extra"),
        ({"email": "x\x00@example.com", "role": "viewer"}, None),
    ],
)
def test_a_bad_request_is_told_where(as_alice, body, field) -> None:
    answer = as_alice.post(MEMBERS, body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_an_admin_manages_all_but_owners(as_role, as_alice, organization, alice, bob) -> None:
    as_admin = as_role(Role.ADMIN)
    owner, member = member_id(organization, alice), member_id(organization, bob)
    assert as_admin.patch(f"{MEMBERS}/{member}", {"role": "viewer"}).status_code == 200
    assert as_admin.patch(f"{MEMBERS}/{member}", {"role": "owner"}).status_code == 403
    assert as_admin.patch(f"{MEMBERS}/{owner}", {"role": "viewer"}).status_code == 403
    assert as_admin.delete(f"{MEMBERS}/{owner}").status_code == 403
    assert as_admin.post(MEMBERS, {"email": "o@example.com", "role": "owner"}).status_code == 403
    assert as_alice.patch(f"{MEMBERS}/{member}", {"role": "owner"}).status_code == 200


def test_a_member_may_leave_but_remove_nobody_else(as_bob, organization, alice, bob) -> None:
    assert as_bob.delete(f"{MEMBERS}/{member_id(organization, alice)}").status_code == 403
    assert as_bob.delete(f"{MEMBERS}/{member_id(organization, bob)}").status_code == 204


def test_the_last_owner_stays(as_alice, organization, alice) -> None:
    own = f"{MEMBERS}/{member_id(organization, alice)}"
    assert as_alice.delete(own).status_code == 409
    assert as_alice.patch(own, {"role": "admin"}).status_code == 409
    assert Membership.objects.get(user=alice, organization=organization).role == Role.OWNER


def test_members_of_other_organizations_are_out_of_reach(
    as_alice, foreign_project, charlie
) -> None:
    theirs = Membership.objects.get(user=charlie).pk
    assert as_alice.patch(f"{MEMBERS}/{theirs}", {"role": "viewer"}).status_code == 404
    assert as_alice.delete(f"{MEMBERS}/{theirs}").status_code == 404
    assert as_alice.delete(f"{MEMBERS}/{2**70}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_remove_each_other_leave_one(organization, alice, bob) -> None:
    Membership.objects.filter(user=bob).update(role=Role.OWNER)
    start = threading.Barrier(2)
    outcomes: list[object] = []

    def remove(victim: User) -> None:
        start.wait()
        try:
            services.member_remove(
                organization=organization,
                by=Role.OWNER,
                by_user=None,
                membership_id=member_id(organization, victim),
            )
            outcomes.append("removed")
        except HoneError as error:
            outcomes.append(type(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=(user,)) for user in (alice, bob)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == sorted(["removed", str(ConflictError)])
    assert Membership.objects.filter(organization=organization, role=Role.OWNER).count() == 1
