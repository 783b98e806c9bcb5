# `make demo` and `make test` set everything up by themselves: two virtual environments with locked versions, one of them
# for language models, and the compiled kernels. `make help` lists the rest.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
# Both environments can use the first three.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3.14 python3; do \
  $$name -c '$(SUPPORTED)' >/dev/null 2>&1 && echo $$name && break; done)
# A Python that the libraries of language models have wheels for: that of the first environment, or one that uv finds.
MODELS_PYTHON ?= $$($(BIN)/python -c 'import sys; print(sys.executable if sys.version_info < (3, 14) else ">=3.11,<3.14")')
# The build of torch: cpu, which is smaller, or cuda. The index of the first must be reached.
TORCH ?= $(if $(wildcard /dev/nvidiactl),cuda,cpu)
CORES ?= 2
VENV := .venv
MODELS := .venv-models
SITE := build/mkdocs
CIBUILDWHEEL := 4.3.5
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONNOUSERSITE := 1
export PYTHONWARNINGS := ignore::FutureWarning
TIMED := @set -e; start=$$(date +%s);
DONE := echo "  done in $$(($$(date +%s) - start)) s"
KERNELS := $(wildcard src/tokbench/kernels/*.pyx src/tokbench/kernels/*.pxd) src/tokbench/kernels/flags.json

STRINGS ?= 1000000
FILES ?= 5000
PATTERNS ?= 10000
EXAMPLES ?= 20
EXPERIMENT ?= models
VARIANTS ?= 1000
SEED ?= 0
PAGES ?= results/demo/report.html
PLAYWRIGHT ?= $(PYTHON)

# Not those that limit the addresses or the memory of a process: the sanitizers take them all.
OF_KERNELS := tests/kernels tests/construction tests/segmentation tests/pretokenization tests/pretokens tests/optimum \
  tests/intrinsic/test_ngram_bits.py tests/metric/test_metrics.py tests/models/test_byte_lm.py \
  tests/models/test_byte_ngrams.py tests/corpus/test_json_lines.py tests/adapters/test_decoding.py \
  tests/robustness/test_robustness.py tests/test_fuzz.py
OF_MEMORY := pretokens/test_external_count.py::test_the_process_keeps_within_its_memory \
  pretokens/test_external_count.py::test_ngrams_of_bytes_keep_within_their_memory \
  kernels/test_kernels.py::test_a_run_that_failed_is_not_continued \
  kernels/test_kernels.py::test_no_failed_allocation_is_swallowed \
  kernels/test_kernels.py::test_every_kernel_that_allocates_is_walked \
  corpus/test_json_lines.py::test_fields_that_are_not_read_need_no_memory

.PHONY: help demo docs test test-slurm test-faults test-wide published-results leaderboard gallery nightly sanitize accessibility benchmarks scale coverage install install-models wheel wheels lint format lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: install-models  ## run the default experiment, from the embedded corpus to the report
	@echo "Running the demo with $(CORES) cores: about 3 minutes on 2 cores, one line for each job"
	$(TIMED) snakemake --cores $(CORES); $(DONE)
	@python -c 'from tokbench.report.leaderboard import answer; print(answer("results/demo"))'
	@echo "Open results/demo/report.html"
	@echo "Next: $(BIN)/tokbench compare bpe pathpiece_bpe --results results/demo"
	@echo "      or edit config.yaml, then run: $(BIN)/snakemake --cores $(CORES)"

test: install-models  ## run the tests, one file at a time more than CORES says: many wait for processes that they start
	@env -u PYTHONDONTWRITEBYTECODE python -m pytest -n $$(($(CORES) + 1)) --no-loadscope-reorder
	@env -u PYTHONDONTWRITEBYTECODE $(MODELS)/bin/python -m pytest -n $$(($(CORES) + 1)) --no-loadscope-reorder \
	  -m language_models

test-slurm: install-models  ## run the profile on a real SLURM, as root on Debian; EXPERIMENT=small is quicker, nodes has more
	@tests/slurm/install
	@TOKBENCH_SLURM=$(EXPERIMENT) python -m pytest tests/slurm

test-faults: install-models  ## kill whole runs, fill their disks and alter their files, about 20 minutes; SEED draws the kills
	@TOKBENCH_FAULTS=1 TOKBENCH_SEED=$(SEED) python -m pytest tests/faults

test-wide: install-models  ## an experiment of VARIANTS variants, three sizes and three stand-ins for models, to its end; hours for 1,000
	@TOKBENCH_WIDE=$(VARIANTS) python -m pytest -s tests/wide

published-results: install  ## make every table and figure of results/published again, statistics first
	@python tools/analyse_published.py
	@python tools/render_published.py
	@snakemake --cores $(CORES) published

leaderboard: install  ## measure existing tokenizers, write their leaderboard: PATHS="languages=FILE news=FILE novels=FILE mathematics=FILE"
	@test -n "$(PATHS)" || { echo "name the texts in PATHS; see experiments/existing.yaml"; exit 2; }
	@tokbench download tokenizers existing
	@tokbench download texts texts
	@snakemake --cores $(CORES) --configfile experiments/existing.yaml --config $(PATHS) code=texts/code.jsonl \
	  tables=texts/tables.jsonl chat=texts/chat.jsonl emoji=texts/emoji.jsonl
	@python tools/make_leaderboard.py results/existing

gallery: install  ## build the reports of results/published into build/gallery, and the pictures of docs/gallery.md, in Chromium
	@python tools/make_gallery.py

nightly: install-models  ## a million strings, damaged files, patterns, bulk, texts, hub; properties on EXAMPLES times their examples
	@TOKBENCH_FUZZ_STRINGS=$(STRINGS) TOKBENCH_FUZZ_FILES=$(FILES) TOKBENCH_FUZZ_PATTERNS=$(PATTERNS) TOKBENCH_BULK=1 \
	  TOKBENCH_EXISTING=1 python -m pytest tests/test_fuzz.py tests/io/test_readers.py \
	  tests/pretokenization/test_patterns.py tests/pretokens/test_count.py tests/adapters/test_folders.py tests/adapters/test_ranks.py
	@TOKBENCH_BULK=1 $(MODELS)/bin/python -m pytest tests/adapters/test_folders.py::test_all_that_is_fetched
	@TOKBENCH_EXAMPLES=$(EXAMPLES) python -m pytest -n $$(($(CORES) + 1)) --no-loadscope-reorder
	@TOKBENCH_EXAMPLES=$(EXAMPLES) $(MODELS)/bin/python -m pytest -n $$(($(CORES) + 1)) --no-loadscope-reorder \
	  -m language_models

sanitize: install  ## run the tests of the kernels with sanitizers of addresses and of undefined behaviour
	@TOKBENCH_SANITIZE=1 python setup.py --quiet build --build-lib build/sanitize/lib --build-temp build/sanitize/temp
	@PYTHONPATH=build/sanitize/lib ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so.6)" \
	  python -m pytest -p no:cacheprovider $(OF_KERNELS) $(OF_MEMORY:%=--deselect tests/%)

accessibility:  ## run axe-core over pages in Chromium: PAGES="FILE FILE", AXE=axe.min.js, PLAYWRIGHT=a Python that has it
	@test -n "$(AXE)" || { echo "say make accessibility AXE=node_modules/axe-core/axe.min.js; see CONTRIBUTING.md"; exit 2; }
	@$(PLAYWRIGHT) tools/check_accessibility.py --axe $(AXE) $(PAGES)

benchmarks: install-models  ## compare the speed with other libraries, time plans and jobs, 45 minutes, needs valgrind; TEXTS="options of benchmarks/speed/texts.py"
	@test -n "$(TEXTS)" || { echo 'set TEXTS="--english FILE ..."; see benchmarks/speed/texts.py'; exit 2; }
	test -x build/peers/bin/python || python -m venv build/peers
	build/peers/bin/pip install --quiet -r benchmarks/speed/requirements.txt
	python -m benchmarks.speed.texts build/speed $(TEXTS)
	python -m benchmarks.everyday.run build/everyday --paths PathPiece=experiments/pathpiece.yaml
	python -m benchmarks.speed.cache_misses build/speed --peers build/peers/bin/python
	python -m benchmarks.speed.run build/speed --peers build/peers/bin/python

scale: install-models  ## measure time, memory and disk of every stage on text in bulk: TEXT=FOLDER, GIGABYTES="0.25 0.5 1 2"
	@test -n "$(TEXT)" || { echo "say make scale TEXT=FOLDER; see benchmarks/scale/run.py"; exit 2; }
	python -m benchmarks.scale.run $(TEXT) $(if $(GIGABYTES),--gigabytes $(GIGABYTES)) $(if $(ABOUT),--about "$(ABOUT)")

coverage: install  ## simulate every interval and test, and write docs/measured/coverage.md; about 6 minutes on two cores
	nice python -m benchmarks.coverage.run --processes $(CORES)

install: $(VENV)/.installed $(VENV)/.built  ## set up the environment of all but language models, and compile the kernels

install-models: install $(MODELS)/.built  ## set up the environment of language models, too

$(VENV)/.installed: requirements.lock
	@$(or $(wildcard $(BIN)/python),$(PYTHON),false) -c '$(SUPPORTED)' 2>/dev/null || \
	  { echo "Tokbench needs Python 3.11 to 3.14; make PYTHON=FILE chooses one"; exit 2; }
	@$(or $(wildcard $(BIN)/python),$(PYTHON)) --version
	@echo "1 of 3: create the virtual environment $(VENV)"
	$(TIMED) test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
	  $(BIN)/pip install --quiet --disable-pip-version-check --root-user-action=ignore \
	  "$$(grep '^uv==' requirements.lock)"; $(DONE)
	@echo "2 of 3: install $$(grep -c == requirements.lock) packages (1.4 GB on disk)"
	$(TIMED) $(BIN)/uv pip install --compile-bytecode --python $(BIN)/python --no-deps -r requirements.lock; $(DONE)
	@touch $@

$(MODELS)/.installed: models.lock $(VENV)/.installed
	@echo "Language models, 1 of 3: create the virtual environment $(MODELS)"
	$(TIMED) test -x $(MODELS)/bin/python || $(BIN)/uv venv --quiet --python "$(MODELS_PYTHON)" $(MODELS) || \
	  { echo "Language models need Python 3.11, 3.12 or 3.13: install one, or make MODELS_PYTHON=FILE"; exit 2; }; $(DONE)
	@echo "Language models, 2 of 3: install $$(grep -c == models.lock) packages"
	$(TIMED) tools/install_models $(BIN)/uv $(MODELS)/bin/python $(TORCH); $(DONE)
	@touch $@

LINK = $(BIN)/uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation -e .

$(VENV)/.built: $(VENV)/.installed pyproject.toml setup.py tools/make_stubs.py $(KERNELS)
	@echo "3 of 3: compile $(words $(filter %.pyx,$(KERNELS))) kernels (about 1 minute)"
	$(TIMED) $(BIN)/python setup.py --quiet build_ext --inplace; $(call LINK,$(VENV)); \
	  $(BIN)/python -m compileall -q src; $(DONE)
	@touch $@

$(MODELS)/.built: $(MODELS)/.installed $(VENV)/.built
	@echo "Language models, 3 of 3: compile the kernels again if its Python is another one"
	$(TIMED) $(MODELS)/bin/python setup.py --quiet build_ext --inplace; $(call LINK,$(MODELS)); $(DONE)
	@touch $@

docs: install $(SITE)/.installed  ## build the documentation as a site, build/site/index.html, with a search, generated pages and reports
	@echo "Building the reports of results/published: about 3 minutes on 2 cores, the first time"
	@python tools/build_reports.py --processes $(CORES)
	@python -m tools.stage_pages
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict
	@echo "Open build/site/index.html"

$(SITE)/.installed: docs.lock $(VENV)/.installed
	$(BIN)/python -m venv --clear $(SITE)
	$(BIN)/uv pip install --quiet --python $(SITE)/bin/python --no-deps -r docs.lock
	@touch $@

wheel: install  ## write dist/tokbench-*.whl, kernels included
	@uv build --quiet --wheel --no-build-isolation --out-dir dist .
	@ls dist/*.whl

wheels:  ## write a wheel for each Python that is supported to dist, by cibuildwheel; Linux needs Docker or Podman
	@uv tool run cibuildwheel==$(CIBUILDWHEEL) --output-dir dist

lint: install-models  ## check style, types and the workflow
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile rules
	$(MODELS)/bin/python -m mypy
	snakemake --lint

format: install  ## format the code
	ruff check --fix .
	ruff format .
	snakefmt Snakefile rules

LOCK := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url
SHARED := --extra existing --extra hub --extra code --extra workflow --extra development

lock: install  ## choose the newest versions that fit together, and write them down
	$(LOCK) $(SHARED) --extra slurm -o requirements.lock pyproject.toml
	$(LOCK) $(SHARED) --extra language-models -o models.lock pyproject.toml
	$(LOCK) --group pyproject.toml:docs -o docs.lock
	python tools/make_environments.py

clean:  ## remove everything that was built, results included but those that are published
	rm -rf $(VENV) $(MODELS) build .snakemake results/demo src/*.egg-info
	rm -f $(foreach suffix,c cpp pyi so,src/tokbench/kernels/*.$(suffix))
