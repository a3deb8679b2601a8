# Builds from the locks and runs `make`: docker build -t jouleloop . && docker run --rm -v "$PWD/results:/jouleloop/results" jouleloop
# Nothing is taken but the base image and the packages of requirements/run.lock, whose hashes pip checks.
FROM python:3.13-slim-bookworm

# connection-pool comes as source alone; its build needs no compiler. make is not in the slim image.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

# Whoever runs the image owns what it writes; Snakemake and numba keep their caches below HOME.
RUN useradd --create-home --uid 1000 jouleloop \
    && install --directory --owner jouleloop /jouleloop
USER jouleloop
WORKDIR /jouleloop

# Packages first: an edit of the code leaves this layer as it is.
COPY --chown=jouleloop requirements requirements
RUN python -m venv .venv \
    && .venv/bin/python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements/run.lock

COPY --chown=jouleloop . .
# Installs the package itself and compiles the kernels.
RUN make .venv/installed

ENTRYPOINT ["make"]
CMD ["all"]
