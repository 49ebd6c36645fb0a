"""Prices, settings of a model, and the planner that bootstrap makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from bootstrap.planners import choose_planner
from bootstrap.settings import SettingsError, read_settings
from logicalrag.agent.limits import Limits, LimitsError
from logicalrag.agent.planners.model_driven.planner import AnthropicPlanner
from logicalrag.agent.planners.model_driven.prices import (
    Price,
    PriceError,
    parse_prices,
    published_prices,
)
from logicalrag.agent.planners.model_driven.settings import DEFAULT_MODEL, ModelSettings
from logicalrag.agent.session import start
from logicalrag.agent.usage import Usage

KEY = "sk-test-0123456789"


@pytest.fixture(autouse=True)
def no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "LOGICALRAG_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_request_costs_each_kind_of_token_at_its_price() -> None:
    # By hand: 1,000 at $2, 2,000 at $0.10, 400 at $2.50 and 50 at $10 for a million.
    request = Usage("m", 1, 1_000, 2_000, 400, 50)
    assert published_prices()[DEFAULT_MODEL].cost(request) == pytest.approx(0.0037)


def test_long_prompts_have_their_own_prices_for_the_whole_request() -> None:
    price = published_prices()["claude-haiku-5-5"]
    assert price.cost(Usage("m", 1, 50_000, 50_000, 0, 0)) == pytest.approx(0.0055)
    assert price.cost(Usage("m", 1, 50_000, 50_000, 1, 1000)) == pytest.approx(
        0.025 + 0.0025 + 0.000000625 + 0.0025
    )


def test_every_published_price_rises_from_cache_to_output() -> None:
    for price in published_prices().values():
        assert 0 < price.cached < price.input < price.cache_write < price.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = ", "no TOML"),
        ("[m]\ninput = 1", r"p\.toml: m\.cached: Field required; each model has a section"),
        ("[m]\ninput=-1\ncached=1\ncache_write=1\noutput=1", "greater than or equal to 0"),
        ("[m]\ninput=nan\ncached=1\ncache_write=1\noutput=1", "finite"),
        ("[m]\ninput=1\ncached=1\ncache_write=1\noutput=1\nbatch=1", "m.batch: Unexpected"),
        ("m = 3", "m: "),
        ("a = " + "[" * 100_000, "no TOML|nested too deeply"),
        ("#" * 1_000_001, "no price table"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PriceError, match=said):
        parse_prices(text, "p.toml")


def test_the_key_shows_in_no_representation_and_in_no_error() -> None:
    assert KEY not in repr(ModelSettings(api_key=KEY))
    for bad in (f"{KEY}\n", f"{KEY}é", " "):
        with pytest.raises(ValidationError, match="printable ASCII") as raised:
            ModelSettings(api_key=bad)
        assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    ["localhost:8080", "ftp://host", "http://", "http://host:99999", "http://user:pw@host"],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="write http"):
        ModelSettings(base_url=address)


def test_thinking_leaves_room_for_the_reply() -> None:
    with pytest.raises(ValidationError, match=r"thinking_budget \(2048\) must be under"):
        ModelSettings(thinking_budget=2048, max_output_tokens=2048)


def test_a_model_without_a_price_cannot_have_a_limit_on_cost() -> None:
    planner = AnthropicPlanner(ModelSettings(model="local", base_url="http://127.0.0.1:1"))
    assert not planner.price_known
    with pytest.raises(LimitsError, match="price"):
        start("?", planner, limits=Limits(cost=1.0))
    assert AnthropicPlanner(ModelSettings(api_key=KEY)).price_known


def test_bootstrap_makes_the_planner_and_the_users_prices_count(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[local]\ninput = 1\ncached = 1\ncache_write = 1\noutput = 1\n")
    settings = read_settings(
        planner="anthropic",
        model="local",
        base_url="http://127.0.0.1:1",
        prices=prices,
        prompt="syntax-only",
    )
    planner = choose_planner(settings)
    assert isinstance(planner, AnthropicPlanner)
    assert (planner.name, planner.price_known) == ("anthropic", True)
    assert planner.prompt_version == "1-syntax-only"


def test_a_key_is_needed_for_the_providers_own_server_only() -> None:
    with pytest.raises(SettingsError, match=r"LOGICALRAG_API_KEY or ANTHROPIC_API_KEY.*--base-url"):
        choose_planner(read_settings(planner="anthropic"))


@pytest.mark.parametrize(
    ("content", "said"), [("m = 3", "each model has a section"), (None, "cannot be read")]
)
def test_a_bad_price_table_is_an_error_of_the_settings(
    tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "prices.toml"
    if content is not None:
        path.write_text(content)
    settings = read_settings(planner="anthropic", base_url="http://127.0.0.1:1", prices=path)
    with pytest.raises(SettingsError, match=said):
        choose_planner(settings)


def test_a_users_price_replaces_the_published_one() -> None:
    own = parse_prices(f"[{DEFAULT_MODEL}]\ninput=1\ncached=0\ncache_write=0\noutput=0", "p")
    assert own == {DEFAULT_MODEL: Price(1, 0, 0, 0)}
