"""Google Fact Check Tools, spoken to over the loopback; the key is in no address and no message."""

from __future__ import annotations

import httpx
import pytest

from covmis_build.claims.fact_check import search_fact_checks
from covmis_build.errors import InputError, ServiceError

KEY = "planted-key-4711"


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("GOOGLE_FACT_CHECK_KEY", KEY)
    asked: list[httpx.Request] = []

    def client(*answers):
        left = list(answers)

        def answer(request):
            asked.append(request)
            one = left.pop(0)
            if isinstance(one, Exception):
                raise one
            return one

        return httpx.Client(transport=httpx.MockTransport(answer))

    client.asked = asked
    return client


def page(number, following=""):
    review = {"url": f"https://check.org/{number}", "languageCode": "en"}
    return httpx.Response(
        200,
        json={"claims": [{"text": f"Claim {number}.", "claimReview": [review]}]}
        | ({"nextPageToken": following} if following else {}),
    )


def test_pages_follow_one_another(service):
    claims = search_fact_checks("garlic", language="en", client=service(page(1, "t2"), page(2)))
    assert [claim.text for claim in claims] == ["Claim 1.", "Claim 2."]
    assert [request.url.params.get("pageToken") for request in service.asked] == [None, "t2"]
    assert service.asked[0].url.params["languageCode"] == "en"
    assert all(
        request.headers["X-Goog-Api-Key"] == KEY and KEY not in str(request.url) for request in service.asked
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(403, text=KEY), "do not accept the key"), (httpx.Response(500, text=KEY), "answered 500"), (httpx.Response(200, text="<html>"), "not JSON"),
        (httpx.Response(200, json=[]), "not JSON"), (httpx.ConnectError(f"no {KEY}"), "cannot be reached: ConnectError"),
    ],
)  # fmt: skip
def test_trouble_is_one_line_without_the_key(service, answer, message):
    with pytest.raises(ServiceError, match=message) as error:
        search_fact_checks("garlic", client=service(answer))
    assert KEY not in str(error.value)
    assert error.value.exit_code == 3


def test_without_a_key(monkeypatch):
    monkeypatch.delenv("GOOGLE_FACT_CHECK_KEY", raising=False)
    with pytest.raises(InputError, match="GOOGLE_FACT_CHECK_KEY"):
        search_fact_checks("garlic")
