# make demo      set up a virtual environment and classify real images with it
# make test      set up a second one for development; lint, types, import rules, tests
# make check     the same with few tests: those that a change concerns, else a tenth of all
# make test-gpu  those tests alone that want a GPU; they skip with the reason where there is none
# make honest    a hundred audits and more of honest kernels, none of which may be called a fraud
# make sanitize  every CUDA kernel once under compute-sanitizer's memcheck and racecheck
# make bench     set up a third one with the peers; measure against them, write docs/reference/benchmarks.md
# make bench-gpu the same on an NVIDIA GPU, against PyTorch with cuDNN; DATA=DIR has Fashion-MNIST
# make bench-calls what a call costs on the CPU, beside PyTorch's; writes docs/reference/calls.md
# make bench-calls-gpu the same on an NVIDIA GPU, in at most four minutes
# make bench-patterns the dense patterns on the CPU, beside their peers; writes tables into docs/
# make bench-patterns-gpu the same on an NVIDIA GPU, in at most four minutes
# make texts     LLVM's texts of the package's C, by clang; CLANG=clang-15 chooses it
# make ulps      the errors of the kernels' exponential and of what is made of it, over every float32
# make docs      set up a fourth one; the documentation as a site in build/site, its links checked
# make clean     remove all of them and every cache of a tool
#
# PYTHON=/path/to/python chooses the interpreter, MODEL=mnist8 the demo's network.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test static lint types imports unit check concerned test-gpu honest sanitize bench bench-calls bench-calls-gpu bench-patterns bench-patterns-gpu bench-gpu docs texts ulps clean

MODEL ?= lenet5
CLANG ?= clang-15
USER_ENV := .venv
DEV_ENV := .venv-dev
BENCH_ENV := .venv-bench
BENCH_GPU_ENV := .venv-bench-gpu
DOCS_ENV := .venv-docs
# What to look for; PYTHON alone where it is given.
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3 python3.13 python3.12 python3.11)

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | sed '/^$$/q'

demo: $(USER_ENV)/installed
	@echo 'Classifying images with $(MODEL); its kernels are compiled at their first use.'
	$(USER_ENV)/bin/rooftile run $(MODEL)

# A process of a test reads the bytecode that another one wrote, also where the user's environment
# has none written.
test check unit concerned: export PYTHONDONTWRITEBYTECODE :=

# mypy has one core for itself while the tests begin.
test: $(DEV_ENV)/installed
	$(MAKE) --no-print-directory --jobs 2 static unit

static: lint types imports

lint: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/ruff check .
	$(DEV_ENV)/bin/ruff format --check .

types: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/mypy

imports: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/lint-imports

# Each process of tests would compile the package's thousand modules for itself.
unit: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/python -m compileall -q -j 0 src
	$(DEV_ENV)/bin/pytest --numprocesses auto --maxprocesses 4

check: lint types imports concerned

concerned: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/pytest --concerned --numprocesses auto --maxprocesses 4

test-gpu: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/pytest -m "gpu and not alone" -rs --numprocesses auto --maxprocesses 8
	$(DEV_ENV)/bin/pytest -m "gpu and alone" -rs

honest: $(DEV_ENV)/installed
	ROOFTILE_HONEST_SEEDS=5 $(DEV_ENV)/bin/pytest -k honest \
	  tests/frauds/test_honest.py tests/frauds/test_frauds_gpu.py

sanitize: $(DEV_ENV)/installed
	for tool in memcheck racecheck; do \
	  seq 3 | xargs -P 3 -I PART compute-sanitizer --tool $$tool --error-exitcode 1 \
	    $(DEV_ENV)/bin/python tests/launch_every_rung.py --part PART/3 || exit 1; \
	done

bench: $(BENCH_ENV)/installed
	$(BENCH_ENV)/bin/python benchmarks/cpu.py --write

bench-calls: $(BENCH_ENV)/installed
	$(BENCH_ENV)/bin/python benchmarks/calls.py --write

bench-calls-gpu: $(BENCH_GPU_ENV)/installed
	$(BENCH_GPU_ENV)/bin/python benchmarks/calls.py --device cuda --write

bench-patterns: $(BENCH_ENV)/installed
	$(BENCH_ENV)/bin/python benchmarks/patterns.py --write

bench-patterns-gpu: $(BENCH_GPU_ENV)/installed
	$(BENCH_GPU_ENV)/bin/python benchmarks/patterns.py --device cuda --write

bench-gpu: $(BENCH_GPU_ENV)/installed
	$(BENCH_GPU_ENV)/bin/python benchmarks/table.py --page $(if $(DATA),--data $(DATA))

# A link that leads nowhere, or a page that no menu has, is an error.
docs: $(DOCS_ENV)/installed
	@echo 'Building the pages and checking their links.'
	$(DOCS_ENV)/bin/mkdocs build --strict --quiet
	@echo 'build/site/index.html'

texts: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/python benchmarks/texts.py --clang $(CLANG)

ulps: $(DEV_ENV)/installed
	$(DEV_ENV)/bin/python benchmarks/ulps.py

clean:
	rm -rf $(USER_ENV) $(DEV_ENV) $(BENCH_ENV) $(BENCH_GPU_ENV) $(DOCS_ENV) build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests papers -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp that is newer than pyproject.toml stands for a complete installation.  The
# installation is editable: a change of the source needs no new one.
$(USER_ENV)/installed: EXTRAS := [report]
$(DEV_ENV)/installed: EXTRAS := [dev]
$(BENCH_ENV)/installed: EXTRAS := [peers]
$(DOCS_ENV)/installed: EXTRAS := [docs]
$(BENCH_GPU_ENV)/installed: EXTRAS := [torch,cuda]
%/installed: pyproject.toml papers/pyproject.toml
	@set -e; $(find_python); echo "Making the virtual environment $(@D) with $$python."; "$$python" -m venv $(@D)
	@echo 'Installing rooftile$(EXTRAS) and what it needs into $(@D), once; pip names each package as it comes.'
	$(@D)/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-compile --editable '.$(EXTRAS)' --editable ./papers
	@echo 'Compiling the packages of $(@D).'
	@# pip would compile on one core.  Some packages hold templates of modules, which cannot be.
	@$(@D)/bin/python -m compileall -q -j 0 $(@D)/lib > /dev/null || true
	@touch $@

# The first interpreter of a fitting version, which must be able to make an environment.
define find_python
python=; \
for candidate in $(CANDIDATES); do \
  if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
    >/dev/null 2>&1; then python=$$candidate; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo 'rooftile needs Python 3.11, 3.12 or 3.13: tried $(CANDIDATES).' >&2; \
  echo 'On Debian or Ubuntu: apt-get install python3 python3-venv; else: make PYTHON=/path/to/python' >&2; \
  exit 1; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
  echo "$$python cannot make virtual environments: its venv module is missing." >&2; \
  echo 'On Debian or Ubuntu: apt-get install python3-venv (for the same version of Python)' >&2; \
  exit 1; \
fi
endef
