"""Settings: from where they are taken, and what becomes of values that do not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootstrap.settings import (
    Settings,
    SettingsError,
    explain_settings,
    read_settings,
    read_text,
)

KEY = "sk-test-0123456789"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every variable of ours out of the environment."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"LOGICALRAG_{name.upper()}", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_an_option_wins_over_the_environment_which_wins_over_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read_settings().results == 10
    monkeypatch.setenv("LOGICALRAG_RESULTS", "7")
    assert read_settings(results=None).results == 7
    assert read_settings(results=3).results == 3
    origins = {
        each.name: (each.value, each.origin) for each in explain_settings(results=None, tenant="t")
    }
    assert set(origins) == set(Settings.model_fields)
    assert origins["results"] == (7, "environment")
    assert origins["tenant"] == ("t", "option")
    assert origins["index"] == (".logicalrag", "default")


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INDEX", "PLANNER", "RESULTS", "GROUPS", "API_KEY"):
        monkeypatch.setenv(f"LOGICALRAG_{name}", "")
    assert read_settings() == Settings()
    assert {each.origin for each in explain_settings()} == {"default"}


@pytest.mark.parametrize(
    ("variable", "value", "name", "read"),
    [
        ("GROUPS", " hr, board ,", "groups", {"hr", "board"}),
        ("EXPRESSION_CACHE", "false", "expression_cache", False),
        ("MAX_COST", "0.5", "max_cost", 0.5),
        ("SYNONYMS", "terms.txt", "synonyms", Path("terms.txt")),
        ("THINKING_BUDGET", "1024", "thinking_budget", 1024),
        ("ANALYSIS", "standard", "analysis", "standard"),
        ("ENGINE", "elastic", "engine", "elastic"),
        (
            "ELASTIC_HOSTS",
            " https://b.example:9200 ,http://[::1]:9201/es/,",
            "elastic_hosts",
            ("https://b.example:9200", "http://[::1]:9201/es"),
        ),
        ("ELASTIC_TENANTS", "together", "elastic_tenants", "together"),
        ("ELASTIC_REPLICAS", "0", "elastic_replicas", 0),
    ],
)
def test_variables_are_read_as_the_settings_kinds(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, read: object
) -> None:
    monkeypatch.setenv(f"LOGICALRAG_{variable}", value)
    assert getattr(read_settings(), name) == read


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"temperature": 1.5}, "The setting temperature (variable LOGICALRAG_TEMPERATURE): "),
        ({"temperature": -0.1}, "greater than or equal to 0"),
        ({"temperature": "warm"}, "valid number"),
        ({"top_p": 0}, "greater than 0"),
        ({"top_p": 1.01}, "less than or equal to 1"),
        ({"thinking_budget": 1023}, "greater than or equal to 1024"),
        ({"thinking_budget": 16000}, "thinking_budget (16000) must be under max_output_tokens"),
        ({"max_output_tokens": 0}, "LOGICALRAG_MAX_OUTPUT_TOKENS"),
        ({"attempts": 0}, "greater than or equal to 1"),
        ({"request_seconds": 0}, "greater than 0"),
        ({"max_cost": 0}, "greater than 0"),
        ({"max_cost": "inf"}, "finite"),
        ({"max_seconds": "nan"}, "LOGICALRAG_MAX_SECONDS"),
        ({"max_tokens": 0}, "greater than or equal to 1"),
        ({"prompt": "short"}, "'full', 'syntax-only' or 'no-operators'"),
        ({"planner": "oracle"}, "'offline', 'anthropic' or 'scripted'"),
        ({"analysis": "german"}, "'english' or 'standard'"),
        ({"model": ""}, "at least 1 character"),
        ({"base_url": "localhost:8080"}, "write http(s)://host[:port][/path]"),
        ({"base_url": "file:///etc/passwd"}, "write http(s)://"),
        ({"base_url": "http://[::1"}, "write http(s)://"),
        ({"base_url": "http://localhost:99999"}, "write http(s)://"),
        ({"chunk_size": 5, "chunk_overlap": 5}, "must be under chunk_size (5)"),
        ({"encoding": "klingon"}, "no encoding of text is called 'klingon'"),
        ({"expression_cache": "perhaps"}, "LOGICALRAG_EXPRESSION_CACHE"),
        ({"engine": "solr"}, "'embedded' or 'elastic'"),
        ({"elastic_hosts": "localhost:9200"}, "(variable LOGICALRAG_ELASTIC_HOSTS): write http(s)"),
        ({"elastic_hosts": "http://localhost"}, "write http(s)://host:port for each node"),
        ({"elastic_hosts": "http://a:9200,ftp://b:9200"}, "write http(s)://host:port"),
        ({"elastic_hosts": "http://a:9200/?pretty"}, "write http(s)://host:port"),
        ({"elastic_hosts": "http://a:0"}, "write http(s)://host:port"),
        ({"elastic_hosts": " , "}, "LOGICALRAG_ELASTIC_HOSTS"),
        ({"elastic_user": "me"}, "elastic_user and elastic_password go together; give both"),
        ({"elastic_password": KEY}, "elastic_user and elastic_password go together; give both"),
        (
            {"elastic_api_key": KEY, "elastic_user": "me", "elastic_password": KEY},
            "Give elastic_api_key, or elastic_user and elastic_password, not both.",
        ),
        ({"elastic_user": "a:b", "elastic_password": KEY}, "a user's name holds no ':'"),
        ({"elastic_user": "a\nb", "elastic_password": KEY}, "a user's name holds no ':'"),
        ({"elastic_api_key": f"id:{KEY}"}, "which the cluster calls encoded"),
        ({"elastic_api_key": f"{KEY}\r\nx: y"}, "which the cluster calls encoded"),
        ({"elastic_index": "Notes-"}, "an index prefix is lower-case letters"),
        ({"elastic_tenants": "mixed"}, "'apart' or 'together'"),
        ({"elastic_shards": 0}, "greater than or equal to 1"),
        ({"elastic_shards": 1025}, "less than or equal to 1024"),
        ({"elastic_replicas": 33}, "less than or equal to 32"),
        ({"elastic_seconds": 0}, "greater than or equal to 0.1"),
        ({"elastic_attempts": 21}, "less than or equal to 20"),
        ({"attached": "map.toml"}, "attached is for an index of a cluster; set engine to elastic."),
        (
            {"engine": "elastic", "elastic_hosts": "https://a:1", "elastic_ca_file": "none.crt"},
            "elastic_ca_file is none.crt, where there is no file; name the cluster's certificate",
        ),
        (
            {"engine": "elastic", "elastic_ca_file": __file__},
            "elastic_ca_file is for https, and elastic_hosts has an address with http",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(**given)
    assert said in caught.value.message
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message
    assert KEY not in caught.value.message


def test_an_unknown_variable_is_named_with_what_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICALRAG_TEMPRATURE", "1")
    with pytest.raises(SettingsError, match=r"Did you mean LOGICALRAG_TEMPERATURE\?$"):
        read_settings()


def test_the_key_is_ours_before_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings().api_key is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    assert _key() == "theirs"
    assert {each.name: each.origin for each in explain_settings()}["api_key"] == "environment"
    monkeypatch.setenv("LOGICALRAG_API_KEY", "ours")
    assert _key() == "ours"
    monkeypatch.setenv("LOGICALRAG_API_KEY", "")
    assert _key() == "theirs"


def test_the_providers_key_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    assert read_settings(base_url="http://127.0.0.1:1").api_key is None
    monkeypatch.setenv("LOGICALRAG_BASE_URL", "http://127.0.0.1:1")
    assert read_settings().api_key is None
    monkeypatch.setenv("LOGICALRAG_API_KEY", "ours")
    assert _key() == "ours"


def _key() -> str:
    key = read_settings().api_key
    assert key is not None
    return key.get_secret_value()


def test_no_secret_is_ever_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICALRAG_API_KEY", KEY)
    settings = read_settings()
    shown = [repr(settings), str(settings), settings.model_dump_json(), str(explain_settings())]
    with pytest.raises(SettingsError) as caught:
        read_settings(base_url=f"http://me:{KEY}@localhost")
    assert all(KEY not in text for text in (*shown, caught.value.message))
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == KEY


def test_no_secret_of_a_cluster_is_ever_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGICALRAG_ELASTIC_USER", "me")
    monkeypatch.setenv("LOGICALRAG_ELASTIC_PASSWORD", KEY)
    settings = read_settings()
    shown = [repr(settings), str(settings), settings.model_dump_json(), str(explain_settings())]
    with pytest.raises(SettingsError) as caught:
        read_settings(elastic_hosts=f"https://me:{KEY}@localhost:9200")
    assert all(KEY not in text for text in (*shown, caught.value.message))
    assert settings.elastic_password is not None
    assert settings.elastic_password.get_secret_value() == KEY


def test_settings_of_a_cluster_do_no_harm_where_none_is_used() -> None:
    settings = read_settings(
        elastic_hosts="https://a.example:9200", elastic_ca_file="none.crt", elastic_api_key="abc="
    )
    assert settings.engine == "embedded"


def test_hosts_keep_their_order() -> None:
    (hosts,) = (
        each.value
        for each in explain_settings(elastic_hosts="http://b:1,http://a:1")
        if each.name == "elastic_hosts"
    )
    assert hosts == ["http://b:1", "http://a:1"]


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read_settings().results = 3


def test_a_file_that_a_setting_names_is_read_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_bytes("\ufeffcafé, bar".encode())
    assert read_text(path, "file") == "café, bar"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "The list x cannot be read: No such file or directory."),
        (b"caf\xe9", "The list x is no UTF-8 text; save it as UTF-8."),
        (b"12345678901", "The list x is longer than 10 bytes; shorten it."),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("x").write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        read_text(Path("x"), "list", max_bytes=10)
    assert caught.value.message == said
