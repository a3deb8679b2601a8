rule energies:
    input:
        expand("results/layers/{sweep}.csv", sweep=SOURCES),
        ALL_TARGET_FILES,
        chunks=expand("results/map/{arch}-{chunk}.json", arch=ARCHITECTURES, chunk=PLAN),
    output:
        parquet="results/energies.parquet",
        csv=report(
            "results/energies.csv",
            caption="../report/energies.rst",
            category="Tables",
            labels={"table": "energies"},
        ),
        timings="results/timings.csv",
        summary="results/summary.json",
    log:
        "results/logs/energies.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        store="results/store",
    message:
        "Writing the table of energies"
    script:
        "../scripts/energies.py"


rule networks:
    input:
        "results/energies.parquet",
    output:
        csv=report(
            "results/networks.csv",
            caption="../report/networks.rst",
            category="Tables",
            labels={"table": "networks"},
        ),
    log:
        "results/logs/networks.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Adding the layers of the networks up"
    script:
        "../scripts/networks.py"


rule compare_published:
    input:
        target_files,
        sweeps=PUBLISHED,
    output:
        "results/published/{arch}.csv",
    log:
        "results/logs/compare_published/{arch}.log",
    conda:
        "../envs/jouleloop.yaml"
    params:
        semantics="timeloop-2023-04",
        options=search_options,
        store="results/store",
    message:
        "Comparing published energies on {wildcards.arch}"
    script:
        "../scripts/published.py"


rule published:
    input:
        expand("results/published/{arch}.csv", arch=ARCHITECTURES),
    output:
        report(
            "results/published.csv",
            caption="../report/published.rst",
            category="Tables",
            labels={"table": "published"},
        ),
    log:
        "results/logs/published.log",
    conda:
        "../envs/jouleloop.yaml"
    message:
        "Joining the comparisons with published energies"
    script:
        "../scripts/join_published.py"
