# Builds from the locks and runs `make`, as yourself so that what it writes is yours (Docker makes a missing folder for root):
#   docker build -t jouleloop . && mkdir -p results
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/results:/jouleloop/results" jouleloop
# Nothing is taken but the base image and the packages of requirements/run.lock, whose hashes pip checks.
FROM python:3.13-slim-bookworm

# connection-pool comes as source alone; its build needs no compiler. make is not in the slim image.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

# Builds as a user; Snakemake and numba keep their caches below HOME.
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
# Then any user may run it, one without a name too: Snakemake writes into this folder and below HOME.
RUN make .venv/installed \
    && rm -rf .snakemake \
    && chmod 1777 . && chmod -R a+rwX ~
ENV HOME=/home/jouleloop USER=jouleloop

ENTRYPOINT ["make"]
CMD ["all"]
