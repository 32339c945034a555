# The same targets are used by people and by CI. Everything runs in the active environment.
PYTHON ?= python

.PHONY: help install lint format types layers test slow bench golden docs packs generated \
        generated-check wheel wheel-check

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

install:  ## editable install with everything for tests and lint
	$(PYTHON) -m pip install -e '.[test,lint]'

lint: types layers  ## ruff, mypy and the layer contract
	ruff check .
	ruff format --check .

format:  ## let ruff rewrite the code
	ruff check --fix .
	ruff format .

types:
	mypy

layers:
	lint-imports

test:  ## what README tells newcomers to run
	$(PYTHON) -m pytest

slow:  ## tests that take long or need a download
	$(PYTHON) -m pytest -m slow

bench:  ## speed, as ratios against peers in one run
	$(PYTHON) -m pytest -m bench -s tests/benchmarks

golden:  ## write the golden outputs anew, then look at the difference
	UPDATE_GOLDEN=1 $(PYTHON) -m pytest -q tests/report
	git --no-pager diff --stat -- tests/golden

docs:  ## write the rule pages and the samples in README anew
	$(PYTHON) docs/generate.py

packs:  ## compile the shipped packs, so that a start needs no YAML parser
	$(PYTHON) -m ropeaudit.packs

generated: packs docs  ## everything that is made from something else

generated-check:  ## fail if something made is out of date
	$(PYTHON) docs/generate.py --check
	@before=$$(mktemp) && cp ropeaudit/_packs.json $$before && $(PYTHON) -m ropeaudit.packs \
	  && { cmp -s $$before ropeaudit/_packs.json \
	       || { echo 'ropeaudit/_packs.json was out of date; commit the new one'; exit 1; }; }

wheel:  ## build dist/*.whl
	rm -rf dist
	$(PYTHON) -m build --wheel

wheel-check: wheel  ## install the wheel in a bare environment and try its commands
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT \
	  && $(PYTHON) -m venv "$$work/venv" \
	  && "$$work/venv/bin/pip" install --quiet dist/*.whl \
	  && cp -r fixtures/zoo/meta-llama__Meta-Llama-3.1-70B "$$work/model" \
	  && cp fixtures/encodings/ape_sequence_fitted.safetensors "$$work/encoding.safetensors" \
	  && cd "$$work" \
	  && venv/bin/ropeaudit --version \
	  && venv/bin/ropeaudit rules --format json | grep -c '"id": "RA' \
	  && venv/bin/ropeaudit audit --quiet model \
	  && venv/bin/ropeaudit prove model > /dev/null \
	  && venv/bin/ropeaudit diff --quiet model model \
	  && venv/bin/ropeaudit diff --quiet model model --reader vllm,llama.cpp \
	  && venv/bin/ropeaudit show model --reader all > /dev/null \
	  && venv/bin/ropeaudit normalise model --write > /dev/null \
	  && venv/bin/ropeaudit audit --quiet encoding.safetensors \
	  && venv/bin/ropeaudit convert model --to ape > /dev/null \
	  && venv/bin/ropeaudit probe kernel > /dev/null \
	  && venv/bin/ropeaudit perturb model --apply int8:sym --to variant.npy > /dev/null \
	  && { venv/bin/ropeaudit ppl --demo 2>&1 || true; } | grep -q "pip install 'ropeaudit\[ppl\]'" \
	  && venv/bin/ropeaudit explain RA101 > /dev/null
