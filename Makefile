# make demo, make serve, make test, make lint, make docs, make fuzz, make bench, make paper: each does all the set-up it needs on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard native/*) CMakeLists.txt pyproject.toml
PART := bash scripts/part
# In a build folder of its own: that of pip install . has every instruction set. Python compiles what it imports.
INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q --no-compile --no-build-isolation -C build-dir=build/native \
	-C cmake.define.RATHER_NATIVE=ON

PARALLEL := -n auto --maxprocesses 8 --dist worksteal

TESTS := lint python clang thorough old-versions spark browser durable postgres schemathesis fuzz project wheel cross
NIGHTLY := tests spark spark-3.5 durable sanitize fuzz baseline avx2 avx512 cross aarch64 reproducible pythons extras

.PHONY: demo serve docs docs-serve pictures test test-all $(TESTS:%=test-%) nightly $(NIGHTLY:%=nightly-%) fuzz wheel lint format bench paper sanitize release clean
.DEFAULT_GOAL := help

help: ## This list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/installed ## Set up, then run the demonstration
	$(BIN)/rather demo

serve: $(VENV)/installed-serve ## Set up, then ask people on a page: http://127.0.0.1:8000/
	$(BIN)/rather serve

test: test-lint test-python ## Set up, then lint and run the tests

test-lint: $(VENV)/installed-dev
	$(PART) -1 lint $(MAKE) --no-print-directory lint

test-python: $(VENV)/installed-dev
	$(PART) python $(BIN)/python -m pytest $(PARALLEL)

test-all: test-thorough test-clang test-old-versions test-spark test-browser test-durable test-postgres test-schemathesis test-fuzz test-project test-wheel test-cross
test-all: ## What takes more than a Python user needs: the longer tests, Clang, old scikit-learn and numpy, Spark, a browser, PostgreSQL, a server killed and prodded, a minute of fuzzing, the project's files, the wheel, and the core for another processor; make -k test-all goes on after a failure

test-thorough: $(VENV)/installed-dev
	$(PART) thorough $(BIN)/python -m pytest $(PARALLEL) -m thorough

test-clang test-old-versions test-spark test-browser test-postgres: test-%: $(VENV)/installed-dev
	$(PART) $* bash scripts/$* $(VENV)

test-durable: $(VENV)/installed-dev
	RATHER_ANSWERS=2000 RATHER_KILLS=3 $(PART) durable bash scripts/durable $(VENV)

test-schemathesis: $(VENV)/installed-dev
	$(PART) -1 schemathesis bash scripts/schemathesis $(VENV)

test-fuzz: $(VENV)/installed-dev
	$(PART) -1 fuzz $(BIN)/python -m fuzz files frames fits kills --scale 0.005

test-project: $(VENV)/installed-dev
	$(PART) -1 project bash scripts/project $(VENV)

test-wheel: $(VENV)/installed-dev
	$(PART) -1 wheel bash scripts/wheel $(VENV) try

test-cross: $(VENV)/installed-dev
	QUICK=1 $(PART) -1 cross bash scripts/cross $(VENV) aarch64-linux-gnu.2.17

nightly: $(NIGHTLY:%=nightly-%) ## What takes long: the tests marked nightly, Spark's too, an older Spark, ten thousand answers and ten kills, the sanitizers, an hour of fuzzing, all tests with each instruction set, the core for other systems, an emulated ARM, wheels built twice, for other Pythons and with every extra

nightly-tests: $(VENV)/installed-dev
	$(PART) nightly $(BIN)/python -m pytest $(PARALLEL) -m nightly

nightly-spark: $(VENV)/installed-dev
	$(PART) nightly-spark bash scripts/spark $(VENV) newest -m nightly tests/test_spark_*.py

nightly-spark-3.5: $(VENV)/installed-dev
	$(PART) nightly-spark-3.5 bash scripts/spark $(VENV) 3.5

nightly-durable: $(VENV)/installed-dev
	$(PART) nightly-durable bash scripts/durable $(VENV)

nightly-sanitize: $(VENV)/installed-dev
	PYTHON=$(BIN)/python $(PART) sanitize bash scripts/sanitize

nightly-fuzz: $(VENV)/installed-dev
	$(PART) -1 nightly-fuzz $(BIN)/python -m fuzz --scale 0.1 --seed $(shell date +%Y%m%d)

nightly-baseline nightly-avx2 nightly-avx512: nightly-%: $(VENV)/installed-dev
	$(PART) $* bash scripts/simd $(VENV) $* $(PARALLEL)

nightly-cross: $(VENV)/installed-dev
	$(PART) -1 nightly-cross bash scripts/cross $(VENV) x86_64-linux-gnu.2.17 x86_64-linux-musl aarch64-linux-gnu.2.17 \
		aarch64-linux-musl x86_64-windows-gnu x86_64-macos.11.0 aarch64-macos.11.0

nightly-aarch64 nightly-reproducible nightly-pythons nightly-extras: nightly-%: $(VENV)/installed-dev
	$(PART) -1 $* bash scripts/$* $(VENV)

wheel: $(VENV)/installed-dev ## Build a wheel for this platform and the source distribution into dist/, and check both
	bash scripts/wheel $(VENV)

docs: $(VENV)/installed-docs ## Set up, then build the site into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -E -W -n --keep-going -b html docs docs/_build/html

docs-serve: docs ## Build the site and show it: http://127.0.0.1:8001/
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html 8001

pictures: $(VENV)/installed-docs ## Draw the pictures of the README and the site again, but for those of benchmarks and of the page
	for name in crowd demo how_it_works social_card; do $(BIN)/python scripts/pictures/$$name.py || exit 1; done

lint: $(VENV)/installed-dev ## ruff, mypy and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror native/*

format: $(VENV)/installed-dev ## Put every file into the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i native/*

fuzz: $(VENV)/installed-dev ## Try to break everything for a few minutes; python -m fuzz --help
	$(BIN)/python -m fuzz --scale 0.05

bench: $(VENV)/installed-dev ## Measure quality and speed on the data sets under $$RATHER_DATA
	$(BIN)/python benchmarks/movielens.py
	$(BIN)/python benchmarks/letterboxd.py

paper: $(VENV)/installed-dev ## The paper's tables and figures, on what data there is under $$RATHER_DATA, and docs/benchmarks/paper.md
	for name in table1 table2 table3 table4 figure2 sgd_tables page; do $(BIN)/rather paper $$name $$([ $$name = page ] || echo --committed) || exit 1; done

sanitize: $(VENV)/installed-dev ## Run the tests of the core under the address, undefined-behaviour and thread sanitizers
	PYTHON=$(BIN)/python bash scripts/sanitize

release: $(VENV)/installed-serve ## Commit and tag a version, with VERSION=0.2.0; it pushes nothing
	$(BIN)/python scripts/release.py $(VERSION)

clean: ## Remove everything that was built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/ready:
	PYTHON=$(PYTHON) bash scripts/prepare $(VENV)
	@touch $@

# The names of the modules: an editable install knows where each is, and must be told of new ones.
build/modules: FORCE
	@mkdir -p build; find src -name '*.py' | sort > $@.new; cmp -s $@.new $@ || cp $@.new $@; rm $@.new
FORCE:

$(VENV)/installed: $(VENV)/ready $(SOURCES) build/modules
	@echo "rather: compiling the core, which takes a minute or two"
	$(INSTALL) -e .
	@touch $@

$(VENV)/installed-serve: $(VENV)/ready $(SOURCES) build/modules
	@echo "rather: compiling the core, which takes a minute or two"
	$(INSTALL) -e '.[serve]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: $(VENV)/ready $(SOURCES) build/modules
	$(INSTALL) -e '.[docs]'
	@touch $@ $(VENV)/installed $(VENV)/installed-serve

$(VENV)/installed-dev: $(VENV)/ready $(SOURCES) build/modules
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/installed $(VENV)/installed-serve
