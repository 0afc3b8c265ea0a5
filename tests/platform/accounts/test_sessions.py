import redis
from django.test import Client
from redis.backoff import NoBackoff
from redis.retry import Retry

from hone.accounts.models import Project, User
from hone.common import broker

PASSWORD = "correct horse battery"  # of every person in conftest


def sign_in(api, email: str, password: str = PASSWORD):
    return api.post("/api/auth/login", {"email": email, "password": password})


def test_the_right_password_opens_a_session(as_nobody, alice: User, project: Project) -> None:
    answer = sign_in(as_nobody, "Alice@Example.com ")
    assert answer.status_code == 200
    assert answer.json()["user"] == {"id": alice.pk, "email": "alice@example.com", "name": "Alice"}
    assert answer.json()["projects"] == [
        {
            "slug": "demo",
            "name": "Demo",
            "role": "owner",
            "organization": {"slug": "acme", "name": "Acme"},
        }
    ]
    assert as_nobody.get("/api/auth/me").json() == answer.json()


def test_a_wrong_password_and_an_unknown_email_get_the_same_answer(as_nobody, alice: User) -> None:
    wrong = sign_in(as_nobody, "alice@example.com", "wrong")
    unknown = sign_in(as_nobody, "nobody@example.com", "wrong")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.content == unknown.content


def test_the_password_is_hashed_also_for_an_unknown_email(as_nobody, db, monkeypatch) -> None:
    hashed = []
    monkeypatch.setattr(User, "set_password", lambda self, raw: hashed.append(raw))
    sign_in(as_nobody, "nobody@example.com", "some password")
    assert hashed == ["some password"]


def test_a_person_who_is_switched_off_cannot_sign_in(as_nobody, alice: User) -> None:
    User.objects.update(is_active=False)
    assert sign_in(as_nobody, "alice@example.com").status_code == 401


def test_too_many_tries_are_put_off(as_nobody, alice: User, bob: User) -> None:
    for _ in range(8):
        assert sign_in(as_nobody, "alice@example.com", "wrong").status_code == 401
    refused = sign_in(as_nobody, "alice@example.com")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert refused.json()["error"]["code"] == "throttled"
    assert sign_in(as_nobody, "bob@example.com").status_code == 200


def test_a_success_forgets_the_tries_before_it(as_nobody, alice: User) -> None:
    for _ in range(7):
        sign_in(as_nobody, "alice@example.com", "wrong")
    assert sign_in(as_nobody, "alice@example.com").status_code == 200
    assert sign_in(as_nobody, "alice@example.com", "wrong").status_code == 401


def test_without_the_broker_signing_in_is_unavailable(as_nobody, alice, monkeypatch) -> None:
    nowhere = redis.Redis(unix_socket_path="/nowhere", retry=Retry(NoBackoff(), 0))
    monkeypatch.setattr(broker, "client", lambda: nowhere)
    answer = sign_in(as_nobody, "alice@example.com")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    nowhere.close()


def test_signing_in_wants_a_csrf_token(alice: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    body = {"email": "alice@example.com", "password": PASSWORD}
    refused = browser.post("/api/auth/login", body, "application/json")
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "forbidden"
    me = browser.get("/api/auth/me")
    assert me.status_code == 401
    token = {"X-CSRFToken": me.cookies["csrftoken"].value}
    assert (
        browser.post("/api/auth/login", body, "application/json", headers=token).status_code == 200
    )


def test_a_session_without_a_csrf_token_writes_nothing(alice: User, project: Project) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    refused = browser.post("/api/projects", {"name": "New"}, "application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["error"]["message"]


def test_signing_out_ends_the_session(as_alice) -> None:
    assert as_alice.post("/api/auth/logout").status_code == 204
    assert as_alice.get("/api/auth/me").status_code == 401


def test_a_new_password_ends_the_other_sessions(as_alice, as_nobody, alice: User) -> None:
    assert sign_in(as_nobody, "alice@example.com").status_code == 200
    body = {"current": PASSWORD, "new": "another long password"}
    assert as_alice.post("/api/auth/password", body).status_code == 204
    assert as_alice.get("/api/auth/me").status_code == 200
    assert as_nobody.get("/api/auth/me").status_code == 401
    assert sign_in(as_nobody, "alice@example.com", "another long password").status_code == 200


def test_a_new_password_needs_the_old_one_and_some_length(as_alice) -> None:
    wrong = as_alice.post("/api/auth/password", {"current": "x", "new": "another long password"})
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (403, "current")
    short = as_alice.post("/api/auth/password", {"current": PASSWORD, "new": "short"})
    assert (short.status_code, short.json()["error"]["field"]) == (400, "password")


def test_a_key_sees_its_project_as_its_own(as_key) -> None:
    assert as_key.get("/api/auth/me").json() == {
        "user": None,
        "projects": [
            {
                "slug": "demo",
                "name": "Demo",
                "role": "member",
                "organization": {"slug": "acme", "name": "Acme"},
            }
        ],
    }
